// Drives the page in a browser against `jtrail view` with real traces, and compares its figures with
// those of `jtrail report` and `jtrail dump`.
// `node test/real.mjs FOLDER TRACE TRACE`; JTRAIL names the binary, CHROMIUM the browser.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Driver, hash, steady } from './drive.mjs';
import { HOSTILE, hostileTrace } from './hostile.mjs';
import { nameOf, report, slowest, sums } from './report.mjs';
import { launch, startView } from './start.mjs';

const [folder, trace, other] = process.argv.slice(2);
const jtrail = process.env.JTRAIL;
assert.ok(jtrail && folder && trace && other, 'usage: JTRAIL=jtrail node test/real.mjs FOLDER TRACE TRACE');
await mkdir(folder, { recursive: true });

const facts = report(jtrail, trace);
const browser = await launch();
const driver = new Driver(browser, folder);
const { problems } = driver;
const step = driver.step.bind(driver);
const shoot = driver.shoot.bind(driver);
const server = await startView(jtrail, [trace]);
const own = new URL(server.address).origin;

/** Waits until the page is still, and what it shows is that of the whole selection. */
async function settle(page) {
  const isWhole = () => !document.querySelector('.share, .facts progress, .old, [aria-busy=true]');
  for (let isSame = false; !isSame; ) {
    await driver.settle(page);
    isSame = await page.evaluate(isWhole);
    if (!isSame) await page.waitForFunction(isWhole, null, { timeout: 60_000 });
  }
}

async function open(address, options) {
  const page = await driver.open(address, options, true);
  await settle(page);
  return page;
}

/** Goes to the slowest call of the marked method, as soon as it is known. */
async function toSlowest(page) {
  await page.waitForSelector('[title^="Jumps to the slowest call"]');
  await page.keyboard.press('s');
  await page.waitForSelector('.detail dl');
  await settle(page);
}

/** Clears the mark, the selected call and the selection. */
async function clear(page) {
  for (let n = 0; n < 3; n++) await page.keyboard.press('Escape');
  await settle(page);
}

const tableOf = async (page, tab) => {
  await page.click(`#tab-${tab}`);
  await settle(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('.panel button:has-text("TSV")')]);
  const [head, ...rows] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n').map((line) => line.split('\t'));
  return rows.map((row) => Object.fromEntries(row.map((cell, at) => [head[at], cell])));
};

const viewOf = async (page) => {
  await steady(page);
  const { v } = await hash(page);
  return v ? v.split('-').map(Number) : [0, facts.trace.duration_ns];
};

let page = await open(server.address);

await step('opens with the facts of the trace', async () => {
  await shoot(page, 'open');
  const text = await page.locator('header').innerText();
  assert.ok(text.includes('shop.trail'), text);
  assert.match(text, /complete: 0 lost/);
  assert.equal(new URL(page.url()).origin, own);
  assert.ok(!page.url().includes('token'), 'the token leaves the address');
});

await step('zooms down to one call by the wheel', async () => {
  const box = await page.locator('.timeline canvas').boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
  for (let turn = 0; turn < 40; turn++) await page.mouse.wheel(0, -240);
  await settle(page);
  const [from, until] = await viewOf(page);
  assert.ok(until - from < 2000, `${until - from} ns`);
  await shoot(page, 'one-call');
});

await step('finds a method, and its slowest call is that of the dump', async () => {
  await page.keyboard.press('/');
  await page.keyboard.type('checkout.process');
  await page.waitForSelector('#found [role=option]');
  await shoot(page, 'search');
  await page.keyboard.press('Enter');
  await toSlowest(page);
  await shoot(page, 'slowest');
  const expected = slowest(jtrail, trace, 'org.example.shop.orders.Checkout', 'process');
  assert.ok(expected > 0);
  const { c } = await hash(page);
  const [thread, begin, level] = c.split(':').map(Number);
  const call = await page.evaluate((path) => fetch(path).then((answer) => answer.json()), `/api/call?trace=0&thread=${thread}&time=${begin}&level=${level}`);
  assert.equal(call.end - call.begin, expected);
  assert.match(await page.locator('.detail').innerText(), /process/);
});

await step('back and forward, and a new page shows what the address says', async () => {
  const last = await page.evaluate(() => location.hash);
  await page.goBack();
  await steady(page);
  assert.notEqual(await page.evaluate(() => location.hash), last);
  await page.goForward();
  await settle(page);
  assert.equal(await page.evaluate(() => location.hash), last);
  const detail = await page.locator('.detail h2').innerText();
  // Another server has another token and another port.
  const again = await startView(jtrail, [trace]);
  const elsewhere = await open(again.address);
  await elsewhere.evaluate((text) => (location.hash = text), last);
  await elsewhere.reload();
  await settle(elsewhere);
  assert.equal(await elsewhere.locator('.detail h2').innerText(), detail);
  assert.deepEqual(await viewOf(elsewhere), await viewOf(page));
  await shoot(elsewhere, 'address');
  await elsewhere.context().close();
  await again.stop();
  await clear(page);
  await page.keyboard.press('0');
});

await step('drags a selection', async () => {
  const box = await page.locator('.overview canvas').boundingBox();
  await page.mouse.move(box.x + 500, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 640, box.y + 70, { steps: 5 });
  await page.mouse.up();
  await settle(page);
  const [from, until] = (await hash(page)).s.split('-').map(Number);
  assert.ok(until > from);
  await page.click('#tab-methods');
  await settle(page);
  assert.ok((await page.locator('.panel tbody tr').count()) > 0);
  await shoot(page, 'selection');
  await clear(page);
  assert.equal((await hash(page)).s, undefined);
});

await step('methods are those of the report', async () => {
  const rows = await tableOf(page, 'methods');
  await shoot(page, 'methods');
  const shown = sums(rows, (row) => nameOf(row.method), [(row) => Number(row.calls), (row) => Number(row['self (ns)'])]);
  const said = sums(facts.methods, (row) => nameOf(row.method), [(row) => row.calls, (row) => row.self_ns]);
  assert.deepEqual(shown, said);
});

await step('callers and callees of a method', async () => {
  await page.locator('td.method button').first().click();
  await page.click('#tab-callers');
  await settle(page);
  assert.equal(await page.locator('.two .table').count(), 2);
  await shoot(page, 'callers');
  await page.keyboard.press('Escape');
});

await step('threads are those of the report', async () => {
  const rows = await tableOf(page, 'threads');
  await shoot(page, 'threads');
  const shown = sums(rows, (row) => row.thread, [(row) => Number(row.calls), (row) => Number(row['busy (ns)'])]);
  const said = sums(facts.threads, (row) => row.name, [(row) => row.calls, (row) => row.busy_ns]);
  const called = Object.fromEntries(Object.entries(said).filter(([, [calls]]) => calls > 0));
  const busy = Object.fromEntries(Object.entries(shown).filter(([, [calls]]) => calls > 0));
  assert.deepEqual(busy, called);
});

await step('allocations are those of the report', async () => {
  const rows = await tableOf(page, 'allocations');
  await shoot(page, 'allocations');
  const shown = sums(rows, (row) => row.class, [(row) => Number(row.objects), (row) => Number(row.bytes)]);
  const said = sums(facts.allocations, (row) => row.class, [(row) => row.objects, (row) => row.bytes]);
  assert.deepEqual(shown, said);
});

await step('waits are those of the report', async () => {
  const rows = await tableOf(page, 'waits');
  await shoot(page, 'waits');
  const shown = sums(rows, (row) => row.wait, [() => 1]);
  const all = (table, column) => table.reduce((sum, row) => sum + row[column], 0);
  assert.deepEqual(shown, {
    'blocked on a monitor': [facts.trace.blocked],
    'Object.wait': [all(facts.waits, 'waits')],
    parked: [all(facts.parks, 'parks')],
  });
  const longest = (name) => Math.max(...rows.filter((row) => row.wait === name).map((row) => Number(row['length (ns)'])));
  assert.ok(longest('Object.wait') <= facts.trace.duration_ns, `${longest('Object.wait')} ns`);
  assert.equal(longest('blocked on a monitor'), Math.max(...facts.monitors.map((row) => row.blocked_ns)));
  assert.equal(longest('parked'), Math.max(...facts.parks.map((row) => row.longest_ns)));
});

await step('exceptions are those of the report', async () => {
  const rows = await tableOf(page, 'exceptions');
  await shoot(page, 'exceptions');
  const shown = sums(rows, (row) => `${row.exception} in ${nameOf(row['thrown in'])}`, [(row) => Number(row.thrown)]);
  const said = sums(facts.exceptions, (row) => `${row.class} in ${nameOf(row.site)}`, [(row) => row.thrown]);
  assert.deepEqual(shown, said);
});

await step('collections are those of the report', async () => {
  const rows = await tableOf(page, 'collections');
  await shoot(page, 'collections');
  assert.ok(facts.gc.length > 0, 'the program needs too little memory');
  assert.deepEqual(
    rows.map((row) => [Number(row['begin (ns)']), Number(row['length (ns)']), Number(row['used after'])]).sort(),
    facts.gc.map((row) => [row.start_ns, row.pause_ns, row.used_bytes]).sort(),
  );
});

await step('the call tree and the flame graph have all the time', async () => {
  await page.click('#tab-tree');
  await settle(page);
  const rows = page.locator('.panel tbody tr');
  assert.ok((await rows.count()) > 0);
  await shoot(page, 'tree');
  await page.click('#tab-flame');
  await settle(page);
  await shoot(page, 'flame');
});

await step('everything is reached from the keyboard', async () => {
  await page.keyboard.press('Escape');
  await page.locator('body').evaluate(() => document.activeElement?.blur());
  const reached = new Set();
  for (let n = 0; n < 120; n++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => {
      const at = document.activeElement;
      return at.id || at.getAttribute('aria-roledescription') || at.getAttribute('role') || at.getAttribute('aria-label') || at.tagName;
    }));
  }
  for (const name of ['search', 'heat map', 'timeline', 'separator', 'tab-flame', 'flame graph']) assert.ok(reached.has(name), `${name} among ${[...reached]}`);
  await page.locator('.overview canvas').focus();
  for (let n = 0; n < 40; n++) await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  await settle(page);
  const selected = (await hash(page)).s;
  assert.ok(selected);
  assert.equal((await viewOf(page)).join('-'), selected);
  await page.locator('.timeline canvas').focus();
  // Tab has scrolled to the last threads; the main thread is the first one.
  for (let n = 0; n < 20; n++) await page.keyboard.press('PageUp');
  for (let n = 0; n < 4; n++) await page.keyboard.press('ArrowUp');
  await settle(page);
  await page.keyboard.press('Enter');
  await settle(page);
  await shoot(page, 'keyboard');
  assert.ok((await hash(page)).c, 'Enter selects a call');
  await page.locator('#tab-flame').focus();
  const tabs = await page.locator('[role=tab]').count();
  for (let n = 0; n < tabs; n++) {
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-selected')), 'true');
  }
  await clear(page);
  await steady(page);
  const left = await hash(page);
  assert.deepEqual([left.c, left.s, left.m], [undefined, undefined, undefined]);
});

await page.context().close();

await step('dark mode', async () => {
  // A token is good for one browser after the other, as for one who reloads the page.
  const dark = await open(server.address, { colorScheme: 'dark' });
  await shoot(dark, 'dark');
  await dark.context().close();
});

await server.stop();

await step('two traces side by side, with linked spans', async () => {
  const pair = await startView(jtrail, [trace, other]);
  const both = await open(pair.address);
  assert.equal(await both.locator('.trace').count(), 2);
  const canvas = await both.locator('.timeline canvas').first().boundingBox();
  await both.mouse.move(canvas.x + 300, canvas.y + 60);
  for (let n = 0; n < 6; n++) await both.mouse.wheel(0, -200);
  await steady(both);
  await settle(both);
  const state = await hash(both);
  assert.ok(state.v);
  assert.equal(state.v, state.v1);
  await shoot(both, 'two');
  await both.context().close();
  await pair.stop();
});

await step('hostile names do no harm', async () => {
  const file = join(folder, 'hostile.trcxml');
  await writeFile(file, hostileTrace());
  const bad = await startView(jtrail, [file]);
  const page = await open(`${bad.address}`);
  await page.keyboard.press('/');
  await page.keyboard.type('onerror');
  await page.waitForSelector('#found [role=option]');
  await page.keyboard.press('Enter');
  await toSlowest(page);
  assert.match(await page.locator('.detail').innerText(), /<img src=x onerror/);
  for (const tab of ['methods', 'callers', 'tree', 'threads', 'flame']) {
    await page.click(`#tab-${tab}`);
    await settle(page);
  }
  await page.click('#tab-threads');
  await settle(page);
  await shoot(page, 'hostile');
  assert.ok(HOSTILE.includes('window.harmed'));
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('script').count(), 1);
  await page.context().close();
  await bad.stop();
});

await step('a running program is shown and followed, up to its end', async () => {
  const file = join(folder, 'live.trail');
  const beside = dirname(jtrail);
  const java = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java';
  const agent = `-agentpath:${join(beside, 'libjtrail.so')}=server=enabled,format=trail,maxrate=20000,file=${file}`;
  const program = spawn(java, ['-Xmx256m', agent, '-cp', join(beside, 'harness', '11'), 'org.example.shop.Main', '4000'], { stdio: 'ignore' });
  const ended = new Promise((done) => program.once('exit', done));
  let live = null;
  // The agent has to open its command channel first.
  for (const begin = Date.now(); live === null; ) {
    live = await startView(jtrail, [String(program.pid)]).catch((error) => {
      if (Date.now() - begin > 20_000) throw error;
      return null;
    });
  }
  const page = await driver.open(live.address, {}, true);
  const info = () => page.evaluate(() => fetch('/api/traces').then((answer) => answer.json()).then(({ traces }) => ({ calls: traces[0].calls, events: traces[0].events, duration: traces[0].duration, live: traces[0].live })));
  const grows = async (than, key) => {
    for (let waited = 0; waited < 20_000; waited += 200) {
      const now = await info();
      if (now[key] > than) return now;
      await page.waitForTimeout(200);
    }
    throw new Error(`${key} stays at ${than}`);
  };
  await page.waitForSelector('.badge.live');
  const first = await info();
  assert.equal(first.live, true);
  await grows((await grows(first.calls, 'calls')).calls, 'calls');
  await grows(first.duration, 'duration');
  // The page shows the whole run, and so it follows.
  const pressed = () => page.locator('.badge.follow').getAttribute('aria-pressed');
  assert.equal(await pressed(), 'true');
  await page.waitForTimeout(1500);
  await shoot(page, 'live');
  await page.keyboard.press('f');
  await page.waitForFunction(() => /v=/.test(location.hash));
  const kept = (await hash(page)).v;
  assert.equal(await pressed(), 'false');
  await grows((await info()).duration + 1e9, 'duration');
  assert.equal((await hash(page)).v, kept, 'what is shown stays');
  await page.click('.badge.follow');
  await page.waitForFunction((v) => Number(location.hash.match(/v=[\d.]+-([\d.]+)/)?.[1]) > Number(v.split('-')[1]), kept);
  assert.equal(await pressed(), 'true');
  const before = Number((await hash(page)).v.split('-')[1]);
  await page.waitForFunction((until) => Number(location.hash.match(/v=[\d.]+-([\d.]+)/)?.[1]) > until, before, { timeout: 20_000 });
  await shoot(page, 'live-followed');
  program.kill('SIGTERM');
  await ended;
  await page.waitForFunction(() => /■ ended/.test(document.querySelector('header').innerText), null, { timeout: 30_000 });
  await page.keyboard.press('0');
  await page.click('#tab-methods');
  await settle(page);
  await shoot(page, 'live-ended');
  assert.match(await page.locator('header').innerText(), /complete: 0 lost/);
  const last = await info();
  const facts = report(jtrail, file);
  // Most calls are recorded as sums, which are no slices.
  assert.equal(last.calls, facts.trace.calls - facts.trace.summed_calls);
  assert.equal(last.duration, facts.trace.duration_ns + 1);
  await page.context().close();
  await live.stop();
});

assert.deepEqual(problems, []);
await browser.close();
process.exit();
