//! Removes the smallest call paths of a tree.

use super::tree::{LEFT_OUT, Tree};
use crate::weights::Weights;

/// The weights by which paths are compared. A negative one counts as 0, so that no path is larger
/// than that of its caller.
const WEIGHTS: [fn(&Weights) -> u64; 7] = [
    |w| w.calls,
    |w| positive(w.self_time),
    |w| positive(w.cpu),
    |w| w.objects,
    |w| positive(w.bytes),
    |w| positive(w.blocked),
    |w| positive(w.waiting),
];

fn positive(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Removes all paths but the `keep` largest ones. A path is as large as its largest share of any
/// weight of any trace, with its callees. What was removed below a path becomes one path of the
/// frame [`LEFT_OUT`], which has the weights of all of it.
pub(super) fn prune(tree: &Tree, keep: usize) -> Tree {
    let is_kept = largest(tree, keep);
    let mut pruned = tree.without_paths();
    // The new number of each path; for removed ones, that of the path which has their weights.
    let mut numbers = vec![0];
    for path in tree.numbers() {
        let mut parent = numbers[tree.paths.parent(path) as usize];
        let mut frame = tree.paths.frame(path);
        if !is_kept[path as usize] {
            pruned.left_out += 1;
            frame = LEFT_OUT;
            if parent != 0 && pruned.paths.frame(parent) == LEFT_OUT {
                parent = pruned.paths.parent(parent);
            }
        }
        for trace in 0..tree.traces.len() {
            pruned.add(parent, frame, trace, &tree.weights(path, trace));
        }
        numbers.push(pruned.paths.callee(parent, frame));
    }
    pruned
}

/// Returns for each path whether it is among the largest ones. The path of its caller is one, too.
fn largest(tree: &Tree, count: usize) -> Vec<bool> {
    let mut sizes = vec![0_f64; tree.paths.len()];
    for trace in 0..tree.traces.len() {
        for weight in WEIGHTS {
            enlarge(&mut sizes, tree, |path| weight(&tree.weights(path, trace)));
        }
    }
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    // Of two equal sizes the first comes first, so that no path comes before that of its caller.
    order.sort_by(|a, b| sizes[*b as usize].total_cmp(&sizes[*a as usize]));
    let mut is_kept = vec![false; sizes.len()];
    for path in order.into_iter().take(count.saturating_add(1)) {
        is_kept[path as usize] = true;
    }
    is_kept
}

/// Enlarges sizes to the shares of a weight.
fn enlarge(sizes: &mut [f64], tree: &Tree, weight: impl Fn(u32) -> u64) {
    let mut totals: Vec<u64> = (0..sizes.len() as u32).map(weight).collect();
    for path in tree.numbers().rev() {
        let below = totals[path as usize];
        let above = &mut totals[tree.paths.parent(path) as usize];
        *above = above.saturating_add(below);
    }
    let all = totals[0];
    if all > 0 {
        for (size, total) in sizes.iter_mut().zip(totals) {
            *size = size.max(total as f64 / all as f64);
        }
    }
}
