// What the command line says about a trace, in the form of the page's tables.

import { execFileSync } from 'node:child_process';

const run = (jtrail, ...words) => execFileSync(jtrail, words, { encoding: 'utf8', maxBuffer: 1 << 30 });

/** Returns `org.acme.Shop.pay` for a method or site with a signature. */
export const nameOf = (method) => method.replace(/\(.*$/, '');

/** Adds up numbers of rows that have the same key. */
export function sums(rows, key, numbers) {
  const found = {};
  for (const row of rows) {
    const sum = (found[key(row)] ??= numbers.map(() => 0));
    numbers.forEach((of, at) => (sum[at] += of(row)));
  }
  return found;
}

/** Returns all tables of `jtrail report`. */
export function report(jtrail, trace) {
  return JSON.parse(run(jtrail, 'report', '--format', 'json', '--top', '0', '--depth', '0', trace));
}

/** Returns the length in ns of the longest call of a method, from the events of the trace. */
export function slowest(jtrail, trace, owner, method) {
  const begun = new Map();
  let longest = 0n;
  for (const line of run(jtrail, 'dump', '--class', owner, trace).split('\n')) {
    const [, seconds, fraction, thread, what, name, ticket] = /^(\d+)\.(\d{9}) (#\d+) (enter|leave) ([^\s(]+)\S* ticket=(\d+)/.exec(line) ?? [];
    if (name !== `${owner}.${method}`) continue;
    const time = BigInt(seconds) * 1_000_000_000n + BigInt(fraction);
    const key = `${thread} ${ticket}`;
    if (what === 'enter') begun.set(key, time);
    else if (begun.has(key) && time - begun.get(key) > longest) longest = time - begun.get(key);
  }
  return Number(longest);
}
