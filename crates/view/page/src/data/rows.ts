// Sorts, filters and cuts the rows of a table as the server does.

import type { Query } from './source.ts';
import type { Cell, Table } from './types.ts';

export function sortRows(table: Table, query: Pick<Query, 'sort' | 'isReversed' | 'filter' | 'limit'>, nameOf: (method: number) => string): Table {
  const { columns } = table;
  const text = (cell: Cell | undefined, at: number) => (columns[at]!.kind === 'method' ? nameOf(Number(cell)) : String(cell ?? ''));
  const wanted = query.filter.toLowerCase();
  const texts = columns.flatMap((column, at) => (column.kind === 'method' || column.kind === 'text' ? [at] : []));
  let rows = wanted === '' ? [...table.rows] : table.rows.filter((row) => texts.some((at) => text(row[at], at).toLowerCase().includes(wanted)));
  const named = columns.findIndex((column) => column.name === query.sort);
  const at = named >= 0 ? named : Math.max(0, columns.findIndex((column) => column.name === 'self' || column.name === 'busy'));
  const isText = columns[at]?.kind === 'text' || columns[at]?.kind === 'method';
  const isTime = columns[at]?.kind === 'time';
  rows.sort((a, b) => {
    if (isText) return text(a[at], at).localeCompare(text(b[at], at), 'en');
    const order = Number(b[at] ?? -1) - Number(a[at] ?? -1);
    return isTime ? -order : order;
  });
  if (query.isReversed) rows = rows.reverse();
  return { ...table, total_rows: rows.length, rows: rows.slice(0, query.limit) };
}
