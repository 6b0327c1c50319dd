//! Call paths as a tree.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// The frame of the root, which no other node has.
const NO_FRAME: u32 = u32::MAX;

/// Call paths. A node stands for a path: a frame below the path of the caller. Frames are numbers
/// that the owner of the tree assigns. Nodes have numbers, too: the root is 0, and a node's number
/// is above that of its parent. A node takes about 20 bytes.
#[derive(Clone, Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    /// The numbers of all nodes, by parent and frame. The keys are in the nodes only.
    index: HashTable<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    frame: u32,
    parent: u32,
    /// The callee that was found last; 0 if there is none. It is often the next one to be looked
    /// up.
    recent: u32,
}

impl Default for CallTree {
    fn default() -> Self {
        let root = Node {
            frame: NO_FRAME,
            parent: 0,
            recent: 0,
        };
        Self {
            nodes: vec![root],
            index: HashTable::new(),
        }
    }
}

impl CallTree {
    /// Returns the number of nodes with the root.
    #[allow(clippy::len_without_is_empty, reason = "the root is always there")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the frame of a node that is not the root.
    #[inline]
    pub fn frame(&self, node: u32) -> u32 {
        self.nodes[node as usize].frame
    }

    /// Returns the parent of a node, which for the root is itself.
    #[inline]
    pub fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    /// Returns the callee that was looked up last.
    #[inline]
    pub fn recent(&self, parent: u32) -> Option<u32> {
        let recent = self.nodes[parent as usize].recent;
        (recent != 0).then_some(recent)
    }

    /// Returns the node of a frame below another node, if there is one.
    pub fn find(&self, parent: u32, frame: u32) -> Option<u32> {
        let is_it = |&node: &u32| self.has(node, parent, frame);
        self.index.find(hash(parent, frame), is_it).copied()
    }

    /// Returns the node of a frame below another node, which is added if there is none.
    #[inline]
    pub fn callee(&mut self, parent: u32, frame: u32) -> u32 {
        if let Some(recent) = self.recent(parent)
            && self.frame(recent) == frame
        {
            return recent;
        }
        let node = match self.find(parent, frame) {
            Some(node) => node,
            None => self.add(parent, frame),
        };
        self.nodes[parent as usize].recent = node;
        node
    }

    fn add(&mut self, parent: u32, frame: u32) -> u32 {
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            frame,
            parent,
            recent: 0,
        });
        let nodes = &self.nodes;
        let hash_of = |node: &u32| {
            let node = nodes[*node as usize];
            hash(node.parent, node.frame)
        };
        self.index.insert_unique(hash(parent, frame), node, hash_of);
        node
    }

    fn has(&self, node: u32, parent: u32, frame: u32) -> bool {
        let node = self.nodes[node as usize];
        node.parent == parent && node.frame == frame
    }

    /// Returns the callees of all nodes.
    pub fn callees(&self) -> Callees {
        let mut begins = vec![0; self.len() + 1];
        for node in &self.nodes[1..] {
            begins[node.parent as usize + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let (mut all, mut next) = (vec![0; self.len() - 1], begins.clone());
        for (number, node) in (0..).zip(&self.nodes).skip(1) {
            let next: &mut u32 = &mut next[node.parent as usize];
            all[*next as usize] = number;
            *next += 1;
        }
        Callees { begins, all }
    }
}

fn hash(parent: u32, frame: u32) -> u64 {
    FxBuildHasher.hash_one((parent, frame))
}

/// The callees of each node.
#[derive(Debug)]
pub struct Callees {
    /// For each node where its callees begin in `all`, and the end of the last ones.
    begins: Vec<u32>,
    all: Vec<u32>,
}

impl Callees {
    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let [begin, end] = [0, 1].map(|more| self.begins[node as usize + more] as usize);
        begin..end
    }

    /// Returns the callees of a node, in the order of their numbers.
    pub fn of(&self, node: u32) -> &[u32] {
        &self.all[self.range(node)]
    }

    /// Sorts the callees of each node by a key.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(u32) -> K) {
        for node in 0..self.begins.len() as u32 - 1 {
            let range = self.range(node);
            self.all[range].sort_by_key(|callee| key(*callee));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_nodes_once() {
        let mut tree = CallTree::default();
        let a = tree.callee(0, 7);
        let b = tree.callee(a, 7);
        let c = tree.callee(0, 8);
        assert_eq!(
            [a, b, c, tree.callee(0, 7), tree.callee(a, 7)],
            [1, 2, 3, 1, 2]
        );
        assert_eq!([tree.parent(b), tree.frame(c)], [a, 8]);
        assert_eq!((tree.find(a, 8), tree.find(0, 8)), (None, Some(c)));
    }

    #[test]
    fn callees_are_listed_and_sorted() {
        let mut tree = CallTree::default();
        for frame in 0..1000 {
            let parent = frame / 3;
            assert_eq!(tree.callee(parent, frame), frame + 1);
        }
        let mut callees = tree.callees();
        assert_eq!(callees.of(0), [1, 2, 3]);
        assert_eq!(callees.of(5), [16, 17, 18]);
        assert!(callees.of(1000).is_empty());
        callees.sort_by_key(std::cmp::Reverse);
        assert_eq!(callees.of(5), [18, 17, 16]);
    }
}
