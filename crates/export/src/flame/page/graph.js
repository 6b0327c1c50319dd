
// The graph: which bars are where, and moves between them.

const ROW = 20;
/** Bars that are narrower in px are drawn together. */
const MIN_WIDTH = 1;
/** Width of a bar in px whose name can be guessed. */
const READABLE = 16;
const ZOOM_MS = 170;

/**
 * The numbers of the first and the last one of the bars below the zoomed one that are visible; all
 * of them without.
 * @typedef {[number, number] | null} Part
 */

/**
 * @typedef {object} Slot A place in a row, in px.
 * @property {number} x
 * @property {number} width
 * @property {Bar | null} bar `null` for several bars that are too narrow.
 * @property {Bar} above The bar whose callees are drawn together.
 * @property {number} first Number of the first of them.
 * @property {number} last Number of the last of them.
 */

class Graph {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} scroller
   * @param {HTMLElement} content
   * @param {Painter} painter
   */
  constructor(canvas, scroller, content, painter) {
    this.canvas = canvas;
    this.scroller = scroller;
    this.content = content;
    this.painter = painter;
    /** @type {View | null} */
    this.view = null;
    /** The part of the whole graph that is visible. */
    this.range = [0, 1];
    /** @type {Slot[][]} */
    this.rows = [];
    this.isUpsideDown = false;
    /** @type {Bar | null} */
    this.zoomed = null;
    /** @type {Bar | null} */
    this.focused = null;
    /** @type {Slot | null} */
    this.hovered = null;
    /** True if the focus moved by keys, and is to be seen. */
    this.showsFocus = false;
    this.size = { width: 0, height: 0 };
    this.isRequested = false;
    this.animation = 0;
    scroller.addEventListener('scroll', () => this.request());
    new ResizeObserver(() => this.resize()).observe(scroller);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    const ratio = window.devicePixelRatio || 1;
    this.size = { width, height };
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.layout();
    this.paint();
  }

  /**
   * Shows a view from a bar on.
   * @param {View} view
   * @param {Bar} zoomed
   * @param {Part} part
   */
  show(view, zoomed, part) {
    this.view = view;
    this.zoomed = zoomed;
    this.focused = zoomed;
    this.hovered = null;
    cancelAnimationFrame(this.animation);
    this.range = rangeOf(view, zoomed, part);
    this.layout();
    if (this.isUpsideDown) this.scroller.scrollTop = this.content.clientHeight;
    this.reveal(zoomed);
    this.request();
  }

  /**
   * Zooms to a bar of the same view.
   * @param {View} view
   * @param {Bar} bar
   * @param {Part} part
   */
  zoom(view, bar, part) {
    this.zoomed = bar;
    this.focused = bar;
    this.hovered = null;
    cancelAnimationFrame(this.animation);
    const [from, to] = [this.range, rangeOf(view, bar, part)];
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const began = performance.now();
    const step = (/** @type {number} */ now) => {
      const part = isStill ? 1 : Math.min(1, Math.max(0, (now - began) / ZOOM_MS));
      const eased = 1 - (1 - part) ** 3;
      this.range = part < 1 ? [0, 1].map((end) => from[end] + (to[end] - from[end]) * eased) : to;
      this.layout();
      if (part === 1) this.reveal(bar);
      this.paint();
      if (part < 1) this.animation = requestAnimationFrame(step);
    };
    step(began);
  }

  /** Computes which bars are visible, and where. */
  layout() {
    this.rows = [];
    const { view } = this;
    if (!view || this.size.width === 0) return;
    const [start, end] = this.range;
    const unit = this.size.width / (end - start);
    const root = { x: 0, width: this.size.width, bar: view.root, above: view.root, first: 0, last: 0 };
    this.rows.push([root]);
    const stack = [view.root];
    while (stack.length > 0) {
      const bar = /** @type {Bar} */ (stack.pop());
      if (bar.width * unit < MIN_WIDTH) continue;
      const visible = this.layoutBelow(bar, start, unit);
      for (let at = visible.length - 1; at >= 0; at--) stack.push(visible[at]);
    }
    const height = Math.max(this.rows.length * ROW + 4, this.size.height);
    this.content.style.height = `${height}px`;
  }

  /**
   * Adds the slots of the bars below a bar. Returns the bars that have slots of their own.
   * @param {Bar} bar
   * @param {number} start
   * @param {number} unit Width of the whole graph in px.
   */
  layoutBelow(bar, start, unit) {
    const view = /** @type {View} */ (this.view);
    const all = view.below(bar);
    const visible = [];
    /** @type {Slot | null} */
    let narrow = null;
    for (let at = 0; at < all.length; at++) {
      const below = all[at];
      const left = Math.max(0, (below.x - start) * unit);
      const right = Math.min(this.size.width, (below.x + below.width - start) * unit);
      if (right <= 0 || left >= this.size.width) continue;
      const row = this.rows[below.depth] ??= [];
      if (below.width * unit >= MIN_WIDTH) {
        narrow = null;
        row.push({ x: left, width: right - left, bar: below, above: bar, first: at, last: at });
        visible.push(below);
      } else if (narrow) {
        narrow.width = right - narrow.x;
        narrow.last = at;
      } else {
        narrow = { x: left, width: right - left, bar: null, above: bar, first: at, last: at };
        row.push(narrow);
      }
    }
    return visible;
  }

  /**
   * Returns the upper edge of a row in px, in the visible part.
   * @param {number} row
   */
  top(row) {
    const { scrollTop } = this.scroller;
    return this.isUpsideDown ? this.content.clientHeight - (row + 1) * ROW - 1 - scrollTop : row * ROW + 1 - scrollTop;
  }

  /**
   * Returns the slot at a place.
   * @param {number} x
   * @param {number} y
   */
  slotAt(x, y) {
    const { scrollTop } = this.scroller;
    const from = this.isUpsideDown ? this.content.clientHeight - (y + scrollTop) - 1 : y + scrollTop - 1;
    const row = this.rows[Math.floor(from / ROW)];
    if (!row) return null;
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle].x <= x) low = middle + 1;
      else high = middle;
    }
    const slot = row[low - 1];
    return slot && x < slot.x + Math.max(slot.width, MIN_WIDTH) ? slot : null;
  }

  /**
   * Returns the bars to show of a slot of narrow ones: those near a place, as many as are readable.
   * @param {Slot} slot
   * @param {number} x
   * @returns {Part}
   */
  partAt(slot, x) {
    const bars = /** @type {View} */ (this.view).below(slot.above);
    const place = this.range[0] + (x / this.size.width) * (this.range[1] - this.range[0]);
    let at = slot.first;
    while (at < slot.last && bars[at].x + bars[at].width <= place) at++;
    const half = Math.ceil(this.size.width / READABLE / 2);
    return [Math.max(slot.first, at - half), Math.min(slot.last, at + half)];
  }

  /**
   * Returns where a bar is, even if it has no slot.
   * @param {Bar} bar
   */
  placeOf(bar) {
    const [start, end] = this.range;
    const unit = this.size.width / (end - start);
    const left = Math.max(0, (bar.x - start) * unit);
    const right = Math.min(this.size.width, (bar.x + bar.width - start) * unit);
    return { x: left, y: this.top(bar.depth), width: Math.max(2, right - left) };
  }

  /**
   * Scrolls to a bar.
   * @param {Bar} bar
   */
  reveal(bar) {
    const top = this.top(bar.depth);
    const room = this.size.height;
    if (room === 0 || (top >= 0 && top + ROW <= room)) return;
    this.scroller.scrollTop += top < 0 ? top - 2 * ROW : top + 3 * ROW - room;
  }

  /** Paints before the next frame is shown. */
  request() {
    if (this.isRequested) return;
    this.isRequested = true;
    requestAnimationFrame(() => {
      this.isRequested = false;
      this.paint();
    });
  }

  paint() {
    if (this.view && this.size.width > 0) this.painter.paint(this);
  }

  /**
   * Returns the bar that an arrow key moves the focus to.
   * @param {string} key
   */
  neighbour(key) {
    const { focused: bar, view } = this;
    if (!bar || !view) return null;
    const up = this.isUpsideDown ? 'ArrowDown' : 'ArrowUp';
    if (key === up) return bar.above;
    if (key === 'ArrowUp' || key === 'ArrowDown') {
      const isVisible = (/** @type {Bar} */ below) => below.x + below.width > this.range[0] && below.x < this.range[1];
      const below = view.below(bar).filter(isVisible);
      return below.reduce((a, b) => (a && a.size >= b.size ? a : b), /** @type {Bar | null} */ (null));
    }
    if (!bar.above) return null;
    const siblings = view.below(bar.above);
    return siblings[siblings.indexOf(bar) + (key === 'ArrowLeft' ? -1 : 1)] ?? null;
  }

  /**
   * Returns the visible highlighted bars, the widest first.
   * @param {Found} highlight
   */
  matches(highlight) {
    const slots = this.rows.flat().filter((slot) => slot.bar && highlight.has(slot.bar.frame));
    return slots.sort((a, b) => b.width - a.width).map((slot) => /** @type {Bar} */ (slot.bar));
  }
}

/**
 * Returns the part of the whole graph that a bar takes, or some of the bars below it.
 * @param {View} view
 * @param {Bar} bar
 * @param {Part} part
 */
function rangeOf(view, bar, part) {
  const below = part ? view.below(bar).slice(part[0], part[1] + 1) : [];
  const [first, last] = below.length > 0 ? [below[0], below[below.length - 1]] : [bar, bar];
  return [first.x, Math.max(last.x + last.width, first.x + 1e-12)];
}
