// Measures `jtrail view` with real traces and a browser. scripts/measure-view runs it.

import assert from 'node:assert/strict';
import { existsSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { BarePage } from './bare.mjs';
import { launch, startView } from './start.mjs';

const MB = 1e6;
/** What users are promised. Times in ms, sizes in bytes. */
const LIMITS = {
  'first picture, with index': 1000,
  'first picture, without index': 3000,
  'tiles, median': 30,
  'tiles, 95 %': 100,
  'server, most memory': 300 * MB,
  'page, memory': 500 * MB,
};
/** Longest wait for what should take a second. */
const PATIENCE_MS = 300_000;
/** Longest wait for a sharp picture after a movement. */
const SHARP_MS = 20_000;
const POLL_MS = 10;

const { values: options, positionals: traces } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    index: { type: 'string', default: 'both' },
    tiles: { type: 'string', default: '300' },
    selections: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
});
if (traces.length === 0 || !['both', 'with', 'without'].includes(options.index)) {
  console.error('usage: measure-view [--out FILE] [--index with|without|both] [--tiles 300] [--selections 8] [--seed 1] TRACE…');
  process.exit(2);
}
if (options.out && existsSync(options.out)) {
  console.error(`measure-view: ${options.out} exists already; choose another FILE`);
  process.exit(2);
}
const jtrail = process.env.JTRAIL;
assert.ok(jtrail, 'JTRAIL names the binary');

let seed = Number(options.seed);
/** Returns a number from 0 to 1; the same ones for the same seed. */
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(isDone, ms) {
  const begin = performance.now();
  while (!(await isDone())) {
    if (performance.now() - begin > ms) return null;
    await pause(POLL_MS);
  }
  return performance.now() - begin;
}

/** Returns median, 95th percentile and maximum. */
function spread(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return { count: sorted.length, median: at(0.5), p95: at(0.95), most: at(1) };
}

const of = (answers, path) => answers.filter((answer) => answer.path === path && !answer.isCancelled);

/** Returns true if all of the timeline is there and nothing in it is coarse. */
function isSharp(page) {
  return page.run(() => document.querySelector('.timeline canvas')?.getAttribute('aria-busy') === 'false');
}

/** Opens a trace in a new server and a new page, until there is a heat map and a tile. */
async function open(browser, trace) {
  const page = await BarePage.open(browser, { width: 1920, height: 1080 });
  const begin = performance.now();
  const server = await startView(jtrail, [trace]);
  await page.goto(server.address);
  const has = await until(async () => {
    const answers = await page.answers();
    return of(answers, '/api/heat').length > 0 && of(answers, '/api/tile').length > 0;
  }, PATIENCE_MS);
  if (has === null) throw new Error(`${trace}: no picture after ${PATIENCE_MS / 1000} s`);
  // An animation frame later, what arrived is drawn.
  await page.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const first = performance.now() - begin;
  const isPartial = of(await page.answers(), '/api/heat')[0].isPartial;
  return { page, server, first, isPartial, begin };
}

/** Waits until the whole picture is there. Returns how long that took since the begin. */
async function complete({ page, begin }) {
  const done = await until(async () => {
    const answers = await page.answers();
    const isWhole = (path) => of(answers, path).at(-1)?.isPartial === false;
    return isWhole('/api/heat') && isWhole('/api/lanes') && (await isSharp(page));
  }, PATIENCE_MS);
  return done === null ? null : performance.now() - begin;
}

/** Zooms and pans at random, until the page has asked for enough tiles. */
async function wander(page) {
  const from = (await page.answers()).length;
  const since = async () => of((await page.answers()).slice(from), '/api/tile');
  const [sharp, blurred] = [[], []];
  const enough = Number(options.tiles);
  const begin = performance.now();
  for (let depth = 0; (await since()).length < enough && performance.now() - begin < PATIENCE_MS; ) {
    const box = await page.run(() => document.querySelector('.timeline canvas').getBoundingClientRect().toJSON());
    await page.move(box.x + box.width * (0.1 + 0.8 * random()), box.y + Math.min(box.height - 10, 40 + 200 * random()));
    // Mostly deeper; out again from single calls, and from time to time.
    const isOut = depth > 36 || (depth > 4 && random() < 0.25);
    const turns = isOut ? 2 + Math.floor(random() * depth) : 1 + Math.floor(random() * 6);
    for (let turn = 0; turn < turns; turn++) {
      await page.wheel(0, isOut ? 240 : -240);
      await pause(30);
    }
    depth = Math.max(0, depth + (isOut ? -turns : turns));
    if (random() < 0.3) await page.wheel(400 * (random() - 0.5) * 4, 0);
    const stopped = performance.now();
    await pause(50);
    const done = await until(() => isSharp(page), SHARP_MS);
    if (done === null) blurred.push(SHARP_MS);
    else sharp.push(performance.now() - stopped);
  }
  const tiles = await since();
  const cancelled = (await page.answers()).filter(({ isCancelled }) => isCancelled).length;
  return {
    tiles: spread(tiles.map(({ ms }) => ms)),
    server: spread(tiles.map(({ server }) => server)),
    coarse: tiles.filter(({ isPartial }) => isPartial).length,
    cancelled,
    sharp: spread([...sharp, ...blurred]),
    blurred: blurred.length,
  };
}

/** Asks for tables of random selections, as the page does, until they are complete. */
async function tables(page, duration) {
  const found = {};
  for (const what of ['methods', 'tree']) {
    const [firsts, wholes] = [[], []];
    for (let number = 0; number < Number(options.selections); number++) {
      const length = Math.max(1, Math.floor(duration * 10 ** (-4 * random())));
      const from = Math.floor(random() * (duration - length));
      const query = `/api/table?trace=0&what=${what}&from=${from}&until=${from + length}&limit=${what === 'tree' ? 20_000 : 200}`;
      const [first, whole] = await page.run(async (path, patience) => {
        const begin = performance.now();
        for (let first = null; ; ) {
          const { share } = await (await fetch(path)).json();
          first ??= performance.now() - begin;
          if (share >= 1 || performance.now() - begin > patience) return [first, performance.now() - begin];
        }
      }, query, PATIENCE_MS);
      firsts.push(first);
      wholes.push(whole);
    }
    found[what] = { first: spread(firsts), whole: spread(wholes) };
  }
  return found;
}

const lines = [];
let isFailed = false;
function print(line) {
  console.log(line);
  lines.push(line);
}

/** Prints a row; `limit` names the limit of the value, if it has one. */
function row(name, value, format, limit) {
  const most = LIMITS[limit];
  const isOver = most !== undefined && !(value < most);
  isFailed ||= isOver;
  const verdict = most === undefined ? '' : `< ${format(most)}  ${isOver ? 'FAIL' : 'pass'}`;
  print(`  ${name.padEnd(44)}${format(value).padStart(12)}  ${verdict}`.trimEnd());
}
const ms = (value) => (value === null ? 'never' : value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(value < 10 ? 1 : 0)} ms`);
const mb = (value) => `${(value / MB).toFixed(0)} MB`;
const number = String;

async function measure(trace, mode) {
  print(`${basename(trace)}, ${(statSync(trace).size / MB).toFixed(0)} MB, ${mode}`);
  const browser = await launch();
  const opened = await open(browser, trace);
  const { page, server, first, isPartial } = opened;
  try {
    row('first picture', first, ms, `first picture, ${mode}`);
    row('  all of the heat map in it', isPartial ? 'no' : 'yes', String);
    row('whole picture, sharp', await complete(opened), ms);
    const wandered = await wander(page);
    row('tiles', wandered.tiles.count, number);
    row('tiles, median', wandered.tiles.median, ms, 'tiles, median');
    row('tiles, 95 %', wandered.tiles.p95, ms, 'tiles, 95 %');
    row('tiles, most', wandered.tiles.most, ms);
    row('  of that in the server: median', wandered.server.median, ms);
    row('  of that in the server: 95 %', wandered.server.p95, ms);
    row('tiles that were coarse', wandered.coarse, number);
    row('requests that the page cancelled', wandered.cancelled, number);
    row('sharp after a movement, median', wandered.sharp.median, ms);
    row('sharp after a movement, 95 %', wandered.sharp.p95, ms);
    row(`movements without a sharp picture in ${SHARP_MS / 1000} s`, wandered.blurred, number);
    row('server, memory after the tiles', server.memory().most, mb);
    const duration = await page.run(async () => (await (await fetch('/api/traces')).json()).traces[0].duration);
    for (const [what, { first: part, whole }] of Object.entries(await tables(page, duration))) {
      row(`table ${what}, first answer, median`, part.median, ms);
      row(`table ${what}, first answer, most`, part.most, ms);
      row(`table ${what}, complete, median`, whole.median, ms);
      row(`table ${what}, complete, most`, whole.most, ms);
    }
    const answers = await page.answers();
    for (const path of new Set(answers.map((answer) => answer.path))) {
      const { count, median, most } = spread(of(answers, path).map((answer) => answer.ms));
      if (path.startsWith('/api/')) row(`  ${path}: ${count} answers, median ${ms(median)}, most`, most, ms);
    }
    const memory = server.memory();
    row('server, most memory', memory.most, mb, 'server, most memory');
    row('server, memory at the end', memory.now, mb);
    const { objects, own, loaded } = await page.memory();
    row('page, objects', objects, mb);
    row('page, memory of its process', loaded, mb, 'page, memory');
    row('  without what processes share', own, mb);
  } finally {
    await browser.close();
    await server.stop();
  }
}

/** Lets jtrail write the index of a trace. Returns false if it writes none. */
async function index(trace, file) {
  if (existsSync(file)) return true;
  const browser = await launch();
  const { page, server } = await open(browser, trace);
  try {
    const asked = () => page.run(async () => (await (await fetch('/api/traces')).json()).traces[0].indexed >= 1);
    await until(asked, PATIENCE_MS);
    return (await until(() => existsSync(file), 2000)) !== null;
  } finally {
    await browser.close();
    await server.stop();
  }
}

for (const trace of traces) {
  const file = `${trace}.idx`;
  if (options.index !== 'with') {
    const kept = `${file}.${process.pid}`;
    const had = existsSync(file);
    if (had) renameSync(file, kept);
    try {
      await measure(trace, 'without index');
    } finally {
      if (had) {
        if (existsSync(file)) unlinkSync(file);
        renameSync(kept, file);
      }
    }
  }
  if (options.index !== 'without') {
    if (await index(trace, file)) await measure(trace, 'with index');
    else print(`${basename(trace)}: this jtrail writes no index ${basename(file)}`);
  }
}
if (options.out) writeFileSync(options.out, lines.join('\n') + '\n', { flag: 'wx' });
process.exit(isFailed ? 1 : 0);
