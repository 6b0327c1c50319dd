//! The dominator tree of a graph, by the algorithm of Lengauer and Tarjan.
//!
//! Node d **dominates** node n if every path from the start to n passes through d. The parent of n
//! in the tree is its nearest dominator. If an object were freed, all objects that it dominates
//! would be freed too.
//!
//! The paper is "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979). This is its
//! version with path compression only. It takes O(m log n) in the worst case, and a hostile file
//! may cause the worst case. Nodes are numbered in depth-first order, all arrays are of `u32`, and
//! nothing is recursive.

use super::graph::Rows;

/// The dominator tree of all reachable nodes.
#[derive(Debug)]
pub(super) struct Dominators {
    /// The nodes in depth-first order, the start first. A dominator precedes the nodes that it
    /// dominates.
    pub(super) order: Vec<u32>,
    /// For each index of `order`, the index of the parent; the start is its own parent.
    pub(super) parents: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Computes the dominators of all nodes that are reachable from `start`.
pub(super) fn dominators(graph: &Rows, start: u32) -> Dominators {
    let (order, numbers, parents) = depth_first(graph, start);
    let n = order.len();
    let reverse = Rows::new(n, || {
        let edges = (0_u32..).zip(&order);
        edges.flat_map(|(from, node)| {
            let to = |t: &u32| numbers[*t as usize];
            graph.of(*node).iter().map(move |t| (to(t), from))
        })
    });
    drop(numbers);

    let mut forest = Forest::new(n);
    let mut semi = vec![0_u32; n];
    let mut dominators = vec![0_u32; n];
    // The nodes with a common semidominator, as linked lists.
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; n]);
    for node in (1..n as u32).rev() {
        let at = node as usize;
        let from = reverse.of(node).iter();
        let lowest = from.map(|from| forest.lowest(*from).1).min();
        semi[at] = lowest.unwrap_or(node).min(node);
        next[at] = std::mem::replace(&mut first[semi[at] as usize], node);
        let parent = parents[at];
        forest.link(node, parent, semi[at]);
        let mut waiting = std::mem::replace(&mut first[parent as usize], NONE);
        while waiting != NONE {
            let (lowest, its_semi) = forest.lowest(waiting);
            let nearer = its_semi < semi[waiting as usize];
            dominators[waiting as usize] = if nearer { lowest } else { parent };
            waiting = next[waiting as usize];
        }
    }
    for at in 1..n {
        if dominators[at] != semi[at] {
            dominators[at] = dominators[dominators[at] as usize];
        }
    }
    Dominators {
        order,
        parents: dominators,
    }
}

/// Returns three lists: the reachable nodes in depth-first order; the index of each node in this
/// order ([`NONE`] if unreachable); and, by index, the index of the parent in the depth-first tree.
fn depth_first(graph: &Rows, start: u32) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut numbers = vec![NONE; graph.nodes()];
    let (mut order, mut parents) = (vec![start], vec![0]);
    numbers[start as usize] = 0;
    // The open nodes: each one's index, and the number of its edges that were followed.
    let mut open = vec![(0_u32, 0_u32)];
    while let Some((place, done)) = open.last_mut() {
        let Some(&to) = graph.of(order[*place as usize]).get(*done as usize) else {
            open.pop();
            continue;
        };
        *done += 1;
        if numbers[to as usize] == NONE {
            let number = order.len() as u32;
            numbers[to as usize] = number;
            parents.push(*place);
            order.push(to);
            open.push((number, 0));
        }
    }
    (order, numbers, parents)
}

/// The part of the depth-first tree that is linked so far.
struct Forest {
    nodes: Vec<Node>,
    /// A buffer for [`Self::lowest`].
    path: Vec<u32>,
}

/// The data of a node that [`Forest::lowest`] needs. They are stored together because nodes are
/// visited at random.
#[derive(Clone, Copy)]
struct Node {
    /// A node above in the same tree; [`NONE`] for a root.
    ancestor: u32,
    /// The node with the least semidominator between this node and its ancestor.
    label: u32,
    /// The semidominator of `label`.
    semi: u32,
}

impl Forest {
    /// Creates a forest in which all nodes are roots, and each is its own semidominator.
    fn new(nodes: usize) -> Self {
        let node = |n| Node {
            ancestor: NONE,
            label: n,
            semi: n,
        };
        Self {
            nodes: (0..nodes as u32).map(node).collect(),
            path: Vec::new(),
        }
    }

    /// Attaches a root, whose semidominator is now known, to its parent.
    fn link(&mut self, node: u32, parent: u32, semi: u32) {
        let node = &mut self.nodes[node as usize];
        (node.ancestor, node.semi) = (parent, semi);
    }

    /// Returns the node with the least semidominator on the path from the root of `node`'s tree
    /// (exclusive) to `node`, and this semidominator. For a root, returns the root itself.
    fn lowest(&mut self, node: u32) -> (u32, u32) {
        let mut root = node;
        // Goes up to the child of the root …
        while self.nodes[root as usize].ancestor != NONE {
            self.path.push(root);
            root = self.nodes[root as usize].ancestor;
        }
        // … whose label is right. Then each node below takes the better of its own and the upper
        // node's label, and is attached to the root.
        let Some(child) = self.path.pop() else {
            let Node { label, semi, .. } = self.nodes[node as usize];
            return (label, semi);
        };
        let mut above = self.nodes[child as usize];
        while let Some(at) = self.path.pop() {
            let at = &mut self.nodes[at as usize];
            if above.semi < at.semi {
                (at.label, at.semi) = (above.label, above.semi);
            }
            at.ancestor = root;
            above = *at;
        }
        (above.label, above.semi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parent of each node in the tree; `None` for the start and unreachable nodes.
    fn tree(nodes: usize, edges: &[(u32, u32)]) -> Vec<Option<u32>> {
        let graph = Rows::new(nodes, || edges.iter().copied());
        let found = dominators(&graph, 0);
        let mut tree = vec![None; nodes];
        for (place, parent) in found.parents.iter().enumerate().skip(1) {
            assert!((*parent as usize) < place);
            tree[found.order[place] as usize] = Some(found.order[*parent as usize]);
        }
        tree
    }

    fn reached(nodes: usize, edges: &[(u32, u32)], without: Option<u32>) -> Vec<bool> {
        let mut reached = vec![false; nodes];
        let mut todo = vec![0];
        while let Some(node) = todo.pop() {
            if Some(node) != without && !std::mem::replace(&mut reached[node as usize], true) {
                todo.extend(edges.iter().filter(|e| e.0 == node).map(|e| e.1));
            }
        }
        reached
    }

    /// Computes dominators by their definition: d dominates n if n is not reachable without d. The
    /// nearest dominator of a node is dominated by all other dominators of the node. So it is the
    /// one that has the most dominators.
    fn naive(nodes: usize, edges: &[(u32, u32)]) -> Vec<Option<u32>> {
        let all = reached(nodes, edges, None);
        let without: Vec<_> = (0..nodes as u32)
            .map(|d| reached(nodes, edges, Some(d)))
            .collect();
        let strict = |d: usize, n: usize| d != n && all[d] && all[n] && !without[d][n];
        let depth = |n: usize| (0..nodes).filter(|d| strict(*d, n)).count();
        (0..nodes)
            .map(|n| {
                let dominators = (0..nodes).filter(|d| strict(*d, n));
                dominators.max_by_key(|d| depth(*d)).map(|d| d as u32)
            })
            .collect()
    }

    #[test]
    fn the_example_of_the_paper() {
        // The nodes of the paper: R A B C D E F G H I J K L.
        let edges = [
            (0, 1),
            (0, 2),
            (0, 3),
            (1, 4),
            (2, 1),
            (2, 4),
            (2, 5),
            (3, 6),
            (3, 7),
            (4, 12),
            (5, 8),
            (6, 9),
            (7, 9),
            (7, 10),
            (8, 5),
            (8, 11),
            (9, 11),
            (10, 9),
            (11, 9),
            (11, 0),
            (12, 8),
        ];
        let expected = [
            None,
            Some(0),
            Some(0),
            Some(0),
            Some(0),
            Some(0),
            Some(3),
            Some(3),
            Some(0),
            Some(0),
            Some(7),
            Some(0),
            Some(4),
        ];
        assert_eq!(tree(13, &edges), expected);
        assert_eq!(naive(13, &edges), expected);
    }

    #[test]
    fn random_graphs_agree_with_the_definition() {
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for round in 0..600 {
            let nodes = 1 + random(30);
            // From sparse, with many unreachable nodes, to dense.
            let edges: Vec<_> = (0..nodes * (1 + round % 4) / 2 + 2)
                .map(|_| (random(nodes) as u32, random(nodes) as u32))
                .collect();
            assert_eq!(
                tree(nodes, &edges),
                naive(nodes, &edges),
                "{nodes} {edges:?}"
            );
        }
    }

    /// Long chains, with edges backward and forward, neither overflow the stack nor take long.
    #[test]
    fn long_chains() {
        let n = 300_000_u32;
        let chain = (0..n - 1).map(|i| (i, i + 1));
        let back = (1..n).map(|i| (i, i / 2));
        let edges: Vec<_> = chain.clone().chain(back).collect();
        let tree_of_chain = tree(n as usize, &edges);
        assert!((1..n).all(|i| tree_of_chain[i as usize] == Some(i - 1)));
        let ahead = (0..n - 2).map(|i| (i, i + 2));
        let edges: Vec<_> = chain.chain(ahead).collect();
        let tree_of_ladder = tree(n as usize, &edges);
        assert!((1..n).all(|i| tree_of_ladder[i as usize] == Some(0)));
    }
}
