//! Sums by thread and call path.

use crate::sums::{Part, Paths, ThreadSum};
use jtrail_model::ThreadId;
use std::collections::BTreeMap;

/// Sums by thread and call path. Below the root of the tree are the threads, by their places in
/// `threads`.
#[derive(Debug, Default)]
pub(crate) struct ThreadPaths {
    pub(crate) threads: Vec<ThreadId>,
    places: BTreeMap<ThreadId, u32>,
    pub(crate) sums: Paths,
    pub(crate) parts: BTreeMap<ThreadId, Part>,
    pub(crate) of_threads: BTreeMap<ThreadId, ThreadSum>,
}

impl ThreadPaths {
    /// Returns the node of a thread, which is added if it is missing.
    pub(crate) fn root(&mut self, thread: ThreadId) -> u32 {
        let place = *self.places.entry(thread).or_insert_with(|| {
            self.threads.push(thread);
            self.threads.len() as u32 - 1
        });
        self.sums.tree.callee(0, place)
    }

    /// Returns the sums of the longest paths, about so many.
    pub(crate) fn longest(&self, count: usize) -> Self {
        let (sums, nodes) = self.sums.longest(count, true);
        let part = |(thread, part): (&ThreadId, &Part)| {
            let innermost = part.innermost.map(|node| nodes[node as usize]);
            (*thread, Part { innermost, ..*part })
        };
        Self {
            threads: self.threads.clone(),
            places: self.places.clone(),
            sums,
            parts: self.parts.iter().map(part).collect(),
            of_threads: self.of_threads.clone(),
        }
    }

    /// Adds the sums of later segments, and the time in between.
    pub(crate) fn append(&mut self, later: &Self) {
        let mut nodes = vec![0; later.sums.tree.len()];
        for node in 1..later.sums.tree.len() as u32 {
            let (parent, frame) = (later.sums.tree.parent(node), later.sums.tree.frame(node));
            let own = match parent {
                0 => self.root(later.threads[frame as usize]),
                _ => self.sums.tree.callee(nodes[parent as usize], frame),
            };
            self.sums.add_path(own, later.sums.path(node));
            nodes[node as usize] = own;
        }
        for (thread, sum) in &later.of_threads {
            self.of_threads.entry(*thread).or_default().add(sum);
        }
        for (thread, part) in &later.parts {
            let root = self.root(*thread);
            let innermost = part.innermost.map(|node| nodes[node as usize]);
            let Some(before) = self.parts.get_mut(thread) else {
                let part = Part { innermost, ..*part };
                self.parts.insert(*thread, part);
                continue;
            };
            let gap = part.times[0].saturating_sub(before.times[1]).max(0);
            before.times[1] = part.times[1];
            before.innermost[1] = innermost[1];
            if innermost[0] != root {
                self.sums.get(innermost[0]).pass(gap);
                self.of_threads.entry(*thread).or_default().pass(gap);
            }
        }
    }
}
