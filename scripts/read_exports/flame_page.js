// A flame graph page in a browser: reads what it shows, and presses its keys.

'use strict';

const { pathToFileURL } = require('node:url');

class Page {
  /** Opens a page from its file, and fails on any message, error or request. */
  static async open(browser, file, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1500, height: 860 }, ...options });
    const page = new Page(await context.newPage());
    page.tab.on('console', (message) => page.faults.push(`console: ${message.text()}`));
    page.tab.on('pageerror', (error) => page.faults.push(`error: ${error.stack}`));
    page.tab.on('dialog', (dialog) => page.faults.push(`dialog: ${dialog.message()}`));
    page.tab.on('request', (request) => {
      if (request.url() !== String(pathToFileURL(file))) page.faults.push(`request: ${request.url()}`);
    });
    await page.tab.goto(String(pathToFileURL(file)));
    await page.tab.waitForSelector('html[data-ready]', { timeout: 30_000 });
    return page;
  }

  constructor(tab) {
    this.tab = tab;
    this.faults = [];
  }

  /** Returns ms from the request of the page to the drawn graph. */
  async loadTime() {
    return Number(await this.tab.evaluate(() => document.documentElement.dataset.ready));
  }

  async close() {
    await this.tab.context().close();
  }

  async select(id, value) {
    await this.tab.selectOption(`#${id}`, value);
  }

  /** Selects a thread by its name. */
  async selectThread(name) {
    const values = await this.tab.$$eval('#threads option', (options) => options.map((o) => [o.value, o.textContent]));
    const found = values.find(([, text]) => text.startsWith(`${name} `));
    if (!found) throw new Error(`no thread ${name} in ${values.map(([, text]) => text).join(', ')}`);
    await this.select('threads', found[0]);
  }

  async key(...keys) {
    for (const key of keys) await this.tab.keyboard.press(key);
    // A zoom takes a moment.
    await this.tab.waitForTimeout(250);
  }

  async text(selector) {
    return this.tab.$eval(selector, (found) => found.textContent);
  }

  /** Returns the rows of the table of methods: the method's name, and the exact figures by column. */
  async methods() {
    await this.tab.$eval('#more', (more) => {
      while (!more.hidden) more.click();
    });
    return this.tab.$$eval('#cells tr', (rows) => rows.map((row) => {
      const cells = [...row.querySelectorAll('td[data-value]')];
      return { method: row.dataset.raw, ...Object.fromEntries(cells.map((cell) => [cell.dataset.key, Number(cell.dataset.value)])) };
    }));
  }

  /** Returns what the tooltip says: the name, and the text and figures of each line. */
  async tip() {
    if (!(await this.tab.isVisible('#tip'))) return null;
    return this.tab.$eval('#tip', (tip) => {
      const lines = [...tip.querySelectorAll('tr[data-key]')].map((row) => {
        const cells = [...row.querySelectorAll('td')].slice(1);
        return [row.dataset.key, { text: cells.map((cell) => cell.textContent), values: cells.filter((c) => c.dataset.value).map((c) => Number(c.dataset.value)) }];
      });
      return { name: tip.querySelector('.name').textContent, ...Object.fromEntries(lines) };
    });
  }

  /** Moves the mouse over a bar, by its row and its place from left (0) to right (1). */
  async hover(row, place) {
    const box = await this.tab.locator('#canvas').boundingBox();
    this.at = [box.x + 2 + place * (box.width - 4), box.y + 20 * row + 10];
    await this.tab.mouse.move(this.at[0] - 1, this.at[1]);
    await this.tab.mouse.move(...this.at);
    return this.tip();
  }

  async search(text) {
    await this.tab.fill('#find', text);
    await this.tab.waitForTimeout(200);
    return { text: await this.text('#found'), values: (await this.tab.getAttribute('#found', 'data-value'))?.split(' ').map(Number) };
  }

  /** Returns the texts of the path to the zoomed bar. */
  async crumbs() {
    return this.tab.$$eval('#crumbs button', (buttons) => buttons.map((button) => button.textContent));
  }
}

module.exports = { Page };
