// Draws the timeline: the axis, a track for each thread, what is selected.

import type { LoadedTile, Tiles, Wanted } from '../data/tiles.ts';
import { Tiles as TileStore } from '../data/tiles.ts';
import type { Lanes } from '../data/types.ts';
import { axis, duration, moment, plural, shortCount } from '../pure/format.ts';
import { Scale, type Span, length } from '../pure/span.ts';
import type { CallId } from '../pure/state.ts';
import { TILE_WIDTH, type TilePlace, placeSpan, placesFor } from '../pure/tile.ts';
import { GAP, type Track } from '../pure/tracks.ts';
import { type Look, drawTile } from './boxes.ts';
import type { Pen } from './pen.ts';

export const AXIS_HEIGHT = 22;

/** A box under the pointer or the focus of the keyboard. */
export interface Box {
  thread: number;
  begin: number;
  end: number;
  method: number;
  count: number;
  level: number;
  kind: number;
}

export interface TimelinePicture {
  width: number;
  height: number;
  view: Span;
  selection: Span | null;
  tracks: readonly Track[];
  scrollTop: number;
  /** Power of the tiles. */
  power: number;
  tiles: Tiles;
  look: Look;
  lanes: Lanes | null;
  density: ReadonlyMap<number, Lanes>;
  focus: Box | null;
  call: CallId | null;
  callEnd: number | null;
  end: number;
}

/** Draws the picture, and returns the tiles that it needs. */
export function drawTimeline(pen: Pen, picture: TimelinePicture): Wanted[] {
  const { width, height, view, look, tracks, scrollTop } = picture;
  const { theme } = look.palette;
  const scale = new Scale(view, width);
  const wanted: Wanted[] = [];
  pen.rect(0, 0, width, height, theme.back);
  pen.clip(0, AXIS_HEIGHT, width, height - AXIS_HEIGHT, () => {
    drawBackdrop(pen, picture, scale);
    for (const track of tracks) {
      const top = AXIS_HEIGHT + track.top - scrollTop;
      pen.rect(0, top + track.height - 1, width, 1, theme.faint);
      if (track.kind === 'group') drawDensity(pen, picture, track, top + 3, scale);
      else wanted.push(...drawTrack(pen, picture, track, top + 3, scale));
    }
    drawFocus(pen, picture, scale);
    drawEdges(pen, picture, scale);
  });
  drawAxis(pen, picture, scale);
  return wanted;
}

function drawTrack(pen: Pen, picture: TimelinePicture, track: Track, top: number, scale: Scale): Wanted[] {
  const { width, view, power, tiles } = picture;
  const wanted: Wanted[] = [];
  const missing: [TilePlace, number, number][] = [];
  const area = { scale, top, row: track.row, height: track.height - GAP, shownTop: AXIS_HEIGHT, shownBottom: picture.height, pictureRight: width };
  const draw = () => {
    for (const place of placesFor(view, power)) {
      const key = TileStore.key(track.id, place, TILE_WIDTH);
      wanted.push({ key, thread: track.id, place, width: TILE_WIDTH });
      const span = placeSpan(place);
      const [left, right] = [Math.max(0, scale.x(span.from)), Math.min(width, scale.x(span.until))];
      const isFirst = span.from <= view.from;
      const loaded = tiles.get(key);
      if (loaded) drawTile(pen, loaded, { ...area, left, right, isFirst }, picture.look);
      else {
        missing.push([place, left, right]);
        for (const substitute of substitutes(tiles, track.id, place)) {
          const from = Math.max(left, scale.x(substitute.span.from));
          const until = Math.min(right, scale.x(substitute.span.until));
          drawTile(pen, substitute, { ...area, left: from, right: until, isFirst: isFirst || substitute.span.from > span.from }, picture.look);
        }
      }
    }
  };
  pen.clip(0, top, width, track.height - GAP + 1, draw);
  // A line below what is still being loaded.
  for (const [, left, right] of missing) pen.rect(left, top + track.height - GAP, right - left, 1.5, picture.look.palette.theme.accent);
  return wanted;
}

/** Returns tiles of other sizes that show a place until its own tile is there. */
export function substitutes(tiles: Tiles, thread: number, { power, index }: TilePlace): LoadedTile[] {
  for (let up = 1; up <= 14; up++) {
    const larger = tiles.get(TileStore.key(thread, { power: power + up, index: Math.floor(index / 2 ** up) }, TILE_WIDTH));
    if (larger) return [larger];
  }
  return [0, 1].flatMap((half) => tiles.get(TileStore.key(thread, { power: power - 1, index: 2 * index + half }, TILE_WIDTH)) ?? []);
}

/** Collections, marks and what is missing stand behind the tracks. */
function drawBackdrop(pen: Pen, picture: TimelinePicture, scale: Scale): void {
  const { width, height, view, lanes, end } = picture;
  const { theme } = picture.look.palette;
  for (const [begin, until] of lanes?.collections ?? []) {
    if (until < view.from || begin > view.until) continue;
    const x = scale.x(begin);
    pen.rect(Math.max(0, x), 0, Math.max(1, Math.min(width, scale.x(until)) - Math.max(0, x)), height, theme.isDark ? 'rgb(79 209 197 / 9%)' : 'rgb(11 122 117 / 7%)');
  }
  if (end < view.until) pen.hatch(scale.x(end), 0, width - scale.x(end), height, theme.faint, 8);
}

function drawEdges(pen: Pen, picture: TimelinePicture, scale: Scale): void {
  const { width, height, selection, lanes, view } = picture;
  const { theme } = picture.look.palette;
  for (const [time] of lanes?.marks ?? []) if (time >= view.from && time <= view.until) pen.rect(Math.round(scale.x(time)), 0, 1, height, `${theme.mark}66`);
  if (!selection) return;
  const [left, right] = [scale.x(selection.from), scale.x(selection.until)];
  const shade = theme.isDark ? 'rgb(0 0 0 / 38%)' : 'rgb(110 120 140 / 16%)';
  if (left > 0) pen.rect(0, 0, Math.min(width, left), height, shade);
  if (right < width) pen.rect(Math.max(0, right), 0, width - Math.max(0, right), height, shade);
  for (const x of [left, right]) if (x >= 0 && x <= width) pen.rect(Math.min(width - 1, x), 0, 1, height, theme.accent);
}

function drawDensity(pen: Pen, picture: TimelinePicture, track: Track, top: number, scale: Scale): void {
  const lanes = picture.density.get(track.id);
  const { theme } = picture.look.palette;
  const height = track.height - GAP;
  pen.rect(0, top + height - 1, picture.width, 1, theme.line);
  if (!lanes || lanes.bins === 0) return;
  const most = Math.max(1, ...lanes.calls);
  const size = (lanes.until - lanes.from) / lanes.bins;
  const points: number[] = [scale.x(lanes.from), top + height - 1];
  lanes.calls.forEach((calls, bin) => {
    const y = top + height - 1 - (height - 3) * Math.sqrt(calls / most);
    points.push(scale.x(lanes.from + bin * size), y, scale.x(lanes.from + (bin + 1) * size), y);
  });
  points.push(scale.x(lanes.until), top + height - 1);
  pen.clip(0, top, picture.width, height, () => pen.area(points, theme.isDark ? '#4d6496' : '#a9bfe8'));
  const text = `up to ${shortCount(most)} calls in ${duration(size)}`;
  pen.rect(4, top + 1, picture.look.measure.width(text) + 8, 14, theme.back);
  pen.text(text, 8, top + 8, theme.dim);
}

function drawFocus(pen: Pen, picture: TimelinePicture, scale: Scale): void {
  const { tracks, scrollTop, focus, call, callEnd } = picture;
  const { theme } = picture.look.palette;
  const around = (thread: number, begin: number, end: number, level: number, colour: string, thickness: number) => {
    const track = tracks.find((other) => other.kind === 'thread' && other.id === thread);
    if (!track || (level + 1) * track.row > track.height) return;
    const x = Math.max(-4, scale.x(begin));
    const right = Math.min(picture.width + 4, scale.x(end));
    if (right < 0 || x > picture.width) return;
    const y = AXIS_HEIGHT + track.top - scrollTop + 3 + level * track.row;
    const grow = thickness > 1 ? 1 : 0;
    pen.outline(x - grow, y - grow, Math.max(3, right - x) + 2 * grow, track.row - (track.row > 5 ? 1 : 0) + 2 * grow, colour, thickness);
  };
  if (call) {
    const end = callEnd ?? call.begin;
    around(call.thread, call.begin, end, call.level, theme.text, 2);
    // A small call is hard to find: an arrow in the axis points to it.
    const x = scale.x((call.begin + end) / 2);
    if (scale.x(end) - scale.x(call.begin) < 12) pen.line([x, AXIS_HEIGHT, x, picture.height], theme.isDark ? 'rgb(255 255 255 / 35%)' : 'rgb(20 24 34 / 30%)', 1);
  }
  if (focus) around(focus.thread, focus.begin, focus.end, focus.level, theme.accent, 1.5);
}

function drawAxis(pen: Pen, picture: TimelinePicture, scale: Scale): void {
  const { width, view, selection, look, call } = picture;
  const { theme } = look.palette;
  pen.rect(0, 0, width, AXIS_HEIGHT, theme.raised);
  if (selection) {
    const [left, right] = [Math.max(0, scale.x(selection.from)), Math.min(width, scale.x(selection.until))];
    if (right > left) pen.rect(left, AXIS_HEIGHT - 3, right - left, 3, theme.accent);
  }
  const { base, ticks } = axis(view.from, view.until, width / 110);
  const baseText = base === 0 ? '' : `${moment(base)} `;
  const room = baseText === '' ? 0 : look.measure.width(baseText, true) + 10;
  for (const { at, text } of ticks) {
    const x = Math.round(scale.x(at));
    pen.rect(x, AXIS_HEIGHT - 7, 1, 7, theme.line);
    if (x + 4 > room && x + 4 + look.measure.width(text) < width) pen.text(text, x + 4, AXIS_HEIGHT / 2, theme.dim);
  }
  if (baseText !== '') pen.text(baseText, 4, AXIS_HEIGHT / 2, theme.text, true);
  if (call) {
    const x = scale.x(call.begin);
    if (x >= 0 && x <= width) pen.area([x - 4, AXIS_HEIGHT - 8, x + 4, AXIS_HEIGHT - 8, x, AXIS_HEIGHT - 1], theme.text);
  }
  pen.rect(0, AXIS_HEIGHT - 1, width, 1, theme.line);
}

/** Returns what a box is, for people. */
export function boxText(box: Box, name: string): string {
  return box.count > 1 ? `${plural(box.count, 'call')} narrower than a pixel, most time in ${name}` : name;
}

/** Length of a pixel's time, for people. */
export function pixelTime(view: Span, width: number): string {
  return `${duration(length(view) / Math.max(1, width))} per pixel`;
}
