// Tiles: the calls of a thread within a span of time, reduced to the pixels of a picture.

import { type Span, length } from './span.ts';

export const TILE_MAGIC = 0x4c54544a;
export const NO_METHOD = 0xffffffff;
export const SHORTER_CALLS = 0xfffffffe;

/** What a box stands for. */
export const Kind = { call: 0, exception: 1, blocked: 2, waiting: 3, parked: 4, missing: 5 } as const;

/** Columns of boxes. A box with a count above 1 stands for calls narrower than a pixel. */
export interface Tile {
  n: number;
  levels: number;
  isCoarse: boolean;
  begin: Float64Array;
  end: Float64Array;
  method: Uint32Array;
  count: Uint32Array;
  level: Uint16Array;
  kind: Uint8Array;
}

/** Decodes the answer of `/api/tile`. Throws if it is not a tile or too short. */
export function decodeTile(buffer: ArrayBuffer): Tile {
  if (buffer.byteLength < 16) throw new Error('tile: the answer is truncated');
  const head = new DataView(buffer);
  if (head.getUint32(0, true) !== TILE_MAGIC) throw new Error('tile: the answer is not a tile');
  const n = head.getUint32(4, true);
  let at = 16;
  const column = <T>(make: new (buffer: ArrayBuffer, at: number, n: number) => T, width: number): T => {
    if (at + n * width > buffer.byteLength) throw new Error('tile: the answer is truncated');
    const values = new make(buffer, at, n);
    at += Math.ceil((n * width) / 8) * 8;
    return values;
  };
  // Typed arrays have the byte order of the machine. All machines with these browsers are
  // little-endian, as the columns are.
  return {
    n,
    levels: head.getUint32(8, true),
    isCoarse: (head.getUint32(12, true) & 1) !== 0,
    begin: column(Float64Array<ArrayBuffer>, 8),
    end: column(Float64Array<ArrayBuffer>, 8),
    method: column(Uint32Array<ArrayBuffer>, 4),
    count: column(Uint32Array<ArrayBuffer>, 4),
    level: column(Uint16Array<ArrayBuffer>, 2),
    kind: column(Uint8Array<ArrayBuffer>, 1),
  };
}

/** Bytes that a tile takes in memory, roughly. */
export function tileBytes(tile: Tile): number {
  return 200 + tile.n * 27;
}

/** Place of a tile in the grid: `index` counts spans of 2^`power` nanoseconds. */
export interface TilePlace {
  power: number;
  index: number;
}

/** The smallest tile spans 8 ns. */
const SMALLEST_POWER = 3;

/** Tiles have so many pixels, a power of two: then their pixels are those of the index. */
export const TILE_WIDTH = 1024;

/** Returns the power for a view of so many pixels: those of tiles are at most as wide, and more than half as wide. */
export function powerFor(span: Span, pixels: number): number {
  const power = Math.floor(Math.log2(length(span) / Math.max(1, pixels)) + 1e-12);
  return Math.max(SMALLEST_POWER, power + Math.log2(TILE_WIDTH));
}

/** Returns the tiles of one size that a span touches. */
export function placesFor(span: Span, power: number): TilePlace[] {
  const size = 2 ** power;
  const last = Math.ceil(span.until / size) - 1;
  const places: TilePlace[] = [];
  for (let index = Math.max(0, Math.floor(span.from / size)); index <= last; index++) places.push({ power, index });
  return places;
}

export function placeSpan(place: TilePlace): Span {
  const size = 2 ** place.power;
  return { from: place.index * size, until: (place.index + 1) * size };
}

/** Number of a box in `tile` at a time and level, or −1. `slack` widens boxes, in nanoseconds. */
export function boxAt(tile: Tile, time: number, level: number, slack: number): number {
  let best = -1;
  let distance = Infinity;
  for (let at = 0; at < tile.n; at++) {
    if (tile.level[at] !== level || tile.kind[at] === Kind.missing) continue;
    const begin = tile.begin[at]!;
    const end = tile.end[at]!;
    const away = time < begin ? begin - time : time > end ? time - end : 0;
    if (away <= slack && away < distance) [best, distance] = [at, away];
  }
  return best;
}

export interface Run {
  begin: number;
  end: number;
  level: number;
}

/** Returns runs of neighbouring boxes with a count above 1, which are hatched as one area. */
export function mergedRuns(tile: Tile, gap: number): Run[] {
  const open: (Run | undefined)[] = [];
  const runs: Run[] = [];
  for (let at = 0; at < tile.n; at++) {
    if (tile.count[at]! <= 1) continue;
    const level = tile.level[at]!;
    const run = open[level];
    if (run && tile.begin[at]! - run.end <= gap && tile.begin[at]! >= run.begin) run.end = Math.max(run.end, tile.end[at]!);
    else runs.push((open[level] = { begin: tile.begin[at]!, end: tile.end[at]!, level }));
  }
  return runs;
}
