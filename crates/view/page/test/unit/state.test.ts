import assert from 'node:assert/strict';
import test from 'node:test';
import { type State, emptyState, fromHash, ranges, readRanges, toHash } from '../../src/pure/state.ts';

test('an empty state has an empty address', () => {
  assert.equal(toHash(emptyState(1)), '');
  assert.deepEqual(fromHash('', 2), emptyState(2));
});

test('a state survives the address', () => {
  const state: State = {
    active: 1,
    traces: [
      { view: { from: 10, until: 20.5 }, selection: { from: 1, until: 5 }, threads: [1, 3, 4, 5], call: { thread: 3, begin: 1_685_720_488, level: 5 }, method: 0, open: [-1, 7] },
      { view: null, selection: null, threads: null, call: null, method: 4_000_000_000, open: [] },
    ],
    isLinked: false,
    tab: 'callers',
    sort: 'owner in & more',
    isReversed: true,
    filter: 'a=b#ü%',
    isNet: true,
    heat: 'cpu',
  };
  assert.deepEqual(fromHash(`#${toHash(state)}`, 2), state);
});

test('nonsense in an address is ignored', () => {
  for (const hash of ['#v=5-5', '#v=a-b', '#tab=evil', '#c=1:2', '#filter=%zz', '#th=1-99999999999', '#trace=9', '#o=x,y', '#m=-1', '#=&&=']) {
    assert.deepEqual(fromHash(hash, 1), emptyState(1), hash);
  }
});

test('lists of threads are short', () => {
  assert.equal(ranges([1, 3, 4, 5, 9]), '1,3-5,9');
  assert.deepEqual(readRanges('1,3-5,9'), [1, 3, 4, 5, 9]);
  assert.equal(readRanges('1,x'), null);
});
