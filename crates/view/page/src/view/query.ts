// The question of the panels: the selection of a trace, and how its rows are shown.

import type { Query } from '../data/source.ts';
import { ranges } from '../pure/state.ts';
import type { Session } from './session.ts';

export function queryOf(session: Session, trace: number, method: number | null, limit: number): { key: string; query: Query } {
  const { state } = session;
  const { threads } = session.traceState(trace);
  const span = session.selection(trace);
  const query: Query = { span, threads, method, isNet: state.isNet, limit, sort: state.sort, isReversed: state.isReversed, filter: state.filter };
  const info = session.info(trace);
  // Answers of a trace that grows, or whose index grows, change with it.
  const key = [trace, span.from, span.until, threads && ranges(threads), method, state.isNet, limit, state.sort, state.isReversed, state.filter, info.events, info.indexed].join(' ');
  return { key, query };
}
