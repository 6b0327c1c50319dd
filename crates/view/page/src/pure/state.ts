// What the page shows, and its form in the address: everything that a colleague needs to see the
// same picture.

import type { Span } from './span.ts';

export const TABS = ['flame', 'methods', 'callers', 'tree', 'allocations', 'waits', 'exceptions', 'collections', 'threads'] as const;
export type Tab = (typeof TABS)[number];

export const HEATS = ['calls', 'allocated', 'cpu'] as const;
export type Heat = (typeof HEATS)[number];

/** Names a call: no two calls of a thread and level contain the same time. */
export interface CallId {
  thread: number;
  begin: number;
  level: number;
}

export interface TraceState {
  /** What the timeline shows. `null` stands for the whole run. */
  view: Span | null;
  /** What the panels are about. `null` stands for the whole run. */
  selection: Span | null;
  /** Threads that the panels are about. `null` stands for all. */
  threads: readonly number[] | null;
  call: CallId | null;
  /** The method whose occurrences are marked. */
  method: number | null;
  /** Threads and groups that are folded or unfolded against the default; groups are negative. */
  open: readonly number[];
}

export interface State {
  /** The trace whose figures the panels show. */
  active: number;
  traces: readonly TraceState[];
  isLinked: boolean;
  tab: Tab;
  /** The column by which the table is sorted; '' is the order of the server. */
  sort: string;
  isReversed: boolean;
  filter: string;
  isNet: boolean;
  heat: Heat;
}

export function emptyTrace(): TraceState {
  return { view: null, selection: null, threads: null, call: null, method: null, open: [] };
}

export function emptyState(traces: number): State {
  return {
    active: 0,
    traces: Array.from({ length: traces }, emptyTrace),
    isLinked: true,
    tab: 'flame',
    sort: '',
    isReversed: false,
    filter: '',
    isNet: false,
    heat: 'calls',
  };
}

/** Returns the state as it stands in the address, without `#`. */
export function toHash(state: State): string {
  const parts: string[] = [];
  const add = (name: string, value: string) => parts.push(`${name}=${value}`);
  state.traces.forEach((trace, number) => {
    const suffix = number === 0 ? '' : String(number);
    if (trace.view) add(`v${suffix}`, span(trace.view));
    if (trace.selection) add(`s${suffix}`, span(trace.selection));
    if (trace.threads) add(`th${suffix}`, ranges(trace.threads));
    if (trace.call) add(`c${suffix}`, [trace.call.thread, trace.call.begin, trace.call.level].join(':'));
    if (trace.method !== null) add(`m${suffix}`, String(trace.method));
    if (trace.open.length > 0) add(`o${suffix}`, trace.open.join(','));
  });
  if (state.active !== 0) add('trace', String(state.active));
  if (!state.isLinked) add('linked', '0');
  if (state.tab !== 'flame') add('tab', state.tab);
  if (state.sort !== '') add('sort', encodeURIComponent(state.sort));
  if (state.isReversed) add('reverse', '1');
  if (state.filter !== '') add('filter', encodeURIComponent(state.filter));
  if (state.isNet) add('net', '1');
  if (state.heat !== 'calls') add('heat', state.heat);
  return parts.join('&');
}

/** Reads a state from the address. What cannot be read is as in an empty address. */
export function fromHash(hash: string, traces: number): State {
  const values = new Map<string, string>();
  for (const part of hash.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    if (at > 0) values.set(part.slice(0, at), part.slice(at + 1));
  }
  const state = emptyState(traces);
  const active = number(values.get('trace'));
  const tab = values.get('tab') as Tab;
  const heat = values.get('heat') as Heat;
  return {
    active: active !== null && active < traces ? active : 0,
    traces: state.traces.map((_, at) => readTrace(values, at === 0 ? '' : String(at))),
    isLinked: values.get('linked') !== '0',
    tab: TABS.includes(tab) ? tab : 'flame',
    sort: decoded(values.get('sort')),
    isReversed: values.get('reverse') === '1',
    filter: decoded(values.get('filter')),
    isNet: values.get('net') === '1',
    heat: HEATS.includes(heat) ? heat : 'calls',
  };
}

function readTrace(values: Map<string, string>, suffix: string): TraceState {
  const call = values.get(`c${suffix}`)?.split(':').map(number);
  const [thread, begin, level] = call ?? [];
  return {
    view: readSpan(values.get(`v${suffix}`)),
    selection: readSpan(values.get(`s${suffix}`)),
    threads: readRanges(values.get(`th${suffix}`)),
    call: thread != null && begin != null && level != null ? { thread, begin, level } : null,
    method: number(values.get(`m${suffix}`)),
    open: (values.get(`o${suffix}`) ?? '').split(',').filter((text) => /^-?\d+$/.test(text)).map(Number),
  };
}

/** Fractions of nanoseconds matter only in pictures of a few nanoseconds. */
function span(value: Span): string {
  return `${Number(value.from.toFixed(2))}-${Number(value.until.toFixed(2))}`;
}

function readSpan(text: string | undefined): Span | null {
  const [from, until] = (text ?? '').split('-').map(number);
  return from != null && until != null && until > from ? { from, until } : null;
}

function number(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

function decoded(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '');
  } catch {
    return '';
  }
}

/** Returns numbers as `1,3-7`. Ascending neighbours become a range. */
export function ranges(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < numbers.length; ) {
    let end = at;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end]! + 1) end++;
    parts.push(end === at ? String(numbers[at]) : `${numbers[at]}-${numbers[end]}`);
    at = end + 1;
  }
  return parts.join(',');
}

/** The most threads that an address may name. A longer list is taken for an error. */
const MOST_THREADS = 1_000_000;

export function readRanges(text: string | undefined): number[] | null {
  if (!text) return null;
  const numbers: number[] = [];
  for (const part of text.split(',')) {
    const [first, last] = part.split('-').map(number);
    if (first == null || last === null) return null;
    const end = last ?? first;
    if (end - first > MOST_THREADS || numbers.length > MOST_THREADS) return null;
    for (let at = first; at <= end; at++) numbers.push(at);
  }
  return numbers;
}
