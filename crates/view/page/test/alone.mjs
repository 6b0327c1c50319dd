// Opens pages that `jtrail view --html` wrote, from the disk, and compares them with
// `jtrail report`. `node test/alone.mjs [folder for pictures]`; JTRAIL names the program (by
// default that of target/release or target/debug), CHROMIUM the browser. Needs a Java program to
// trace: that of the harness beside jtrail, and `java`, or JAVA_HOME.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');
const jtrail = process.env.JTRAIL ?? ['release', 'debug'].map((build) => join(target, build, 'jtrail')).find((path) => existsSync(path));
if (!jtrail) {
  console.log('skipped: stand-alone pages, because there is no jtrail; JTRAIL names one');
  process.exit();
}
const java = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java';
const harness = process.env.JTRAIL_HARNESS ?? join(dirname(resolve(jtrail)), 'harness', '11');
const hasJava = spawnSync(java, ['-version']).status === 0;
if (!process.env.TRAIL && !(hasJava && existsSync(harness))) {
  console.log(`skipped: stand-alone pages, because there is no ${hasJava ? harness : java} to trace; TRAIL names a trace of it`);
  process.exit();
}

const pictures = process.argv[2] ?? '.build/pictures';
await mkdir(pictures, { recursive: true });
const folder = await mkdtemp(join(tmpdir(), 'jtrail-alone-'));
/** Runs jtrail. Returns what it prints. */
const run = (...args) => execFileSync(jtrail, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] });
const trail = process.env.TRAIL ?? join(folder, 'shop.trail');
if (!process.env.TRAIL) {
  run('run', '--no-summary', '--format', 'trail', '--events', '+monitors+parks+exceptions+alloc', '--file', trail, '--', java, '-cp', harness, 'org.example.shop.Main');
}

const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const problems = [];

/** Writes a page of a selection and opens it from the disk. */
async function open(name, selection, options = {}) {
  const path = join(folder, `${name}.html`);
  const written = spawnSync(jtrail, ['view', trail, '--html', path, ...selection], { encoding: 'utf8' });
  assert.equal(written.status, 0, written.stderr);
  assert.match(written.stderr, /calls and [\d,]+ waits of [\d,]+ threads/);
  return visit(path, options);
}

async function visit(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`page error: ${error.stack}`));
  const address = pathToFileURL(path).href;
  page.on('request', (request) => {
    const url = request.url();
    if (url.split('#')[0] !== address && !url.startsWith('data:') && !url.startsWith('blob:')) problems.push(`request: ${url}`);
  });
  await page.goto(address);
  await page.waitForSelector('.timeline canvas');
  await settle(page);
  return page;
}

/** Waits until the panel's answer is there and drawn. */
async function settle(page) {
  await page.waitForTimeout(600);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
}

async function step(name, check) {
  const before = problems.length;
  const begin = Date.now();
  try {
    await check();
    assert.deepEqual(problems.slice(before), []);
    console.log(`ok   ${name} (${Date.now() - begin} ms)`);
  } catch (error) {
    console.log(`FAIL ${name}\n${error.stack}`);
    process.exitCode = 1;
  }
}

const shoot = (page, name) => page.screenshot({ path: join(pictures, `alone-${name}.png`) });
const report = (selection) => JSON.parse(run('report', trail, '--format', 'json', '--top', '0', ...selection));

/** Returns the rows of a tab as it saves them: cells are exact there. */
async function saved(page, tab) {
  await page.click(`#tab-${tab}`);
  await settle(page);
  if ((await page.locator('.panel tbody tr').count()) === 0) return [];
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('.panel button:has-text("TSV")')]);
  const [head, ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n').map((line) => line.split('\t'));
  return lines.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at]])));
}

/** Sums up rows by the full name of a method without its parameters. */
function byMethod(rows, nameOf, values) {
  const sums = {};
  for (const row of rows) {
    const sum = (sums[nameOf(row).replace(/\(.*$/, '')] ??= values.map(() => 0));
    values.forEach((value, at) => (sum[at] += Number(row[value])));
  }
  return sums;
}

const threads = report(['--only', 'threads']).threads;
const pool = threads.filter(({ name }) => name.startsWith('pool-'));
const checkout = threads.find(({ name }) => name === 'checkout-1');
const seconds = (ns) => `${(ns / 1e9).toFixed(9)}s`;

await step('a page of some threads has the figures of the report', async () => {
  const selection = ['--thread', 'pool-*'];
  const page = await open('threads', selection);
  const expected = report(selection);
  const methods = await saved(page, 'methods');
  const columns = [['calls', 'self (ns)', 'total (ns)'], ['calls', 'self_ns', 'total_ns']];
  assert.ok(methods.length > 3);
  assert.deepEqual(byMethod(methods, (row) => row.method, columns[0]), byMethod(expected.methods, (row) => row.method, columns[1]));
  const ofThreads = await saved(page, 'threads');
  assert.deepEqual(ofThreads.map((row) => Number(row.calls)).sort(), pool.map(({ calls }) => calls).sort());
  const sum = (rows, column) => rows.reduce((all, row) => all + Number(row[column]), 0);
  const allocations = await saved(page, 'allocations');
  for (const column of ['objects', 'bytes']) {
    const name = Object.keys(allocations[0]).find((head) => head.startsWith(column));
    assert.equal(sum(allocations, name), sum(expected.allocations, column), column);
  }
  assert.equal(sum(await saved(page, 'exceptions'), 'thrown'), sum(expected.exceptions, 'thrown'));
  assert.ok((await saved(page, 'waits')).length > 0);
  await shoot(page, 'waits');
  const tracks = await page.locator('.track .name').allInnerTexts();
  assert.ok(pool.every(({ name }) => tracks.some((track) => track.includes(name))), tracks.join());
  await page.click('#tab-flame');
  await settle(page);
  await shoot(page, 'threads');
  await page.context().close();
});

await step('a page of a span shows that span, and calls with their names', async () => {
  const from = checkout.start_ns + Math.floor((checkout.end_ns - checkout.start_ns) / 3);
  const selection = ['--from', seconds(from), '--until', seconds(from + 40e6)];
  const page = await open('span', selection);
  const text = await page.locator('header').innerText();
  assert.match(text, /40\.00 ms from/);
  const rows = byMethod(await saved(page, 'methods'), (row) => row.method, ['calls']);
  const began = Object.fromEntries(Object.entries(rows).filter(([, [calls]]) => calls > 0));
  assert.deepEqual(began, byMethod(report([...selection, '--only', 'methods']).methods, (row) => row.method, ['calls']));
  await shoot(page, 'span');
  // A call that a key selects is one of those in the trace, and its name is in the picture.
  await page.locator('.timeline canvas').focus();
  for (let n = 0; n < 14; n++) await page.keyboard.press('w');
  await settle(page);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.detail dl');
  const name = (await page.locator('.detail h2').innerText()).replace(/\(.*$/s, '').trim();
  assert.ok(Object.keys(rows).some((method) => method.endsWith(`.${name}`)), `${name}\n${Object.keys(rows).join('\n')}`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('button[aria-label="Save the timeline as SVG"]')]);
  const svg = await readFile(await download.path(), 'utf8');
  // The picture has names without their packages.
  assert.ok(Object.keys(rows).some((method) => svg.includes(`>${method.split('.').slice(-2).join('.')}<`)), svg.slice(0, 4000));
  await shoot(page, 'call');
  // The whole is the part, and not the run.
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await settle(page);
  assert.equal(await page.evaluate(() => /[#&]v=/.test(location.hash)), false);
  await page.context().close();
  const dark = await visit(join(folder, 'span.html'), { colorScheme: 'dark' });
  await shoot(dark, 'dark');
  await dark.context().close();
});

await step('the policy refuses what is not of the page', async () => {
  const html = await readFile(join(folder, 'span.html'), 'utf8');
  const path = join(folder, 'foreign.html');
  await writeFile(path, html.replace('</body>', '<script>window.harmed = 1</script><img src="http://127.0.0.1:9/x.png"></body>'));
  const before = problems.length;
  const page = await visit(path);
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  const refused = problems.splice(before).filter((text) => /Content Security Policy/.test(text));
  assert.ok(refused.length >= 2, 'the script and the picture are refused');
  await page.context().close();
});

await step('what is too much says what fits, and that does', async () => {
  const all = threads.reduce((sum, { calls }) => sum + calls, 0);
  if (all <= 1e6) return console.log(`     the trace has ${all} calls only`);
  const path = join(folder, 'part.html');
  const refused = spawnSync(jtrail, ['view', trail, '--html', path], { encoding: 'utf8' });
  assert.equal(refused.status, 2);
  assert.equal(existsSync(path), false);
  const proposed = /--from (\S+) --until (\S+)/.exec(refused.stderr);
  assert.ok(proposed, refused.stderr);
  const begin = Date.now();
  const page = await open('part', ['--from', proposed[1], '--until', proposed[2]]);
  console.log(`     ${(statSync(path).size / 1e6).toFixed(1)} MB, shown after ${Date.now() - begin} ms`);
  await page.click('#tab-methods');
  await page.waitForSelector('.panel tbody tr');
  await shoot(page, 'large');
  await page.context().close();
});

await browser.close();
await rm(folder, { recursive: true });
assert.deepEqual(problems, []);
process.exit();
