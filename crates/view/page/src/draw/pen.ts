// Pictures are drawn with a pen, which draws on a canvas or writes an SVG file.

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const BOLD = `600 ${FONT}`;

export interface Pen {
  rect(x: number, y: number, width: number, height: number, colour: string): void;
  outline(x: number, y: number, width: number, height: number, colour: string, thickness?: number): void;
  /** Diagonal lines. `step` is their distance; `isBack` turns them the other way. */
  hatch(x: number, y: number, width: number, height: number, colour: string, step?: number, isBack?: boolean): void;
  line(points: readonly number[], colour: string, thickness?: number): void;
  /** A filled shape. */
  area(points: readonly number[], colour: string): void;
  /** Text whose middle is at `y`. */
  text(text: string, x: number, y: number, colour: string, isBold?: boolean): void;
  /** Calls `draw`; nothing outside of the rectangle is changed. */
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

/** Returns the lines of a hatched area as pairs of points, cut at the area's edges. */
export function hatchLines(x: number, y: number, width: number, height: number, step: number, isBack: boolean): number[][] {
  const lines: number[][] = [];
  // The lines of neighbouring areas meet, since they depend on x + y, or x − y, alone.
  const sign = isBack ? -1 : 1;
  const low = isBack ? x - y - height : x + y;
  const high = isBack ? x + width - y : x + width + y + height;
  for (let c = Math.ceil(low / step) * step; c <= high; c += step) {
    // A point of the line has px = c − sign · py.
    const one = Math.max(x, Math.min(x + width, c - sign * y));
    const other = Math.max(x, Math.min(x + width, c - sign * (y + height)));
    if (one === other) continue;
    lines.push([one, (c - one) * sign, other, (c - other) * sign]);
  }
  return lines;
}

/** Widths of texts. Measuring is slow, and the same names are drawn in each frame. */
export class Measure {
  private readonly widths = new Map<string, number>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  width(text: string, isBold = false): number {
    const key = isBold ? `!${text}` : text;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      this.context.font = isBold ? BOLD : FONT;
      width = this.context.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }

  /** Returns the first text that fits, or the last one cut with `…`, or '' if too little is left. */
  fit(texts: readonly string[], room: number): string {
    if (room < 12) return '';
    for (const text of texts) if (this.width(text) <= room) return text;
    const last = texts[texts.length - 1] ?? '';
    // Each width of a box has another cut text. Only whole names are measured, and some room is
    // left for letters that are wider than the others.
    const cut = Math.floor((last.length * (room - this.width('…')) * 0.94) / this.width(last));
    return cut >= 2 ? `${last.slice(0, Math.min(cut, last.length - 1))}…` : '';
  }
}

export class CanvasPen implements Pen {
  private readonly patterns = new Map<string, CanvasPattern>();
  private ratio = 1;

  constructor(readonly context: CanvasRenderingContext2D) {}

  /** Prepares a picture: sizes are in CSS pixels, `ratio` is the number of device pixels of one. */
  begin(width: number, height: number, ratio: number): void {
    const canvas = this.context.canvas;
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    if (this.ratio !== ratio) this.patterns.clear();
    this.ratio = ratio;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.context.textBaseline = 'middle';
  }

  rect(x: number, y: number, width: number, height: number, colour: string): void {
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }

  outline(x: number, y: number, width: number, height: number, colour: string, thickness = 1): void {
    this.context.strokeStyle = colour;
    this.context.lineWidth = thickness;
    this.context.strokeRect(x + thickness / 2, y + thickness / 2, Math.max(0, width - thickness), Math.max(0, height - thickness));
  }

  hatch(x: number, y: number, width: number, height: number, colour: string, step = 5, isBack = false): void {
    const key = `${colour} ${step} ${isBack}`;
    let pattern = this.patterns.get(key);
    if (!pattern) this.patterns.set(key, (pattern = this.makePattern(colour, step, isBack)));
    this.context.fillStyle = pattern;
    this.context.fillRect(x, y, width, height);
  }

  private makePattern(colour: string, step: number, isBack: boolean): CanvasPattern {
    const tile = document.createElement('canvas');
    const size = Math.max(3, Math.round(step * this.ratio));
    tile.width = tile.height = size;
    const context = tile.getContext('2d')!;
    context.strokeStyle = colour;
    context.lineWidth = this.ratio;
    context.beginPath();
    for (const shift of [-size, 0, size]) {
      context.moveTo(shift - 1, isBack ? -1 : size + 1);
      context.lineTo(shift + size + 1, isBack ? size + 1 : -1);
    }
    context.stroke();
    const pattern = this.context.createPattern(tile, 'repeat')!;
    pattern.setTransform(new DOMMatrix().scale(1 / this.ratio));
    return pattern;
  }

  line(points: readonly number[], colour: string, thickness = 1): void {
    this.path(points);
    this.context.strokeStyle = colour;
    this.context.lineWidth = thickness;
    this.context.stroke();
  }

  area(points: readonly number[], colour: string): void {
    this.path(points);
    this.context.fillStyle = colour;
    this.context.fill();
  }

  private path(points: readonly number[]): void {
    this.context.beginPath();
    for (let at = 0; at + 1 < points.length; at += 2) this.context.lineTo(points[at]!, points[at + 1]!);
  }

  text(text: string, x: number, y: number, colour: string, isBold = false): void {
    this.context.font = isBold ? BOLD : FONT;
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly title: string,
  ) {}

  rect(x: number, y: number, width: number, height: number, colour: string): void {
    if (width > 0 && height > 0) this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${escape(colour)}"/>`);
  }

  outline(x: number, y: number, width: number, height: number, colour: string, thickness = 1): void {
    const half = thickness / 2;
    this.parts.push(
      `<rect x="${n(x + half)}" y="${n(y + half)}" width="${n(Math.max(0, width - thickness))}" height="${n(Math.max(0, height - thickness))}" fill="none" stroke="${escape(colour)}" stroke-width="${n(thickness)}"/>`,
    );
  }

  hatch(x: number, y: number, width: number, height: number, colour: string, step = 5, isBack = false): void {
    const path = hatchLines(x, y, width, height, step, isBack).map(([a, b, c, d]) => `M${n(a!)} ${n(b!)}L${n(c!)} ${n(d!)}`);
    if (path.length > 0) this.parts.push(`<path d="${path.join('')}" stroke="${escape(colour)}" fill="none"/>`);
  }

  line(points: readonly number[], colour: string, thickness = 1): void {
    this.parts.push(`<polyline points="${points.map(n).join(' ')}" fill="none" stroke="${escape(colour)}" stroke-width="${n(thickness)}"/>`);
  }

  area(points: readonly number[], colour: string): void {
    this.parts.push(`<polygon points="${points.map(n).join(' ')}" fill="${escape(colour)}"/>`);
  }

  text(text: string, x: number, y: number, colour: string, isBold = false): void {
    this.parts.push(`<text x="${n(x)}" y="${n(y)}" fill="${escape(colour)}"${isBold ? ' font-weight="600"' : ''}>${escape(text)}</text>`);
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `c${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push('</g>');
  }

  finish(): string {
    const { width, height } = this;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}" ` +
      `font-family="system-ui, sans-serif" font-size="11" dominant-baseline="central"><title>${escape(this.title)}</title>${this.parts.join('\n')}</svg>\n`
    );
  }
}

function n(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** Escapes text for XML. Characters that XML forbids become replacement characters. */
export function escape(text: string): string {
  return text
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
