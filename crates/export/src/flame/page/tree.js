
// Call trees: the nodes of call paths in preorder, with their weights in each trace.

/**
 * @typedef {object} Weight What a graph is weighted by.
 * @property {string} key
 * @property {string} name
 * @property {'time' | 'bytes' | 'count'} unit
 * @property {number} bit Number of the column.
 * @property {number[]} [less] Numbers of columns to subtract for calls.
 */

const CALLS = 0;

/** @type {Weight[]} */
const WEIGHTS = [
  { key: 'time', name: 'Time', unit: 'time', bit: 1 },
  { key: 'running', name: 'Time without waits', unit: 'time', bit: 1, less: [5, 6] },
  { key: 'cpu', name: 'CPU time', unit: 'time', bit: 2 },
  { key: 'calls', name: 'Calls', unit: 'count', bit: CALLS },
  { key: 'bytes', name: 'Allocated bytes', unit: 'bytes', bit: 4 },
  { key: 'objects', name: 'Allocated objects', unit: 'count', bit: 3 },
  { key: 'blocked', name: 'Blocked on monitors', unit: 'time', bit: 5 },
  { key: 'waiting', name: 'Waiting and parked', unit: 'time', bit: 6 },
];

/** Which trace the widths of a comparison are of. @typedef {'both' | 'new' | 'base'} Widths */

class Tree {
  /**
   * @param {Int32Array} parent Number of the node above; nodes are in preorder, the root is 0.
   * @param {Int32Array} frame Number of the frame; -1 for the root.
   * @param {(Float64Array | null)[][]} own For each trace, the columns of weights without callees.
   */
  constructor(parent, frame, own) {
    this.parent = parent;
    this.frame = frame;
    this.own = own;
    this.count = parent.length;
    /** For each node, the number of the first node that is not below it. */
    this.end = new Int32Array(this.count);
    for (let at = this.count - 1; at >= 0; at--) {
      if (this.end[at] === 0) this.end[at] = at + 1;
      if (at > 0 && this.end[parent[at]] < this.end[at]) this.end[parent[at]] = this.end[at];
    }
    /** @type {Map<string, Float64Array>} */
    this.cache = new Map();
  }

  get traces() {
    return this.own.length;
  }

  /**
   * Returns whether any trace has the weight.
   * @param {Weight} weight
   */
  has(weight) {
    const has = (/** @type {number} */ bit) => this.own.some((columns) => columns[bit]);
    return has(weight.bit) && (!weight.less || weight.less.some(has));
  }

  /**
   * @param {string} key
   * @param {() => Float64Array} compute
   */
  cached(key, compute) {
    let column = this.cache.get(key);
    if (!column) this.cache.set(key, column = compute());
    return column;
  }

  /**
   * Returns the weight of each node without callees.
   * @param {number} trace
   * @param {Weight} weight
   */
  self(trace, weight) {
    const columns = this.own[trace];
    const column = columns[weight.bit];
    const less = (weight.less ?? []).flatMap((bit) => columns[bit] ?? []);
    if (column && less.length === 0) return column;
    return this.cached(`self ${trace} ${weight.key}`, () => {
      const rest = column ? column.slice() : new Float64Array(this.count);
      const calls = columns[CALLS];
      // Threads wait outside of calls, too. That is no part of the time of calls.
      for (const other of less) for (let at = 0; at < this.count; at++) if (calls?.[at]) rest[at] -= other[at];
      return rest;
    });
  }

  /**
   * Returns the weight of each node with callees.
   * @param {number} trace
   * @param {Weight} weight
   */
  total(trace, weight) {
    return this.cached(`total ${trace} ${weight.key}`, () => this.sums(this.self(trace, weight)));
  }

  /**
   * Returns the width of each node. A negative weight has no width, so that callees fit in.
   * @param {Weight} weight
   * @param {Widths} widths
   * @param {number} scale Factor of the weights of the base.
   */
  width(weight, widths, scale) {
    return this.cached(`width ${weight.key} ${widths} ${scale}`, () => {
      const [a, b] = this.own.map((_, trace) => this.self(trace, weight));
      const column = new Float64Array(this.count);
      for (let at = 0; at < this.count; at++) column[at] = widthOf(a[at], b ? b[at] * scale : 0, widths);
      return this.sums(column);
    });
  }

  /**
   * Returns the sums over each node and all nodes below it.
   * @param {Float64Array} column
   */
  sums(column) {
    const sums = column.slice();
    for (let at = this.count - 1; at > 0; at--) sums[this.parent[at]] += sums[at];
    return sums;
  }

  /** Returns the numbers of the nodes just below the root. */
  threads() {
    const threads = [];
    for (let at = 1; at < this.count; at = this.end[at]) threads.push(at);
    return threads;
  }

  /**
   * Returns the tree below a node, which becomes the root.
   * @param {number} node
   */
  below(node) {
    const end = this.end[node];
    const parent = this.parent.slice(node, end).map((above) => Math.max(0, above - node));
    const frame = this.frame.slice(node, end);
    const own = this.own.map((columns) => columns.map((column) => column && column.slice(node, end)));
    return new Tree(parent, frame, own);
  }

  /** Returns the tree in which equal call paths of all threads are one. */
  merged() {
    const threads = this.threads();
    if (threads.length === 1) return this.below(threads[0]);
    const numbers = new Int32Array(this.count);
    const [parent, frame] = [[0], [-1]];
    /** Children of each node by their frame. @type {(Map<number, number> | null)[]} */
    const below = [new Map()];
    for (let at = 1; at < this.count; at++) {
      if (this.parent[at] === 0) continue;
      const above = numbers[this.parent[at]];
      const callees = below[above] ??= new Map();
      let number = callees.get(this.frame[at]);
      if (number === undefined) {
        callees.set(this.frame[at], number = parent.length);
        parent.push(above);
        frame.push(this.frame[at]);
        below.push(null);
      }
      numbers[at] = number;
    }
    return this.renumbered(numbers, parent, frame, below);
  }

  /**
   * Returns a tree of new nodes in preorder.
   * @param {Int32Array} numbers For each node of this tree, the new node that it is a part of.
   * @param {number[]} parent
   * @param {number[]} frame
   * @param {(Map<number, number> | null)[]} below
   */
  renumbered(numbers, parent, frame, below) {
    const count = parent.length;
    const place = new Int32Array(count);
    const [newParent, newFrame] = [new Int32Array(count), new Int32Array(count)];
    const stack = [0];
    for (let next = 0; stack.length > 0; next++) {
      const node = /** @type {number} */ (stack.pop());
      place[node] = next;
      newParent[next] = place[parent[node]];
      newFrame[next] = frame[node];
      for (const callee of [...(below[node]?.values() ?? [])].reverse()) stack.push(callee);
    }
    const own = this.own.map((columns) => columns.map((column) => {
      if (!column) return null;
      const sums = new Float64Array(count);
      for (let at = 0; at < this.count; at++) sums[place[numbers[at]]] += column[at];
      return sums;
    }));
    return new Tree(newParent, newFrame, own);
  }
}

/**
 * @param {number} now
 * @param {number} base
 * @param {Widths} widths
 */
function widthOf(now, base, widths) {
  if (widths === 'new') return Math.max(0, now);
  if (widths === 'base') return Math.max(0, base);
  return Math.max(0, now, base);
}
