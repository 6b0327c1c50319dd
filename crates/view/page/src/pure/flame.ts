// Places of the boxes of a flame graph, and rows of a call tree.

export interface TreeNodes {
  /** Number of the parent, which stands before its children; node 0 is the root. */
  parent: number[];
  method: number[];
  calls: number[];
  self: number[];
  total: number[];
}

export interface Bar {
  node: number;
  depth: number;
  /** Share of the width of the picture. */
  left: number;
  width: number;
}

export interface TreeShape {
  nodes: TreeNodes;
  children: number[][];
  /** Total time: at least the sum of the children, whatever the clock did. */
  size: Float64Array;
  depth: Uint32Array;
}

/** Returns children of each node, the largest first. */
export function shapeOf(nodes: TreeNodes): TreeShape {
  const count = nodes.parent.length;
  const children: number[][] = Array.from({ length: count }, () => []);
  const size = Float64Array.from(nodes.total);
  const sums = new Float64Array(count);
  const depth = new Uint32Array(count);
  for (let node = 1; node < count; node++) {
    children[nodes.parent[node]!]!.push(node);
    depth[node] = depth[nodes.parent[node]!]! + 1;
  }
  for (let node = count - 1; node >= 0; node--) {
    size[node] = Math.max(size[node]!, sums[node]!);
    if (node > 0) sums[nodes.parent[node]!]! += size[node]!;
  }
  for (const list of children) list.sort((a, b) => size[b]! - size[a]!);
  return { nodes, children, size, depth };
}

export function ancestors(shape: TreeShape, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > 0; at = shape.nodes.parent[at]!) path.push(at);
  path.push(0);
  return path.reverse();
}

/** Returns the boxes of a graph that is zoomed to a node. Boxes narrower than `least` are left out. */
export function layoutFlame(shape: TreeShape, zoomed: number, least: number): Bar[] {
  if (shape.nodes.parent.length === 0) return [];
  const path = ancestors(shape, zoomed);
  const bars: Bar[] = path.map((node, depth) => ({ node, depth, left: 0, width: 1 }));
  const whole = shape.size[zoomed]!;
  if (!(whole > 0)) return bars;
  const stack: Bar[] = [bars[bars.length - 1]!];
  for (let bar = stack.pop(); bar; bar = stack.pop()) {
    let left = bar.left;
    for (const node of shape.children[bar.node]!) {
      const width = shape.size[node]! / whole;
      if (width < least) break;
      const child = { node, depth: bar.depth + 1, left, width };
      bars.push(child);
      stack.push(child);
      left += width;
    }
  }
  return bars;
}

/** Returns the bar next to a bar: its parent, its widest child, or a neighbour of its depth. */
export function nextBar(bars: readonly Bar[], shape: TreeShape, from: Bar, direction: 'up' | 'down' | 'left' | 'right'): Bar | undefined {
  if (direction === 'up') return bars.find((bar) => bar.node === shape.nodes.parent[from.node] && from.node !== 0);
  if (direction === 'down') return bars.find((bar) => bar.node === shape.children[from.node]![0]);
  const row = bars.filter((bar) => bar.depth === from.depth).sort((a, b) => a.left - b.left);
  const at = row.findIndex((bar) => bar.node === from.node);
  return row[at + (direction === 'left' ? -1 : 1)];
}

/** Returns the nodes of a call tree that are in view, given which ones are unfolded. */
export function treeRows(shape: TreeShape, unfolded: ReadonlySet<number>, most: number): number[] {
  const rows: number[] = [];
  const stack = [0];
  for (let node = stack.pop(); node !== undefined && rows.length < most; node = stack.pop()) {
    rows.push(node);
    if (!unfolded.has(node)) continue;
    for (const child of [...shape.children[node]!].reverse()) stack.push(child);
  }
  return rows;
}

/** Returns the nodes to unfold such that the way of most of the time is in view. */
export function hottestPath(shape: TreeShape, from: number): number[] {
  const path = [from];
  for (let node = from; ; ) {
    const child = shape.children[node]?.[0];
    if (child === undefined || shape.size[child]! < 0.5 * shape.size[node]!) return path;
    path.push(child);
    node = child;
  }
}
