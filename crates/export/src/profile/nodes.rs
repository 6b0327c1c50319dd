//! The nodes of a profile.

use super::Frame;
use crate::weights::{Weights, WeightsTable};
use jtrail_analysis::CallTree;
use rustc_hash::FxHashMap;

/// The nodes of a profile, by their numbers. The first node is the root, and a node comes after the
/// one above it.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    tree: CallTree,
    weights: WeightsTable,
    /// The frames of the tree by their numbers.
    frames: Vec<Frame>,
    numbers: FxHashMap<Frame, u32>,
}

/// A node of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) number: u32,
    pub(crate) frame: Frame,
    /// Number of the node above.
    pub(crate) parent: u32,
    pub(crate) weights: Weights,
}

impl Nodes {
    /// Returns the number of nodes with the root.
    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(crate) fn frame(&self, node: u32) -> Frame {
        match node {
            0 => Frame::Root,
            _ => self.frames[self.tree.frame(node) as usize],
        }
    }

    #[inline]
    pub(crate) fn parent(&self, node: u32) -> u32 {
        self.tree.parent(node)
    }

    pub(crate) fn weights(&self, node: u32) -> Weights {
        self.weights.get(node)
    }

    pub(crate) fn get(&self, number: u32) -> Node {
        Node {
            number,
            frame: self.frame(number),
            parent: self.parent(number),
            weights: self.weights(number),
        }
    }

    /// Returns all nodes in the order of their numbers.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
        (0..self.len() as u32).map(|number| self.get(number))
    }

    /// Adds to the weights of a node.
    #[inline]
    pub(crate) fn add(&mut self, node: u32, weights: &Weights) {
        self.weights.add(node, weights);
    }

    /// Returns the node of a frame below another node, if there is one.
    pub(crate) fn find(&self, parent: u32, frame: Frame) -> Option<u32> {
        self.tree.find(parent, *self.numbers.get(&frame)?)
    }

    /// Returns the node of a frame below another node, which is added if there is none.
    #[inline]
    pub(crate) fn callee(&mut self, parent: u32, frame: Frame) -> u32 {
        if let Some(recent) = self.tree.recent(parent)
            && self.frames[self.tree.frame(recent) as usize] == frame
        {
            return recent;
        }
        let next = self.frames.len() as u32;
        let number = *self.numbers.entry(frame).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        self.tree.callee(parent, number)
    }
}
