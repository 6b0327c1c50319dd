
// Paints the bars of a graph.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const PADDING = 5;

class Painter {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Colours} colours
   * @param {Frame[]} frames
   */
  constructor(canvas, colours, frames) {
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
    this.colours = colours;
    this.frames = frames;
    /** Name of the outermost bar. */
    this.rootName = '';
    /** @type {Found | null} */
    this.highlight = null;
    this.byChange = false;
    /** @type {CanvasPattern | null} */
    this.hatch = null;
    /** Widths of texts in px. @type {Map<string, number>} */
    this.widths = new Map();
  }

  /** Follows a change of the theme. */
  reset() {
    this.hatch = null;
  }

  /** @param {Graph} graph */
  paint(graph) {
    const { context, colours } = this;
    const { width, height } = graph.size;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.back;
    context.fillRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = 'middle';
    graph.rows.forEach((slots, row) => {
      const top = graph.top(row);
      if (top > height || top + ROW < 0) return;
      for (const slot of slots) {
        if (slot.bar) this.paintBar(graph, slot, slot.bar, top);
        else this.paintRest(graph, slot, top);
      }
    });
    this.paintRings(graph);
  }

  /**
   * @param {Graph} graph
   * @param {Slot} slot
   * @param {Bar} bar
   * @param {number} top
   */
  paintBar(graph, slot, bar, top) {
    const { context, colours, highlight } = this;
    const view = /** @type {View} */ (graph.view);
    const isMatch = highlight?.has(bar.frame) ?? false;
    const isFaint = (highlight !== null && !isMatch) || bar.depth < (graph.zoomed?.depth ?? 0);
    const change = bar.figures.length > 1 ? changeOf(bar.figures, view.shown.scale) : 0;
    const width = slot.width > 3 ? slot.width - 1 : slot.width;
    context.globalAlpha = isFaint ? 0.42 : 1;
    context.fillStyle = isMatch ? colours.match : this.colourOf(bar, change);
    context.fillRect(slot.x, top, width, ROW - 1);
    if (change === -1 && this.byChange && !isMatch) {
      this.hatch ??= this.makeHatch();
      context.fillStyle = this.hatch ?? '';
      context.fillRect(slot.x, top, width, ROW - 1);
    }
    context.globalAlpha = isFaint ? 0.7 : 1;
    if (slot.width >= 24) {
      const sign = change === 1 ? '+ ' : change === -1 ? '− ' : '';
      this.paintText(view, bar, sign, { x: slot.x, width, y: top + ROW / 2 }, isMatch);
    }
    context.globalAlpha = 1;
  }

  /**
   * @param {Bar} bar
   * @param {number} change
   */
  colourOf(bar, change) {
    return this.byChange && bar.figures.length > 1 ? this.colours.ofChange(change) : this.colours.ofFrame(this.frames[bar.frame]);
  }

  /**
   * Paints bars that are too narrow as one.
   * @param {Graph} graph
   * @param {Slot} slot
   * @param {number} top
   */
  paintRest(graph, slot, top) {
    if (slot.width < 0.4) return;
    const { context, colours, highlight } = this;
    const view = /** @type {View} */ (graph.view);
    const bars = highlight ? view.below(slot.above).slice(slot.first, slot.last + 1) : [];
    context.fillStyle = bars.some((bar) => highlight?.has(bar.frame)) ? colours.match : colours.rest;
    context.fillRect(slot.x, top, slot.width > 3 ? slot.width - 1 : slot.width, ROW - 1);
  }

  /**
   * Paints as much of a bar's name as fits, its package if there is room, and its share.
   * @param {View} view
   * @param {Bar} bar
   * @param {string} sign
   * @param {{x: number, width: number, y: number}} place
   * @param {boolean} isMatch
   */
  paintText(view, bar, sign, place, isMatch) {
    const { context, colours } = this;
    const room = place.width - 2 * PADDING;
    const texts = this.textsOf(bar).map((text) => sign + text);
    const fitting = texts.find((text) => this.measure(text) <= room);
    const text = fitting ?? this.cut(texts[texts.length - 1], room);
    if (text === '') return;
    context.fillStyle = isMatch ? colours.matchText : colours.text;
    context.fillText(text, place.x + PADDING, place.y + 0.5);
    let left = room - this.measure(text) - 14;
    if (!fitting || left < 40) return;
    context.fillStyle = isMatch ? colours.matchText : colours.text;
    context.globalAlpha *= 0.62;
    const part = this.partOf(view, bar);
    const partWidth = this.measure(part);
    if (partWidth <= left) {
      context.fillText(part, place.x + place.width - PADDING - partWidth, place.y + 0.5);
      left -= partWidth + 14;
    }
    const owner = visible(this.frames[bar.frame]?.package ?? '');
    if (owner !== '' && this.measure(owner) <= left) context.fillText(owner, place.x + PADDING + this.measure(text) + 14, place.y + 0.5);
  }

  /**
   * Returns the share of a bar, or its change.
   * @param {View} view
   * @param {Bar} bar
   */
  partOf(view, bar) {
    const { widths, scale } = view.shown;
    if (bar.figures.length === 1) return share(bar.size, view.root.figures[0].total);
    if (this.byChange) return relative(bar.figures[0].total, bar.figures[1].total * scale);
    return widths === 'both' ? share(bar.size, view.root.size) : share(bar.figures[widths === 'new' ? 0 : 1].total, view.root.figures[widths === 'new' ? 0 : 1].total);
  }

  /**
   * Returns the texts for a bar, the longest first.
   * @param {Bar} bar
   */
  textsOf(bar) {
    const frame = this.frames[bar.frame];
    if (!frame) return [this.rootName];
    const withOwner = frame.owner === '' ? frame.name : `${frame.simpleOwner}.${frame.name}`;
    return frame.labels ??= [frame.short, withOwner, frame.name].map((text) => visible(text));
  }

  /** @param {string} text */
  measure(text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 50_000) this.widths.clear();
      this.widths.set(text, width = this.context.measureText(text).width);
    }
    return width;
  }

  /**
   * Returns the begin of a text that fits.
   * @param {string} text
   * @param {number} room
   */
  cut(text, room) {
    const letters = [...text];
    let length = Math.floor((letters.length * room) / Math.max(1, this.measure(text)));
    for (; length >= 2; length--) {
      const part = `${letters.slice(0, length).join('')}…`;
      if (this.context.measureText(part).width <= room) return part;
    }
    return '';
  }

  /** @param {Graph} graph */
  paintRings(graph) {
    const { context, colours } = this;
    const { hovered, focused } = graph;
    context.strokeStyle = colours.ring;
    if (hovered) {
      const row = hovered.bar ? hovered.bar.depth : hovered.above.depth + 1;
      context.lineWidth = 1;
      context.strokeRect(hovered.x + 0.5, graph.top(row) + 0.5, Math.max(1, hovered.width - 2), ROW - 2);
    }
    if (focused && graph.showsFocus && document.activeElement === graph.canvas) {
      const place = graph.placeOf(focused);
      context.lineWidth = 2;
      context.strokeRect(place.x + 1, place.y + 1, Math.max(1, place.width - 3), ROW - 3);
    }
  }

  makeHatch() {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const context = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
    context.strokeStyle = this.colours.isDark ? 'rgb(255 255 255 / 24%)' : 'rgb(10 40 110 / 28%)';
    context.lineWidth = 1.4;
    context.beginPath();
    for (const start of [-8, 0, 8]) {
      context.moveTo(start, 8);
      context.lineTo(start + 8, 0);
    }
    context.stroke();
    return this.context.createPattern(tile, 'repeat');
  }
}
