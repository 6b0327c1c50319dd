// Sums over calls, for pages that have the trace embedded.

import type { TreeNodes } from '../pure/flame.ts';
import type { Slices } from '../pure/reduce.ts';
import type { Span } from '../pure/span.ts';
import { Kind, NO_METHOD } from '../pure/tile.ts';
import type { Cell, Column, Table, Threads } from './types.ts';

/** A call that overlaps the selected span. Times are the parts within the span. */
export interface CallRow {
  thread: number;
  /** Number of the call among the ones of its thread. */
  at: number;
  method: number;
  level: number;
  begin: number;
  total: number;
  self: number;
  /** 1 if the call begins within the span, as counts of neighbouring spans add up then. */
  calls: number;
  isException: boolean;
  /** Method of the caller, or [`NO_METHOD`]. */
  caller: number;
  /** True if no call of the same method is around this one. */
  isOutermost: boolean;
}

/** Yields the calls of a thread that overlap a span, callers first. */
export function selfTimes(thread: number, slices: Slices, span: Span): CallRow[] {
  const rows: CallRow[] = [];
  const open: CallRow[] = [];
  slices.begin.forEach((begin, at) => {
    const end = slices.end[at]!;
    if (slices.kind[at]! > Kind.exception || end < span.from || begin >= span.until) return;
    const level = slices.level[at]!;
    open.length = Math.min(open.length, level);
    const total = Math.max(0, Math.min(end, span.until) - Math.max(begin, span.from));
    const caller = open[level - 1];
    if (caller) caller.self -= total;
    const row: CallRow = {
      thread,
      at,
      method: slices.method[at]!,
      level,
      begin,
      total,
      self: total,
      calls: begin >= span.from ? 1 : 0,
      isException: slices.kind[at] === Kind.exception,
      caller: caller?.method ?? NO_METHOD,
      isOutermost: !open.some((other) => other?.method === slices.method[at]),
    };
    open[level] = row;
    rows.push(row);
  });
  return rows;
}

const METHOD_COLUMNS: Column[] = [
  { name: 'method', kind: 'method' },
  { name: 'calls', kind: 'count' },
  { name: 'self', kind: 'ns' },
  { name: 'total', kind: 'ns' },
  { name: 'mean', kind: 'ns' },
  { name: 'slowest', kind: 'ns' },
  { name: 'exceptions', kind: 'count' },
];

interface Sum {
  calls: number;
  self: number;
  total: number;
  slowest: number;
  exceptions: number;
}

function sumBy(rows: readonly CallRow[], key: (row: CallRow) => number, isTotal: (row: CallRow) => boolean): Table {
  const sums = new Map<number, Sum>();
  for (const row of rows) {
    let sum = sums.get(key(row));
    if (!sum) sums.set(key(row), (sum = { calls: 0, self: 0, total: 0, slowest: 0, exceptions: 0 }));
    sum.calls += row.calls;
    sum.self += row.self;
    if (isTotal(row)) sum.total += row.total;
    sum.slowest = Math.max(sum.slowest, row.total);
    sum.exceptions += Number(row.isException);
  }
  const cells = [...sums].map(([id, sum]): Cell[] => [id, sum.calls, sum.self, sum.total, sum.calls > 0 ? sum.total / sum.calls : null, sum.slowest, sum.exceptions]);
  return { share: 1, total_rows: cells.length, columns: METHOD_COLUMNS, rows: cells };
}

export function sumMethods(rows: readonly CallRow[]): Table {
  return sumBy(rows, (row) => row.method, (row) => row.isOutermost);
}

/** Returns the callers of a method with their calls of it, or its callees. */
export function sumNeighbours(rows: readonly CallRow[], what: 'callers' | 'callees', method: number): Table {
  if (what === 'callers') return sumBy(rows.filter((row) => row.method === method), (row) => row.caller, () => true);
  return sumBy(rows.filter((row) => row.caller === method), (row) => row.method, () => true);
}

export function sumThreads(rows: readonly CallRow[], threads: Threads): Table {
  const calls = new Map<number, number>();
  const busy = new Map<number, number>();
  for (const row of rows) {
    calls.set(row.thread, (calls.get(row.thread) ?? 0) + row.calls);
    busy.set(row.thread, (busy.get(row.thread) ?? 0) + row.self);
  }
  return {
    share: 1,
    total_rows: calls.size,
    columns: [
      { name: 'thread', kind: 'thread' },
      { name: 'group', kind: 'text' },
      { name: 'calls', kind: 'count' },
      { name: 'busy', kind: 'ns' },
    ],
    rows: [...calls].map(([thread, n]) => [thread, threads.group[thread] ?? '', n, busy.get(thread) ?? 0]),
  };
}

/** Returns the call tree, in which a caller stands before its callees. */
export function sumTree(rows: readonly CallRow[], limit: number): TreeNodes {
  const nodes: TreeNodes = { parent: [0], method: [NO_METHOD], calls: [0], self: [0], total: [0] };
  const known = new Map<string, number>();
  const path: number[] = [];
  let thread = -1;
  for (const row of rows) {
    if (row.thread !== thread) path.length = 0;
    thread = row.thread;
    const parent = row.level > 0 ? (path[row.level - 1] ?? 0) : 0;
    const key = `${parent} ${row.method}`;
    let node = known.get(key);
    if (node === undefined) {
      if (nodes.parent.length >= limit) node = parent;
      else {
        node = nodes.parent.length;
        known.set(key, node);
        nodes.parent.push(parent);
        nodes.method.push(row.method);
        for (const column of [nodes.calls, nodes.self, nodes.total]) column.push(0);
      }
    }
    path.length = row.level;
    path[row.level] = node;
    nodes.calls[node]! += row.calls;
    nodes.self[node]! += row.self;
    if (node !== parent) nodes.total[node]! += row.total;
    if (parent === 0) {
      nodes.calls[0]! += row.calls;
      nodes.total[0]! += row.total;
    }
  }
  return nodes;
}
