// Where the page's data comes from: a server, or the page itself.

import type { MethodName } from '../pure/names.ts';
import type { Span } from '../pure/span.ts';
import type { Heat } from '../pure/state.ts';
import type { Tile } from '../pure/tile.ts';
import type { CallAnswer, FoundAnswer, HeatMap, Lanes, Occurrences, Table, TraceInfo, TreeAnswer } from './types.ts';

export type TableName = 'methods' | 'callers' | 'callees' | 'allocations' | 'waits' | 'exceptions' | 'collections' | 'threads';

/** What a table or tree is about, and how much of it is wanted. */
export interface Query {
  span: Span;
  threads: readonly number[] | null;
  method: number | null;
  isNet: boolean;
  limit: number;
  sort: string;
  isReversed: boolean;
  filter: string;
}

/** Access to traces. All times are nanoseconds since the start of the trace. */
export interface Source {
  traces(signal?: AbortSignal): Promise<TraceInfo[]>;
  methods(trace: number, ids: readonly number[]): Promise<Record<string, MethodName>>;
  tile(trace: number, thread: number, span: Span, width: number, signal: AbortSignal): Promise<Tile>;
  lanes(trace: number, span: Span, bins: number, threads: readonly number[] | null, signal?: AbortSignal): Promise<Lanes>;
  heat(trace: number, span: Span, bins: number, rows: number, value: Heat, signal?: AbortSignal): Promise<HeatMap>;
  table(trace: number, what: TableName, query: Query, signal?: AbortSignal): Promise<Table>;
  tree(trace: number, query: Query, signal?: AbortSignal): Promise<TreeAnswer>;
  find(trace: number, text: string, signal?: AbortSignal): Promise<FoundAnswer>;
  occurrences(trace: number, method: number, span: Span, bins: number, signal?: AbortSignal): Promise<Occurrences>;
  /** Finds the call at a time; if there is none, the first one that begins before `until`. */
  call(trace: number, thread: number, time: number, level: number, signal?: AbortSignal, until?: number): Promise<CallAnswer>;
}
