//! Sums by call path. Each thread has a tree; all trees are in one table.
//!
//! Memory grows with the number of distinct call paths. A path that would make the table too large
//! or too deep is folded: it continues at an ancestor of the same name, or at the top. The sums of
//! each name stay exact.

use crate::hash::Seed;
use std::collections::HashMap;

/// Maximum number of nested nodes with the same name.
const MAX_RECURSION: u32 = 1 << 10;
/// Maximum number of nested nodes, so that readers can handle the nesting. Few programs reach this
/// depth before their stack overflows.
pub(super) const MAX_DEPTH: u32 = 1 << 14;

/// Index of a node in the table.
pub(super) type Place = u32;

/// No node: the parent of a thread's root, and the child of a leaf.
pub(super) const NONE: Place = 0;

/// The current position in a call path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) at: Place,
    /// True if the path is folded at this node or above.
    pub(super) folded: bool,
}

/// The root as the start of a call path.
impl From<Place> for Spot {
    fn from(root: Place) -> Self {
        Self {
            at: root,
            folded: false,
        }
    }
}

/// The trees of all threads.
#[derive(Clone, Debug)]
pub(in crate::profilerj) struct Tree<S> {
    nodes: Vec<Node<S>>,
    /// Child nodes by parent and name.
    children: HashMap<u64, Place, Seed>,
    most_nodes: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node<S> {
    /// Number of the node's name.
    pub(super) name: u32,
    pub(super) parent: Place,
    /// Number of nodes with this name on the path from the root to this node.
    recursion: u32,
    depth: u32,
    /// While paths are added: the child that was found last. Once the tree is finished: the first
    /// child.
    pub(super) child: Place,
    /// The next sibling, once the tree is finished.
    pub(super) next: Place,
    pub(super) sums: S,
}

impl<S: Default> Tree<S> {
    pub(super) fn new(most_nodes: usize) -> Self {
        Self {
            nodes: vec![Node::default()],
            children: HashMap::default(),
            most_nodes,
        }
    }

    /// Adds the root of a thread, which has no name.
    pub(super) fn root(&mut self) -> Place {
        self.push(Node::default())
    }

    pub(super) fn node(&self, at: Place) -> &Node<S> {
        &self.nodes[at as usize]
    }

    pub(super) fn sums(&mut self, at: Place) -> &mut S {
        &mut self.nodes[at as usize].sums
    }

    /// Applies `f` to the sums of all nodes.
    pub(super) fn for_each(&mut self, mut f: impl FnMut(&mut S)) {
        self.nodes.iter_mut().for_each(|node| f(&mut node.sums));
    }

    /// Continues a call path with `name`. The maximum number of nodes is multiplied by `room`.
    pub(super) fn step(&mut self, from: Spot, name: u32, room: usize) -> Spot {
        let at = self.child(from.at, name, room);
        Spot {
            at,
            folded: from.folded || self.node(at).parent != from.at,
        }
    }

    /// Returns the child of `parent` called `name`. If the path is folded here, returns the node at
    /// which it continues.
    fn child(&mut self, parent: Place, name: u32, room: usize) -> Place {
        let hint = self.node(parent).child;
        if hint != NONE && self.node(hint).name == name {
            return hint;
        }
        let found = match self.children.get(&key(parent, name)) {
            Some(found) => *found,
            None => self.new_child(parent, name, room),
        };
        if self.node(found).parent == parent {
            self.nodes[parent as usize].child = found;
        }
        found
    }

    fn new_child(&mut self, parent: Place, name: u32, room: usize) -> Place {
        let full = self.nodes.len() >= self.most_nodes.saturating_mul(room)
            || self.node(parent).depth >= MAX_DEPTH;
        let (mut at, mut recursion) = (parent, 1);
        let root = loop {
            let node = self.node(at);
            if node.parent == NONE {
                break at;
            }
            if node.name == name {
                if full || node.recursion >= MAX_RECURSION {
                    return at;
                }
                recursion = node.recursion + 1;
                break NONE;
            }
            at = node.parent;
        };
        if full && root != NONE && root != parent {
            return self.child(root, name, room);
        }
        let new = Node {
            name,
            parent,
            recursion,
            depth: self.node(parent).depth + 1,
            ..Node::default()
        };
        let new = self.push(new);
        self.children.insert(key(parent, name), new);
        new
    }

    fn push(&mut self, node: Node<S>) -> Place {
        let place = self.nodes.len() as Place;
        self.nodes.push(node);
        place
    }

    /// Adds the sums of each node to the sums of its parent. Links children in the order in which
    /// they appeared.
    pub(super) fn finish(&mut self, add: impl Fn(&mut S, &S)) {
        self.children = HashMap::default();
        for node in &mut self.nodes {
            (node.child, node.next) = (NONE, NONE);
        }
        // A child has a higher index than its parent.
        for at in (1..self.nodes.len()).rev() {
            let (before, rest) = self.nodes.split_at_mut(at);
            let node = &mut rest[0];
            let parent = &mut before[node.parent as usize];
            if node.parent != NONE {
                add(&mut parent.sums, &node.sums);
                node.next = std::mem::replace(&mut parent.child, at as Place);
            }
        }
    }

    /// Iterates over the children of a node. The tree must be finished.
    pub(super) fn children(&self, parent: Place) -> impl Iterator<Item = &Node<S>> {
        let place = |at: Place| (at != NONE).then(|| self.node(at));
        std::iter::successors(place(self.node(parent).child), move |node| place(node.next))
    }

    /// Returns the first step of a walk over all nodes below `root`. The walk visits the begin and
    /// the end of each node.
    pub(super) fn first(&self, root: Place) -> Option<(Visit, Place)> {
        let child = self.node(root).child;
        (child != NONE).then_some((Visit::Begin, child))
    }

    /// Returns the step of the walk after `(visit, at)`. If `inside` is true, a node's begin is
    /// followed by the node's children and its end. Otherwise, it is followed by the next sibling,
    /// or by the end of the parent.
    pub(super) fn next(
        &self,
        root: Place,
        (visit, at): (Visit, Place),
        inside: bool,
    ) -> Option<(Visit, Place)> {
        let node = self.node(at);
        if visit == Visit::Begin && inside {
            return Some(match node.child {
                NONE => (Visit::End, at),
                child => (Visit::Begin, child),
            });
        }
        match node.next {
            NONE if node.parent == root => None,
            NONE => Some((Visit::End, node.parent)),
            next => Some((Visit::Begin, next)),
        }
    }
}

fn key(parent: Place, name: u32) -> u64 {
    u64::from(parent) << 32 | u64::from(name)
}

/// A step of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Visit {
    Begin,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tree as text, with the sums of subtrees.
    fn shown(tree: &mut Tree<u64>, root: Place) -> String {
        tree.finish(|parent, child| *parent += child);
        let mut out = String::new();
        let mut place = tree.first(root);
        while let Some((visit, at)) = place {
            let node = tree.node(at);
            match visit {
                Visit::Begin => out += &format!("({}:{}", node.name, node.sums),
                Visit::End => out.push(')'),
            }
            place = tree.next(root, (visit, at), true);
        }
        out
    }

    fn add(tree: &mut Tree<u64>, root: Place, path: &[u32]) {
        let at = path.iter().fold(root, |at, name| tree.child(at, *name, 1));
        *tree.sums(at) += 1;
    }

    #[test]
    fn siblings_keep_the_order_of_their_appearance() {
        let mut tree = Tree::new(1000);
        let (a, b) = (tree.root(), tree.root());
        for path in [
            &[1, 2][..],
            &[1, 3],
            &[1, 2],
            &[4],
            &[1, 2, 5],
            &[1, 3],
            &[1],
        ] {
            add(&mut tree, a, path);
        }
        add(&mut tree, b, &[2]);
        assert_eq!(shown(&mut tree, a), "(1:6(2:3(5:1))(3:2))(4:1)");
        assert_eq!(*tree.sums(a), 7);
        let below: Vec<_> = tree.children(b).map(|n| (n.name, n.sums)).collect();
        assert_eq!(below, [(2, 1)]);
    }

    #[test]
    fn recursion_is_folded() {
        let mut tree: Tree<u64> = Tree::new(1 << 20);
        let root = tree.root();
        let (mut spot, mut folded) = (Spot::from(root), 0);
        for _ in 0..3 * MAX_RECURSION {
            spot = tree.step(spot, 1, 1);
            folded += u32::from(spot.folded);
            *tree.sums(spot.at) += 1;
        }
        assert_eq!(folded, 2 * MAX_RECURSION);
        assert_eq!(tree.nodes.len() as u32, MAX_RECURSION + 2);
        tree.finish(|parent, child| *parent += child);
        assert_eq!(*tree.sums(root), u64::from(3 * MAX_RECURSION));
    }

    #[test]
    fn depth_is_bounded() {
        let mut tree: Tree<u64> = Tree::new(1 << 20);
        let root = tree.root();
        let mut at = root;
        for i in 0..3 * MAX_DEPTH {
            at = tree.child(at, i % 5000, 1);
            *tree.sums(at) += 1;
        }
        assert!(tree.nodes.iter().all(|node| node.depth <= MAX_DEPTH));
        tree.finish(|parent, child| *parent += child);
        assert_eq!(*tree.sums(root), u64::from(3 * MAX_DEPTH));
    }

    #[test]
    fn a_full_table_takes_new_names_at_the_top_only() {
        let mut tree = Tree::new(6);
        let root = tree.root();
        for path in [
            &[1, 2, 3][..],
            &[1, 2, 3, 4],
            &[1, 2, 3, 2, 5],
            &[1, 9, 9, 9],
            &[9, 2, 1],
        ] {
            add(&mut tree, root, path);
        }
        // Once a path is folded, all further steps of the path count as folded, too.
        let folded = |tree: &mut Tree<u64>, path: &[u32]| {
            let step = |spot, name: &u32| tree.step(spot, *name, 1);
            path.iter().fold(Spot::from(root), step).folded
        };
        assert!(!folded(&mut tree, &[1, 2, 3, 4]));
        assert!(!folded(&mut tree, &[9]));
        assert!(folded(&mut tree, &[1, 2, 3, 2]));
        assert!(folded(&mut tree, &[1, 2, 3, 2, 3]));
        let expected = "(1:3(2:2(3:2(4:1))))(5:1)(9:1)(2:0)";
        assert_eq!(shown(&mut tree, root), expected);
    }
}
