// Names of methods, which are asked for when they are needed first, many at a time.

import { type MethodName, SPECIAL } from '../pure/names.ts';
import type { Source } from './source.ts';

/** The server answers at most so many names at a time. */
const MOST_IDS = 500;

export class Names {
  private readonly known = new Map<number, MethodName>();
  private wanted = new Set<number>();
  private isPlanned = false;
  /** Grows when names arrive, so that pictures know that their colours are outdated. */
  version = 0;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly source: Source,
    private readonly trace: number,
  ) {
    for (const [id, text] of SPECIAL) this.known.set(id, ['', text, '']);
  }

  /** Returns a name, or `undefined` and asks for it. */
  get(id: number): MethodName | undefined {
    const name = this.known.get(id);
    if (name) return name;
    this.wanted.add(id);
    if (!this.isPlanned) {
      this.isPlanned = true;
      setTimeout(() => void this.ask(), 5);
    }
    return undefined;
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private async ask(): Promise<void> {
    const ids = [...this.wanted].slice(0, MOST_IDS);
    try {
      const names = await this.source.methods(this.trace, ids);
      for (const id of ids) this.known.set(id, names[id] ?? ['', `method ${id}`, '']);
      for (const id of ids) this.wanted.delete(id);
      this.version++;
      for (const listener of this.listeners) listener();
    } catch {
      // The next picture asks again.
      for (const id of ids) this.wanted.delete(id);
    }
    this.isPlanned = this.wanted.size > 0;
    if (this.isPlanned) setTimeout(() => void this.ask(), 5);
  }
}
