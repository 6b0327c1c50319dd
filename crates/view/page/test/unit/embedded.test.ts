import assert from 'node:assert/strict';
import test from 'node:test';
import { EmbeddedSource, type EmbeddedData, resample } from '../../src/data/embedded.ts';

const zeros = [0, 0];
const data: EmbeddedData = {
  version: 1,
  traces: [
    {
      info: {
        title: 't', program: '', start: '0', duration: 1000, events: 10, calls: 4, clock: 'exact', missing: [], remarks: [], cost: null, indexed: 1, live: false,
        threads: { id: ['1'], name: ['main'], group: ['g'], virtual: [0], start: [0], end: [-1], calls: [4], busy: [1000], levels: [3] },
      },
      methods: { 1: ['A', 'a', ''], 2: ['B', 'b', ''] },
      // a(0-1000) calls b(100-300), which calls a(150-250); then b(400-500).
      slices: { 0: { begin: [0, 100, 50, 250], length: [1000, 200, 100, 100], method: [1, 2, 1, 2], level: [0, 1, 2, 1] } },
      waits: [],
      lanes: { from: 0, until: 1000, bins: 2, calls: [4, 0], allocated: zeros, cpu: zeros, blocked: zeros, parked: zeros, exceptions: zeros, heap: [null, 5], live_threads: [1, 1], collections: [], marks: [], bursts: [], missing: [], shares: {}, share: 1 },
      tables: {},
    },
  ],
};
const source = new EmbeddedSource(data);
const query = { span: { from: 0, until: 1001 }, threads: null, method: null, isNet: false, limit: 100, sort: '', isReversed: false, filter: '' };

test('sums by method: recursive calls count once in the total', async () => {
  const { rows } = await source.table(0, 'methods', query);
  assert.deepEqual(rows.map((row) => row.slice(0, 4)), [[1, 2, 800, 1000], [2, 2, 200, 300]]);
});

test('callers and callees', async () => {
  assert.deepEqual((await source.table(0, 'callers', { ...query, method: 2 })).rows.map((row) => row.slice(0, 2)), [[1, 2]]);
  assert.deepEqual((await source.table(0, 'callees', { ...query, method: 2 })).rows.map((row) => row.slice(0, 2)), [[1, 1]]);
});

test('a selection has the parts of calls that lie in it', async () => {
  const { rows } = await source.table(0, 'methods', { ...query, span: { from: 200, until: 450 } });
  assert.deepEqual(rows.map((row) => row.slice(0, 4)), [[1, 0, 150, 250], [2, 1, 100, 150]]);
});

test('the tree has the sums of its calls', async () => {
  const { nodes } = await source.tree(0, query);
  assert.deepEqual(nodes.parent, [0, 0, 1, 2]);
  assert.deepEqual(nodes.total, [1000, 1000, 300, 100]);
  assert.deepEqual(nodes.self, [0, 700, 200, 100]);
});

test('a call knows its caller and its neighbours', async () => {
  const call = await source.call(0, 0, 100, 1);
  assert.deepEqual([call.method, call.end, call.self, call.caller?.method, call.next?.begin, call.previous], [2, 300, 100, 1, 400, null]);
  await assert.rejects(source.call(0, 0, 350, 1), /no call/);
});

test('the self time of a call that leaves the part is unknown', async () => {
  const [trace] = data.traces;
  const part = new EmbeddedSource({ version: 1, traces: [{ ...trace!, lanes: { ...trace!.lanes, from: 150, until: 600 } }] });
  assert.equal((await part.call(0, 0, 200, 1)).self, null);
  assert.equal((await part.call(0, 0, 450, 1)).self, 100);
  assert.deepEqual((await part.traces())[0]!.part, { from: 150, until: 600 });
});

test('search and occurrences', async () => {
  assert.deepEqual(await source.find(0, 'B.b'), { methods: [[2, 2, 300, 200]], share: 1 });
  assert.deepEqual((await source.occurrences(0, 2, { from: 0, until: 1000 }, 2)).slowest, { thread: 0, begin: 100, end: 300, level: 1 });
});

test('bins are spread over other bins', () => {
  assert.deepEqual(resample([4, 0], { from: 0, until: 100, bins: 2 }, { from: 0, until: 50 }, 2), [2, 2]);
});
