import assert from 'node:assert/strict';
import test from 'node:test';
import { Cache } from '../../src/pure/cache.ts';
import { classColour, css, heatColour, oklch } from '../../src/pure/colour.ts';
import { hottestPath, layoutFlame, nextBar, shapeOf, treeRows } from '../../src/pure/flame.ts';
import { Scale, around, clamp, reveal, zoom } from '../../src/pure/span.ts';
import { OTHERS_GROUP, VIRTUAL_GROUP, groupOf, layoutTracks, totalHeight, visibleTracks } from '../../src/pure/tracks.ts';
import { fileName, tsv } from '../../src/pure/tsv.ts';
import { SvgPen, escape, hatchLines } from '../../src/draw/pen.ts';

test('zooming keeps the time under the pointer', () => {
  const whole = { from: 0, until: 1000 };
  const view = zoom(whole, 250, 0.5, whole);
  assert.deepEqual(view, { from: 125, until: 625 });
  assert.equal(new Scale(view, 100).x(250), 25);
  assert.deepEqual(zoom(view, 250, 100, whole), whole);
  assert.equal(clamp({ from: 5, until: 6 }, whole).until, 25);
});

test('a part of a trace has its own bounds', () => {
  const part = { from: 5000, until: 6000 };
  assert.deepEqual(clamp({ from: 0, until: 100 }, part), { from: 5000, until: 5100 });
  assert.deepEqual(clamp({ from: 5950, until: 6050 }, part), { from: 5900, until: 6000 });
  assert.deepEqual(clamp({ from: 0, until: 1e6 }, part), part);
  assert.deepEqual(zoom({ from: 5400, until: 5600 }, 5500, 100, part), part);
});

test('a call comes into view', () => {
  const view = { from: 0, until: 1000 };
  const whole = { from: 0, until: 1e6 };
  assert.equal(reveal(view, 100, 300, whole), view);
  assert.deepEqual(reveal(view, 5000, 5100, whole), { from: 4550, until: 5550 });
  assert.deepEqual(reveal(whole, 500_000, 500_100, whole), around(500_000, 500_100, whole));
});

test('virtual threads fold into one track', () => {
  const n = 3100;
  const threads = { name: Array.from({ length: n }, String), virtual: Array.from({ length: n }, (_, at) => Number(at >= 100)), calls: Array.from({ length: n }, (_, at) => at), levels: new Array<number>(n).fill(10) };
  const tracks = layoutTracks(threads, []);
  assert.deepEqual(tracks.filter((track) => track.kind === 'group').map((track) => [track.id, track.threads.length]), [[OTHERS_GROUP, 36], [VIRTUAL_GROUP, 3000]]);
  assert.equal(groupOf(tracks, 2000), VIRTUAL_GROUP);
  assert.equal(groupOf(tracks, 99), null);
  const open = layoutTracks(threads, [VIRTUAL_GROUP]);
  assert.equal(open.length, tracks.length + 3000);
  assert.ok(visibleTracks(open, 10_000, 10_800).length < 40);
  const last = open.at(-1)!;
  assert.equal(totalHeight(open), last.top + last.height);
  assert.ok(tracks[0]!.isOpen && !layoutTracks(threads, [36])[0]!.isOpen);
});

test('threads without calls fold into one track, when all calls are counted', () => {
  const threads = { name: ['main', 'idle', 'worker', 'finalizer'], virtual: [0, 0, 0, 0], calls: [3, 0, 9, 0], levels: [1, 0, 2, 0] };
  const shape = (tracks: ReturnType<typeof layoutTracks>) => tracks.map((track) => [track.id, track.threads]);
  assert.deepEqual(shape(layoutTracks(threads, [])), [[0, [0]], [2, [2]], [OTHERS_GROUP, [1, 3]]]);
  assert.deepEqual(shape(layoutTracks(threads, [], false)), [[0, [0]], [1, [1]], [2, [2]], [3, [3]]]);
  // In a trace without calls, all threads are of the same interest.
  assert.deepEqual(shape(layoutTracks({ ...threads, calls: [0, 0, 0, 0] }, [])), [[0, [0]], [1, [1]], [2, [2]], [3, [3]]]);
});

const nodes = { parent: [0, 0, 0, 1, 1], method: [9, 1, 2, 3, 4], calls: [5, 1, 1, 1, 1], self: [0, 10, 30, 20, 40], total: [100, 70, 30, 20, 40] };

test('bars of a flame graph lie within their parents', () => {
  const shape = shapeOf(nodes);
  const bars = layoutFlame(shape, 0, 0);
  assert.equal(bars.length, 5);
  for (const bar of bars) {
    const parent = bars.find((other) => other.node === nodes.parent[bar.node])!;
    assert.ok(bar.left >= parent.left - 1e-9 && bar.left + bar.width <= parent.left + parent.width + 1e-9);
  }
  const zoomed = layoutFlame(shape, 1, 0);
  assert.deepEqual(zoomed.map((bar) => bar.node).sort(), [0, 1, 3, 4]);
  assert.equal(zoomed.find((bar) => bar.node === 1)!.width, 1);
  const root = bars.find((bar) => bar.node === 0)!;
  assert.equal(nextBar(bars, shape, root, 'down')!.node, 1);
  assert.equal(nextBar(bars, shape, nextBar(bars, shape, root, 'down')!, 'right')!.node, 2);
});

test('a call tree unfolds along the most time', () => {
  const shape = shapeOf(nodes);
  assert.deepEqual(hottestPath(shape, 0), [0, 1, 4]);
  assert.deepEqual(treeRows(shape, new Set([0]), 100), [0, 1, 2]);
  assert.deepEqual(treeRows(shape, new Set([0, 1]), 100), [0, 1, 4, 3, 2]);
});

test('the cache drops what was not used', () => {
  const cache = new Cache<number>(100);
  for (let at = 0; at < 10; at++) cache.set(String(at), at, 20);
  assert.equal(cache.size, 100);
  cache.get('5');
  cache.set('new', 1, 20);
  assert.equal(cache.get('5'), 5);
  assert.equal(cache.get('6'), undefined);
});

test('colours are those of CSS, and stable', () => {
  assert.equal(css(oklch(1, 0, 0)), '#ffffff');
  assert.equal(css(oklch(0, 0, 0)), '#000000');
  assert.deepEqual(classColour('org.acme.A', false), classColour('org.acme.A', false));
  assert.notDeepEqual(heatColour(0, false), heatColour(0.001, false));
});

test('files: cells and names', () => {
  assert.equal(tsv(['a', 'b'], [['x\ty', 1], ['n\n', null]]), 'a\tb\nx y\t1\nn \t\n');
  assert.equal(fileName('../a b.trail', 'methods'), 'a-b.trail-methods');
});

test('names are text in an SVG file', () => {
  assert.equal(escape('<a href="x">&\0'), '&#60;a href=&#34;x&#34;&#62;&#38;\ufffd');
  const pen = new SvgPen(10, 10, '</title><script>');
  pen.text('<script>', 1, 1, '#000');
  assert.ok(!pen.finish().includes('<script'));
});

test('hatching stays within its area', () => {
  for (const isBack of [false, true]) {
    const lines = hatchLines(10, 20, 30, 12, 5, isBack);
    assert.ok(lines.length > 5);
    for (const [x1, y1, x2, y2] of lines) assert.ok([x1, x2].every((x) => x! >= 10 && x! <= 40) && [y1, y2].every((y) => y! >= 20 - 1e-9 && y! <= 32 + 1e-9));
  }
});
