import assert from 'node:assert/strict';
import { test } from 'node:test';
import { held } from '../../src/pure/held.ts';

test('a value lasts until the next known one', () => {
  assert.deepEqual(held([null, 5, null, null, 0, null, 7, null]), [null, 5, 5, 5, 0, 0, 7, null]);
  assert.deepEqual(held([null, null]), [null, null]);
  assert.deepEqual(held([]), []);
});
