// Compares flame graph pages with the reports of their traces.

'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { Page } = require('./flame_page.js');

const MAX_SIZE = 5_000_000;

/** Returns calls, self and total time of each method of a report. Methods of one name are one. */
function reported(report) {
  const methods = new Map();
  for (const row of report.methods) {
    const sums = methods.get(row.method) ?? { calls: 0, self: 0, total: 0, cpu: 0, rows: 0 };
    sums.calls += row.calls;
    sums.self += row.self_ns;
    sums.total += row.total_ns;
    sums.cpu += row.cpu_self_ns ?? 0;
    sums.rows++;
    methods.set(row.method, sums);
  }
  return methods;
}

/** Compares the table of methods with a report. Returns the number of methods. */
async function compareMethods(page, report, key = 'self') {
  const expected = reported(report);
  const rows = await page.methods();
  const figures = (row) => ({ calls: row.calls, self: row.self, total: row.total });
  for (const row of rows) {
    const { calls, self, total, cpu, rows: sameName } = expected.get(row.method) ?? assert.fail(`not in the report: ${row.method}`);
    if (key === 'cpu') {
      assert.equal(row.self, cpu, `CPU time of ${row.method}`);
      continue;
    }
    // The total time of two methods of one name may count calls of one in the other twice.
    const wanted = { calls, self, total: sameName === 1 ? total : row.total };
    assert.deepEqual(figures(row), wanted, row.method);
  }
  if (key !== 'cpu') assert.equal(rows.length, expected.size);
  return rows.length;
}

async function checkTrace(browser, dir, name) {
  const file = path.join(dir, `${name}.html`);
  const read = (which) => JSON.parse(fs.readFileSync(path.join(dir, `${which}.json`)));
  const size = fs.statSync(file).size;
  assert.ok(size <= MAX_SIZE, `${size} bytes`);
  const page = await Page.open(browser, file);
  const load = await page.loadTime();
  const weights = await page.tab.$$eval('#weight option', (options) => options.map((option) => option.value));
  const said = [`${await compareMethods(page, read(name))} methods`];
  if (weights.includes('cpu')) {
    await page.select('weight', 'cpu');
    said.push(`CPU time of ${await compareMethods(page, read(name), 'cpu')}`);
    await page.select('weight', 'time');
  }
  for (const other of fs.readdirSync(dir).filter((each) => each.startsWith(`${name}@`) && each.endsWith('.json'))) {
    const thread = other.slice(name.length + 1, -'.json'.length);
    await page.selectThread(thread);
    said.push(`${await compareMethods(page, read(other.slice(0, -'.json'.length)))} of ${thread}`);
  }
  if (weights.includes('bytes')) said.push(`bytes of ${await compareAllocations(page, read(name))} threads`);
  assert.deepEqual(page.faults, []);
  await page.close();
  console.log(`${name}: ${said.join(', ')}; weights ${weights.join(' ')}; ${size} bytes, ${load} ms`);
}

/** Compares the bytes that each thread allocated. Returns the number of threads. */
async function compareAllocations(page, report) {
  await page.select('weight', 'bytes');
  if (await page.tab.isHidden('#threads')) { // there is one thread
    const bytes = report.allocation_threads.reduce((sum, row) => sum + row.bytes, 0);
    assert.deepEqual((await page.hover(0, 0.5)).total.values, [bytes]);
    return 1;
  }
  await page.select('threads', 'apart');
  const threads = new Map();
  for (let place = 0; place < 1; place += 0.002) {
    const tip = await page.hover(1, place);
    if (tip?.total) threads.set(tip.name, tip.total.values[0]);
  }
  const expected = report.allocation_threads.map((row) => [row.name ?? 'virtual threads without a name', row.bytes]);
  const largest = expected.filter(([name]) => threads.has(name));
  assert.ok(largest.length > 0 && largest.length >= threads.size, `${[...threads.keys()]}`);
  for (const [name, bytes] of largest) assert.equal(threads.get(name), bytes, name);
  return largest.length;
}

/** Compares both sides of a comparison with the reports of the two traces. */
async function checkComparison(browser, dir, pair) {
  const [name, base] = pair.split('-vs-');
  const page = await Page.open(browser, path.join(dir, `${pair}.html`));
  const rows = await page.methods();
  const counts = [];
  for (const [side, end] of [[name, ''], [base, '-base']]) {
    const expected = reported(JSON.parse(fs.readFileSync(path.join(dir, `${side}.json`))));
    const present = rows.filter((row) => row[`calls${end}`] > 0);
    for (const row of present) {
      const { calls, self, total, rows: sameName } = expected.get(row.method) ?? assert.fail(row.method);
      const wanted = [calls, self, sameName === 1 ? total : row[`total${end}`]];
      assert.deepEqual([row[`calls${end}`], row[`self${end}`], row[`total${end}`]], wanted, row.method);
    }
    assert.equal(present.length, expected.size);
    counts.push(present.length);
  }
  for (const row of rows) assert.equal(row['self-change'], row.self - row['self-base']);
  assert.deepEqual(page.faults, []);
  console.log(`${pair}: ${counts.join(' and ')} methods, ${await page.loadTime()} ms`);
  await page.close();
}

module.exports = { checkComparison, checkTrace };
