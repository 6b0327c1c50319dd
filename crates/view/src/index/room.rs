//! How many bytes the parts of an index may take.

use super::node::Node;

/// Level from which on nodes have room for all parts. Those below share a part of it: the trail
/// itself has what they lack.
const HIGH: usize = 3;

/// Sizes of the parts of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexSizes {
    /// Minimum size of a block in the trail, in bytes.
    pub block: u64,
    /// What pictures of a block take, in millionths of its size in the trail. Those of all levels
    /// together take a third more.
    pub pictures: u64,
    /// What sums by method of a node may take, in millionths of its size in the trail. Those of all
    /// nodes together may take twice that of the trail.
    pub methods: u64,
    /// What sums by edge of the call graph of a node may take, as for [`Self::methods`].
    pub edges: u64,
    /// What sums by call path of a node may take, in millionths of its size in the trail. Those of
    /// all nodes together may take twice that of the trail.
    pub paths: u64,
    /// If all call paths of a node have no room: what sums of the longest ones may take, in
    /// millionths of its size in the trail. Nodes of each level have half as much of it as those
    /// below.
    pub longest_paths: u64,
    /// What allocations and exceptions of a node may take, in millionths of its size in the trail.
    /// Those of all small nodes together may take half of that of the trail.
    pub events: u64,
    /// What the longest waits of a node may take, as for [`Self::events`].
    pub waits: u64,
    /// What the readings of CPU time of all nodes together may take, in millionths of the size of
    /// the trail.
    pub readings: u64,
    /// What the calls of each method by bin, and the longest ones, of a node may take, as for
    /// [`Self::events`].
    pub calls: u64,
    /// What the whole index may take, in millionths of the size of the trail. What has no room any
    /// more is left out, except for pictures, which have a bound of their own, and for what takes
    /// little and is needed: names of methods, and waits from one block into another.
    pub all: u64,
}

impl Default for IndexSizes {
    fn default() -> Self {
        Self {
            block: 1 << 20,
            pictures: 15_000,
            methods: 2_500,
            edges: 3_000,
            paths: 3_000,
            longest_paths: 1_500,
            events: 600,
            waits: 400,
            readings: 500,
            calls: 1_000,
            all: 28_000,
        }
    }
}

/// Bytes that a part takes in the nodes so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// In all nodes.
    all: u64,
    /// In nodes below level [`HIGH`].
    low: u64,
}

impl Taken {
    pub(super) fn add(&mut self, bytes: u64, level: usize) {
        self.all += bytes;
        if level < HIGH {
            self.low += bytes;
        }
    }

    /// Returns how many bytes a node may take, if it may take so many millionths of its size in the
    /// trail. The trail has `end` bytes up to its end.
    pub(super) fn of_node(&self, node: &Node, level: usize, end: u64, part: u64) -> u64 {
        let own = millionths(node.bytes, part);
        match level < HIGH {
            true => own.min(millionths(end / 2, part).saturating_sub(self.low)),
            false => own,
        }
    }

    /// Returns how many bytes remain of so many millionths of `end` bytes.
    pub(super) fn of_all(&self, end: u64, part: u64) -> u64 {
        millionths(end, part).saturating_sub(self.all)
    }
}

/// Returns so many millionths of a number of bytes.
pub(super) fn millionths(bytes: u64, part: u64) -> u64 {
    (u128::from(bytes) * u128::from(part) / 1_000_000) as u64
}
