// The answers of the mock server, computed from the synthetic trace in the plainest way.

import { NONE, SHORTER } from './trace.mjs';

export function info(trace, options = {}) {
  const { threads, duration, missing } = trace;
  const calls = threads.map((thread) => thread.kind.filter((kind) => kind <= 1).length);
  const all = calls.reduce((a, b) => a + b, 0);
  return {
    title: options.title ?? 'shop.trail',
    program: 'org.acme.shop.Main --port 8080',
    start: '1730000000000000000',
    duration,
    events: 2 * all + 140,
    calls: all,
    clock: options.clock ?? 'exact',
    missing: options.complete ? [] : missing.map(([from, until, events, text]) => ({ from, until, events, text })),
    remarks: options.remarks ?? [],
    cost: { per_call_ns: 11.2, text: 'about 11 ns for each call' },
    indexed: options.indexed ?? 1,
    live: options.live ?? false,
    threads: {
      id: threads.map((_, at) => String(at + 1)),
      name: threads.map((thread) => thread.name),
      group: threads.map((thread) => thread.group),
      virtual: threads.map((thread) => Number(thread.isVirtual)),
      start: threads.map((thread) => thread.begin[0]),
      end: threads.map((thread, at) => (at === 7 ? thread.end[0] : thread.isVirtual ? thread.end[0] : -1)),
      calls,
      busy: threads.map((thread) => thread.self.reduce((sum, value, at) => sum + (thread.kind[at] <= 1 ? value : 0), 0)),
      levels: threads.map((thread) => thread.depth),
    },
  };
}

/** Returns the first number of `list` whose call ends after `time`. */
function after(list, end, time) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (end[list[middle]] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function tile(trace, number, from, until, width) {
  const thread = trace.threads[number];
  const perPixel = (until - from) / width;
  const rows = [];
  let levels = 0;
  thread.byLevel.forEach((list, level) => {
    let last = null;
    for (let place = after(list, thread.end, from); place < list.length; place++) {
      const at = list[place];
      const [begin, end] = [thread.begin[at], thread.end[at]];
      if (begin >= until) break;
      levels = level + 1;
      const isWide = end - begin >= perPixel;
      const pixel = Math.floor((begin - from) / perPixel);
      if (!isWide && last && last.pixel === pixel) {
        last.count++;
        last.end = end;
        if (end - begin > last.most && thread.method[at] !== NONE) [last.most, last.method] = [end - begin, thread.method[at]];
        if (thread.kind[at] !== last.kind) last.kind = 0;
        continue;
      }
      const row = { begin, end, method: thread.method[at], count: 1, level, kind: thread.kind[at], pixel: isWide ? -1 : pixel, most: end - begin };
      rows.push(row);
      last = isWide ? null : row;
    }
  });
  for (const [begin, end] of trace.missing) if (end > from && begin < until && !thread.isVirtual) rows.push({ begin, end, method: NONE, count: 1, level: 0, kind: 5 });
  const n = rows.length;
  const columns = [Float64Array.from(rows, (r) => r.begin), Float64Array.from(rows, (r) => r.end), Uint32Array.from(rows, (r) => r.method), Uint32Array.from(rows, (r) => r.count), Uint16Array.from(rows, (r) => r.level), Uint8Array.from(rows, (r) => r.kind)];
  const parts = [Buffer.from(Uint32Array.of(0x4c54544a, n, levels, 0).buffer)];
  for (const column of columns) {
    const bytes = Buffer.from(column.buffer);
    parts.push(bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8));
  }
  return Buffer.concat(parts);
}

function binner(from, until, bins) {
  return (time) => Math.floor(((time - from) / (until - from)) * bins);
}

/** Adds a span's length to the bins that it touches. */
function spread(sums, from, until, begin, end) {
  const size = (until - from) / sums.length;
  for (let bin = Math.max(0, Math.floor((begin - from) / size)); bin < sums.length && from + bin * size < end; bin++) {
    sums[bin] += Math.max(0, Math.min(end, from + (bin + 1) * size) - Math.max(begin, from + bin * size));
  }
}

export function lanes(trace, from, until, bins, threads) {
  const zeros = () => new Array(bins).fill(0);
  const answer = { from, until, bins, calls: zeros(), allocated: zeros(), cpu: zeros(), blocked: zeros(), parked: zeros(), exceptions: zeros(), heap: zeros(), live_threads: zeros() };
  const bin = binner(from, until, bins);
  trace.threads.forEach((thread, number) => {
    if (threads && !threads.has(number)) return;
    thread.begin.forEach((begin, at) => {
      const to = bin(begin);
      if (thread.kind[at] <= 1) {
        if (to < 0 || to >= bins) return;
        answer.calls[to]++;
        answer.allocated[to] += (thread.method[at] % 7) * 24;
        answer.cpu[to] += Math.min(thread.self[at], 1e5);
        if (thread.kind[at] === 1) answer.exceptions[to]++;
      } else spread(thread.kind[at] === 2 ? answer.blocked : answer.parked, from, until, begin, thread.end[at]);
    });
  });
  const { collections } = trace;
  answer.heap = answer.heap.map((_, at) => {
    const time = from + ((at + 0.5) * (until - from)) / bins;
    if (time < 100_000_000) return null;
    const next = collections.findIndex((collection) => collection[1] > time);
    const previous = next < 0 ? collections.at(-1) : collections[next - 1];
    return Math.floor((previous?.[4] ?? 3e7) + (time - (previous?.[1] ?? 0)) * 0.35);
  });
  answer.live_threads = answer.live_threads.map((_, at) => trace.threads.filter((thread) => thread.begin[0] < from + ((at + 1) * (until - from)) / bins && thread.end[0] > from + (at * (until - from)) / bins).length);
  const within = (list) => list.filter((entry) => entry[0] < until && entry[1] > from);
  return {
    ...answer,
    collections: within(collections),
    marks: trace.marks.filter(([time]) => time >= from && time < until),
    bursts: within(trace.bursts),
    missing: within(trace.missing).map((entry) => entry.slice(0, 2)),
    shares: { collections: 1, marks: 1, bursts: 1, missing: 1 },
  };
}

export function heat(trace, from, until, bins, wanted, value) {
  const platform = trace.threads.map((_, at) => at).filter((at) => !trace.threads[at].isVirtual);
  const virtual = trace.threads.map((_, at) => at).filter((at) => trace.threads[at].isVirtual);
  const own = platform.slice(0, Math.max(1, wanted - 1));
  const rows = own.map((at) => ({ label: trace.threads[at].name, threads: [at] }));
  const rest = platform.slice(own.length);
  if (rest.length > 0) rows.push({ label: `${rest.length} threads`, threads: rest });
  if (virtual.length > 0) rows.push({ label: `${virtual.length} virtual threads`, threads: virtual });
  const bin = binner(from, until, bins);
  const values = rows.map((row) => {
    const sums = new Array(bins).fill(0);
    for (const number of row.threads) {
      const thread = trace.threads[number];
      thread.begin.forEach((begin, at) => {
        const to = bin(begin);
        if (thread.kind[at] > 1 || to < 0 || to >= bins) return;
        sums[to] += value === 'calls' ? 1 : value === 'cpu' ? Math.min(thread.self[at], 1e5) : (thread.method[at] % 7) * 24;
      });
    }
    return sums;
  });
  return { rows, values, max: Math.max(...values.flat()) };
}

/** Sums over the calls that begin within the span: calls, self and total by a key. */
export function* calls(trace, from, until, threads) {
  for (const [number, thread] of trace.threads.entries()) {
    if (threads && !threads.has(number)) continue;
    for (let at = 0; at < thread.begin.length; at++) {
      if (thread.kind[at] > 1 || thread.begin[at] < from || thread.begin[at] >= until) continue;
      yield { number, thread, at, method: thread.method[at], length: thread.end[at] - thread.begin[at], self: thread.self[at] };
    }
  }
}

function isRecursive(thread, at) {
  for (let above = thread.parent[at]; above >= 0; above = thread.parent[above]) if (thread.method[above] === thread.method[at]) return true;
  return false;
}

const SUMS = [['method', 'method'], ['calls', 'count'], ['self', 'ns'], ['total', 'ns'], ['mean', 'ns'], ['slowest', 'ns'], ['exceptions', 'count']];

function sums(rows, key) {
  const byKey = new Map();
  for (const row of rows) {
    const k = key(row);
    let sum = byKey.get(k);
    if (!sum) byKey.set(k, (sum = [k, 0, 0, 0, 0, 0, 0]));
    sum[1]++;
    sum[2] += row.self;
    if (!isRecursive(row.thread, row.at)) sum[3] += row.length;
    sum[5] = Math.max(sum[5], row.length);
    sum[6] += row.thread.kind[row.at];
  }
  for (const sum of byKey.values()) sum[4] = sum[3] / sum[1];
  return [...byKey.values()];
}

export function tree(trace, from, until, threads, limit) {
  const nodes = { parent: [0], method: [NONE], calls: [0], self: [0], total: [0] };
  const known = [new Map()];
  let current = null;
  let nodeOf = [];
  for (const { thread, at, method, length, self } of calls(trace, from, until, threads)) {
    if (thread !== current) [current, nodeOf] = [thread, new Map()];
    const parent = nodeOf.get(thread.parent[at]) ?? 0;
    let node = known[parent].get(method);
    if (node === undefined) {
      if (nodes.parent.length >= limit) {
        node = known[parent].get(SHORTER);
        if (node === undefined && nodes.method[parent] === SHORTER) node = parent;
      }
      if (node === undefined) {
        node = nodes.parent.length;
        known[parent].set(nodes.parent.length >= limit ? SHORTER : method, node);
        nodes.parent.push(parent);
        nodes.method.push(nodes.parent.length > limit ? SHORTER : method);
        nodes.calls.push(0);
        nodes.self.push(0);
        nodes.total.push(0);
        known.push(new Map());
      }
    }
    nodeOf.set(at, node);
    nodes.calls[node]++;
    nodes.self[node] += self;
    if (node !== parent) nodes.total[node] += length;
    if (parent === 0) nodes.total[0] += length;
  }
  nodes.calls[0] = nodes.calls.reduce((a, b) => a + b, 0);
  return { share: 1, nodes };
}

export function table(trace, what, from, until, { threads, method, net }) {
  const rows = () => calls(trace, from, until, threads);
  const filtered = function* (isWanted) {
    for (const row of rows()) if (isWanted(row)) yield row;
  };
  const inside = (time) => time >= from && time < until;
  const columns = (list) => list.map(([name, kind]) => ({ name, kind }));
  const own = (number) => !threads || threads.has(number);
  switch (what) {
    case 'methods': {
      const list = sums(rows(), (row) => row.method);
      if (net) for (const row of list) [row[2], row[3]] = [Math.max(0, row[2] - 11.2 * row[1]), Math.max(0, row[3] - 11.2 * row[1])];
      return { columns: columns(SUMS), rows: list };
    }
    case 'callers':
      return { columns: columns(SUMS), rows: sums(filtered((row) => row.method === method), (row) => row.thread.method[row.thread.parent[row.at]] ?? NONE) };
    case 'callees':
      return { columns: columns(SUMS), rows: sums(filtered((row) => row.thread.method[row.thread.parent[row.at]] === method), (row) => row.method) };
    case 'allocations': {
      const list = sums(rows(), (row) => row.method).map(([id, n]) => [['byte[]', 'java.lang.String', 'java.util.HashMap$Node', 'org.acme.shop.Order'][id % 4], id, n, n * (id % 7) * 24]);
      return { columns: columns([['class', 'text'], ['method', 'method'], ['objects', 'count'], ['size', 'bytes']]), rows: list.filter((row) => row[3] > 0) };
    }
    case 'waits': {
      const list = trace.threads.flatMap((thread, number) => (own(number) ? thread.waits.filter((wait) => inside(wait.begin)).map((wait) => [wait.begin, wait.end - wait.begin, ['', '', 'blocked on a monitor', 'Object.wait', 'parked'][wait.kind], number, wait.object, wait.owner, wait.owner === null ? null : 12]) : []));
      return { columns: columns([['begin', 'time'], ['length', 'ns'], ['kind', 'text'], ['thread', 'thread'], ['object', 'text'], ['owner', 'thread'], ['owner in', 'method']]), rows: list };
    }
    case 'exceptions':
      return { columns: columns([['time', 'time'], ['class', 'text'], ['thread', 'thread'], ['method', 'method']]), rows: trace.exceptions.filter(([time, number]) => inside(time) && own(number)).map(([time, number, type, id]) => [time, type, number, id]) };
    case 'collections':
      return { columns: columns([['begin', 'time'], ['length', 'ns'], ['kind', 'text'], ['cause', 'text'], ['used after', 'bytes']]), rows: trace.collections.filter(([begin]) => inside(begin)).map(([begin, end, ...rest]) => [begin, end - begin, ...rest]) };
    case 'threads': {
      const list = new Map();
      for (const row of rows()) {
        const sum = list.get(row.number) ?? [row.number, row.thread.group, row.thread.isVirtual ? 'virtual' : 'platform', 0, 0, row.thread.begin[0], row.thread.end[0] - row.thread.begin[0]];
        sum[3]++;
        sum[4] += row.self;
        list.set(row.number, sum);
      }
      return { columns: columns([['thread', 'thread'], ['group', 'text'], ['kind', 'text'], ['calls', 'count'], ['busy', 'ns'], ['start', 'time'], ['lifetime', 'ns']]), rows: [...list.values()] };
    }
    default:
      throw new Error(`what: unknown table ${what}`);
  }
}

export function fullName([owner, name, signature]) {
  return `${owner}.${name}${signature}`;
}

/** Sorts, filters and cuts a table. */
export function arrange(trace, { columns, rows }, { sort, reverse, filter, limit }) {
  const texts = columns.flatMap((column, at) => (column.kind === 'text' || column.kind === 'method' ? [at] : []));
  const text = (row, at) => (columns[at].kind === 'method' ? fullName(trace.methods[row[at]] ?? ['', '', '']) : String(row[at]));
  let list = filter ? rows.filter((row) => texts.some((at) => text(row, at).toLowerCase().includes(filter.toLowerCase()))) : rows;
  const defaults = ['self', 'size', 'busy', 'length'].map((name) => columns.findIndex((column) => column.name === name)).find((at) => at >= 0);
  const named = columns.findIndex((column) => column.name === sort);
  const at = named >= 0 ? named : (defaults ?? 0);
  const kind = columns[at].kind;
  list = [...list].sort((a, b) => (kind === 'text' || kind === 'method' ? text(a, at).localeCompare(text(b, at)) : kind === 'time' ? a[at] - b[at] : (b[at] ?? -1) - (a[at] ?? -1)));
  if (reverse) list.reverse();
  return { share: 1, total_rows: list.length, columns, rows: list.slice(0, limit) };
}

export function find(trace, text) {
  const totals = sums(calls(trace, 0, Infinity, null), (row) => row.method);
  const wanted = text.toLowerCase();
  return totals.filter(([id]) => fullName(trace.methods[id]).toLowerCase().includes(wanted)).map(([id, n, self, total]) => [id, n, total, self]).sort((a, b) => b[2] - a[2]).slice(0, 200);
}

export function occurrences(trace, method, from, until, bins) {
  const counts = new Array(bins).fill(0);
  const bin = binner(from, until, bins);
  let slowest = null;
  for (const { number, thread, at, length } of calls(trace, from, until, null)) {
    if (thread.method[at] !== method) continue;
    counts[bin(thread.begin[at])]++;
    if (!slowest || length > slowest.end - slowest.begin) slowest = { thread: number, begin: thread.begin[at], end: thread.end[at], level: thread.level[at] };
  }
  return { calls: counts, share: 1, slowest };
}

export function call(trace, number, time, level) {
  const thread = trace.threads[number];
  const list = thread?.byLevel[level] ?? [];
  const at = list[after(list, thread.end, time - 0.5)];
  if (at === undefined || thread.begin[at] > time) return null;
  const where = (other) => ({ begin: thread.begin[other], end: thread.end[other], level: thread.level[other] });
  const neighbour = (step) => {
    let other = at + step;
    while (other >= 0 && other < thread.begin.length && (thread.method[other] !== thread.method[at] || thread.kind[other] > 1)) other += step;
    return thread.begin[other] === undefined ? null : { thread: number, ...where(other) };
  };
  const parent = thread.parent[at];
  return {
    method: thread.method[at],
    ...where(at),
    self: thread.self[at],
    exception: thread.kind[at] === 1,
    caller: parent < 0 ? null : { method: thread.method[parent], ...where(parent) },
    next: neighbour(1),
    previous: neighbour(-1),
    waits: thread.waits
      .filter((wait) => wait.begin >= thread.begin[at] && wait.end <= thread.end[at])
      .slice(0, 100)
      .map((wait) => ({ kind: wait.kind, begin: wait.begin, end: wait.end, object: wait.object, owner: wait.owner, owner_in: wait.owner === null ? null : { method: trace.threads[wait.owner].method[0], ...first(trace.threads[wait.owner]) } })),
  };
}

function first(thread) {
  return { begin: thread.begin[0], end: thread.end[0], level: 0 };
}
