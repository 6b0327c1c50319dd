//! Removes the smallest call paths of a tree.

use super::tree::{LEFT_OUT, Node, Tree};
use crate::profile::Weights;
use rustc_hash::FxHashMap;

/// Number of weights of the two traces.
const COLUMNS: usize = 14;

/// Removes all nodes but the `keep` largest ones. A node is as large as its largest share of any
/// weight of any trace, with its callees. What was removed below a node becomes one node
/// [`LEFT_OUT`], which has the weights of all of it.
pub(super) fn prune(tree: &Tree, keep: usize) -> Tree {
    let is_kept = largest(&tree.nodes, keep);
    let mut pruned = Tree {
        traces: tree.traces.clone(),
        frames: tree.frames.clone(),
        threads: tree.threads.clone(),
        nodes: vec![tree.nodes[0]],
        left_out: tree.left_out,
    };
    // The new number of each node; for removed ones, that of the node which has their weights.
    let mut numbers = vec![0];
    let mut rests: FxHashMap<u32, u32> = FxHashMap::default();
    for (at, node) in tree.nodes.iter().enumerate().skip(1) {
        let parent = numbers[node.parent as usize];
        let next = pruned.nodes.len() as u32;
        let is_removed = !is_kept[at];
        pruned.left_out += u64::from(is_removed);
        let number = match is_removed {
            true if pruned.nodes[parent as usize].frame == LEFT_OUT => parent,
            true => *rests.entry(parent).or_insert(next),
            false => next,
        };
        match pruned.nodes.get_mut(number as usize) {
            Some(rest) => {
                for (sum, weights) in rest.weights.iter_mut().zip(&node.weights) {
                    sum.add(weights);
                }
            }
            None => pruned.nodes.push(Node {
                frame: if is_removed { LEFT_OUT } else { node.frame },
                parent,
                weights: node.weights,
            }),
        }
        numbers.push(number);
    }
    pruned
}

/// Returns for each node whether it is among the largest ones. The node above such a node is one.
fn largest(nodes: &[Node], count: usize) -> Vec<bool> {
    let mut totals: Vec<[u64; COLUMNS]> = nodes.iter().map(columns).collect();
    for at in (1..nodes.len()).rev() {
        let below = totals[at];
        let above = &mut totals[nodes[at].parent as usize];
        for (sum, value) in above.iter_mut().zip(below) {
            *sum = sum.saturating_add(value);
        }
    }
    let all = totals[0];
    let size = |totals: &[u64; COLUMNS]| {
        let shares = totals.iter().zip(all).filter(|(_, all)| *all > 0);
        let share = |(value, all): (&u64, u64)| *value as f64 / all as f64;
        shares.map(share).fold(0.0, f64::max)
    };
    let sizes: Vec<f64> = totals.iter().map(size).collect();
    let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
    // Of two equal sizes the first comes first, so that no node comes before the one above it.
    order.sort_by(|a, b| sizes[*b as usize].total_cmp(&sizes[*a as usize]));
    let mut is_kept = vec![false; nodes.len()];
    for at in order.into_iter().take(count.saturating_add(1)) {
        is_kept[at as usize] = true;
    }
    is_kept
}

/// Returns the weights of a node without its callees. A negative one counts as 0, so that no node
/// is larger than the one above it.
fn columns(node: &Node) -> [u64; COLUMNS] {
    let positive = |value: i64| u64::try_from(value).unwrap_or(0);
    let of = |w: &Weights| {
        [
            w.calls,
            positive(w.self_time),
            positive(w.cpu),
            w.objects,
            positive(w.bytes),
            positive(w.blocked),
            positive(w.waiting),
        ]
    };
    let mut columns = [0; COLUMNS];
    let both = node.weights.iter().flat_map(of);
    columns.iter_mut().zip(both).for_each(|(c, v)| *c = v);
    columns
}
