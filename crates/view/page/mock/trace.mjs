// A synthetic trace: the same calls each time, about a million on 20 threads and 3000 virtual ones.

export const NONE = 4294967295;
export const SHORTER = 4294967294;

/** Names that would do harm if a page took them for HTML, a script or a line of text. */
export const HOSTILE = [
  ['org.acme.</script><img src=x onerror=window.harmed=1>', '<b onmouseover="window.harmed=2">pay</b>', '(): void'],
  ['org.acme.Evil', '\u202egnp.exe\u0000\nsecond line', '(String, `${alert(1)}`): int'],
  ['javascript:window.harmed=3//', '{{constructor.constructor("window.harmed=4")()}}', '(): void'],
];

const PACKAGES = [
  ['org.acme.shop', ['Shop', 'Cart', 'Order', 'Checkout', 'Invoice', 'Discount'], ['pay', 'add', 'total', 'price', 'submit', 'validate', 'lookup']],
  ['org.acme.store', ['Store', 'Index', 'Page', 'Journal', 'Cache'], ['read', 'write', 'find', 'flush', 'evict', 'get', 'put', 'split']],
  ['org.acme.web', ['Router', 'Handler', 'Session', 'Json'], ['handle', 'route', 'parse', 'render', 'encode', 'decode']],
  ['com.example.net', ['Channel', 'Loop', 'Codec', 'Frame'], ['poll', 'select', 'send', 'receive', 'inflate']],
  ['com.example.metrics', ['Counter', 'Timer', 'Registry'], ['inc', 'record', 'snapshot']],
  ['org.lib.compress', ['Deflater', 'Huffman', 'Window'], ['deflate', 'encodeSymbol', 'slide', 'match']],
  ['java.util', ['HashMap', 'ArrayList', 'TreeMap', 'Arrays', 'Objects'], ['get', 'put', 'hash', 'resize', 'add', 'copyOf', 'sort', 'iterator']],
  ['java.lang', ['String', 'StringBuilder', 'Integer', 'Math'], ['valueOf', 'append', 'hashCode', 'equals', 'charAt', 'substring']],
  ['java.util.concurrent', ['ThreadPoolExecutor', 'FutureTask', 'ConcurrentHashMap'], ['runWorker', 'run', 'computeIfAbsent', 'get']],
];

/** Numbers from 0 to 1, the same ones for the same seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

class Thread {
  constructor(name, isVirtual, group) {
    Object.assign(this, { name, isVirtual, group, begin: [], end: [], method: [], level: [], kind: [], waits: [], depth: 0 });
  }

  open(method, begin, level, kind = 0) {
    this.begin.push(begin);
    this.end.push(begin);
    this.method.push(method);
    this.level.push(level);
    this.kind.push(kind);
    this.depth = Math.max(this.depth, level + 1);
    return this.begin.length - 1;
  }
}

/** Makes a trace. `size` 1 has about a million calls. */
export function makeTrace(seed = 1, size = 1, virtualThreads = 3000) {
  const rand = random(seed);
  const methods = [];
  for (const [owner, classes, names] of PACKAGES) {
    for (const type of classes) for (const name of names) methods.push([`${owner}.${type}`, name, name.length % 2 ? '(int, String): void' : '(Object): boolean']);
  }
  const hostile = HOSTILE.map((name) => methods.push(name) - 1);
  const ordinary = methods.length - hostile.length;
  const callees = methods.map((_, at) => {
    const list = [];
    const n = 2 + Math.floor(rand() * 4);
    for (let i = 0; i < n; i++) list.push(Math.min(ordinary - 1, at + 1 + Math.floor(rand() * 40)));
    return list;
  });
  const find = (owner, name) => methods.findIndex((method) => method[0] === owner && method[1] === name);
  const [entry, worker, task] = [find('org.acme.web.Handler', 'handle'), find('java.util.concurrent.ThreadPoolExecutor', 'runWorker'), find('java.util.concurrent.FutureTask', 'run')];
  const pay = find('org.acme.shop.Shop', 'pay');
  const duration = 12_400_000_000;
  const threads = [];

  /** Makes a call with its callees, and returns its end. */
  const call = (thread, method, begin, level, budget) => {
    const at = thread.open(method, begin, level, rand() < 0.0004 ? 1 : 0);
    let time = begin + 12 + Math.floor(rand() * 60);
    let left = budget - 1;
    const list = callees[method];
    while (left > 0 && level < 24) {
      const share = Math.max(1, Math.floor(left * (0.2 + 0.6 * rand())));
      const chosen = rand() < 0.0015 ? hostile[Math.floor(rand() * hostile.length)] : list[Math.floor(rand() * list.length)];
      time = call(thread, chosen, time, level + 1, share) + 8 + Math.floor(rand() * 40);
      left -= share;
      if (rand() < 0.004) time = wait(thread, 2, time, level + 1, 20_000 + Math.floor(rand() * 900_000));
    }
    // From 20 ns to some milliseconds: short calls are frequent, and most time is in long ones.
    if (budget <= 1) time += Math.floor(10 ** (1.3 + 4.6 * rand() ** 1.6 + (rand() < 0.004 ? 1.2 * rand() : 0)));
    thread.end[at] = time + 10;
    return thread.end[at];
  };
  const wait = (thread, kind, begin, level, length) => {
    const at = thread.open(NONE, begin, level, kind);
    thread.end[at] = begin + length;
    const owner = kind === 2 && threads.length > 1 ? Math.floor(rand() * Math.min(threads.length, 20)) : null;
    thread.waits.push({ kind, begin, end: begin + length, level, object: kind === 2 ? 'org.acme.store.Journal' : kind === 3 ? 'java.lang.Object' : 'java.util.concurrent.locks.AbstractQueuedSynchronizer', owner });
    return begin + length;
  };

  for (let number = 0; number < 20; number++) {
    const name = number === 0 ? 'main' : number < 13 ? `worker-${number}` : number === 19 ? '</script><img src=x onerror=window.harmed=5>' : `io-${number - 12}`;
    const thread = new Thread(name, false, number === 0 ? 'main' : number < 13 ? 'workers' : 'system');
    threads.push(thread);
    const start = number === 0 ? 1000 : 30_000_000 + number * 17_000_000;
    const last = number === 7 ? 8_000_000_000 : duration - 20_000_000 - number * 1_000_000;
    const root = thread.open(number === 0 ? pay : worker, start, 0);
    const second = thread.open(task, start + 900, 1);
    const wanted = Math.floor(30_000 * size * (0.5 + rand()));
    let time = start + 2000;
    let busy = 0.2 + 0.8 * rand();
    while (time < last) {
      if (rand() < 0.02) busy = 0.1 + 0.9 * rand();
      const load = busy * (0.6 + 0.4 * Math.sin(time / 1.3e9 + number));
      if (rand() > load) {
        const length = Math.floor(((last - start) / 400) * (0.2 + 1.2 * rand()));
        time = wait(thread, rand() < 0.3 ? 3 : 4, time, 2, Math.min(length, last - time - 100));
        if (time >= last - 1000) break;
      }
      const many = Math.floor((wanted / 330) * (0.3 + 2 * rand() ** 2)) + 3;
      time = call(thread, rand() < 0.6 ? entry : Math.floor(rand() * 60), time, 2, many);
      // Work between the traced calls, so that the calls spread over the run.
      time += Math.floor(((last - start) / 9000) * rand());
    }
    thread.end[second] = Math.max(time, last);
    thread.end[root] = thread.end[second] + 500;
  }
  for (let number = 0; number < virtualThreads; number++) {
    const thread = new Thread(number % 5 === 0 ? '' : `request-${number}`, true, 'virtual');
    threads.push(thread);
    let time = 200_000_000 + Math.floor((number / virtualThreads) * 10_500_000_000 + rand() * 1e9);
    const root = thread.open(entry, time, 0);
    time = call(thread, Math.floor(rand() * 80), time + 100, 1, 4 + Math.floor(rand() * 20));
    time = wait(thread, 4, time + 50, 1, Math.floor(rand() * 20_000_000));
    time = call(thread, Math.floor(rand() * 80), time + 100, 1, 4 + Math.floor(rand() * 20));
    thread.end[root] = time + 100;
  }
  for (const thread of threads) prepare(thread);
  return { seed, methods, threads, duration, ...surroundings(rand, duration) };
}

/** Adds the caller's number to each call, the self time, and the numbers of the calls of each level. */
function prepare(thread) {
  const n = thread.begin.length;
  thread.parent = new Int32Array(n).fill(-1);
  thread.self = new Float64Array(n);
  thread.byLevel = [];
  const open = [];
  for (let at = 0; at < n; at++) {
    const level = thread.level[at];
    open.length = level;
    thread.self[at] = thread.end[at] - thread.begin[at];
    if (level > 0) thread.parent[at] = open[level - 1];
    if (level > 0 && thread.kind[at] <= 1) thread.self[open[level - 1]] -= thread.end[at] - thread.begin[at];
    open[level] = at;
    (thread.byLevel[level] ??= []).push(at);
  }
}

/** What happened beside the calls. */
function surroundings(rand, duration) {
  const collections = [];
  for (let time = 300_000_000; time < duration - 1e8; time += 180_000_000 + rand() * 260_000_000) {
    const isFull = rand() < 0.06;
    const begin = Math.floor(time);
    collections.push([begin, begin + Math.floor(isFull ? 140_000_000 * (0.5 + rand()) : 9_000_000 * (0.3 + rand())), isFull ? 'full collection' : 'young collection', isFull ? 'Metadata GC Threshold' : 'G1 Evacuation Pause', Math.floor((40 + 30 * rand() + (time / duration) * 60) * 1048576)]);
  }
  return {
    collections,
    marks: [[1_100_000_000, 'warm-up ends'], [5_000_000_000, 'load test begins'], [10_000_000_000, '<i>load</i> test ends']],
    bursts: [[3_200_000_000, 3_400_000_000, 'burst: slow call of Shop.pay'], [7_000_000_000, 7_250_000_000, 'burst: latency above 50 ms']],
    missing: [[9_100_000_000, 9_160_000_000, 12_400, 'lost: buffers were full']],
    exceptions: Array.from({ length: 140 }, () => [Math.floor(rand() ** 2 * duration), Math.floor(rand() * 20), ['java.io.IOException', 'java.lang.NumberFormatException', 'org.acme.</script>Error'][Math.floor(rand() * 3)], Math.floor(rand() * 100)]).sort((a, b) => a[0] - b[0]),
  };
}
