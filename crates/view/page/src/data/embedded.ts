// Answers from the data that is embedded in a stand-alone page. API.md describes its form.

import { type MethodName, fullName } from '../pure/names.ts';
import { type Slices, byLevel, firstAfter, reduce } from '../pure/reduce.ts';
import { type Span, length } from '../pure/span.ts';
import type { Heat } from '../pure/state.ts';
import { Kind, type Tile } from '../pure/tile.ts';
import { sortRows } from './rows.ts';
import type { Query, Source, TableName } from './source.ts';
import { type CallRow, selfTimes, sumMethods, sumNeighbours, sumThreads, sumTree } from './sums.ts';
import type { CallAnswer, Found, FoundAnswer, HeatMap, Lanes, Occurrences, Table, TraceInfo, TreeAnswer } from './types.ts';

/** Columns of a thread's calls as they are embedded: `begin` holds differences. */
export interface EmbeddedSlices {
  begin: number[];
  length: number[];
  method: number[];
  level: number[];
  kind?: number[];
}

export interface EmbeddedWait {
  thread: number;
  kind: number;
  begin: number;
  end: number;
  level: number;
  object: string;
  owner: number | null;
  owner_in: { method: number; begin: number; end: number; level: number } | null;
}

export interface EmbeddedTrace {
  info: TraceInfo;
  methods: Record<string, MethodName>;
  slices: Record<string, EmbeddedSlices>;
  waits: EmbeddedWait[];
  lanes: Lanes;
  tables: Partial<Record<TableName, Table>>;
}

export interface EmbeddedData {
  version: 1;
  traces: EmbeddedTrace[];
}

interface Thread {
  slices: Slices;
  levels: Uint32Array[];
  self: Float64Array;
}

export class EmbeddedSource implements Source {
  private readonly threads: Map<number, Thread>[];
  /** Sums of the whole traces by method, for the search. */
  private readonly totals: Table[] = [];

  constructor(private readonly data: EmbeddedData) {
    if (data.version !== 1) throw new Error(`the embedded data has version ${String(data.version)}, and this page reads version 1`);
    this.threads = data.traces.map((trace) => new Map(Object.entries(trace.slices).map(([thread, columns]) => [Number(thread), decode(columns)])));
  }

  async traces(): Promise<TraceInfo[]> {
    return this.data.traces.map(({ info, lanes }) => ({ ...info, part: { from: lanes.from, until: lanes.until } }));
  }

  async methods(trace: number, ids: readonly number[]): Promise<Record<string, MethodName>> {
    const all = this.data.traces[trace]!.methods;
    return Object.fromEntries(ids.map((id) => [String(id), all[id] ?? (['', `method ${id}`, ''] as const)]));
  }

  async tile(trace: number, thread: number, span: Span, width: number): Promise<Tile> {
    const { slices, levels } = this.threads[trace]!.get(thread) ?? decode({ begin: [], length: [], method: [], level: [] });
    return reduce(slices, levels, span, width);
  }

  async lanes(trace: number, span: Span, bins: number, threads: readonly number[] | null): Promise<Lanes> {
    const known = this.data.traces[trace]!.lanes;
    const resampled = (values: number[]) => resample(values, known, span, bins);
    const answer: Lanes = {
      ...known,
      ...span,
      bins,
      calls: resampled(known.calls),
      allocated: resampled(known.allocated),
      cpu: known.cpu.length > 0 ? resampled(known.cpu) : [],
      blocked: resampled(known.blocked),
      parked: resampled(known.parked),
      exceptions: resampled(known.exceptions),
      heap: Array.from({ length: bins }, (_, bin) => known.heap[binOf(known, span.from + ((bin + 0.5) * length(span)) / bins)] ?? null),
      live_threads: Array.from({ length: bins }, (_, bin) => known.live_threads[binOf(known, span.from + ((bin + 0.5) * length(span)) / bins)] ?? 0),
    };
    if (threads) answer.calls = this.density(trace, threads, span, bins, () => true);
    return answer;
  }

  async heat(trace: number, span: Span, bins: number, rows: number, value: Heat): Promise<HeatMap> {
    const { name, virtual } = this.data.traces[trace]!.info.threads;
    const groups: { label: string; threads: number[] }[] = [];
    const platform = name.map((_, at) => at).filter((at) => !virtual[at]);
    const own = platform.slice(0, Math.max(1, rows - 1));
    for (const at of own) groups.push({ label: name[at]!, threads: [at] });
    const rest = name.map((_, at) => at).filter((at) => !own.includes(at));
    if (rest.length > 0) groups.push({ label: `${rest.length} other threads`, threads: rest });
    // The embedded data has CPU time and allocations for all threads together only. Calls of a
    // thread stand for its share of them.
    const calls = groups.map((group) => this.density(trace, group.threads, span, bins, () => true));
    let values = calls;
    if (value !== 'calls') {
      const sums = resample(this.data.traces[trace]!.lanes[value], this.data.traces[trace]!.lanes, span, bins);
      const all = Array.from({ length: bins }, (_, bin) => calls.reduce((sum, row) => sum + row[bin]!, 0));
      values = calls.map((row) => row.map((n, bin) => (all[bin]! > 0 ? (sums[bin]! * n) / all[bin]! : 0)));
    }
    return { share: 1, rows: groups, values, max: Math.max(0, ...values.map((row) => Math.max(0, ...row))) };
  }

  async table(trace: number, what: TableName, query: Query): Promise<Table> {
    const rows = [...this.rows(trace, query)];
    const names = (method: number) => fullName(this.data.traces[trace]!.methods[method] ?? ['', `method ${method}`, '']);
    if (what === 'methods') return sortRows(sumMethods(rows), query, names);
    if (what === 'callers' || what === 'callees') return sortRows(sumNeighbours(rows, what, query.method ?? -1), query, names);
    if (what === 'threads') return sortRows(sumThreads(rows, this.data.traces[trace]!.info.threads), query, names);
    const known = this.data.traces[trace]!.tables[what];
    if (!known) return { share: 1, total_rows: 0, columns: [], rows: [] };
    // Rows with a time follow the selection. Rows without one are sums over all that is embedded.
    // A row with several times is about all that happens from the first to the last.
    const times = known.columns.flatMap((column, at) => (column.kind === 'time' ? [at] : []));
    const thread = known.columns.findIndex((column) => column.kind === 'thread');
    const selected = known.rows.filter((row) => {
      if (times.length > 0 && !(Number(row[times.at(-1)!]) >= query.span.from && Number(row[times[0]!]) < query.span.until)) return false;
      return thread < 0 || query.threads === null || query.threads.includes(Number(row[thread]));
    });
    return sortRows({ ...known, rows: selected }, query, names);
  }

  async tree(trace: number, query: Query): Promise<TreeAnswer> {
    return { share: 1, nodes: sumTree([...this.rows(trace, query)], query.limit) };
  }

  async find(trace: number, text: string): Promise<FoundAnswer> {
    const wanted = text.toLowerCase();
    const { methods, lanes } = this.data.traces[trace]!;
    const ids = new Set(Object.keys(methods).map(Number).filter((id) => fullName(methods[id]!).toLowerCase().includes(wanted)));
    const query = { span: { from: lanes.from, until: lanes.until }, threads: null };
    const sums = (this.totals[trace] ??= sumMethods([...this.rows(trace, query)])).rows as [number, number, number, number][];
    const found = sums.filter(([id]) => ids.has(id)).map(([id, calls, self, total]): Found => [id, calls, total, self]);
    return { methods: found.sort((a, b) => b[2] - a[2]).slice(0, 200), share: 1 };
  }

  async occurrences(trace: number, method: number, span: Span, bins: number): Promise<Occurrences> {
    let slowest: Occurrences['slowest'] = null;
    for (const [thread, { slices }] of this.threads[trace]!) {
      slices.method.forEach((id, at) => {
        const [begin, end] = [slices.begin[at]!, slices.end[at]!];
        if (id !== method || slices.kind[at]! > 1 || end < span.from || begin >= span.until) return;
        if (!slowest || end - begin > slowest.end - slowest.begin) slowest = { thread, begin, end, level: slices.level[at]! };
      });
    }
    return { calls: this.density(trace, [...this.threads[trace]!.keys()], span, bins, (id) => id === method), share: 1, slowest };
  }

  async call(trace: number, number: number, time: number, level: number, _signal?: AbortSignal, until = time + 1): Promise<CallAnswer> {
    const thread = this.threads[trace]!.get(number);
    const place = thread?.levels[level] ? firstAfter(thread.levels[level]!, thread.slices.end, time - 0.5) : -1;
    const at = thread?.levels[level]?.[place];
    if (!thread || at === undefined || thread.slices.begin[at]! >= Math.max(until, time + 1)) throw new Error('no call is known at this place');
    const { slices, levels, self } = thread;
    const [begin, end] = [slices.begin[at]!, slices.end[at]!];
    const where = (call: number) => ({ begin: slices.begin[call]!, end: slices.end[call]!, level: slices.level[call]! });
    const above = level > 0 ? levels[level - 1]![firstAfter(levels[level - 1]!, slices.end, begin)] : undefined;
    const method = slices.method[at]!;
    const isSame = (other: number) => slices.method[other] === method && slices.kind[other]! <= Kind.exception;
    let [previous, next] = [at - 1, at + 1];
    while (previous >= 0 && !isSame(previous)) previous--;
    while (next < slices.begin.length && !isSame(next)) next++;
    const { lanes } = this.data.traces[trace]!;
    // Callees outside of the part are unknown.
    const isInPart = begin >= lanes.from && end <= lanes.until;
    return {
      method,
      begin,
      end,
      level,
      self: isInPart ? self[at]! : null,
      exception: slices.kind[at] === Kind.exception,
      caller: above === undefined ? null : { method: slices.method[above]!, ...where(above) },
      previous: previous < 0 ? null : { thread: number, ...where(previous) },
      next: next >= slices.begin.length ? null : { thread: number, ...where(next) },
      waits: this.data.traces[trace]!.waits.filter((wait) => wait.thread === number && wait.begin >= begin && wait.end <= end && wait.level >= level),
    };
  }

  /** Calls that overlap a span, with the part of their times that lies in it. */
  private *rows(trace: number, query: Pick<Query, 'span' | 'threads'>): Generator<CallRow> {
    for (const [thread, { slices }] of this.threads[trace]!) {
      if (query.threads && !query.threads.includes(thread)) continue;
      yield* selfTimes(thread, slices, query.span);
    }
  }

  private density(trace: number, threads: readonly number[], span: Span, bins: number, isCounted: (method: number) => boolean): number[] {
    const sums = new Array<number>(bins).fill(0);
    for (const thread of threads) {
      const slices = this.threads[trace]!.get(thread)?.slices;
      slices?.begin.forEach((begin, at) => {
        const bin = Math.floor(((begin - span.from) / length(span)) * bins);
        if (bin >= 0 && bin < bins && slices.kind[at]! <= Kind.exception && isCounted(slices.method[at]!)) sums[bin]!++;
      });
    }
    return sums;
  }
}

function decode(columns: EmbeddedSlices): Thread {
  const n = columns.begin.length;
  const begin = new Float64Array(n);
  const end = new Float64Array(n);
  for (let at = 0, time = 0; at < n; at++) {
    time += columns.begin[at]!;
    begin[at] = time;
    end[at] = time + columns.length[at]!;
  }
  const slices: Slices = { begin, end, method: Uint32Array.from(columns.method), level: Uint16Array.from(columns.level), kind: Uint8Array.from(columns.kind ?? new Uint8Array(n)) };
  const self = new Float64Array(n);
  for (const row of selfTimes(0, slices, { from: -Infinity, until: Infinity })) self[row.at] = row.self;
  return { slices, levels: byLevel(slices), self };
}

function binOf(lanes: Lanes, time: number): number {
  return Math.floor(((time - lanes.from) / (lanes.until - lanes.from)) * lanes.bins);
}

/** Returns sums of other bins: each known bin is spread evenly over its time. */
export function resample(values: number[], known: Span & { bins: number }, span: Span, bins: number): number[] {
  const sums = new Array<number>(bins).fill(0);
  const size = length(known) / known.bins;
  values.forEach((value, at) => {
    if (!(value > 0)) return;
    const low = ((known.from + at * size - span.from) / length(span)) * bins;
    const high = ((known.from + (at + 1) * size - span.from) / length(span)) * bins;
    for (let bin = Math.max(0, Math.floor(low)); bin < Math.min(bins, Math.ceil(high)); bin++) {
      sums[bin]! += (value * (Math.min(high, bin + 1) - Math.max(low, bin))) / (high - low);
    }
  });
  return sums;
}
