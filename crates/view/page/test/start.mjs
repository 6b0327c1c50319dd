// Starts what tests need: `jtrail view`, and a browser.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

/** Returns the browser that CHROMIUM names, or the one of this machine. */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/**
 * Starts the server of `jtrail view`. Returns its address, which has the token, and what ends it;
 * `memory` returns bytes that it has now and had at most (Linux).
 */
export async function startView(jtrail, traces) {
  const server = spawn(jtrail, ['view', '--no-browser', ...traces], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  server.stderr.on('data', (text) => (errors += text));
  const ended = new Promise((done) => server.once('exit', done));
  const failed = new Promise((_, fail) => server.once('error', fail));
  const first = new Promise((done) => createInterface({ input: server.stdout }).once('line', done));
  const address = await Promise.race([first, failed, ended.then((code) => Promise.reject(new Error(`jtrail view ended with ${code}: ${errors}`)))]);
  return {
    address,
    memory() {
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      const of = (name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)[1]) * 1024;
      return { now: of('VmRSS'), most: of('VmHWM') };
    },
    async stop() {
      server.kill('SIGTERM');
      await ended;
    },
  };
}
