import assert from 'node:assert/strict';
import test from 'node:test';
import { byLevel, reduce, type Slices } from '../../src/pure/reduce.ts';
import { TILE_MAGIC, TILE_WIDTH, boxAt, decodeTile, mergedRuns, placeSpan, placesFor, powerFor } from '../../src/pure/tile.ts';
import { stepBox } from '../../src/pure/focus.ts';

function encoded(n: number): ArrayBuffer {
  const pad = (size: number) => Math.ceil(size / 8) * 8;
  const buffer = new ArrayBuffer(16 + 16 * n + 2 * pad(4 * n) + pad(2 * n) + pad(n));
  new Uint32Array(buffer, 0, 4).set([TILE_MAGIC, n, 3, 1]);
  let at = 16;
  const fill = (array: { set(values: number[]): void; byteLength: number }, scale: number) => {
    array.set(Array.from({ length: n }, (_, i) => i * scale));
    at += pad(array.byteLength);
  };
  fill(new Float64Array(buffer, at, n), 10);
  fill(new Float64Array(buffer, at, n), 20);
  fill(new Uint32Array(buffer, at, n), 1);
  fill(new Uint32Array(buffer, at, n), 2);
  fill(new Uint16Array(buffer, at, n), 3);
  fill(new Uint8Array(buffer, at, n), 1);
  return buffer;
}

test('a tile is decoded with its padding', () => {
  for (const n of [0, 1, 3, 5, 8]) {
    const tile = decodeTile(encoded(n));
    assert.deepEqual([tile.n, tile.levels, tile.isCoarse], [n, 3, true]);
    if (n > 1) assert.deepEqual([tile.begin[1], tile.end[1], tile.method[1], tile.count[1], tile.level[1], tile.kind[1]], [10, 20, 1, 2, 3, 1]);
  }
});

test('what is not a tile is refused', () => {
  assert.throws(() => decodeTile(new ArrayBuffer(4)), /truncated/);
  assert.throws(() => decodeTile(new ArrayBuffer(16)), /not a tile/);
  assert.throws(() => decodeTile(encoded(5).slice(0, 60)), /truncated/);
});

test('tiles cover a view', () => {
  for (const view of [{ from: 0, until: 12.4e9 }, { from: 1_685_720_500.25, until: 1_685_721_070.5 }, { from: 3, until: 23 }]) {
    for (const pixels of [300, 1024, 1700, 5000]) {
      const power = powerFor(view, pixels);
      const ofTile = 2 ** power / TILE_WIDTH;
      const ofScreen = (view.until - view.from) / pixels;
      // The smallest tile spans 8 ns.
      assert.ok(power === 3 || (ofTile <= ofScreen && 2 * ofTile > ofScreen));
      const places = placesFor(view, power);
      assert.ok(places.length <= (2 * pixels) / TILE_WIDTH + 2);
      assert.ok(placeSpan(places[0]!).from <= view.from && placeSpan(places.at(-1)!).until >= view.until);
    }
  }
});

const slices: Slices = {
  begin: Float64Array.of(0, 100, 110, 500, 501, 502, 800),
  end: Float64Array.of(1000, 300, 200, 500.5, 501.5, 503, 900),
  method: Uint32Array.of(1, 2, 3, 4, 4, 5, 6),
  level: Uint16Array.of(0, 1, 2, 1, 1, 1, 1),
  kind: new Uint8Array(7),
};

test('calls that share a pixel become one box', () => {
  const tile = reduce(slices, byLevel(slices), { from: 0, until: 1000 }, 100);
  const merged = [...tile.count.keys()].filter((at) => tile.count[at]! > 1);
  assert.equal(merged.length, 1);
  const at = merged[0]!;
  assert.deepEqual([tile.begin[at], tile.end[at], tile.count[at], tile.method[at], tile.level[at]], [500, 503, 3, 4, 1]);
  assert.equal([...tile.count].reduce((a, b) => a + b), 7);
  assert.equal(tile.levels, 3);
});

test('a fine tile has each call', () => {
  const tile = reduce(slices, byLevel(slices), { from: 499, until: 504 }, 1000);
  assert.deepEqual([...tile.count], [1, 1, 1, 1]);
});

test('boxes are found by time, and by steps', () => {
  const tile = reduce(slices, byLevel(slices), { from: 0, until: 1000 }, 1000);
  const at = boxAt(tile, 150, 2, 1);
  assert.equal(tile.method[at], 3);
  assert.equal(boxAt(tile, 400, 2, 1), -1);
  const box = { begin: 110, end: 200, method: 3, count: 1, level: 2, kind: 0 };
  const caller = stepBox([tile], box, 'up')!;
  assert.equal(caller.method, 2);
  assert.equal(stepBox([tile], caller, 'down')!.method, 3);
  assert.equal(stepBox([tile], caller, 'left'), null);
  assert.ok(stepBox([tile], caller, 'right')!.begin >= 500);
});

test('neighbouring merged boxes are hatched as one area', () => {
  const tile = reduce(slices, byLevel(slices), { from: 0, until: 1000 }, 100);
  assert.deepEqual(mergedRuns(tile, 10), [{ begin: 500, end: 503, level: 1 }]);
});
