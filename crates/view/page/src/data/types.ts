// What the server, or the embedded data, answers. API.md describes each field.

import type { TreeNodes } from '../pure/flame.ts';
import type { Span } from '../pure/span.ts';

export interface Missing {
  from: number;
  until: number;
  events: number;
  text: string;
}

export interface Threads {
  id: string[];
  name: string[];
  group: string[];
  virtual: number[];
  start: number[];
  end: number[];
  calls: number[];
  busy: number[];
  levels: number[];
}

export interface TraceInfo {
  title: string;
  program: string;
  start: string;
  duration: number;
  events: number;
  calls: number;
  clock: string;
  missing: Missing[];
  remarks: string[];
  cost: { per_call_ns: number; text: string } | null;
  indexed: number;
  live: boolean;
  /** True while the end of the trace is missing: it may grow. Stand-alone pages lack it. */
  growing?: boolean;
  /** The part of the trace that a stand-alone page has. */
  part?: Span;
  threads: Threads;
}

export interface Lanes {
  from: number;
  until: number;
  bins: number;
  calls: number[];
  allocated: number[];
  cpu: number[];
  blocked: number[];
  parked: number[];
  exceptions: number[];
  heap: (number | null)[];
  live_threads: number[];
  collections: [begin: number, end: number, kind: string, cause: string, usedAfter: number | null][];
  marks: [time: number, text: string][];
  bursts: [begin: number, end: number, trigger: string][];
  missing: [from: number, until: number][];
  shares: Record<string, number>;
  share: number;
}

export interface HeatMap {
  rows: { label: string; threads: number[] }[];
  values: number[][];
  max: number;
  share: number;
}

export type ColumnKind = 'method' | 'text' | 'count' | 'ns' | 'bytes' | 'time' | 'thread';

export interface Column {
  name: string;
  kind: ColumnKind;
}

export type Cell = string | number | null;

export interface Table {
  share: number;
  total_rows: number;
  columns: Column[];
  rows: Cell[][];
}

export interface TreeAnswer {
  share: number;
  nodes: TreeNodes;
}

export interface Occurrences {
  calls: number[];
  /** Length of an interval, which may be longer than requested: then `calls` has fewer of them. */
  interval?: number;
  share: number;
  slowest: { thread: number; begin: number; end: number; level: number } | null;
}

export interface CallPlace {
  begin: number;
  end: number;
  level: number;
}

export interface CallAnswer extends CallPlace {
  method: number;
  exception: boolean;
  /** Time outside of callees, if it is known. */
  self?: number | null;
  caller: (CallPlace & { method: number }) | null;
  next: (CallPlace & { thread: number }) | null;
  previous: (CallPlace & { thread: number }) | null;
  waits: {
    kind: number;
    begin: number;
    end: number;
    object: string;
    owner: number | null;
    owner_in: (CallPlace & { method: number }) | null;
  }[];
}

/** id, calls, total, self */
export type Found = [id: number, calls: number, total: number, self: number];

/** Methods of a search. Below a share of 1, others may have the name too. */
export interface FoundAnswer {
  methods: Found[];
  share: number;
}
