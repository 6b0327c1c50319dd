// Drives the page: opens it, waits until it is still, takes pictures, and runs the steps of a test.

import assert from 'node:assert/strict';
import { join } from 'node:path';

/** A browser with the pages of a test; `problems` has what no page may do. */
export class Driver {
  problems = [];
  /** Requests that run, by page. */
  #running = new WeakMap();
  #picture = 0;

  constructor(browser, folder) {
    this.browser = browser;
    this.folder = folder;
  }

  async open(url, options = {}, isQuiet = false) {
    const context = await this.browser.newContext({ viewport: { width: 1600, height: 1000 }, acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.on('console', (message) => message.type() !== 'log' && this.problems.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => this.problems.push(`page error: ${error.stack}`));
    const requests = new Set();
    this.#running.set(page, requests);
    page.on('requestfinished', (request) => requests.delete(request));
    page.on('requestfailed', (request) => requests.delete(request));
    page.on('request', (request) => {
      requests.add(request);
      const { protocol, host } = new URL(request.url());
      if (protocol === 'http:' && host !== new URL(url).host) this.problems.push(`request to ${host}`);
    });
    await page.goto(url);
    await page.waitForSelector('.timeline canvas');
    // A live page never stops asking.
    if (!isQuiet) await this.settle(page);
    return page;
  }

  /** Waits until no request has run for a while, and the picture is drawn. */
  async settle(page) {
    for (let quiet = 0, waited = 0; quiet < 350; waited += 50) {
      if (waited > 20_000) throw new Error('requests do not end');
      await page.waitForTimeout(50);
      quiet = this.#running.get(page).size === 0 ? quiet + 50 : 0;
    }
  }

  async shoot(page, name) {
    await page.screenshot({ path: join(this.folder, `${String(++this.#picture).padStart(2, '0')}-${name}.png`) });
  }

  async step(name, run) {
    const begin = Date.now();
    const before = this.problems.length;
    try {
      await run();
      assert.deepEqual(this.problems.slice(before), []);
      console.log(`ok   ${name} (${Date.now() - begin} ms)`);
    } catch (error) {
      console.log(`FAIL ${name}\n${error.stack}`);
      process.exitCode = 1;
    }
  }
}

/** Returns the parts of the address after `#`. */
export const hash = (page) => page.evaluate(() => Object.fromEntries(location.hash.slice(1).split('&').map((part) => part.split('='))));

/** Waits until the address has stayed the same for a while. */
export async function steady(page) {
  let last = '';
  for (let same = 0, waited = 0; same < 500 && waited < 20_000; waited += 100) {
    await page.waitForTimeout(100);
    const now = await page.evaluate(() => location.hash);
    same = now === last ? same + 100 : 0;
    last = now;
  }
}
