// The tiles of a trace: cached, asked for in the order of their use, cancelled when out of view.

import { Cache } from '../pure/cache.ts';
import type { Span } from '../pure/span.ts';
import { type Run, type Tile, type TilePlace, mergedRuns, placeSpan, tileBytes } from '../pure/tile.ts';
import type { Source } from './source.ts';

/** Browsers keep six connections to a server; one stays free for tables. */
const MOST_REQUESTS = 5;
const MEMORY = 128 * 1024 * 1024;
/** Bytes of an image for each pixel and level: three rows of four bytes. */
const IMAGE_BYTES = 12;
/** A coarse tile is asked for again after this time, then after twice as long, and so on. */
const ASK_AGAIN_MS = 90;
const ASK_AGAIN_MOST_MS = 720;
const MOST_FAILURES = 3;
const FORGIVE_MS = 5000;

export interface LoadedTile {
  tile: Tile;
  span: Span;
  width: number;
  /** The latest end of the tile and of its boxes. */
  reach: number;
  /** Areas of calls narrower than a pixel. */
  runs: Run[];
  /** Boxes narrower than a few pixels, one row of pixels for each level. */
  image: OffscreenCanvas | null;
  imageKey: string;
  /** Boxes that are wide enough to be drawn one by one. */
  wide: Uint32Array | null;
  /** The tile is asked for again after this time (of `performance.now`). */
  staleAt: number;
}

export interface Wanted {
  key: string;
  thread: number;
  place: TilePlace;
  width: number;
}

export class Tiles {
  private readonly cache = new Cache<LoadedTile>(MEMORY);
  private readonly pending = new Map<string, AbortController>();
  private readonly failures = new Map<string, number>();
  /** How often coarse tiles were asked for. */
  private readonly asked = new Map<string, number>();
  /** Why the last tile that was asked for did not arrive. */
  problem: string | null = null;
  private queue: Wanted[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When coarse tiles are asked for again. */
  private askAt = 0;

  constructor(
    private readonly source: Source,
    private readonly trace: number,
    private readonly onLoad: () => void,
  ) {}

  static key(thread: number, { power, index }: TilePlace, width: number): string {
    return `${thread} ${power} ${index} ${width}`;
  }

  get(key: string): LoadedTile | undefined {
    return this.cache.get(key);
  }

  /** Number of requests that wait or run. */
  get open(): number {
    return this.pending.size + this.queue.length;
  }

  get bytes(): number {
    return this.cache.size;
  }

  /**
   * Asks for tiles, in this order. What was asked for before and is not in the list is cancelled. Returns true if all are
   * there, and none is coarse.
   */
  want(list: readonly Wanted[]): boolean {
    const keys = new Set(list.map((wanted) => wanted.key));
    for (const [key, controller] of this.pending) {
      if (keys.has(key)) continue;
      controller.abort();
      this.pending.delete(key);
    }
    for (const key of this.asked.keys()) if (!keys.has(key)) this.asked.delete(key);
    const now = performance.now();
    this.queue = list.filter(({ key }) => {
      if (this.pending.has(key) || (this.failures.get(key) ?? 0) >= MOST_FAILURES) return false;
      const loaded = this.cache.get(key);
      if (loaded && loaded.staleAt > now) {
        if (loaded.staleAt !== Infinity) this.askAgain(loaded.staleAt);
        return false;
      }
      return true;
    });
    this.start();
    return list.every(({ key }) => this.cache.get(key)?.tile.isCoarse === false);
  }

  /** Tiles that reach beyond a time are asked for again: the trace has grown. So are those with calls that had not ended. */
  outdate(after: number): void {
    for (const loaded of this.cache.values()) if (loaded.reach > after) loaded.staleAt = 0;
  }

  private start(): void {
    while (this.pending.size < MOST_REQUESTS) {
      const wanted = this.queue.shift();
      if (!wanted) return;
      void this.load(wanted);
    }
  }

  private async load({ key, thread, place, width }: Wanted): Promise<void> {
    const controller = new AbortController();
    this.pending.set(key, controller);
    const span = placeSpan(place);
    try {
      const tile = await this.source.tile(this.trace, thread, span, width, controller.signal);
      if (controller.signal.aborted) return;
      const staleAt = tile.isCoarse ? performance.now() + this.patience(key) : Infinity;
      if (!tile.isCoarse) this.asked.delete(key);
      const runs = mergedRuns(tile, (2 * (span.until - span.from)) / width);
      const reach = tile.end.reduce((latest, end) => Math.max(latest, end), span.until);
      this.cache.set(key, { tile, span, reach, width, runs, image: null, imageKey: '', wide: null, staleAt }, tileBytes(tile) + width * tile.levels * IMAGE_BYTES);
      this.failures.delete(key);
      this.problem = null;
      if (staleAt !== Infinity) this.askAgain(staleAt);
    } catch (error) {
      if (!controller.signal.aborted) this.fail(key, error);
    } finally {
      if (this.pending.get(key) === controller) this.pending.delete(key);
      if (!controller.signal.aborted) this.onLoad();
      this.start();
    }
  }

  private fail(key: string, error: unknown): void {
    const failures = (this.failures.get(key) ?? 0) + 1;
    this.failures.set(key, failures);
    this.problem = error instanceof Error ? error.message : String(error);
    if (failures < MOST_FAILURES) return;
    // The server may be back later.
    setTimeout(() => {
      this.failures.delete(key);
      this.onLoad();
    }, FORGIVE_MS);
  }

  /** Returns after which time a coarse tile is asked for again, in ms. */
  private patience(key: string): number {
    const asked = this.asked.get(key) ?? 0;
    this.asked.set(key, asked + 1);
    return Math.min(ASK_AGAIN_MOST_MS, ASK_AGAIN_MS * 2 ** asked);
  }

  private askAgain(at: number): void {
    if (this.timer !== undefined && this.askAt <= at) return;
    clearTimeout(this.timer);
    this.askAt = at;
    const ask = () => {
      this.timer = undefined;
      this.onLoad();
    };
    // Tiles that arrived a bit later are asked for together with this one.
    this.timer = setTimeout(ask, at - performance.now() + 20);
  }
}
