// Starts the page.

import { render } from 'preact';
import { type EmbeddedData, EmbeddedSource } from './data/embedded.ts';
import { ServerSource } from './data/server.ts';
import type { Source } from './data/source.ts';
import { App } from './view/app.tsx';
import { Session } from './view/session.ts';

/** A stand-alone page has its data in an element. Other pages ask the server. */
function source(): Source {
  const element = document.getElementById('jtrail-data');
  return element ? new EmbeddedSource(JSON.parse(element.textContent ?? '') as EmbeddedData) : new ServerSource();
}

async function start(): Promise<void> {
  const root = document.getElementById('app')!;
  try {
    const session = new Session(source());
    await session.open();
    if (session.infos.length === 0) throw new Error('no trace is open');
    root.textContent = '';
    render(<App session={session} />, root);
  } catch (error) {
    root.textContent = `The trace cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    root.setAttribute('role', 'alert');
  }
}

void start();
