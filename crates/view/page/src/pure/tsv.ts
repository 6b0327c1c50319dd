// Tables as tab-separated values.

/** Returns a cell: tabs and line ends would be taken for separators. */
function cell(value: unknown): string {
  return String(value ?? '').replace(/[\t\r\n]/g, ' ');
}

export function tsv(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return [head, ...rows].map((row) => row.map(cell).join('\t') + '\n').join('');
}

/** Returns a name that every file system takes. */
export function fileName(...parts: string[]): string {
  return parts.map((part) => part.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|-+$/g, '')).filter(Boolean).join('-').slice(0, 120);
}
