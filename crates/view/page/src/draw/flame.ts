// Draws a flame graph.

import type { Names } from '../data/names.ts';
import { type Theme, css } from '../pure/colour.ts';
import type { Bar } from '../pure/flame.ts';
import { labels } from '../pure/names.ts';
import { NO_METHOD, SHORTER_CALLS } from '../pure/tile.ts';
import { type Palette, fade } from './boxes.ts';
import type { Measure, Pen } from './pen.ts';

export const FLAME_ROW = 18;

export interface FlamePicture {
  width: number;
  bars: readonly Bar[];
  methods: readonly number[];
  /** Depth of the node to which the graph is zoomed. What is above it is pale. */
  zoomDepth: number;
  palette: Palette;
  names: Names;
  measure: Measure;
  theme: Theme;
  marked: number | null;
  focus: number | null;
}

export function drawFlame(pen: Pen, picture: FlamePicture): void {
  const { bars, methods, palette, theme, width, names, measure, marked } = picture;
  for (const bar of bars) {
    const method = methods[bar.node]!;
    const [x, y, w] = [bar.left * width, bar.depth * FLAME_ROW, bar.width * width];
    const isMatch = method === marked;
    const isPale = bar.depth < picture.zoomDepth || (marked !== null && !isMatch);
    const isSpecial = method === NO_METHOD || method === SHORTER_CALLS;
    const colour = isMatch ? theme.match : isSpecial ? css(theme.unknown) : isPale ? css(fade(palette.of(method).rgb, theme)) : palette.of(method).css;
    const inner = w > 3 ? w - 0.75 : w;
    pen.rect(x, y, inner, FLAME_ROW - 1, colour);
    if (method === SHORTER_CALLS && w > 3) pen.hatch(x, y, inner, FLAME_ROW - 1, theme.dim, 6);
    if (w < 26) continue;
    const name = names.get(method);
    const text = name ? measure.fit(labels(name), inner - 8) : '';
    if (text !== '') pen.text(text, x + 4, y + FLAME_ROW / 2, isMatch ? theme.back : isPale ? theme.dim : theme.boxText);
  }
  const focus = bars.find((bar) => bar.node === picture.focus);
  if (focus) pen.outline(focus.left * width, focus.depth * FLAME_ROW, Math.max(3, focus.width * width), FLAME_ROW - 1, theme.text, 1.5);
}
