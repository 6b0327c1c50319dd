// Computes a tile from all calls of a thread, for pages that have the trace embedded.

import type { Span } from './span.ts';
import { length } from './span.ts';
import { Kind, NO_METHOD, type Tile } from './tile.ts';

/** All calls of a thread, in the order of their begin; a caller stands before its callees. */
export interface Slices {
  begin: Float64Array;
  end: Float64Array;
  method: Uint32Array;
  level: Uint16Array;
  kind: Uint8Array;
}

/** For each level the numbers of its calls. Calls of a level do not overlap. */
export function byLevel(slices: Slices): Uint32Array[] {
  const sizes: number[] = [];
  for (const level of slices.level) sizes[level] = (sizes[level] ?? 0) + 1;
  const levels = Array.from(sizes, (size) => new Uint32Array(size ?? 0));
  const filled = new Uint32Array(levels.length);
  for (let at = 0; at < slices.level.length; at++) {
    const level = slices.level[at]!;
    levels[level]![filled[level]!++] = at;
  }
  return levels;
}

/** Returns the place of the first call of a level that ends after `time`. */
export function firstAfter(numbers: Uint32Array, end: Float64Array, time: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (end[numbers[middle]!]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Calls that share a pixel. */
class Merge {
  pixel = -1;
  first = -1;
  last = -1;
  count = 0;
  kind = 0;
  times = new Map<number, number>();

  start(pixel: number, at: number, slices: Slices): void {
    this.pixel = pixel;
    this.first = at;
    this.count = 0;
    this.kind = slices.kind[at]!;
    this.times.clear();
  }

  add(at: number, slices: Slices): void {
    this.last = at;
    this.count++;
    // Boxes of one kind keep it. Waits among calls are drawn as calls.
    if (slices.kind[at] !== this.kind) this.kind = Kind.call;
    const method = slices.method[at]!;
    if (method === NO_METHOD) return;
    this.times.set(method, (this.times.get(method) ?? 0) + slices.end[at]! - slices.begin[at]!);
  }

  /** The method with the most time. */
  get method(): number {
    let [best, most] = [NO_METHOD, -1];
    for (const [method, time] of this.times) if (time > most) [best, most] = [method, time];
    return best;
  }
}

/** Returns the boxes within a span for a picture of so many pixels. */
export function reduce(slices: Slices, levels: Uint32Array[], span: Span, width: number): Tile {
  const perPixel = length(span) / Math.max(1, width);
  const boxes: [number, number, number, number, number, number][] = [];
  const merge = new Merge();
  let depth = 0;
  levels.forEach((numbers, level) => {
    merge.pixel = -1;
    const flush = () => {
      if (merge.pixel < 0) return;
      boxes.push([slices.begin[merge.first]!, slices.end[merge.last]!, merge.method, merge.count, level, merge.kind]);
      merge.pixel = -1;
    };
    for (let place = firstAfter(numbers, slices.end, span.from); place < numbers.length; place++) {
      const at = numbers[place]!;
      const begin = slices.begin[at]!;
      if (begin >= span.until) break;
      depth = level + 1;
      if (slices.end[at]! - begin >= perPixel) {
        flush();
        boxes.push([begin, slices.end[at]!, slices.method[at]!, 1, level, slices.kind[at]!]);
        continue;
      }
      const pixel = Math.max(0, Math.floor((begin - span.from) / perPixel));
      if (pixel !== merge.pixel) {
        flush();
        merge.start(pixel, at, slices);
      }
      merge.add(at, slices);
    }
    flush();
  });
  return {
    n: boxes.length,
    levels: depth,
    isCoarse: false,
    begin: Float64Array.from(boxes, (box) => box[0]),
    end: Float64Array.from(boxes, (box) => box[1]),
    method: Uint32Array.from(boxes, (box) => box[2]),
    count: Uint32Array.from(boxes, (box) => box[3]),
    level: Uint16Array.from(boxes, (box) => box[4]),
    kind: Uint8Array.from(boxes, (box) => box[5]),
  };
}
