//! Sums up one segment, or takes the sums of a node.

use super::{Part, Paths, ThreadSum};
use crate::index::ThreadPaths;
use crate::methods::NO_METHOD;
use crate::slice::Kind;
use crate::trace::Trace;
use crate::walk::{Begin, Open, Threads, Walk};
use jtrail_model::{ThreadId, Timestamp};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Sums up one segment.
pub(crate) struct Worker {
    span: [Timestamp; 2],
    times: [Timestamp; 2],
    threads: Arc<BTreeSet<ThreadId>>,
    pub(crate) paths: Paths,
    pub(crate) parts: Vec<(ThreadId, Part, ThreadSum)>,
}

/// A thread, while its segment is summed up.
pub(crate) struct State {
    is_selected: bool,
    /// The times of its first and latest event, cut to the span.
    times: Option<[i64; 2]>,
    /// The innermost call that is open at the begin.
    innermost: u32,
    sum: ThreadSum,
}

impl Worker {
    pub(crate) fn new(
        [span, times]: [[Timestamp; 2]; 2],
        threads: Arc<BTreeSet<ThreadId>>,
    ) -> Self {
        Self {
            span,
            times,
            threads,
            paths: Paths::default(),
            parts: Vec::new(),
        }
    }

    /// Takes the sums of a node, which lies in the span.
    pub(super) fn take(mut self, all: &ThreadPaths) -> Self {
        let tree = &all.sums.tree;
        // The own node of each node; none if its thread is not selected.
        let mut nodes: Vec<Option<u32>> = vec![None; tree.len()];
        for node in 1..tree.len() as u32 {
            let (parent, frame) = (tree.parent(node), tree.frame(node));
            let own = match parent {
                0 => {
                    let thread = all.threads[frame as usize];
                    self.threads.contains(&thread).then_some(0)
                }
                _ => nodes[parent as usize].map(|parent| self.paths.tree.callee(parent, frame)),
            };
            if let Some(own) = own {
                self.paths.add_path(own, all.sums.path(node));
            }
            nodes[node as usize] = own;
        }
        for (thread, part) in &all.parts {
            let [before, after] = part.innermost.map(|node| nodes[node as usize]);
            if let Some((before, after)) = before.zip(after) {
                let innermost = [before, after];
                let sum = all.of_threads.get(thread).copied().unwrap_or_default();
                self.parts.push((*thread, Part { innermost, ..*part }, sum));
            }
        }
        self
    }

    pub(crate) fn run(mut self, trace: &Trace, number: u32) -> io::Result<Self> {
        let threads: Threads<Self> = trace.walk(number as usize, &mut self)?;
        // A thread that goes on with what it did before has no times of its own.
        let first = trace.first_time(number as usize).0;
        let first = first.clamp(self.times[0].0, self.times[1].0);
        for (id, thread) in threads {
            let state = thread.state;
            if state.is_selected {
                let last = thread.open.last().map_or(0, |open| open.extra);
                let part = Part {
                    times: state.times.unwrap_or([first; 2]),
                    innermost: [state.innermost, last],
                };
                self.parts.push((id, part, state.sum));
            }
        }
        Ok(self)
    }

    /// Adds the time since the latest event of a thread to its innermost open call.
    #[inline]
    fn pass(&mut self, state: &mut State, innermost: u32, time: Timestamp) {
        let time = time.0.clamp(self.times[0].0, self.times[1].0);
        let times = state.times.get_or_insert([time; 2]);
        let passed = time.saturating_sub(times[1]);
        if passed > 0 {
            times[1] = time;
            if innermost != 0 {
                self.paths.get(innermost).pass(passed);
                state.sum.pass(passed);
            }
        }
    }
}

impl Walk for Worker {
    /// The node of the call, or of the call that waits.
    type Extra = u32;
    type Thread = State;

    fn thread(&mut self, id: ThreadId) -> State {
        State {
            is_selected: self.threads.contains(&id),
            times: None,
            innermost: 0,
            sum: ThreadSum::default(),
        }
    }

    #[inline]
    fn begin(&mut self, state: &mut State, open: &[Open<u32>], begin: Begin) -> u32 {
        if !state.is_selected {
            return 0;
        }
        let innermost = open.last().map_or(0, |open| open.extra);
        state.sum.levels = state.sum.levels.max(open.len() as u32 + 1);
        if !begin.is_earlier {
            self.pass(state, innermost, begin.time);
        }
        if begin.method == NO_METHOD {
            return innermost;
        }
        let node = self.paths.tree.callee(innermost, begin.method);
        if begin.is_earlier {
            state.innermost = node;
        } else if (self.span[0]..self.span[1]).contains(&begin.time) {
            self.paths.get(node).calls += 1;
            state.sum.calls += 1;
            state.sum.outermost += u64::from(innermost == 0);
        }
        node
    }

    #[inline]
    fn end(
        &mut self,
        state: &mut State,
        _: &[Open<u32>],
        ended: Open<u32>,
        (time, _): (Timestamp, Kind),
    ) {
        if state.is_selected {
            self.pass(state, ended.extra, time);
        }
    }
}
