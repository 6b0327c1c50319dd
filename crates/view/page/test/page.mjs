// Drives the page in a browser against the mock server, and saves pictures of it.
// `node test/page.mjs [folder for pictures]`; CHROMIUM names the browser.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as answers from '../mock/answers.mjs';
import { embed } from '../mock/embed.mjs';
import { serve } from '../mock/server.mjs';
import { makeTrace } from '../mock/trace.mjs';
import { Driver, hash, steady } from './drive.mjs';
import { launch } from './start.mjs';

const folder = process.argv[2] ?? '.build/pictures';
await mkdir(folder, { recursive: true });
const browser = await launch();
const trace = makeTrace(1);
const info = answers.info(trace);
const base = makeTrace(2, 0.6, 200);
const log = [];
const server = await serve([trace], [info], { log });
const address = `http://127.0.0.1:${server.address().port}/`;
const driver = new Driver(browser, folder);
const { problems } = driver;
const open = driver.open.bind(driver);
const settle = driver.settle.bind(driver);
const shoot = driver.shoot.bind(driver);
const step = driver.step.bind(driver);

const viewOf = async (page) => {
  await steady(page);
  const text = (await hash(page)).v;
  return text ? text.split('-').map(Number) : [0, trace.duration];
};

/** Returns a point of the timeline for a call. */
async function pointOf(page, thread, time, level) {
  const [from, until] = await viewOf(page);
  const box = await page.locator('.timeline canvas').boundingBox();
  const top = await page.evaluate((name) => [...document.querySelectorAll('.track')].find((track) => track.querySelector('.name span').textContent === name).offsetTop - document.querySelector('.scroller').scrollTop, trace.threads[thread].name);
  // The first thread is unfolded: its rows have 16 pixels.
  const height = 16;
  return { x: box.x + ((time - from) / (until - from)) * box.width, y: box.y + top + 3 + (level + 0.5) * height };
}

const digits = (text) => Number(text.replace(/[^\d.]/g, ''));

const page = await open(address);

await step('opens with facts, heat map, timeline and flame graph', async () => {
  await shoot(page, 'open');
  const text = await page.locator('header').innerText();
  assert.match(text, /shop\.trail/);
  assert.match(text, /12 k events missing/);
  assert.equal(await page.locator('[role=tab]').count(), 9);
});

await step('asks for what is visible only', async () => {
  const tiles = log.filter((path) => path.startsWith('/api/tile'));
  assert.ok(tiles.length > 0 && tiles.length < 40, `${tiles.length} tiles`);
});

await step('zooms to a single call by the wheel', async () => {
  // The longest call of level 5 on the first thread, and the first short call within it.
  const thread = trace.threads[0];
  const call = thread.byLevel[5].filter((at) => thread.kind[at] === 0 && thread.end[at] - thread.begin[at] < 200)[500];
  const middle = (thread.begin[call] + thread.end[call]) / 2;
  for (let n = 0; n < 60; n++) {
    const [from, until] = await page.evaluate(() => (/v=([\d.]+)-([\d.]+)/.exec(location.hash) ?? [0, 0, 12.4e9]).slice(1).map(Number));
    if (until - from < 4000) break;
    const box = await page.locator('.timeline canvas').boundingBox();
    const at = await viewOf(page);
    await page.mouse.move(box.x + ((middle - at[0]) / (at[1] - at[0])) * box.width, box.y + 60);
    for (let turn = 0; turn < 4; turn++) await page.mouse.wheel(0, -240);
  }
  await settle(page);
  const [from, until] = await viewOf(page);
  assert.ok(until - from < 5000, `${until - from} ns`);
  await shoot(page, 'wheel');
  const point = await pointOf(page, 0, middle, 5);
  await page.mouse.move(point.x, point.y);
  await page.waitForTimeout(200);
  await shoot(page, 'hover');
  await page.mouse.click(point.x, point.y);
  await page.waitForSelector('.detail dl');
  const detail = await page.locator('.detail').innerText();
  assert.ok(detail.includes(trace.methods[thread.method[call]][1]), detail);
  assert.ok(detail.includes(`${thread.end[call] - thread.begin[call]} ns`), detail);
});

await step('goes to the caller and to the next call by keys', async () => {
  const before = await hash(page);
  await page.keyboard.press('c');
  await settle(page);
  const [, begin, level] = (await hash(page)).c.split(':').map(Number);
  assert.equal(level, 4);
  assert.ok(begin <= Number(before.c.split(':')[1]));
  await page.keyboard.press('n');
  await settle(page);
  assert.ok(Number((await hash(page)).c.split(':')[1]) > begin);
  await page.keyboard.press('p');
  await settle(page);
  assert.equal(Number((await hash(page)).c.split(':')[1]), begin);
  await shoot(page, 'call');
});

await step('back and forward of the browser', async () => {
  const last = await page.evaluate(() => location.hash);
  await page.goBack();
  await steady(page);
  const earlier = await page.evaluate(() => location.hash);
  assert.notEqual(earlier, last);
  await page.goForward();
  await settle(page);
  assert.equal(await page.evaluate(() => location.hash), last);
});

await step('the address shows the same picture elsewhere', async () => {
  const other = await open(await page.url());
  assert.equal(await other.locator('.detail h2').innerText(), await page.locator('.detail h2').innerText());
  assert.deepEqual(await viewOf(other), await viewOf(page));
  await other.context().close();
});

await step('zooms and pans by keys, to a single call', async () => {
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await page.mouse.move(800, 20);
  await page.locator('.timeline canvas').focus();
  await settle(page);
  for (let n = 0; n < 46; n++) await page.keyboard.press(n % 2 ? 'w' : 'ArrowUp');
  await settle(page);
  const [from, until] = await viewOf(page);
  assert.ok(until - from < 2000, `${until - from} ns`);
  await page.keyboard.press('d');
  const moved = await viewOf(page);
  assert.ok(moved[0] > from);
  await page.keyboard.press('Enter');
  await settle(page);
  assert.ok((await hash(page)).c, 'Enter selects a call');
  await page.keyboard.press('Shift+ArrowUp');
  assert.notEqual(await page.locator('.timeline [aria-live]').innerText(), '');
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
});

await step('finds a method and jumps to its slowest call', async () => {
  await page.keyboard.press('/');
  await page.keyboard.type('journal.wr');
  await page.waitForSelector('#found [role=option]');
  await shoot(page, 'search');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await settle(page);
  const method = Number((await hash(page)).m);
  assert.equal(trace.methods[method][1], 'write');
  await shoot(page, 'marked');
  await page.keyboard.press('s');
  await settle(page);
  let slowest = null;
  trace.threads.forEach((thread, number) => {
    thread.method.forEach((id, at) => {
      const length = thread.end[at] - thread.begin[at];
      if (id === method && thread.kind[at] <= 1 && (!slowest || length > slowest.length)) slowest = { number, begin: thread.begin[at], length };
    });
  });
  const [thread, begin] = (await hash(page)).c.split(':').map(Number);
  assert.deepEqual([thread, begin], [slowest.number, slowest.begin]);
  await shoot(page, 'slowest');
  await page.keyboard.press('Escape');
  assert.equal((await hash(page)).m, undefined);
  await page.keyboard.press('Escape');
});

await step('drags a selection', async () => {
  const box = await page.locator('.overview canvas').boundingBox();
  await page.mouse.move(box.x + 500, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 640, box.y + 80, { steps: 5 });
  await page.mouse.move(box.x + 700, box.y + 80, { steps: 5 });
  await page.mouse.up();
  await settle(page);
  const [from, until] = (await hash(page)).s.split('-').map(Number);
  assert.ok(until - from > 1e9 && until - from < 3e9);
  await page.keyboard.press('z');
  await settle(page);
  await shoot(page, 'selection');
});

/** Sums of the calls that begin in the selection, computed anew from the trace. */
async function expected() {
  const [from, until] = (await hash(page)).s.split('-').map(Number);
  const sums = new Map();
  for (const thread of trace.threads) {
    for (let at = 0; at < thread.begin.length; at++) {
      if (thread.kind[at] > 1 || thread.begin[at] < from || thread.begin[at] >= until) continue;
      const sum = sums.get(thread.method[at]) ?? { calls: 0, self: 0 };
      sum.calls++;
      sum.self += thread.self[at];
      sums.set(thread.method[at], sum);
    }
  }
  return sums;
}

for (const tab of ['methods', 'callers', 'tree', 'allocations', 'waits', 'exceptions', 'collections', 'threads', 'flame']) {
  await step(`tab ${tab}`, async () => {
    await page.click(`#tab-${tab}`);
    await settle(page);
    if (tab === 'callers') {
      assert.match(await page.locator('.panel').innerText(), /Choose a method/);
      await page.click('#tab-methods');
      await settle(page);
      await page.locator('td.method button').nth(2).click();
      await page.click('#tab-callers');
      await settle(page);
      assert.equal(await page.locator('.two .table').count(), 2);
    }
    await shoot(page, tab);
    if (tab !== 'flame') assert.ok((await page.locator('.panel tbody tr').count()) > 0);
    if (tab === 'callers') await page.keyboard.press('Escape');
    if (tab !== 'methods') return;
    const sums = await expected();
    const order = [...sums.entries()].sort((a, b) => b[1].self - a[1].self);
    assert.match(await page.locator('.table .bar').innerText(), new RegExp(`${order.length} rows`));
    for (let row = 0; row < 10; row++) {
      const [id, sum] = order[row];
      const cells = await page.locator('tbody tr').nth(row).locator('td').allInnerTexts();
      assert.ok(cells[0].includes(trace.methods[id][1]), `${cells[0]} ${trace.methods[id]}`);
      assert.equal(digits(cells[1]), sum.calls);
      const unit = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[cells[2].trim().split(' ').at(-1)];
      assert.ok(Math.abs(digits(cells[2]) * unit - sum.self) <= sum.self * 0.001, `${cells[2]} ${sum.self}`);
    }
    await page.click('th button:has-text("calls")');
    await settle(page);
    const most = Math.max(...[...sums.values()].map((sum) => sum.calls));
    assert.equal(digits((await page.locator('tbody tr').first().locator('td').allInnerTexts())[1]), most);
    assert.equal((await hash(page)).sort, 'calls');
    await page.fill('.filter', 'org.acme.shop');
    await settle(page);
    for (const name of await page.locator('tbody td.method').allInnerTexts()) assert.match(name, /org\.acme\.shop/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('.panel button:has-text("TSV")')]);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
    assert.equal(lines[0].split('\t')[2], 'self (ns)');
    assert.equal(lines.length - 1, [...sums.keys()].filter((id) => answers.fullName(trace.methods[id]).includes('org.acme.shop')).length);
    await page.fill('.filter', '');
  });
}

await step('saves pictures as SVG', async () => {
  for (const name of ['timeline', 'heat map', 'flame graph']) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(`button[aria-label="Save the ${name} as SVG"]`)]);
    const text = await readFile(await download.path(), 'utf8');
    assert.ok(text.startsWith('<svg') && text.trimEnd().endsWith('</svg>') && text.length > 2000, name);
    assert.ok(!/<(script|img|b|i) /.test(text));
    const parsed = await page.evaluate((svg) => new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('parsererror')?.textContent ?? '', text);
    assert.equal(parsed, '');
    await writeFile(join(folder, `${name.replace(' ', '-')}.svg`), text);
  }
});

await step('a thread is selected, and virtual threads unfold', async () => {
  await page.keyboard.press('0');
  await page.locator('.scroller').evaluate((scroller) => (scroller.scrollTop = scroller.scrollHeight));
  await settle(page);
  await page.click('.track.group .fold');
  await settle(page);
  assert.ok((await page.locator('.track').count()) < 80, 'only tracks in view have elements');
  await page.locator('.scroller').evaluate((scroller) => (scroller.scrollTop += 300));
  await settle(page);
  await shoot(page, 'virtual');
  await page.locator('.track .name').nth(9).click();
  await settle(page);
  assert.ok((await hash(page)).th);
  await page.keyboard.press('Escape');
});

await step('shows what is missing, and the keys', async () => {
  await page.click('.badge.warn');
  await shoot(page, 'missing');
  await page.click('.popup li button');
  await settle(page);
  assert.equal((await hash(page)).s, '9100000000-9160000000');
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open]');
  await shoot(page, 'keys');
  await page.keyboard.press('Escape');
  await page.waitForTimeout(100);
  assert.equal(await page.locator('dialog').count(), 0);
});

await step('hostile names do no harm', async () => {
  await page.keyboard.press('/');
  // Enter before the list is there chooses the first method of the list.
  await page.keyboard.type('onerror');
  await page.keyboard.press('Enter');
  await settle(page);
  await page.keyboard.press('s');
  await settle(page);
  await shoot(page, 'hostile');
  assert.match(await page.locator('.detail .owner').innerText(), /<\/script><img/);
  await page.click('#tab-exceptions');
  await page.click('#tab-methods');
  await page.fill('.filter', 'onerror');
  await settle(page);
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('script').count(), 1);
});

await step('pans and zooms', async () => {
  await page.goto(`${address}#`);
  await page.reload();
  await settle(page);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const scriptTime = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ScriptDuration').value * 1000;
  const before = await scriptTime();
  const rates = await page.evaluate(async () => {
    const canvas = document.querySelector('.timeline canvas');
    const times = [];
    let last = performance.now();
    for (let n = 0; n < 90; n++) {
      canvas.dispatchEvent(new WheelEvent('wheel', n < 45 ? { deltaY: -30, clientX: 900, clientY: 500, bubbles: true, cancelable: true } : { deltaX: 25, clientX: 900, clientY: 500, bubbles: true, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times.sort((a, b) => a - b);
  });
  const script = ((await scriptTime()) - before) / rates.length;
  const [middle, slow] = [rates[45], rates[85]];
  console.log(`     frame: median ${middle.toFixed(1)} ms, 95 % ${slow.toFixed(1)} ms, script ${script.toFixed(1)} ms`);
  // Without a graphics card and beside other work, these times say little about the page.
  assert.equal(rates.length, 90);
});

await page.context().close();

await step('dark mode', async () => {
  const dark = await open(`${address}#v=3200000000-3212000000&o=0,1&tab=methods&c=0:1000:0`, { colorScheme: 'dark' });
  await shoot(dark, 'dark');
  await dark.goto(`${address}#s=3000000000-4500000000`);
  await dark.reload();
  await settle(dark);
  await shoot(dark, 'dark-run');
  await dark.context().close();
});

await step('two traces side by side, linked and not', async () => {
  const infos = [info, answers.info(base, { title: 'shop-base.trail', complete: true, clock: 'ticks of 1.0 ms, calls may be up to 1.0 ms early' })];
  const pair = await serve([trace, base], infos);
  const both = await open(`http://127.0.0.1:${pair.address().port}/`);
  assert.equal(await both.locator('.trace').count(), 2);
  const canvas = await both.locator('.timeline canvas').first().boundingBox();
  await both.mouse.move(canvas.x + 200, canvas.y + 60);
  for (let n = 0; n < 12; n++) await both.mouse.wheel(0, -200);
  await steady(both);
  let state = await hash(both);
  assert.equal(state.v, state.v1);
  await settle(both);
  await both.selectOption('.which select', '1');
  await both.click('#tab-methods');
  await settle(both);
  await shoot(both, 'two');
  await both.click('label:has-text("linked") input');
  for (let n = 0; n < 6; n++) await both.mouse.move(canvas.x + 200 + n, canvas.y + 60);
  await both.mouse.wheel(0, 300);
  await steady(both);
  state = await hash(both);
  assert.notEqual(state.v, state.v1);
  await both.context().close();
  pair.close();
});

await step('a live trace grows and is followed', async () => {
  let duration = 6e9;
  const growing = await serve([trace], () => [{ ...info, live: true, indexed: 0.6, duration: (duration += 2e8) }]);
  const live = await open(`http://127.0.0.1:${growing.address().port}/#v=5000000000-6200000000`, {}, true);
  await live.waitForFunction(() => Number(/v=[\d.]+-([\d.]+)/.exec(location.hash)?.[1]) >= 6.5e9, null, { polling: 200, timeout: 120_000 });
  const until = Number((await hash(live)).v.split('-')[1]);
  assert.ok(until >= 6.5e9, String(until));
  assert.match(await live.locator('header').innerText(), /live/);
  await shoot(live, 'live');
  await live.context().close();
  growing.close();
});

await step('a row of the heat map selects its threads', async () => {
  const rows = await open(address);
  const box = await rows.locator('.overview canvas').boundingBox();
  await rows.mouse.click(box.x + 40, box.y + 20 + 10 * 12 + 15);
  await settle(rows);
  assert.equal((await hash(rows)).th, '20-3019');
  assert.match(await rows.locator('.selection').innerText(), /3,000 threads/);
  await shoot(rows, 'threads-of-row');
  await rows.context().close();
});

await step('odd traces open: empty, deep, many threads, strange names', async () => {
  const empty = { ...makeTrace(1, 0, 0), threads: [], duration: 0, collections: [], marks: [], bursts: [], missing: [] };
  const one = await serve([empty], [{ ...answers.info(empty), start: '', clock: '', cost: null, remarks: ['the trace is truncated'] }]);
  const page = await open(`http://127.0.0.1:${one.address().port}/#v=5-9&c=0:1:1&s=1-2&m=7`);
  problems.splice(0, problems.length, ...problems.filter((text) => !text.includes('status of 40')));
  await page.keyboard.press('Escape');
  await shoot(page, 'empty');
  await page.context().close();
  one.close();
  const many = makeTrace(5, 0.02, 40);
  const deep = many.threads[0];
  const middle = deep.begin.length;
  for (let level = 0; level < 3000; level++) deep.open(level % 50, 12_385_000_000 + level * 1000, level);
  for (let at = middle; at < deep.begin.length; at++) deep.end[at] = 12_399_000_000 - (at - middle) * 1000;
  deep.byLevel.forEach((list, level) => list.push(middle + level));
  for (let level = deep.byLevel.length; level < 3000; level++) deep.byLevel.push([middle + level]);
  const self = new Float64Array(deep.begin.length);
  self.set(deep.self);
  deep.self = self;
  const parents = new Int32Array(deep.begin.length).fill(-1);
  parents.set(deep.parent);
  for (let at = middle + 1; at < parents.length; at++) parents[at] = at - 1;
  deep.parent = parents;
  const other = await serve([many], [answers.info(many)]);
  const second = await open(`http://127.0.0.1:${other.address().port}/#v=12380000000-12400000000`);
  await shoot(second, 'deep');
  // The deepest call is reached by its address, and the caller of the deepest one by a key.
  await second.goto(`${second.url().split('#')[0]}#v=12380000000-12400000000&c=0:12387999000:2999`);
  await second.reload();
  await settle(second);
  await second.keyboard.press('c');
  await settle(second);
  assert.equal((await hash(second)).c, '0:12387998000:2998');
  assert.ok((await second.locator('.scroller').evaluate((scroller) => scroller.scrollTop)) > 40_000);
  await shoot(second, 'deepest');
  await second.context().close();
  other.close();
});

await step('a server that stops answering is reported, and asked again', async () => {
  const short = await serve([trace], [info]);
  const alone = await open(`http://127.0.0.1:${short.address().port}/`);
  const before = problems.length;
  await alone.route('**/api/tile*', (route) => route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":"the index is corrupt"}' }));
  await alone.locator('.timeline canvas').focus();
  for (let n = 0; n < 6; n++) await alone.keyboard.press('w');
  await alone.waitForSelector('.badge[role=alert]');
  assert.match(await alone.locator('header').innerText(), /the index is corrupt/);
  await alone.unroute('**/api/tile*');
  await alone.waitForSelector('.badge[role=alert]', { state: 'detached', timeout: 15_000 });
  // The browser reports each refused request.
  problems.splice(before, problems.length, ...problems.slice(before).filter((text) => !text.includes('status of 500')));
  await alone.context().close();
  short.close();
});

await step('a stand-alone page has its data in itself', async () => {
  const small = makeTrace(3, 0.1, 30);
  const html = await embed([small], [answers.info(small, { title: 'part.trail' })]);
  const alone = createServer((request, response) => response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' }).end(request.url === '/' ? html : ''));
  await new Promise((done) => alone.listen(0, '127.0.0.1', done));
  const asked = [];
  const page = await open(`http://127.0.0.1:${alone.address().port}/`);
  page.on('request', (request) => asked.push(request.url()));
  for (const tab of ['methods', 'tree', 'waits', 'exceptions', 'collections', 'threads']) {
    await page.click(`#tab-${tab}`);
    await settle(page);
    assert.ok((await page.locator('.panel tbody tr').count()) > 0, tab);
  }
  await page.click('#tab-methods');
  await settle(page);
  await shoot(page, 'alone');
  const expectedCalls = answers.table(small, 'methods', 0, small.duration + 1, {}).rows.sort((a, b) => b[2] - a[2]);
  const cells = await page.locator('tbody tr').first().locator('td').allInnerTexts();
  assert.ok(cells[0].includes(small.methods[expectedCalls[0][0]][1]));
  assert.equal(digits(cells[1]), expectedCalls[0][1]);
  assert.deepEqual(asked, []);
  // The same page from a disk: addresses of files have no host, and no path can be pushed.
  const path = resolve(folder, 'alone.html');
  await writeFile(path, html);
  const file = await open(pathToFileURL(path).href);
  await file.locator('.timeline canvas').focus();
  for (let n = 0; n < 8; n++) await file.keyboard.press('w');
  await settle(file);
  await file.keyboard.press('Enter');
  await settle(file);
  await file.keyboard.press('c');
  await settle(file);
  assert.ok((await hash(file)).c && (await hash(file)).v);
  await file.goBack();
  await file.keyboard.press('0');
  await file.keyboard.press('Escape');
  await file.context().close();
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  await page.context().close();
  alone.close();
});

assert.deepEqual(problems, []);
await browser.close();
process.exit();
