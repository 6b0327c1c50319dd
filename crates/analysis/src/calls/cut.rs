//! The call tree without its small branches, and its serialised form.

use super::sums::{Sum, Sums};
use super::{Calls, Tree};
use crate::saved::LEAST_SHARE;
use jtrail_model::Cost;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The time below which the branches of a call tree were omitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TreeCut {
    /// The time in outermost calls, summed over all threads, in ns.
    pub all: i64,
    /// The minimum total time of a path in the tree, in ns. A path is also in the tree if it takes
    /// less, but is a caller of one that takes so much.
    pub least: i64,
}

/// What was omitted from a call tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Omitted {
    /// For each path, the number of callees that were omitted. Empty if none was.
    counts: Vec<u32>,
    /// The minimum times: with the time of recording, and without it.
    cuts: Option<[TreeCut; 2]>,
}

impl Calls {
    /// Omits the branches of the call tree that take less than [`LEAST_SHARE`] of the time in
    /// outermost calls, both with the time of recording and without it. Does nothing if some were
    /// omitted already.
    pub(crate) fn cut_tree(&mut self, cost: Cost) {
        if self.tables.tree.omitted.cuts.is_some() {
            return;
        }
        let busy = |cost| {
            let threads = self.threads.iter();
            threads.fold(0, |sum: i64, thread| sum.saturating_add(thread.net(cost)))
        };
        let cut = |all: i64| TreeCut {
            all,
            least: ((LEAST_SHARE * all as f64) as i64).max(1),
        };
        let costs = [Cost::default(), cost];
        let cuts = costs.map(|cost| cut(busy(cost)));
        let tree = &mut self.tables.tree;
        let mut kept = vec![false; tree.sums.len()];
        for (cost, cut) in costs.into_iter().zip(cuts) {
            tree.keep(&mut kept, |sum| sum.net(cost).total >= cut.least);
        }
        *tree = tree.cut(&kept, cuts);
    }
}

impl Tree {
    /// Returns the number of omitted callees of a path that is in the tree.
    pub fn omitted(&self, path: u32) -> usize {
        let counts = &self.omitted.counts;
        counts.get(path as usize).map_or(0, |count| *count as usize)
    }

    /// Returns the times below which branches were omitted. Returns `None` if the tree is complete.
    /// `net` is true for times without the time of recording.
    pub fn cut_below(&self, net: bool) -> Option<TreeCut> {
        self.omitted.cuts.map(|cuts| cuts[usize::from(net)])
    }

    /// Marks the paths that have enough time and whose callers have it, too.
    fn keep(&self, kept: &mut [bool], has_enough: impl Fn(Sum) -> bool) {
        let mut todo = vec![Self::ROOT];
        while let Some(path) = todo.pop() {
            kept[path as usize] = true;
            todo.extend(
                self.callees(path)
                    .filter(|callee| has_enough(self.sums.sum(*callee))),
            );
        }
    }

    /// Returns the tree of the paths that are marked.
    fn cut(&self, kept: &[bool], cuts: [TreeCut; 2]) -> Self {
        let mut tree = Self::new(self.levels);
        let mut counts = vec![0_u32];
        let mut numbers = vec![Self::ROOT; kept.len()];
        let mut is_cut = false;
        tree.sums.add_from(Self::ROOT, &self.sums, Self::ROOT);
        for path in self.paths() {
            let caller = self.caller(path);
            let new_caller = numbers[caller as usize];
            if kept[path as usize] {
                let new = tree.add_callee(new_caller, self.method(path));
                tree.sums.add_from(new, &self.sums, path);
                numbers[path as usize] = new;
                counts.push(0);
            } else if kept[caller as usize] {
                counts[new_caller as usize] += 1;
                is_cut = true;
            }
        }
        if is_cut {
            tree.omitted = Omitted {
                counts,
                cuts: Some(cuts),
            };
        }
        tree
    }
}

/// A tree as lists by path, without the root.
#[derive(Serialize, Deserialize)]
struct Form {
    /// How far the caller of each path is before it.
    callers: Vec<u32>,
    methods: Vec<u32>,
    sums: Sums,
    omitted: Omitted,
    levels: usize,
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = Form {
            callers: self.paths().map(|path| path - self.caller(path)).collect(),
            methods: self.paths().map(|path| self.method(path)).collect(),
            sums: self.sums.clone(),
            omitted: self.omitted.clone(),
            levels: self.levels,
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let mut tree = Self::new(form.levels);
        for ((path, back), method) in (1..).zip(form.callers).zip(form.methods) {
            let caller = u32::checked_sub(path, back).filter(|caller| *caller < path);
            let caller = caller.ok_or_else(|| D::Error::custom("a path without a caller"))?;
            tree.add_callee(caller, method);
        }
        if !form.sums.fits(tree.sums.len()) {
            return Err(D::Error::custom("sums without paths"));
        }
        tree.sums = form.sums;
        tree.omitted = form.omitted;
        Ok(tree)
    }
}
