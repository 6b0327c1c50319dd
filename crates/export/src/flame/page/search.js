
// The search, and the share of what it finds.

/** What is highlighted. */
class Found {
  /**
   * @param {string} name
   * @param {Uint8Array} matches For each frame, 1 if it is highlighted.
   */
  constructor(name, matches) {
    this.name = name;
    this.matches = matches;
  }

  /** @param {number} frame */
  has(frame) {
    return frame >= 0 && this.matches[frame] === 1;
  }

  get count() {
    return this.matches.reduce((sum, match) => sum + match, 0);
  }
}

/**
 * Returns the highlight of the frames whose names contain a text or match a regular expression.
 * Without capital letters in the text, case does not matter. Throws if the expression is wrong.
 * @param {Frame[]} frames
 * @param {string} text
 * @param {boolean} isRegex
 */
function searched(frames, text, isRegex) {
  const ignoresCase = text === text.toLowerCase();
  const escaped = isRegex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = new RegExp(escaped, ignoresCase ? 'iu' : 'u');
  return new Found(text, Uint8Array.from(frames, (frame) => (pattern.test(frame.full) ? 1 : 0)));
}

/**
 * Returns what the highlighted frames take within a bar: what lies below several of them counts
 * once.
 * @param {View} view
 * @param {Bar} bar
 * @param {Found} highlight
 * @param {number} trace
 */
function matchedTotal(view, bar, highlight, trace) {
  const { tree } = view;
  const { matches } = highlight;
  if (highlight.has(bar.frame)) return bar.figures[trace].total;
  let sum = 0;
  if (view.isInverted) {
    const isFound = new Uint8Array(tree.count);
    for (let at = 1; at < tree.count; at++) isFound[at] = isFound[tree.parent[at]] | matches[tree.frame[at]];
    const isWhole = bar.above === null && view.shown.view === 'bottom-up';
    for (let at = 0; at < bar.nodes.length; at++) {
      const start = isWhole ? bar.nodes[at] : tree.parent[bar.nodes[at]];
      if (isFound[start]) sum += view.values[trace][bar.anchors[at]];
    }
    return sum;
  }
  const totals = view.totals[trace];
  for (const node of bar.nodes) {
    const end = tree.end[node];
    for (let at = node + 1; at < end;) {
      const isFound = matches[tree.frame[at]] === 1;
      if (isFound) sum += totals[at];
      at = isFound ? tree.end[at] : at + 1;
    }
  }
  return sum;
}
