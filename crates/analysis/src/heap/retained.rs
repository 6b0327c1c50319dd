//! Retained sizes of objects and classes.
//!
//! The **retained size** of an object is its own size plus that of all objects that it dominates.
//! The retained size of a class is the sum over those of its objects that no other object of the
//! class dominates. The size of a dominating object includes that of the dominated ones.

use super::dominators::Dominators;

/// Returns the retained bytes by index in the tree's order.
pub(super) fn by_object(tree: &Dominators, sizes: &[i64]) -> Vec<i64> {
    let mut retained: Vec<i64> = tree.order.iter().map(|n| sizes[*n as usize]).collect();
    for place in (1..retained.len()).rev() {
        let parent = tree.parents[place] as usize;
        retained[parent] = retained[parent].saturating_add(retained[place]);
    }
    retained
}

const NONE: u32 = u32::MAX;

/// Returns the retained bytes by class. `classes` has the number of each node's class, which is
/// less than `count`. The number for the start node is not used.
pub(super) fn by_class(
    tree: &Dominators,
    retained: &[i64],
    classes: &[u32],
    count: usize,
) -> Vec<i64> {
    let n = tree.order.len();
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; n]);
    for place in (1..n).rev() {
        let parent = tree.parents[place] as usize;
        next[place] = std::mem::replace(&mut first[parent], place as u32);
    }
    let mut sums = vec![0_i64; count];
    // For each class, the number of its objects on the path from the start to the current node.
    let mut above = vec![0_u32; count];
    let class = |place: u32| classes[tree.order[place as usize] as usize] as usize;
    let mut at = 0;
    loop {
        if at != 0 {
            let class = class(at);
            if above[class] == 0 {
                sums[class] = sums[class].saturating_add(retained[at as usize]);
            }
            above[class] += 1;
        }
        if first[at as usize] != NONE {
            at = first[at as usize];
            continue;
        }
        loop {
            if at == 0 {
                return sums;
            }
            above[class(at)] -= 1;
            if next[at as usize] != NONE {
                at = next[at as usize];
                break;
            }
            at = tree.parents[at as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::dominators::dominators;
    use crate::heap::graph::Rows;

    #[test]
    fn classes_count_what_they_retain_once() {
        // A linked list of three nodes of class 1. Each refers to a value of class 2. The start
        // also refers to one of the values.
        let edges = [(0, 1), (1, 2), (2, 3), (1, 4), (2, 5), (3, 6), (0, 6)];
        let graph = Rows::new(7, || edges.iter().copied());
        let tree = dominators(&graph, 0);
        let sizes = [0, 10, 10, 10, 1, 2, 4];
        let retained = by_object(&tree, &sizes);
        let mut of_node = [0; 7];
        for (place, node) in tree.order.iter().enumerate() {
            of_node[*node as usize] = retained[place];
        }
        assert_eq!(of_node, [37, 33, 22, 10, 1, 2, 4]);
        let sums = by_class(&tree, &retained, &[0, 1, 1, 1, 2, 2, 2], 3);
        assert_eq!(sums, [0, 33, 7]);
    }

    #[test]
    fn a_start_alone() {
        let graph = Rows::new(1, || [].into_iter());
        let tree = dominators(&graph, 0);
        let retained = by_object(&tree, &[0]);
        assert_eq!(by_class(&tree, &retained, &[0], 1), [0]);
    }
}
