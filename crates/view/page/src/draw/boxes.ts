// Draws the boxes of a tile: narrow ones as an image with one row for each level, wide ones with
// their names.

import type { Names } from '../data/names.ts';
import type { LoadedTile } from '../data/tiles.ts';
import { type Rgb, type Theme, classColour, css, pixel } from '../pure/colour.ts';
import { labels } from '../pure/names.ts';
import type { Scale } from '../pure/span.ts';
import { Kind } from '../pure/tile.ts';
import type { CanvasPen, Measure, Pen } from './pen.ts';

/** Tiles with more levels have no image, as it would take too much memory. */
const DEEPEST_IMAGE = 512;

/** Boxes of fewer pixels of a tile are drawn as part of its image. */
const WIDE = 5;

export const WAIT_TEXT: Record<number, string[]> = {
  [Kind.blocked]: ['blocked on a monitor', 'blocked'],
  [Kind.waiting]: ['Object.wait', 'waiting'],
  [Kind.parked]: ['parked'],
  [Kind.missing]: ['missing: nothing is known', 'missing'],
};

/** Colours of methods. Names that have not arrived yet are grey. */
export class Palette {
  private readonly known = new Map<number, { rgb: Rgb; css: string; pixel: number }>();
  private readonly faded = new Map<number, number>();
  isComplete = true;
  private version = -1;

  constructor(
    private readonly names: Names,
    readonly theme: Theme,
  ) {}

  of(method: number): { rgb: Rgb; css: string; pixel: number } {
    let colour = this.known.get(method);
    if (colour) return colour;
    const name = this.names.get(method);
    const rgb = name ? classColour(name[0], this.theme.isDark) : this.theme.unknown;
    colour = { rgb, css: css(rgb), pixel: pixel(rgb) };
    if (name) this.known.set(method, colour);
    else this.isComplete = false;
    return colour;
  }

  /** The colour of a method beside a marked one. */
  fadedPixel(method: number): number {
    let value = this.faded.get(method);
    if (value === undefined) {
      value = pixel(fade(this.of(method).rgb, this.theme));
      if (this.names.get(method)) this.faded.set(method, value);
    }
    return value;
  }

  /** Part of the key of images: it changes if names have arrived that an image lacks. */
  key(): string {
    if (!this.isComplete && this.version !== this.names.version) {
      this.version = this.names.version;
      this.isComplete = true;
    }
    return `${this.theme.isDark} ${this.version}`;
  }
}

/** Blends a colour with the background. */
export function fade([red, green, blue]: Rgb, theme: Theme): Rgb {
  const back = theme.isDark ? [20, 22, 27] : [255, 255, 255];
  return [red, green, blue].map((value, at) => Math.round(0.5 * value + 0.5 * back[at]!)) as unknown as Rgb;
}

/** Where a tile is drawn: between `left` and `right`, with level 0 at `top`. */
export interface Place {
  scale: Scale;
  top: number;
  row: number;
  height: number;
  left: number;
  right: number;
  /** True if no other tile is drawn to the left: boxes that begin before `left` belong here. */
  isFirst: boolean;
  /** The part of the picture that is in view, from top to bottom. Levels outside are not drawn. */
  shownTop: number;
  shownBottom: number;
  /** End of the picture. A wide box is drawn once, by the tile in which it begins, to its end, but for those that begin in its last pixel. */
  pictureRight: number;
}

export interface Look {
  palette: Palette;
  names: Names;
  measure: Measure;
  /** The marked method. */
  method: number | null;
}

export function drawTile(pen: Pen, loaded: LoadedTile, place: Place, look: Look): void {
  const canvas = 'context' in pen ? (pen as CanvasPen) : null;
  if (canvas && loaded.tile.levels <= DEEPEST_IMAGE) drawImage(canvas, loaded, place, look);
  else drawNarrow(pen, loaded, place, look);
  drawRuns(pen, loaded, place, look.palette.theme);
  const { tile, span, width } = loaded;
  const perPixel = (span.until - span.from) / width;
  for (const at of wideBoxes(loaded)) {
    const begin = tile.begin[at]!;
    const x = place.scale.x(begin);
    const end = place.scale.x(tile.end[at]!);
    // What begins in the last pixel of the tile before shares that pixel, and is drawn there no further.
    const isCut = begin < span.from && span.from - begin < perPixel;
    if (end < place.left || x >= place.right || (x < place.left && !place.isFirst && !isCut)) continue;
    const y = place.top + tile.level[at]! * place.row;
    const isShown = y < place.shownBottom && y + place.row > place.shownTop && y < place.top + place.height;
    if (!isShown && tile.kind[at] !== Kind.missing) continue;
    const left = Math.max(x, place.left);
    drawBox(pen, loaded, at, left, y, Math.max(1, Math.min(end, place.pictureRight) - left), place, look);
  }
}

function wideBoxes(loaded: LoadedTile): Uint32Array {
  if (loaded.wide) return loaded.wide;
  const { tile, span, width } = loaded;
  const least = (WIDE * (span.until - span.from)) / width;
  const found: number[] = [];
  for (let at = 0; at < tile.n; at++) {
    if (tile.count[at] === 1 && tile.end[at]! - tile.begin[at]! >= least) found.push(at);
  }
  return (loaded.wide = Uint32Array.from(found));
}

const WAIT_PIXELS = new Map<string, number>();

function waitPixel(kind: number, theme: Theme): number {
  const text = kind === Kind.blocked ? theme.blocked : kind === Kind.waiting ? theme.waiting : kind === Kind.parked ? theme.parked : theme.missing;
  let value = WAIT_PIXELS.get(text);
  if (value === undefined) {
    const rgb = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb;
    // A thread that waits does nothing, and is paler than its calls.
    const pale = fade(rgb, theme);
    WAIT_PIXELS.set(text, (value = pixel(kind === Kind.blocked ? pale : fade(pale, theme))));
  }
  return value;
}

function drawImage(pen: CanvasPen, loaded: LoadedTile, place: Place, look: Look): void {
  const { tile, span, width } = loaded;
  const first = Math.max(0, Math.floor((place.shownTop - place.top) / place.row));
  const levels = Math.min(tile.levels, Math.ceil(place.height / place.row), Math.ceil((place.shownBottom - place.top) / place.row));
  if (levels <= first) return;
  const key = `${look.palette.key()} ${look.method ?? ''}`;
  if (!loaded.image || loaded.imageKey !== key) {
    loaded.image = paintImage(loaded, look);
    loaded.imageKey = key;
  }
  if (!loaded.image) return;
  const from = Math.max(span.from, place.scale.time(place.left));
  const until = Math.min(span.until, place.scale.time(place.right));
  if (!(until > from)) return;
  const perPixel = (span.until - span.from) / width;
  const [x, right] = [place.scale.x(from), place.scale.x(until)];
  const source = (from - span.from) / perPixel;
  const sourceWidth = (until - from) / perPixel;
  const gap = place.row > 5 ? 1 : 0;
  pen.context.imageSmoothingEnabled = true;
  const copies = copiesOf(tile.levels);
  for (let level = first; level < levels; level++) {
    pen.context.drawImage(loaded.image, source, level * copies + (copies >> 1), sourceWidth, 1, x, place.top + level * place.row, right - x, place.row - gap);
  }
}

/**
 * Returns how often the image has the row of a level. Stretching blends neighbouring rows, and a
 * row between its own copies stays as it is. Images of deep tiles would become too large.
 */
export function copiesOf(levels: number): number {
  return levels > 64 ? 1 : 3;
}

function paintImage({ tile, span, width }: LoadedTile, { palette, method }: Look): OffscreenCanvas | null {
  const rows = Math.max(1, tile.levels);
  const copies = copiesOf(tile.levels);
  const pixels = new Uint32Array(width * rows * copies);
  const perPixel = (span.until - span.from) / width;
  const least = WIDE * perPixel;
  const match = parseInt(palette.theme.match.slice(1), 16);
  const matchPixel = ((255 << 24) | ((match & 255) << 16) | (match & 0xff00) | (match >> 16)) >>> 0;
  for (let at = 0; at < tile.n; at++) {
    const [begin, end, kind] = [tile.begin[at]!, tile.end[at]!, tile.kind[at]!];
    if (tile.count[at] === 1 && end - begin >= least) continue;
    const first = Math.max(0, Math.floor((begin - span.from) / perPixel));
    const last = Math.min(width, Math.max(first + 1, Math.ceil((end - span.from) / perPixel)));
    const id = tile.method[at]!;
    const value = kind > Kind.exception ? waitPixel(kind, palette.theme) : method === null ? palette.of(id).pixel : id === method ? matchPixel : palette.fadedPixel(id);
    const row = tile.level[at]! * copies * width;
    if (tile.level[at]! < rows) pixels.fill(value, row + first, row + last);
  }
  for (let row = 0; row < rows * copies; row += copies) {
    for (let copy = 1; copy < copies; copy++) pixels.copyWithin((row + copy) * width, row * width, (row + 1) * width);
  }
  const image = new OffscreenCanvas(width, rows * copies);
  image.getContext('2d')!.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, rows * copies), 0, 0);
  return image;
}

/** For files and very deep tiles: each narrow box is a rectangle. */
function drawNarrow(pen: Pen, { tile, span, width }: LoadedTile, place: Place, look: Look): void {
  const least = (WIDE * (span.until - span.from)) / width;
  for (let at = 0; at < tile.n; at++) {
    const [begin, end] = [tile.begin[at]!, tile.end[at]!];
    if (tile.count[at] === 1 && end - begin >= least) continue;
    const [x, right] = [Math.max(place.left, place.scale.x(begin)), Math.min(place.right, Math.max(place.scale.x(begin) + 0.5, place.scale.x(end)))];
    const y = tile.level[at]! * place.row;
    if (right <= x || y >= place.height || place.top + y >= place.shownBottom || place.top + y + place.row <= place.shownTop) continue;
    const theme = look.palette.theme;
    const kind = tile.kind[at]!;
    const colour = kind > Kind.exception ? theme.parked : tile.method[at] === look.method ? theme.match : look.palette.of(tile.method[at]!).css;
    pen.rect(x, place.top + y, right - x, place.row - (place.row > 5 ? 1 : 0), colour);
  }
}

function drawRuns(pen: Pen, loaded: LoadedTile, place: Place, theme: Theme): void {
  const colour = theme.isDark ? 'rgb(10 12 16 / 55%)' : 'rgb(255 255 255 / 60%)';
  for (const run of loaded.runs) {
    const x = Math.max(place.left, place.scale.x(run.begin));
    const right = Math.min(place.right, place.scale.x(run.end));
    const y = run.level * place.row;
    if (right - x < 3 || y >= place.height || place.top + y >= place.shownBottom || place.top + y + place.row <= place.shownTop) continue;
    pen.hatch(x, place.top + y, right - x, place.row - (place.row > 5 ? 1 : 0), colour, 5);
  }
}

function drawBox(pen: Pen, { tile }: LoadedTile, at: number, x: number, y: number, width: number, place: Place, look: Look): void {
  const { theme } = look.palette;
  const kind = tile.kind[at]!;
  const height = place.row - (place.row > 5 ? 1 : 0);
  const method = tile.method[at]!;
  // Neighbouring boxes stay apart.
  const inner = width > 3 ? width - 0.75 : width;
  if (kind === Kind.missing) {
    pen.rect(x, place.top, inner, place.height, theme.isDark ? '#2b2412' : '#fff6e0');
    pen.hatch(x, place.top, inner, place.height, theme.missing, 7, true);
    drawText(pen, look, WAIT_TEXT[kind]!, x, y, inner, height, theme.missing, theme.isDark ? '#2b2412' : '#fff6e0');
    return;
  }
  if (kind >= Kind.blocked) {
    drawWait(pen, look, kind, x, y, inner, height);
    return;
  }
  const isMatch = method === look.method;
  const isFaded = look.method !== null && !isMatch;
  const colour = isMatch ? theme.match : isFaded ? css(fade(look.palette.of(method).rgb, theme)) : look.palette.of(method).css;
  pen.rect(x, y, inner, height, colour);
  if (kind === Kind.exception && width > 4) {
    pen.rect(x + inner - 3, y, 3, height, theme.exception);
    pen.area([x + inner - 3, y, x + inner - 10, y, x + inner - 3, y + 7], theme.exception);
  }
  if (width < 24 || height < 10) return;
  const name = look.names.get(method);
  if (!name) return;
  const text = look.measure.fit(labels(name), inner - 8 - (kind === Kind.exception ? 8 : 0));
  if (text !== '') pen.text(text, x + 4, y + height / 2 + 0.5, isMatch ? theme.back : isFaded ? theme.dim : theme.boxText);
}

function drawWait(pen: Pen, look: Look, kind: number, x: number, y: number, width: number, height: number): void {
  const { theme } = look.palette;
  const colour = kind === Kind.blocked ? theme.blocked : kind === Kind.waiting ? theme.waiting : theme.parked;
  const middle = y + height / 2;
  if (kind === Kind.blocked) {
    pen.rect(x, y, width, height, theme.isDark ? '#3a1b1b' : '#fdeceb');
    pen.hatch(x, y, width, height, theme.isDark ? '#6d3431' : '#efb9b5', 6, true);
    if (width > 6) pen.outline(x, y, width, height, colour);
  } else {
    // A line with ends, as on a technical drawing: the thread does nothing here.
    pen.rect(x, middle - 0.5, width, 1, colour);
    if (width > 4 && height > 6) {
      pen.rect(x, y + 3, 1, height - 6, colour);
      pen.rect(x + width - 1, y + 3, 1, height - 6, colour);
    }
    if (kind === Kind.waiting && width > 4) pen.rect(x, middle + 1.5, width, 1, colour);
  }
  drawText(pen, look, WAIT_TEXT[kind]!, x + 4, y, width - 8, height, colour, kind === Kind.blocked ? (theme.isDark ? '#3a1b1b' : '#fdeceb') : theme.back);
}

/** Draws text with a background, over lines. */
function drawText(pen: Pen, look: Look, texts: string[], x: number, y: number, room: number, height: number, colour: string, back: string): void {
  if (room < 30 || height < 10) return;
  const text = texts.find((other) => look.measure.width(other) <= room - 10);
  if (text === undefined) return;
  pen.rect(x + 2, y + 1, look.measure.width(text) + 6, height - 2, back);
  pen.text(text, x + 5, y + height / 2 + 0.5, colour);
}
