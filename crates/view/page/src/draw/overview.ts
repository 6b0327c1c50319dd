// Draws the whole run: a heat map of threads over time, and lanes of other events.

import type { HeatMap, Lanes, Occurrences } from '../data/types.ts';
import { type Theme, css, heatColour } from '../pure/colour.ts';
import { axis, bytes, count, duration, moment, shortCount, visible } from '../pure/format.ts';
import { held } from '../pure/held.ts';
import { type Grid, Scale, type Span, length } from '../pure/span.ts';
import type { Heat } from '../pure/state.ts';
import type { Measure, Pen } from './pen.ts';

export const LABELS = 168;
const AXIS = 20;
const LANE = 14;
/** Height of a row from which on its label does not overlap those of its neighbours. */
const LABEL_HEIGHT = 12;
/** Colours of the heat map. */
const HEAT_STEPS = 200;

export interface OverviewPicture {
  width: number;
  theme: Theme;
  measure: Measure;
  /** The span of the picture. */
  whole: Span;
  view: Span;
  selection: Span | null;
  /** Selected threads: their rows are marked. */
  threads: readonly number[] | null;
  /** The intervals of the heat map and of occurrences. */
  grid: Grid;
  heat: HeatMap | null;
  value: Heat;
  lanes: Lanes | null;
  occurrences: { answer: Occurrences; name: string } | null;
}

interface Lane {
  label: string;
  top: number;
  height: number;
  row: number;
}

function rowHeight(rows: number): number {
  return rows > 16 ? 6 : 10;
}

/** Returns the places of the rows: of the heat map first, then of the lanes. */
export function overviewLanes({ heat, occurrences }: Pick<OverviewPicture, 'heat' | 'occurrences'>): Lane[] {
  const lanes: Lane[] = [];
  let top = AXIS;
  const rows = heat?.rows ?? [];
  rows.forEach(({ label }, row) => {
    const height = rowHeight(rows.length);
    lanes.push({ label, top, height, row });
    top += height;
  });
  top += 5;
  const names = ['collections', 'blocked, parked', 'exceptions', 'marks, bursts', 'heap used'];
  if (occurrences) names.unshift('marked method');
  for (const label of names) {
    lanes.push({ label, top, height: LANE, row: -1 });
    top += LANE + 1;
  }
  return lanes;
}

export function overviewHeight(rows: number, hasMethod: boolean): number {
  return AXIS + rows * rowHeight(rows) + 5 + (hasMethod ? 6 : 5) * (LANE + 1) + 2;
}

export function overviewScale(picture: Pick<OverviewPicture, 'whole' | 'width'>): Scale {
  return new Scale(picture.whole, Math.max(1, picture.width - LABELS), LABELS);
}

export function drawOverview(pen: Pen, picture: OverviewPicture): void {
  drawRun(pen, picture);
  drawSpans(pen, picture);
}

/** Draws all but the spans. It changes rarely, so that the page keeps it as an image. */
export function drawRun(pen: Pen, picture: OverviewPicture): void {
  const { width, theme, lanes, whole } = picture;
  const scale = overviewScale(picture);
  const places = overviewLanes(picture);
  const height = heightOf(picture);
  pen.rect(0, 0, width, height, theme.back);
  const { base, ticks } = axis(whole.from, whole.until, (width - LABELS) / 100);
  if (base !== 0) {
    const text = moment(base);
    pen.text(text, LABELS - 8 - picture.measure.width(text, true), AXIS / 2 - 1, theme.text, true);
  }
  for (const { at, text } of ticks) {
    const x = Math.round(scale.x(at));
    pen.rect(x, AXIS - 5, 1, 5, theme.line);
    if (x + 4 + picture.measure.width(text) < width) pen.text(text, x + 4, AXIS / 2 - 1, theme.dim);
  }
  drawHeat(pen, picture, places, scale);
  for (const place of places) {
    if (place.row >= 0) continue;
    pen.text(place.label, 8, place.top + LANE / 2, theme.dim);
    pen.rect(LABELS, place.top, width - LABELS, LANE, theme.raised);
    if (lanes) pen.clip(LABELS, place.top, width - LABELS, LANE, () => drawLane(pen, picture, place, lanes, scale));
  }
  drawMissing(pen, picture, scale, height);
}

function heightOf(picture: OverviewPicture): number {
  return (overviewLanes(picture).at(-1)?.top ?? 0) + LANE + 4;
}

function drawHeat(pen: Pen, { heat, grid, theme, measure, threads, width }: OverviewPicture, places: Lane[], scale: Scale): void {
  if (!heat) return;
  const most = Math.max(1, heat.max);
  const colours = Array.from({ length: HEAT_STEPS + 1 }, (_, step) => css(heatColour(step / HEAT_STEPS, theme.isDark)));
  // A small value differs from none.
  const stepOf = (value: number) => (value > 0 ? Math.max(1, Math.round((HEAT_STEPS * value) / most)) : 0);
  const chosen = threads && new Set(threads);
  heat.rows.forEach((row, number) => {
    const place = places[number]!;
    const values = heat.values[number] ?? [];
    const size = length(grid) / grid.bins;
    const x = (bin: number) => Math.min(width, scale.x(grid.from + bin * size));
    pen.rect(LABELS, place.top, width - LABELS, place.height - 1, css(heatColour(0, theme.isDark)));
    // Neighbours of the same colour are one rectangle.
    for (let from = 0; from < values.length; ) {
      const step = stepOf(values[from]!);
      let until = from + 1;
      while (until < values.length && stepOf(values[until]!) === step) until++;
      if (values[from]! > 0) pen.rect(x(from), place.top, x(until) - x(from) + 0.3, place.height - 1, colours[step]!);
      from = until;
    }
    const isChosen = chosen !== null && row.threads.some((thread) => chosen.has(thread));
    if (isChosen) pen.rect(2, place.top, 3, place.height - 1, theme.accent);
    // Labels of small rows would overlap: each second one is left out, and the one above says so.
    const isSmall = place.height < LABEL_HEIGHT;
    if (isSmall && number % 2 === 1) return;
    const rest = isSmall && number + 1 < heat.rows.length ? ' (+1)' : '';
    const label = measure.fit([visible(row.label, 80)], LABELS - 16 - measure.width(rest));
    pen.text(`${label}${rest}`, 8, place.top + place.height / 2, isChosen ? theme.text : theme.dim);
  });
}

function drawLane(pen: Pen, picture: OverviewPicture, place: Lane, lanes: Lanes, scale: Scale): void {
  const { theme } = picture;
  const bottom = place.top + LANE;
  const size = (lanes.until - lanes.from) / Math.max(1, lanes.bins);
  const bars = (values: readonly number[], most: number, colour: string) => {
    values.forEach((value, bin) => {
      if (value > 0) pen.rect(scale.x(lanes.from + bin * size), bottom - Math.max(1, (LANE - 1) * Math.min(1, value / most)), Math.max(1, size / scale.perPixel), LANE, colour);
    });
  };
  switch (place.label) {
    case 'marked method': {
      const { answer } = picture.occurrences!;
      const { grid } = picture;
      const bins = answer.interval ?? length(grid) / grid.bins;
      const most = Math.max(1, ...answer.calls);
      answer.calls.forEach((calls, bin) => {
        if (calls > 0) pen.rect(scale.x(grid.from + bin * bins), bottom - Math.max(2.5, (LANE - 1) * Math.sqrt(calls / most)), Math.max(1, bins / scale.perPixel), LANE, theme.match);
      });
      if (answer.slowest) {
        const x = scale.x(answer.slowest.begin);
        pen.area([x - 5, place.top, x + 5, place.top, x, place.top + 9], theme.text);
      }
      break;
    }
    case 'collections':
      for (const [begin, end, kind] of lanes.collections) {
        const isFull = /full|old|major/i.test(kind);
        pen.rect(scale.x(begin), place.top + (isFull ? 1 : 6), Math.max(1.5, (end - begin) / scale.perPixel), isFull ? LANE - 2 : LANE - 7, theme.collection);
      }
      break;
    case 'blocked, parked': {
      const most = Math.max(1, ...lanes.blocked.map((value, bin) => value + lanes.parked[bin]!));
      bars(lanes.blocked.map((value, bin) => value + lanes.parked[bin]!), most, theme.isDark ? '#4a5568' : '#c3ccda');
      bars(lanes.blocked, most, theme.blocked);
      break;
    }
    case 'exceptions':
      bars(lanes.exceptions, Math.max(1, ...lanes.exceptions), theme.exception);
      break;
    case 'marks, bursts':
      for (const [begin, end] of lanes.bursts) pen.rect(scale.x(begin), place.top + 9, Math.max(3, (end - begin) / scale.perPixel), 5, theme.burst);
      for (const [time] of lanes.marks) {
        const x = scale.x(time);
        pen.area([x, place.top + 1, x + 5, place.top + 4, x, place.top + 7], theme.mark);
        pen.rect(x, place.top + 1, 1, LANE - 2, theme.mark);
      }
      break;
    case 'heap used':
      drawHeap(pen, lanes, scale, bottom, theme);
      break;
  }
}

function drawHeap(pen: Pen, lanes: Lanes, scale: Scale, bottom: number, theme: Theme): void {
  const size = (lanes.until - lanes.from) / Math.max(1, lanes.bins);
  // What is in use is known after each collection only.
  const heap = held(lanes.heap);
  const most = Math.max(1, ...heap.map((value) => value ?? 0));
  for (let from = 0; from < heap.length; from++) {
    if (heap[from] == null) continue;
    const points = [scale.x(lanes.from + from * size), bottom];
    for (; from < heap.length && heap[from] != null; from++) {
      const y = bottom - (LANE - 1) * (heap[from]! / most);
      points.push(scale.x(lanes.from + from * size), y, scale.x(lanes.from + (from + 1) * size), y);
    }
    points.push(points[points.length - 2]!, bottom);
    pen.area(points, theme.isDark ? '#35466d' : '#c6d4f0');
    pen.line(points.slice(2, -2), theme.heap, 1);
  }
}

function drawMissing(pen: Pen, { lanes, theme }: OverviewPicture, scale: Scale, height: number): void {
  for (const [from, until] of lanes?.missing ?? []) {
    const [x, size] = [scale.x(from), Math.max(3, (until - from) / scale.perPixel)];
    pen.rect(x, AXIS, size, height - AXIS, theme.isDark ? '#2b2412' : '#fff3d6');
    pen.hatch(x, AXIS, size, height - AXIS, theme.missing, 5, true);
    pen.area([x + size / 2 - 4, AXIS - 7, x + size / 2 + 4, AXIS - 7, x + size / 2, AXIS], theme.missing);
  }
}

/** Draws the selected span, and an outline of what the timeline shows. */
export function drawSpans(pen: Pen, picture: OverviewPicture): void {
  const { view, selection, whole, theme, width } = picture;
  const scale = overviewScale(picture);
  const height = heightOf(picture);
  if (selection) {
    const [left, right] = [Math.max(LABELS, scale.x(selection.from)), Math.min(width, scale.x(selection.until))];
    const shade = theme.isDark ? 'rgb(0 0 0 / 38%)' : 'rgb(255 255 255 / 48%)';
    pen.rect(LABELS, AXIS, left - LABELS, height - AXIS, shade);
    pen.rect(right, AXIS, width - right, height - AXIS, shade);
    for (const x of [left, right]) pen.rect(Math.min(width - 1, x), AXIS, 1, height - AXIS, theme.accent);
    pen.rect(left, AXIS - 4, Math.max(2, right - left), 3, theme.accent);
  }
  if (view.from <= whole.from && view.until >= whole.until) return;
  // What the timeline shows: at least a few pixels, so that one finds it.
  const middle = (scale.x(view.from) + scale.x(view.until)) / 2;
  const half = Math.max(2, (scale.x(view.until) - scale.x(view.from)) / 2);
  pen.outline(middle - half - 1, 1, 2 * half + 2, height - 2, theme.text, 1.5);
  pen.rect(middle - half, 1, 2 * half, 4, theme.text);
}

/** Returns what is under the pointer, a line each. */
export function overviewTexts(picture: OverviewPicture, x: number, y: number): string[] {
  const scale = overviewScale(picture);
  const time = scale.time(x);
  const place = overviewLanes(picture).find((lane) => y >= lane.top && y < lane.top + lane.height);
  const { whole } = picture;
  if (!place || time < whole.from || time > whole.until) return [];
  const { grid } = picture;
  const atBin = Math.floor(((time - grid.from) / length(grid)) * grid.bins);
  const at = `at ${whole.from > 0 ? moment(time) : duration(time)}`;
  const { heat, lanes, value } = picture;
  if (place.row >= 0) {
    const values = heat?.values[place.row] ?? [];
    const text = value === 'calls' ? `${count(values[atBin] ?? 0)} calls` : value === 'cpu' ? `${duration(values[atBin] ?? 0)} CPU` : `${bytes(values[atBin] ?? 0)} allocated`;
    return [visible(place.label, 200), `${text} in ${duration(length(grid) / grid.bins)}`, at];
  }
  if (!lanes) return [place.label, at];
  const slack = 3 * scale.perPixel;
  const bin = Math.floor(((time - lanes.from) / (lanes.until - lanes.from)) * lanes.bins);
  const texts: Record<string, () => string[]> = {
    collections: () => lanes.collections.filter(([begin, end]) => time >= begin - slack && time <= end + slack).slice(0, 4).map(([begin, end, kind, cause, used]) => visible(`${kind}, ${duration(end - begin)}: ${cause}${used == null ? '' : `, ${bytes(used)} used after`}`)),
    'blocked, parked': () => [`blocked ${duration(lanes.blocked[bin] ?? 0)}, parked ${duration(lanes.parked[bin] ?? 0)}`],
    exceptions: () => [`${count(lanes.exceptions[bin] ?? 0)} exceptions`],
    'marks, bursts': () => [
      ...lanes.marks.filter(([mark]) => Math.abs(mark - time) < slack).map(([, text]) => visible(text)),
      ...lanes.bursts.filter(([begin, end]) => time >= begin - slack && time <= end + slack).map(([begin, end, text]) => visible(`${text}, ${duration(end - begin)}`)),
    ],
    'heap used': () => {
      const used = held(lanes.heap)[bin];
      return [used == null ? 'unknown' : `${bytes(used)} used${lanes.heap[bin] == null ? ' after the last collection' : ''}`];
    },
    'marked method': () => {
      const { answer, name } = picture.occurrences!;
      const size = answer.interval ?? length(grid) / grid.bins;
      const calls = answer.calls[Math.floor((time - grid.from) / size)] ?? 0;
      return [name, `${shortCount(calls)} calls here`, ...(answer.slowest ? [`slowest call: ${duration(answer.slowest.end - answer.slowest.begin)} at ${duration(answer.slowest.begin)} (key s)`] : [])];
    },
  };
  return [place.label, ...(texts[place.label]?.() ?? []), at];
}
