// A table of the selection: sortable, filterable, saved as tab-separated values.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TableName } from '../data/source.ts';
import type { Cell, Column, Table as Answer } from '../data/types.ts';
import { bytes, count, duration, moment, plural, visible } from '../pure/format.ts';
import { SPECIAL, fullName, shortName } from '../pure/names.ts';
import { fileName, tsv } from '../pure/tsv.ts';
import { save } from './download.ts';
import { useAnswer, useSession } from './hooks.ts';
import { queryOf } from './query.ts';
import type { Session } from './session.ts';
import { threadName } from './text.ts';

const FIRST_LIMIT = 200;
/** Rows of a saved table. */
const SAVE_LIMIT = 100_000;

const NUMBERS = new Set<string>(['count', 'ns', 'bytes', 'time']);

/** Returns a cell as it is saved: plain numbers, and names in full. */
function plain(session: Session, trace: number, cell: Cell, { kind }: Column): Cell {
  if (cell === null) return '';
  if (kind === 'method') return SPECIAL.get(Number(cell)) ?? (session.names[trace]!.get(Number(cell)) ? fullName(session.names[trace]!.get(Number(cell))!) : `method ${cell}`);
  if (kind === 'thread') return threadName(session.info(trace), Number(cell));
  return cell;
}

export function Table({ trace, what, caption, method = null }: { trace: number; what: TableName; caption: string; method?: number | null }): JSX.Element {
  const [limit, setLimit] = useState(FIRST_LIMIT);
  const session = useSession((s) => `${queryOf(s, trace, method, limit).key} ${s.names[trace]!.version} ${s.traceState(trace).method}`);
  const { key, query } = queryOf(session, trace, method, limit);
  useEffect(() => setLimit(FIRST_LIMIT), [what, method]);
  const { value, isOld, error } = useAnswer(`${what} ${key}`, (signal) => session.source.table(trace, what, query, signal), (answer) => answer.share < 1);
  const saveTable = async () => {
    const all = await session.source.table(trace, what, { ...query, limit: SAVE_LIMIT });
    // All names must be there before they are written.
    const ids = all.columns.flatMap((column, at) => (column.kind === 'method' ? all.rows.map((row) => Number(row[at])) : []));
    const known = new Map<number, string>();
    const unique = [...new Set(ids)].filter((id) => !SPECIAL.has(id));
    for (let at = 0; at < unique.length; at += 500) {
      for (const [id, name] of Object.entries(await session.source.methods(trace, unique.slice(at, at + 500)))) known.set(Number(id), fullName(name));
    }
    const rows = all.rows.map((row) => row.map((cell, at) => (all.columns[at]!.kind === 'method' ? (known.get(Number(cell)) ?? plain(session, trace, cell, all.columns[at]!)) : plain(session, trace, cell, all.columns[at]!))));
    const head = all.columns.map(({ name, kind }) => (kind === 'ns' || kind === 'time' ? `${name} (ns)` : name));
    save(fileName(session.info(trace).title, what) + '.tsv', 'text/tab-separated-values', tsv(head, rows));
  };
  if (error && !value) return <p class="error">{error}</p>;
  if (!value) return <p class="dim pad">Loading…</p>;
  return (
    <div class={`table ${isOld ? 'old' : ''}`} aria-busy={isOld}>
      <div class="bar">
        <span class="dim">
          {caption}: {plural(value.total_rows, 'row')}
          {value.rows.length < value.total_rows && `, the first ${count(value.rows.length)} are shown`}
        </span>
        <Share share={value.share} />
        {error && <span class="error">{error}</span>}
        <button class="plain" onClick={() => void saveTable()} title="Save the table as tab-separated values">
          ↓ TSV
        </button>
      </div>
      <div class="rows" tabIndex={0} role="region" aria-label={caption}>
        <table>
          <thead>
            <tr>
              {value.columns.map((column) => (
                <Head key={column.name} column={column} />
              ))}
            </tr>
          </thead>
          <tbody>
            {value.rows.map((row, at) => (
              <tr key={at} class={isMarked(session, trace, value, row) ? 'marked' : ''}>
                {value.columns.map((column, place) => (
                  <TableCell key={place} trace={trace} column={column} cell={row[place] ?? null} share={barShare(value, place, row)} thread={threadOf(value, row)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {value.rows.length === 0 && <p class="dim pad">{query.filter === '' ? 'Nothing in this selection.' : 'No row matches the filter.'}</p>}
        {value.rows.length < value.total_rows && (
          <button class="more" onClick={() => setLimit(limit * 4)}>
            Show more rows
          </button>
        )}
      </div>
    </div>
  );
}

function isMarked(session: Session, trace: number, { columns }: Answer, row: Cell[]): boolean {
  const { method } = session.traceState(trace);
  return method !== null && columns.some((column, at) => column.kind === 'method' && row[at] === method);
}

/** Share of the largest value of a column, for the bar behind a time or size. */
function barShare({ columns, rows }: Answer, place: number, row: Cell[]): number {
  const { kind, name } = columns[place]!;
  if ((kind !== 'ns' && kind !== 'bytes') || name === 'mean') return 0;
  let most = 0;
  for (const other of rows) most = Math.max(most, Number(other[place] ?? 0));
  return most > 0 ? Number(row[place] ?? 0) / most : 0;
}

/** Tells how much of a selection is in an answer. */
export function Share({ share }: { share: number }): JSX.Element | null {
  if (share >= 1) return null;
  return (
    <span class="share" role="status">
      <progress value={share} max={1} aria-label="Share of the selection that is summed up" /> {Math.floor(share * 100)}% of the selection so far
    </span>
  );
}

function Head({ column: { name, kind } }: { column: Column }): JSX.Element {
  const session = useSession(({ state }) => `${state.sort} ${state.isReversed}`);
  const { sort, isReversed } = session.state;
  const isSorted = sort === name;
  const isAscending = (kind === 'text' || kind === 'method' || kind === 'time' || kind === 'thread') !== isReversed;
  return (
    <th class={NUMBERS.has(kind) ? 'number' : ''} aria-sort={isSorted ? (isAscending ? 'ascending' : 'descending') : 'none'} scope="col">
      <button onClick={() => session.update({ sort: name, isReversed: isSorted ? !isReversed : false })}>
        {name}
        <span aria-hidden="true">{isSorted ? (isAscending ? ' ▴' : ' ▾') : ''}</span>
      </button>
    </th>
  );
}

/** Returns the thread of a row, if the table has a column of threads. */
function threadOf({ columns }: Answer, row: Cell[]): number | null {
  const at = columns.findIndex((column) => column.kind === 'thread');
  return at < 0 || row[at] == null ? null : Number(row[at]);
}

function TableCell({ trace, column, cell, share, thread }: { trace: number; column: Column; cell: Cell; share: number; thread: number | null }): JSX.Element {
  const session = useSession(() => null);
  const { kind } = column;
  if (cell === null) return <td class={NUMBERS.has(kind) ? 'number dim' : 'dim'}>–</td>;
  const value = Number(cell);
  switch (kind) {
    case 'method': {
      const special = SPECIAL.get(value);
      const name = session.names[trace]!.get(value);
      if (special !== undefined) return <td class="dim">{special === 'all calls' ? 'none' : special}</td>;
      return (
        <td class="method">
          <button class="link" title={name ? fullName(name) : ''} onClick={() => session.updateTrace(trace, { method: value })}>
            {name ? shortName(name) : '…'}
          </button>
          {name && <small>{visible(name[0].slice(0, Math.max(0, name[0].lastIndexOf('.'))), 80)}</small>}
        </td>
      );
    }
    case 'thread':
      return (
        <td>
          <button class="link" title="Selects the thread" onClick={() => session.updateTrace(trace, { threads: [value] })}>
            {threadName(session.info(trace), value)}
          </button>
        </td>
      );
    case 'time':
      return (
        <td class="number">
          <button class="link" title="Shows this time in the timeline" onClick={() => session.showTime(trace, value, thread)}>
            {moment(value)}
          </button>
        </td>
      );
    case 'ns':
      return (
        <td class="number">
          {share > 0 && <span class="share-bar" style={{ width: `${(64 * share).toFixed(1)}px` }} aria-hidden="true" />}
          {duration(value)}
        </td>
      );
    case 'bytes':
      return (
        <td class="number" title={`${count(value)} bytes`}>
          {share > 0 && <span class="share-bar" style={{ width: `${(64 * share).toFixed(1)}px` }} aria-hidden="true" />}
          {bytes(value)}
        </td>
      );
    case 'count':
      return <td class="number">{count(value)}</td>;
    default:
      return <td title={visible(String(cell), 2000)}>{visible(String(cell), 200)}</td>;
  }
}
