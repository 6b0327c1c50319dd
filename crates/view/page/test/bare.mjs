// A page that is driven by the browser's own protocol only. Playwright lets the browser keep up to 200 MB of answers for
// its tools, in the page's process, and passes every answer on to this process: memory and times would not be a user's.

import { readFile } from 'node:fs/promises';

export class BarePage {
  /** Opens an empty page of a browser. */
  static async open(browser, { width, height }) {
    const session = await browser.newBrowserCDPSession();
    const { browserContextId } = await session.send('Target.createBrowserContext');
    const { targetId } = await session.send('Target.createTarget', { url: 'about:blank', width, height, browserContextId });
    const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false });
    const page = new BarePage(session, sessionId);
    await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    // By default, browsers remember the times of 250 requests.
    await page.send('Page.addScriptToEvaluateOnNewDocument', { source: 'performance.setResourceTimingBufferSize(1e6)' });
    await page.send('Page.enable');
    return page;
  }

  constructor(session, sessionId) {
    this.session = session;
    this.sessionId = sessionId;
    this.number = 0;
    this.open = new Map();
    session.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => {
      const { id, result, error } = JSON.parse(message);
      const asked = sessionId === this.sessionId && this.open.get(id);
      if (!asked) return;
      this.open.delete(id);
      if (error) asked.fail(new Error(error.message));
      else asked.done(result);
    });
  }

  send(method, params = {}) {
    const id = ++this.number;
    const answer = new Promise((done, fail) => this.open.set(id, { done, fail }));
    const sent = this.session.send('Target.sendMessageToTarget', { sessionId: this.sessionId, message: JSON.stringify({ id, method, params }) });
    return sent.then(() => answer);
  }

  async goto(url) {
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
  }

  /** Runs a function in the page, and returns what it returns. */
  async run(made, ...values) {
    const expression = `(${made})(${values.map((value) => JSON.stringify(value)).join(', ')})`;
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Moves the mouse. */
  async move(x, y) {
    this.mouse = { x, y };
    await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...this.mouse });
  }

  /** Turns the wheel where the mouse is. */
  async wheel(deltaX, deltaY) {
    await this.send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...this.mouse, deltaX, deltaY });
  }

  /** Returns the answers so far: what was asked for, ms it took in all and in the server, and if it was a part. */
  answers() {
    return this.run(() =>
      performance.getEntriesByType('resource').map(({ name, requestStart, responseEnd, responseStatus, serverTiming }) => ({
        path: new URL(name).pathname,
        ms: responseEnd - requestStart,
        server: serverTiming.find(({ name }) => name === 'answer')?.duration ?? 0,
        isPartial: serverTiming.some(({ name }) => name === 'partial'),
        isCancelled: responseStatus === 0,
      })),
    );
  }

  /** Returns bytes of memory (Linux): of the page's objects; what the largest process of a page has for itself; and all that is loaded there. */
  async memory() {
    await this.send('Performance.enable');
    const { metrics } = await this.send('Performance.getMetrics');
    const objects = metrics.find(({ name }) => name === 'JSHeapUsedSize').value;
    const { processInfo } = await this.session.send('SystemInfo.getProcessInfo');
    const pages = processInfo.filter(({ type }) => type === 'renderer');
    const sizes = await Promise.all(
      pages.map(async ({ id }) => {
        const text = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
        const of = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
        return { own: of('Private_Dirty') + of('Private_Clean'), loaded: of('Rss') };
      }),
    );
    return { objects, ...sizes.reduce((most, size) => (size.loaded > most.loaded ? size : most), { own: 0, loaded: 0 }) };
  }
}
