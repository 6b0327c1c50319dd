
// What a graph shows of a call tree. The bars of a view are computed when they are first seen.

/**
 * @typedef {object} Shown What a view shows of a tree.
 * @property {'paths' | 'bottom-up' | 'callers' | 'callees'} view
 * @property {number} method Number of the frame whose callers or callees are shown.
 * @property {Weight} weight
 * @property {Widths} widths
 * @property {number} scale Factor of the weights of the base.
 * @property {'size' | 'first'} order
 */

/** @typedef {{total: number, self: number, calls: number}} Figures */

/** A bar. */
class Bar {
  /**
   * @param {number} frame -1 for all.
   * @param {Bar | null} above
   * @param {number[]} nodes The nodes of the tree that are shown as this bar.
   * @param {number[]} anchors For each node, the node whose callers are shown.
   * @param {number} depth Number of bars above.
   */
  constructor(frame, above, nodes, anchors, depth = 0) {
    this.frame = frame;
    this.above = above;
    this.depth = depth;
    this.nodes = nodes;
    this.anchors = anchors;
    /** In the trace, and in the base. @type {Figures[]} */
    this.figures = [];
    /** Left end and width, as parts of the whole graph. */
    this.x = 0;
    this.width = 1;
    /** Width in units of the weight. */
    this.size = 0;
    /** @type {Bar[] | null} */
    this.below = null;
  }
}

class View {
  /**
   * @param {Tree} tree
   * @param {Shown} shown
   */
  constructor(tree, shown) {
    this.tree = tree;
    this.shown = shown;
    this.isInverted = shown.view === 'bottom-up' || shown.view === 'callers';
    this.totals = tree.own.map((_, trace) => tree.total(trace, shown.weight));
    this.selves = tree.own.map((_, trace) => tree.self(trace, shown.weight));
    this.widths = tree.width(shown.weight, shown.widths, shown.scale);
    /** For inverted views, what each anchor adds to its callers. */
    this.values = this.isInverted ? this.anchorValues() : [];
    this.root = this.makeRoot();
    this.measure(this.root);
  }

  makeRoot() {
    const { tree, shown } = this;
    if (shown.view === 'paths') return new Bar(-1, null, [0], []);
    if (shown.view === 'callees') return new Bar(shown.method, null, outermost(tree, shown.method), []);
    const anchors = [];
    for (let at = 1; at < tree.count; at++) {
      if (shown.view === 'bottom-up' || tree.frame[at] === shown.method) anchors.push(at);
    }
    return new Bar(shown.view === 'callers' ? shown.method : -1, null, anchors, anchors);
  }

  /**
   * Returns for each trace what each node adds to the bars of its callers. Of a method that calls
   * itself, an inner call's time belongs to the inner call.
   */
  anchorValues() {
    const { tree, shown } = this;
    if (shown.view === 'bottom-up' || shown.weight.key === 'calls') return this.selves;
    return this.totals.map((totals) => {
      const values = new Float64Array(tree.count);
      /** @type {number[]} */
      const open = [];
      for (let at = 0; at < tree.count; at++) {
        if (tree.frame[at] !== shown.method) continue;
        while (open.length > 0 && tree.end[open[open.length - 1]] <= at) open.pop();
        values[at] = totals[at];
        if (open.length > 0) values[open[open.length - 1]] -= totals[at];
        open.push(at);
      }
      return values;
    });
  }

  /**
   * Computes the figures and the size of a bar.
   * @param {Bar} bar
   */
  measure(bar) {
    const { tree, shown } = this;
    bar.figures = tree.own.map((columns, trace) => {
      const calls = columns[CALLS];
      const figures = { total: 0, self: 0, calls: 0 };
      if (this.isInverted) {
        for (let at = 0; at < bar.anchors.length; at++) {
          const anchor = bar.anchors[at];
          const value = this.values[trace][anchor];
          figures.total += value;
          if (tree.parent[bar.nodes[at]] === 0) figures.self += value;
          if (calls) figures.calls += calls[anchor];
        }
      } else {
        for (const node of bar.nodes) {
          figures.total += this.totals[trace][node];
          figures.self += this.selves[trace][node];
          if (calls) figures.calls += calls[node];
        }
      }
      return figures;
    });
    bar.size = this.size(bar);
  }

  /** @param {Bar} bar */
  size(bar) {
    const { widths, scale } = this.shown;
    let size = 0;
    if (!this.isInverted) {
      for (const node of bar.nodes) size += this.widths[node];
    } else if (this.values.length < 2) {
      size = Math.max(0, bar.figures[0].total);
    } else {
      const [now, base] = this.values;
      for (const anchor of bar.anchors) size += widthOf(now[anchor], base[anchor] * scale, widths);
    }
    return size;
  }

  /**
   * Returns the bars of callees, or of callers in inverted views.
   * @param {Bar} bar
   */
  below(bar) {
    if (bar.below) return bar.below;
    bar.below = this.group(bar).filter((below) => {
      this.measure(below);
      return below.size > 0 || below.figures.some((figures) => figures.calls > 0);
    });
    // Frames 0 and 1 are no methods.
    const isLast = (/** @type {Bar} */ below) => Number(below.frame < 2);
    if (this.shown.order === 'size') bar.below.sort((a, b) => isLast(a) - isLast(b) || b.size - a.size);
    const sum = bar.below.reduce((sum, below) => sum + below.size, 0);
    // Callers of calls with a negative time can be larger than the bar.
    const unit = bar.width / Math.max(bar.size, sum, Number.MIN_VALUE);
    let x = bar.x;
    for (const below of bar.below) {
      below.x = x;
      below.width = below.size * unit;
      x += below.width;
    }
    return bar.below;
  }

  /** @param {Bar} bar */
  group(bar) {
    const { tree } = this;
    /** @type {Map<number, Bar>} */
    const bars = new Map();
    const add = (/** @type {number} */ node, /** @type {number} */ anchor) => {
      const frame = tree.frame[node];
      let below = bars.get(frame);
      if (!below) bars.set(frame, below = new Bar(frame, bar, [], [], bar.depth + 1));
      below.nodes.push(node);
      if (this.isInverted) below.anchors.push(anchor);
    };
    const isWhole = bar.above === null && this.shown.view === 'bottom-up';
    for (let at = 0; at < bar.nodes.length; at++) {
      const node = bar.nodes[at];
      if (isWhole) {
        add(node, node);
      } else if (this.isInverted) {
        const caller = tree.parent[node];
        if (caller > 0) add(caller, bar.anchors[at]);
      } else {
        for (let below = node + 1; below < tree.end[node]; below = tree.end[below]) add(below, 0);
      }
    }
    return [...bars.values()];
  }

  /**
   * Returns the bar that a path of frames leads to, as far as it goes.
   * @param {number[]} path
   */
  find(path) {
    let bar = this.root;
    for (const frame of path) {
      const next = this.below(bar).find((below) => below.frame === frame);
      if (!next) break;
      bar = next;
    }
    return bar;
  }
}

/**
 * Returns the frames from the bar just below the root to a bar.
 * @param {Bar} bar
 */
function pathOf(bar) {
  const path = [];
  for (let at = bar; at.above; at = at.above) path.push(at.frame);
  return path.reverse();
}

/**
 * Returns the nodes of a frame that are not below other ones.
 * @param {Tree} tree
 * @param {number} frame
 */
function outermost(tree, frame) {
  const nodes = [];
  for (let at = 1; at < tree.count;) {
    const isFound = tree.frame[at] === frame;
    if (isFound) nodes.push(at);
    at = isFound ? tree.end[at] : at + 1;
  }
  return nodes;
}
