
// Sums by method.

/**
 * @typedef {object} MethodTotals Sums of one trace by frame.
 * @property {Float64Array} calls
 * @property {Float64Array} self
 * @property {Float64Array} total Recursive calls count once.
 */

/**
 * Returns the sums over the nodes and all nodes below them.
 * @param {Tree} tree
 * @param {ArrayLike<number>} nodes None of them is below another one.
 * @param {number} frames Number of frames.
 * @param {number} trace
 * @param {Weight} weight
 * @returns {MethodTotals}
 */
function methodTotals(tree, nodes, frames, trace, weight) {
  const sums = { calls: new Float64Array(frames), self: new Float64Array(frames), total: new Float64Array(frames) };
  const [self, total, calls] = [tree.self(trace, weight), tree.total(trace, weight), tree.own[trace][CALLS]];
  const open = new Int32Array(frames);
  /** @type {number[]} */
  const stack = [];
  for (let which = 0; which < nodes.length; which++) {
    const end = tree.end[nodes[which]];
    for (let at = nodes[which]; at < end; at++) {
      while (stack.length > 0 && tree.end[stack[stack.length - 1]] <= at) open[tree.frame[/** @type {number} */ (stack.pop())]]--;
      const frame = tree.frame[at];
      if (frame < 0) continue;
      if (calls) sums.calls[frame] += calls[at];
      sums.self[frame] += self[at];
      if (open[frame]++ === 0) sums.total[frame] += total[at];
      stack.push(at);
    }
    while (stack.length > 0) open[tree.frame[/** @type {number} */ (stack.pop())]]--;
  }
  return sums;
}
