// Texts that several parts of the page show.

import type { TraceInfo } from '../data/types.ts';
import type { Names } from '../data/names.ts';
import { visible } from '../pure/format.ts';
import { shortName } from '../pure/names.ts';

export function threadName(info: TraceInfo, thread: number): string {
  const name = info.threads.name[thread] ?? '';
  return visible(name === '' ? `thread ${info.threads.id[thread] ?? thread}` : name, 200);
}

export function methodName(names: Names, method: number): string {
  const name = names.get(method);
  return name ? shortName(name) : '…';
}

/** A text for people who use a trace's title and program. */
export function titleOf(info: TraceInfo): string {
  return visible(info.title || info.program || 'trace', 120);
}
