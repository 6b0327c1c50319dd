// Asks the server of `jtrail view`.

import type { MethodName } from '../pure/names.ts';
import type { Span } from '../pure/span.ts';
import { type Heat, ranges } from '../pure/state.ts';
import { type Tile, decodeTile } from '../pure/tile.ts';
import type { Query, Source, TableName } from './source.ts';
import type { CallAnswer, FoundAnswer, HeatMap, Lanes, Occurrences, Table, TraceInfo, TreeAnswer } from './types.ts';

type Parameters = Record<string, string | number>;

export class ServerSource implements Source {
  async traces(signal?: AbortSignal): Promise<TraceInfo[]> {
    return (await this.json<{ traces: TraceInfo[] }>('traces', {}, signal)).traces;
  }

  methods(trace: number, ids: readonly number[]): Promise<Record<string, MethodName>> {
    return this.json('methods', { trace, ids: ids.join(',') });
  }

  async tile(trace: number, thread: number, span: Span, width: number, signal: AbortSignal): Promise<Tile> {
    const answer = await this.ask('tile', { trace, thread, ...span, width }, signal);
    return decodeTile(await answer.arrayBuffer());
  }

  lanes(trace: number, span: Span, bins: number, threads: readonly number[] | null, signal?: AbortSignal): Promise<Lanes> {
    return this.json('lanes', { trace, ...whole(span), bins, ...(threads ? { threads: ranges(threads) } : {}) }, signal);
  }

  heat(trace: number, span: Span, bins: number, rows: number, value: Heat, signal?: AbortSignal): Promise<HeatMap> {
    return this.json('heat', { trace, ...whole(span), bins, rows, value }, signal);
  }

  table(trace: number, what: TableName, query: Query, signal?: AbortSignal): Promise<Table> {
    return this.json('table', { trace, what, ...parameters(query) }, signal);
  }

  tree(trace: number, query: Query, signal?: AbortSignal): Promise<TreeAnswer> {
    return this.json('table', { trace, what: 'tree', ...parameters(query) }, signal);
  }

  find(trace: number, text: string, signal?: AbortSignal): Promise<FoundAnswer> {
    return this.json('find', { trace, text }, signal);
  }

  occurrences(trace: number, method: number, span: Span, bins: number, signal?: AbortSignal): Promise<Occurrences> {
    return this.json('occurrences', { trace, method, ...whole(span), bins }, signal);
  }

  call(trace: number, thread: number, time: number, level: number, signal?: AbortSignal, until?: number): Promise<CallAnswer> {
    return this.json('call', { trace, thread, time, level, ...(until === undefined ? {} : { until: Math.ceil(until) }) }, signal);
  }

  private async json<Answer>(path: string, values: Parameters, signal?: AbortSignal): Promise<Answer> {
    return (await (await this.ask(path, values, signal)).json()) as Answer;
  }

  private async ask(path: string, values: Parameters, signal?: AbortSignal): Promise<Response> {
    const query = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const answer = await fetch(`/api/${path}${query.length > 0 ? '?' : ''}${query.join('&')}`, { signal: signal ?? null });
    if (answer.ok) return answer;
    let text = `${answer.status} ${answer.statusText}`;
    try {
      text = String(((await answer.json()) as { error: unknown }).error);
    } catch {
      // The status says enough if the answer is not JSON.
    }
    throw new Error(text);
  }
}

/** The server takes whole nanoseconds. */
function whole(span: Span): Parameters {
  const from = Math.floor(span.from);
  return { from, until: Math.max(from + 1, Math.ceil(span.until)) };
}

function parameters(query: Query): Parameters {
  const values: Parameters = { ...whole(query.span), limit: query.limit };
  if (query.threads) values.threads = ranges(query.threads);
  if (query.method !== null) values.method = query.method;
  if (query.isNet) values.net = 1;
  if (query.sort !== '') values.sort = query.sort;
  if (query.isReversed) values.reverse = 1;
  if (query.filter !== '') values.filter = query.filter;
  return values;
}
