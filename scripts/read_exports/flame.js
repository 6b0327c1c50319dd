// Opens flame graph pages in Chromium, and compares what they show with `jtrail report`.
//
//     node flame.js DIR
//
// NODE_PATH has playwright-core; CHROMIUM is the browser (/usr/bin/chromium-headless-shell). DIR has
// for each trace NAME:
//
//     NAME.html           jtrail export NAME --to flame
//     NAME.json           jtrail report NAME --format json --only methods,trace,allocation_threads --top 0
//     NAME@THREAD.json    the same with --thread THREAD, if wanted
//     NAME-vs-BASE.html   jtrail export NAME --to flame --base BASE, if wanted
//
// Pages that no trace gives are made by `flame_data.js` from the first one. The exit code is 1 if a
// check fails.

'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { large, withData } = require('./flame_data.js');
const { Page } = require('./flame_page.js');
const { checkComparison, checkTrace } = require('./flame_reports.js');

// Three times what a page of 100,000 paths takes at most on a quiet machine.
const MAX_LOAD_MS = 3000;

const METHOD = (name, parameters = '()V') => ['com.acme.shop.Shop', name, parameters];

/** Two threads; `walk` calls itself. Times are in ns. */
const SMALL = {
  titles: ['small.trail'],
  marks: ['a mark'],
  paths: [
    { level: 0, frame: 'main', weights: [{ waiting: 7 }] },
    { level: 1, frame: METHOD('run'), weights: [{ calls: 1, time: 100, bytes: 32, waiting: 40 }] },
    { level: 2, frame: METHOD('walk', '(I[Ljava/lang/String;)V'), weights: [{ calls: 2, time: 300 }] },
    { level: 3, frame: METHOD('walk', '(I[Ljava/lang/String;)V'), weights: [{ calls: 5, time: 200 }] },
    { level: 4, frame: ['org.other.Other', 'leaf', '()V'], weights: [{ calls: 10, time: 100 }] },
    { level: 2, frame: ['org.other.Other', 'leaf', '()V'], weights: [{ calls: 3, time: 50 }] },
    { level: 0, frame: 'pool', weights: [{}] },
    { level: 1, frame: METHOD('run'), weights: [{ calls: 1, time: 250 }] },
  ],
};

/** Checks zoom, keys, tooltips, weights, threads, callers and search. */
async function checkUse(browser, make) {
  const page = await Page.open(browser, make('small', SMALL));
  const first = await page.hover(1, 0.1);
  assert.equal(first.name, 'Shop.run()');
  assert.deepEqual([first.total.values, first.self.values, first.calls.values], [[1000], [350], [2]]);
  assert.deepEqual([first['of-all'].text, first.average.text], [['100.0%'], ['500 ns']]);
  const walk = await page.hover(2, 0.1);
  assert.equal(walk.name, 'Shop.walk(int, String[])');
  assert.deepEqual([walk.total.values, walk.self.values, walk.calls.values], [[600], [300], [2]]);
  assert.deepEqual([walk['of-all'].text, walk['of-parent'].text], [['60.0%'], ['60.0%']]);

  // A click zooms, and Escape goes back.
  await page.tab.mouse.click(...page.at);
  await page.tab.waitForTimeout(250);
  assert.deepEqual(await page.crumbs(), ['all call paths', 'Shop.run()', 'Shop.walk(int, String[])']);
  assert.equal((await page.hover(2, 0.95)).name, 'Shop.walk(int, String[])');
  assert.deepEqual((await page.methods()).map((row) => [row.method, row.calls, row.self, row.total]), [
    ['com.acme.shop.Shop.walk(I[Ljava/lang/String;)V', 7, 500, 600],
    ['org.other.Other.leaf()V', 10, 100, 100],
  ]);
  await page.key('Escape');
  assert.deepEqual(await page.crumbs(), ['all call paths']);

  // Arrow keys move the focus; Enter zooms; the browser goes back.
  await page.key('ArrowDown', 'ArrowDown', 'ArrowRight');
  assert.equal((await page.tip()).name, 'Other.leaf()');
  assert.match(await page.text('#status'), /^Other\.leaf\(\) total 50 ns, self 50 ns, of all 5\.0%, of the caller 5\.0%, calls 3, average per call 17 ns, level 2$/);
  await page.key('ArrowLeft', 'Enter');
  assert.equal((await page.crumbs()).length, 3);
  await page.tab.goBack();
  await page.tab.waitForTimeout(250);
  assert.equal((await page.crumbs()).length, 1);
  await page.key('i', 'ArrowUp');
  assert.equal((await page.tip()).name, 'Shop.run()');
  await page.key('i');

  await checkViews(page);
  await checkSearch(page);
  await checkSelections(page);
  assert.deepEqual(page.faults, []);
  await page.close();
}

/** Checks the callers and callees of a method, and the self time by callers. */
async function checkViews(page) {
  // By the menu: callers of the method `leaf`.
  await page.hover(2, 0.62);
  await page.tab.mouse.click(...page.at, { button: 'right' });
  assert.equal(await page.text('#menu .head'), 'Other.leaf()');
  await page.key('ArrowDown', 'Enter');
  assert.match((await page.crumbs())[0], /^Callers of Other\.leaf\(\)/);
  const root = await page.hover(0, 0.5);
  assert.deepEqual([root.total.values, root.calls.values], [[150], [13]]);
  const caller = await page.hover(1, 0.1);
  assert.equal(caller.name, 'Shop.walk(int, String[])');
  assert.deepEqual([caller.total.values, caller.calls.values], [[100], [10]]);
  assert.equal((await page.hover(1, 0.9)).name, 'Shop.run()');
  await page.key('Escape');
  assert.deepEqual(await page.crumbs(), ['all call paths']);

  // Callers of a method that calls itself: 300 ns of its 600 ns are in the inner calls.
  await page.hover(2, 0.1);
  await page.tab.mouse.click(...page.at, { button: 'right' });
  await page.key('c');
  await page.key('ArrowDown', 'Enter');
  assert.deepEqual((await page.hover(0, 0.5)).total.values, [600]);
  assert.deepEqual((await page.hover(1, 0.9)).total.values, [300]);
  await page.tab.click('#crumbs .chip');

  await page.select('view', 'bottom-up');
  const names = [];
  for (const place of [0.1, 0.6, 0.95]) {
    const tip = await page.hover(1, place);
    names.push([tip.name, tip.total.values[0]]);
  }
  assert.deepEqual(names, [['Shop.walk(int, String[])', 500], ['Shop.run()', 350], ['Other.leaf()', 150]]);
  await page.key('Home');
}

/** Checks that the matched share counts nothing twice. */
async function checkSearch(page) {
  await page.key('/');
  assert.equal(await page.tab.evaluate(() => document.activeElement.id), 'find');
  assert.deepEqual((await page.search('walk')).values, [600]);
  assert.deepEqual((await page.search('org.other')).values, [150]);
  assert.match((await page.search('shop')).text, /^100\.0% · 2 methods$/);
  assert.deepEqual((await page.search('l.*k')).text, '0.0% · 0 methods');
  await page.tab.click('#regex');
  assert.deepEqual((await page.search('(walk|leaf)')).values, [650]);
  assert.equal((await page.search('(')).text, 'no regular expression');
  await page.tab.click('#regex');
  await page.search('leaf');
  await page.tab.focus('#find');
  await page.key('Enter');
  assert.equal((await page.tip()).name, 'Other.leaf()');
  await page.key('n');
  assert.deepEqual((await page.tip()).total.values, [50]);
  await page.tab.click('#unfind');
  assert.equal(await page.text('#found'), '');
  // A package of the legend.
  await page.tab.click('#legend button:has-text("org.other")');
  assert.equal(await page.tab.getAttribute('#found', 'data-value'), '150');
  await page.tab.click('#legend button:has-text("org.other")');
}

/** Checks weights and threads. */
async function checkSelections(page) {
  await page.select('weight', 'calls');
  assert.deepEqual((await page.hover(1, 0.1)).total.values, [22]);
  await page.key('w');
  assert.equal(await page.tab.inputValue('#weight'), 'bytes');
  assert.deepEqual((await page.hover(1, 0.1)).total.values, [32]);
  // A thread waits outside of calls, too.
  await page.select('weight', 'waiting');
  assert.deepEqual((await page.hover(0, 0.1)).total.values, [47]);
  await page.select('weight', 'running');
  assert.deepEqual((await page.hover(0, 0.1)).total.values, [960]);
  await page.select('weight', 'time');
  await page.select('threads', 'apart');
  const pool = await page.hover(1, 0.9);
  assert.deepEqual([pool.name, pool.total.values[0]], ['pool', 250]);
  await page.selectThread('main');
  assert.deepEqual((await page.hover(0, 0.5)).total.values, [750]);
  await page.tab.click('[data-key="calls"] button');
  assert.deepEqual((await page.methods()).map((row) => row.calls), [13, 7, 1]);
  await page.tab.click('#show-marks');
  assert.equal(await page.text('#marks-text li'), 'a mark');
  await page.key('Escape');
  await page.key('?');
  assert.ok(await page.tab.isVisible('#help'));
  await page.key('Escape');
}

/** Checks what is new, what vanished and what changed. */
async function checkChanges(browser, make) {
  const page = await Page.open(browser, make('changes', {
    titles: ['new.trail', 'old.trail'],
    paths: [
      { level: 0, frame: 'main', weights: [{}, {}] },
      { level: 1, frame: METHOD('kept'), weights: [{ calls: 2, time: 30 }, { calls: 1, time: 10 }] },
      { level: 1, frame: METHOD('added'), weights: [{ calls: 1, time: 20 }] },
      { level: 1, frame: METHOD('removed'), weights: [{}, { calls: 4, time: 40 }] },
    ],
  }));
  const seen = [];
  for (const place of [0.1, 0.6, 0.95]) {
    const tip = await page.hover(1, place);
    seen.push([tip.name, tip.total.values, tip.total.text[2]]);
  }
  assert.deepEqual(seen, [
    ['Shop.removed()', [0, 40], '−40 ns (vanished)'],
    ['Shop.kept()', [30, 10], '+20 ns (×3.0)'],
    ['Shop.added()', [20, 0], '+20 ns (new)'],
  ]);
  await page.select('widths', 'new');
  assert.deepEqual((await page.hover(1, 0.99)).name, 'Shop.added()');
  assert.deepEqual((await page.hover(1, 0.1)).name, 'Shop.kept()');
  await page.select('widths', 'base');
  assert.deepEqual((await page.hover(1, 0.1)).name, 'Shop.removed()');
  assert.deepEqual((await page.hover(1, 0.99)).name, 'Shop.kept()');
  assert.deepEqual(page.faults, []);
  await page.close();
}

/** Checks that no name becomes markup, and that each can be found. */
async function checkHostileNames(browser, make) {
  const names = ['</script><script>document.title = "injected"</script>', '<img src=x onerror="alert(1)">', '\'"`\\${alert(1)}', 'a\0b\r\nc\u2028d\u2029e', '\u202eevil\ufeff', '🔥 \ud83d', '__proto__', 'x'.repeat(65_535)];
  const paths = names.flatMap((name) => [
    { level: 0, frame: name, weights: [{}] },
    { level: 1, frame: [name, name, name], weights: [{ calls: 1, time: 10 }] },
  ]);
  const page = await Page.open(browser, make('hostile', { titles: [names[0]], marks: names, paths }));
  await page.select('threads', 'apart');
  for (let at = 0; at < names.length; at++) {
    await page.hover(2, (at + 0.5) / names.length);
    await page.tab.mouse.click(...page.at, { button: 'right' });
    await page.key('Escape');
  }
  await page.tab.click('#show-marks');
  await page.key('Escape');
  const rows = await page.methods();
  assert.deepEqual(rows.map((row) => row.method).sort(), names.map((name) => `${name}.${name}${name}`.toWellFormed()).sort());
  assert.deepEqual((await page.search('evil')).values, [10]);
  assert.deepEqual(await page.tab.$$eval('img, script', (all) => all.length), 1);
  assert.match(await page.tab.title(), /^<\/script><script>document\.title = "injected"<\/script> – flame graph$/);
  assert.deepEqual(page.faults, []);
  await page.close();
}

/** Checks that what was left out is said, and that the policy forbids requests. */
async function checkNotes(browser, make) {
  const page = await Page.open(browser, make('notes', { ...SMALL, marks: [], leftOut: 12_345 }));
  assert.equal(await page.text('#show-marks'), '1 note');
  assert.match(await page.text('#marks-text'), /12,345 smallest call paths are left out/);
  assert.deepEqual(page.faults, []);
  const isRefused = await page.tab.evaluate(() => fetch('http://127.0.0.1:9/').then(() => false, () => true));
  assert.ok(isRefused && page.faults.some((fault) => /Content Security Policy/.test(fault)), `${page.faults}`);
  await page.close();
}

/** Checks that a page with damaged data says so. */
async function checkDamage(browser, make) {
  const file = make('damaged', SMALL);
  const page = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, page.replace(/(id="profile">.{40}).{8}/, '$1AAAAAAAA'));
  const tab = await browser.newPage();
  await tab.goto(`file://${file}`);
  await tab.waitForSelector('#message:not([hidden])');
  assert.equal(await tab.textContent('#message'), "The flame graph can't be shown: its data are corrupt.");
  await tab.close();
}

/** Checks that bars which are too narrow to be drawn can be reached by the mouse. */
async function checkNarrowBars(browser, make) {
  const paths = [{ level: 0, frame: 'main', weights: [{}] }, { level: 1, frame: METHOD('run'), weights: [{ calls: 1 }] }];
  for (let at = 0; at < 5000; at++) paths.push({ level: 2, frame: METHOD(`m${at}`), weights: [{ calls: 1, time: 5000 - at }] });
  const page = await Page.open(browser, make('narrow', { titles: ['narrow'], paths }));
  assert.equal((await page.hover(2, 0.5)).name, '5,000 narrow callees of Shop.run()');
  await page.tab.mouse.click(...page.at);
  await page.tab.waitForTimeout(250);
  const seen = (await page.hover(2, 0.5)).name;
  assert.match(seen, /^Shop\.m1[45]\d\d\(\)$/);
  assert.deepEqual(await page.crumbs(), ['all call paths', 'Shop.run()']);
  await page.key('Escape');
  assert.equal((await page.hover(2, 0.5)).name, '5,000 narrow callees of Shop.run()');
  await page.select('order', 'first');
  assert.equal((await page.hover(2, 0.5)).name, '5,000 narrow callees of Shop.run()');
  assert.deepEqual(page.faults, []);
  await page.close();
}

/** Checks that a large page is ready in time: the best of three, since other programs run. */
async function checkLoad(browser, make) {
  const file = make('large', large(100_000));
  const times = [];
  for (let round = 0; round < 3; round++) {
    const page = await Page.open(browser, file);
    times.push(await page.loadTime());
    assert.deepEqual(page.faults, []);
    await page.close();
  }
  console.log(`100,000 call paths: ${times.join(', ')} ms, ${fs.statSync(file).size} bytes`);
  assert.ok(Math.min(...times) < MAX_LOAD_MS, `${times} ms`);
}

async function main() {
  const dir = process.argv[2];
  const pages = fs.readdirSync(dir).filter((name) => name.endsWith('.html')).map((name) => name.slice(0, -'.html'.length));
  assert.ok(pages.length > 0, `${dir} has no pages`);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] });
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'flame-'));
  const template = fs.readFileSync(path.join(dir, `${pages[0]}.html`), 'utf8');
  const make = (name, profile) => {
    const file = path.join(made, `${name}.html`);
    fs.writeFileSync(file, withData(template, profile));
    return file;
  };
  try {
    for (const name of pages) {
      await (name.includes('-vs-') ? checkComparison : checkTrace)(browser, dir, name);
    }
    for (const check of [checkUse, checkChanges, checkHostileNames, checkNotes, checkDamage, checkNarrowBars, checkLoad]) {
      await check(browser, make);
      console.log(`${check.name}: as expected`);
    }
  } finally {
    await browser.close();
    fs.rmSync(made, { recursive: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
