// A server with a synthetic trace for work on the page: `node mock/server.mjs [port] [--two] [--live]`.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as answers from './answers.mjs';
import { makeTrace } from './trace.mjs';

const DIST = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const FILES = { '/': ['index.html', 'text/html; charset=utf-8'], '/view.js': ['view.js', 'text/javascript; charset=utf-8'], '/view.css': ['view.css', 'text/css; charset=utf-8'] };

/** Returns the numbers of a list such as `1,3-7`. */
function threadsOf(text) {
  if (!text) return null;
  const numbers = new Set();
  for (const part of text.split(',')) {
    const [first, last = first] = part.split('-').map(Number);
    for (let at = first; at <= last; at++) numbers.add(at);
  }
  return numbers;
}

/** Starts a server. `infos` are the traces as `/api/traces` lists them; `log` gets each path. */
export function serve(traces, infos, { port = 0, delay = 0, log = [] } = {}) {
  const kept = new Map();
  const answer = (path, query) => {
    const number = (name, other) => (query.has(name) ? Number(query.get(name)) : other);
    const trace = traces[number('trace', 0)];
    if (!trace) throw new Error('trace: no such trace');
    const [from, until, bins] = [number('from', 0), number('until', trace.duration), number('bins', 100)];
    const threads = threadsOf(query.get('threads'));
    switch (path) {
      case '/api/traces':
        return { traces: typeof infos === 'function' ? infos() : infos };
      case '/api/methods':
        return Object.fromEntries(query.get('ids').split(',').map((id) => [id, trace.methods[id] ?? ['', `method ${id}`, '']]));
      case '/api/tile':
        return answers.tile(trace, number('thread'), from, until, number('width'));
      case '/api/lanes':
        return answers.lanes(trace, from, until, bins, threads);
      case '/api/heat':
        return answers.heat(trace, from, until, bins, number('rows', 12), query.get('value'));
      case '/api/table':
        if (query.get('what') === 'tree') return answers.tree(trace, from, until, threads, number('limit', 20_000));
        return answers.arrange(trace, answers.table(trace, query.get('what'), from, until, { threads, method: number('method', null), net: query.get('net') === '1' }), {
          sort: query.get('sort'),
          reverse: query.get('reverse') === '1',
          filter: query.get('filter'),
          limit: number('limit', 200),
        });
      case '/api/find':
        return { methods: answers.find(trace, query.get('text')) };
      case '/api/occurrences':
        return answers.occurrences(trace, number('method'), from, until, bins);
      case '/api/call':
        return answers.call(trace, number('thread'), number('time'), number('level'));
      default:
        return null;
    }
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    log.push(request.url);
    const head = { 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };
    const file = FILES[url.pathname];
    try {
      if (file) {
        response.writeHead(200, { ...head, 'Content-Type': file[1] }).end(await readFile(join(DIST, file[0])));
        return;
      }
      const isKept = !url.pathname.endsWith('/traces') && !url.pathname.endsWith('/tile');
      let found = isKept ? kept.get(request.url) : undefined;
      found ??= answer(url.pathname, url.searchParams);
      if (isKept) kept.set(request.url, found);
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      if (found === null || found === undefined) response.writeHead(404, { ...head, 'Content-Type': 'application/json' }).end(JSON.stringify({ error: 'not found' }));
      else if (Buffer.isBuffer(found)) response.writeHead(200, { ...head, 'Content-Type': 'application/octet-stream' }).end(found);
      else response.writeHead(200, { ...head, 'Content-Type': 'application/json' }).end(JSON.stringify(found));
    } catch (error) {
      response.writeHead(400, { ...head, 'Content-Type': 'application/json' }).end(JSON.stringify({ error: error.message }));
    }
  });
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flags = process.argv.slice(2);
  const traces = [makeTrace(1)];
  const infos = [answers.info(traces[0])];
  if (flags.includes('--two')) {
    traces.push(makeTrace(2, 0.6, 200));
    infos.push(answers.info(traces[1], { title: 'shop-base.trail', complete: true, clock: 'ticks of 1.0 ms, calls may be up to 1.0 ms early' }));
  }
  if (flags.includes('--live')) infos[0].live = true;
  const server = await serve(traces, infos, { port: Number(flags.find((flag) => /^\d+$/.test(flag)) ?? 0) });
  console.log(`http://127.0.0.1:${server.address().port}/`);
}
