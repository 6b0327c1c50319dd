//! Sums by thread, and by method or edge of the call graph.

use super::paths::ThreadPaths;
use crate::sums::{MethodSum, Subject, ThreadSum, add_gap};
use jtrail_model::ThreadId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Sums by thread, and by method or edge of the call graph.
#[derive(Debug)]
pub(crate) struct ThreadTotals<S>(pub(crate) BTreeMap<ThreadId, OfThread<S>>);

/// What a thread's calls took in some segments.
#[derive(Debug)]
pub(crate) struct OfThread<S> {
    pub(crate) sums: FxHashMap<S, MethodSum>,
    pub(crate) sum: ThreadSum,
    /// The times of the first and the last event, in ns.
    pub(crate) times: [i64; 2],
    /// The methods of the calls that are open before the first and after the last event, outermost
    /// first.
    pub(crate) open: [Vec<u32>; 2],
}

impl<S: Subject> ThreadTotals<S> {
    /// Sums up what is summed up by path.
    pub(crate) fn of(paths: &ThreadPaths) -> Self {
        let mut all = BTreeMap::new();
        let tree = &paths.sums.tree;
        for (root, sums) in paths.sums.by_root() {
            let thread = paths.threads[tree.frame(root) as usize];
            let Some(part) = paths.parts.get(&thread) else {
                continue;
            };
            let of_thread = OfThread {
                sums,
                sum: paths.of_threads.get(&thread).copied().unwrap_or_default(),
                times: part.times,
                open: part.innermost.map(|node| paths.sums.stack(node, root)),
            };
            all.insert(thread, of_thread);
        }
        Self(all)
    }

    /// Adds the sums of later segments, and the time in between.
    pub(crate) fn append(&mut self, later: Self) {
        for (thread, more) in later.0 {
            match self.0.get_mut(&thread) {
                Some(own) => own.append(more),
                None => _ = self.0.insert(thread, more),
            }
        }
    }
}

impl<S: Subject> OfThread<S> {
    fn append(&mut self, later: Self) {
        for (subject, sum) in &later.sums {
            self.sums.entry(*subject).or_default().add(sum);
        }
        self.sum.add(&later.sum);
        let gap = later.times[0].saturating_sub(self.times[1]).max(0);
        let busy = add_gap(&mut self.sums, &later.open[0], gap);
        self.sum.pass(busy);
        self.times[1] = later.times[1];
        let [_, last] = later.open;
        self.open[1] = last;
    }
}

// Without a bound on `S`, as derived ones have.
impl<S> Default for ThreadTotals<S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}
