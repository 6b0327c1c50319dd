// Spans of time, and their conversion to pixels.

export interface Span {
  from: number;
  until: number;
}

/** The smallest span that can be shown: single calls of a few nanoseconds are wide in it. */
export const SMALLEST_SPAN = 20;

export function length(span: Span): number {
  return span.until - span.from;
}

/** Returns a span of the same length, or shorter, that lies within `whole`. */
export function clamp(span: Span, whole: Span): Span {
  const most = Math.max(length(whole), SMALLEST_SPAN);
  const size = Math.min(most, Math.max(SMALLEST_SPAN, length(span)));
  const from = Math.min(Math.max(whole.from, span.from), whole.from + most - size);
  return { from, until: from + size };
}

/** Changes the length by `factor`; the time `anchor` keeps its place in the picture. */
export function zoom(span: Span, anchor: number, factor: number, whole: Span): Span {
  const most = Math.max(length(whole), SMALLEST_SPAN);
  const size = Math.min(most, Math.max(SMALLEST_SPAN, length(span) * factor));
  const share = (anchor - span.from) / length(span);
  return clamp({ from: anchor - share * size, until: anchor + (1 - share) * size }, whole);
}

export function pan(span: Span, by: number, whole: Span): Span {
  return clamp({ from: span.from + by, until: span.until + by }, whole);
}

/** Returns a span in which a call takes a third of the width. */
export function around(begin: number, end: number, whole: Span): Span {
  const size = Math.max(SMALLEST_SPAN, end - begin);
  return clamp({ from: begin - size, until: begin + 2 * size }, whole);
}

/** Returns the span moved such that a call is in view; the same span if it is. */
export function reveal(span: Span, begin: number, end: number, whole: Span): Span {
  const size = length(span);
  const isTiny = end - begin < size / 400;
  const isLarge = end - begin > size;
  if (isTiny || (isLarge && (begin > span.until || end < span.from))) return around(begin, end, whole);
  if (begin >= span.from && end <= span.until) return span;
  if (isLarge) return span;
  const middle = (begin + end) / 2;
  return clamp({ from: middle - size / 2, until: middle + size / 2 }, whole);
}

export function ordered(one: number, other: number): Span {
  return one <= other ? { from: one, until: other } : { from: other, until: one };
}

export function isSame(one: Span | null, other: Span | null): boolean {
  return one === other || (one !== null && other !== null && one.from === other.from && one.until === other.until);
}

/** Conversion between times and pixels of a picture. */
export class Scale {
  readonly perPixel: number;

  constructor(
    readonly span: Span,
    readonly width: number,
    readonly left = 0,
  ) {
    this.perPixel = length(span) / Math.max(1, width);
  }

  x(time: number): number {
    return this.left + (time - this.span.from) / this.perPixel;
  }

  time(x: number): number {
    return this.span.from + (x - this.left) * this.perPixel;
  }
}

/** Equal intervals of time that follow each other. */
export interface Grid extends Span {
  bins: number;
}

/** Returns at most `most` intervals of 2^k nanoseconds that cover a span, each from a multiple of its length on. The index of a trace has them. */
export function gridOf(span: Span, most: number): Grid {
  for (let size = 2 ** Math.max(0, Math.ceil(Math.log2(length(span) / most))); ; size *= 2) {
    const [from, until] = [Math.floor(span.from / size) * size, Math.ceil(span.until / size) * size];
    const bins = (until - from) / size;
    if (bins <= most) return bins > 0 ? { from, until, bins } : { from, until: from + size, bins: 1 };
  }
}

/** Like [`gridOf`] for a span that grows: the intervals stay the same until it is twice as long. */
export function growingGridOf(span: Span, most: number): Grid {
  const until = 2 ** Math.ceil(Math.log2(Math.max(1, span.until)));
  return gridOf({ from: 0, until }, most);
}
