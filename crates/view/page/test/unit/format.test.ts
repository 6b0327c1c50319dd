import assert from 'node:assert/strict';
import test from 'node:test';
import { axis, bytes, duration, moment, percent, shortCount, visible } from '../../src/pure/format.ts';

test('durations have four digits and a unit', () => {
  assert.deepEqual([0, 7, 999, 1000, 1234, 12_345, 123_456, 1_234_567, 999_960_000, 1.5e9, 12_345e9].map(duration), ['0 ns', '7 ns', '999 ns', '1.000 µs', '1.234 µs', '12.35 µs', '123.5 µs', '1.235 ms', '1.000 s', '1.500 s', '12,345 s']);
  assert.equal(duration(2.5), '2.5 ns');
});

test('moments have all digits', () => {
  assert.equal(moment(1_234_567_890), '1.234 567 890 s');
  assert.equal(moment(5), '0.000 000 005 s');
  assert.equal(moment(-5), '−0.000 000 005 s');
});

test('sizes and counts', () => {
  assert.deepEqual([0, 1023, 1024, 1.5 * 1024 ** 3].map(bytes), ['0 B', '1,023 B', '1.0 KiB', '1.5 GiB']);
  assert.deepEqual([9_999, 10_000, 3_500_000_000].map(shortCount), ['9,999', '10 k', '3.5 G']);
  assert.equal(percent(1, 3), '33.3%');
  assert.equal(percent(1, 0), '–');
});

test('characters that mislead become visible', () => {
  assert.equal(visible('a\u202eb\0\n'), 'a\\u202eb\u2400\u240a');
  assert.equal(visible('x'.repeat(10), 4), 'xxxx… (10 characters)');
});

test('an axis has few marks within its span', () => {
  for (const [from, until] of [[0, 12.4e9], [3.2e9, 3.212e9], [1_685_720_500, 1_685_721_070], [0, 20], [5e14, 5e14 + 64]] as const) {
    const { ticks } = axis(from, until, 10);
    assert.ok(ticks.length >= 2 && ticks.length <= 12, `${from} ${ticks.length}`);
    assert.ok(ticks.every(({ at }) => at >= from && at <= until));
    assert.equal(new Set(ticks.map(({ text }) => text)).size, ticks.length, ticks.map(({ text }) => text).join());
  }
});

test('marks of a small span refer to a base', () => {
  const { base, ticks } = axis(1_685_720_500, 1_685_721_070, 10);
  assert.equal(base, 1_685_720_000);
  assert.deepEqual(ticks.slice(0, 2).map(({ text }) => text), ['+500 ns', '+600 ns']);
});
