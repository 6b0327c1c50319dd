// Writes a stand-alone page: the page's files and the data of a trace in one HTML text.

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as answers from './answers.mjs';

const DIST = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');
const LANE_BINS = 400;

function embedTrace(trace, info) {
  const all = { threads: null, method: null, net: false };
  const table = (what) => ({ share: 1, ...answers.table(trace, what, 0, trace.duration + 1, all) });
  return {
    info,
    methods: Object.fromEntries(trace.methods.map((name, id) => [id, name])),
    slices: Object.fromEntries(
      trace.threads.map((thread, number) => [
        number,
        {
          begin: thread.begin.map((begin, at) => begin - (thread.begin[at - 1] ?? 0)),
          length: thread.begin.map((begin, at) => thread.end[at] - begin),
          method: thread.method,
          level: thread.level,
          kind: thread.kind,
        },
      ]),
    ),
    waits: trace.threads.flatMap((thread, number) => thread.waits.map((wait) => ({ thread: number, ...wait, owner_in: null }))),
    lanes: answers.lanes(trace, 0, trace.duration, LANE_BINS, null),
    tables: Object.fromEntries(['allocations', 'waits', 'exceptions', 'collections'].map((what) => [what, { ...table(what), total_rows: table(what).rows.length }])),
  };
}

/** Returns the page with its script, its style sheet and the data of traces. */
export async function embed(traces, infos) {
  const file = (name) => readFile(join(DIST, name), 'utf8');
  const data = { version: 1, traces: traces.map((trace, at) => embedTrace(trace, infos[at])) };
  // `<` only occurs in strings, where its escape means the same. No name can end the element.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c');
  const [html, script, style] = [await file('index.html'), await file('view.js'), await file('view.css')];
  return html
    .replace('<link rel="stylesheet" href="view.css">', () => `<style>${style}</style>`)
    .replace('<script src="view.js"></script>', () => `<script type="application/json" id="jtrail-data">${json}</script>\n<script>${script}</script>`);
}
