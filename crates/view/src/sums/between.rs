//! Times in which threads have no events.

use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};

/// A time in which a thread has no events, and which is not missing.
pub(crate) struct Between {
    /// The thread and the segment that tells which calls are open: those at its end, or those at
    /// its begin.
    pub(crate) part: (ThreadId, u32),
    pub(crate) is_end: bool,
    /// Length in ns.
    pub(crate) time: i64,
}

impl Between {
    /// Returns the times before, between and after the parts of threads in a span. `parts` are in
    /// order, and `times` returns the first and the last time of one.
    pub(crate) fn all(
        trace: &Trace,
        span: [Timestamp; 2],
        parts: impl Iterator<Item = (ThreadId, u32)>,
        times: impl Fn(&(ThreadId, u32)) -> [i64; 2],
    ) -> Vec<Self> {
        let [from, until] = span.map(|time| time.0);
        let mut all = Vec::new();
        let mut push = |part: (ThreadId, u32), is_end, begin: i64, end: i64| {
            let time = end.saturating_sub(begin).max(0);
            all.push(Self { part, is_end, time });
        };
        let after_last = |(thread, number): (ThreadId, u32)| {
            let gap = trace.gap_after(thread, number as usize);
            gap.map_or(until, |[missing, _]| missing.0.clamp(from, until))
        };
        let mut before: Option<(ThreadId, u32)> = None;
        for part in parts {
            let (thread, number) = part;
            let gap = trace.gap_before(thread, number as usize);
            let gap = gap.map(|gap| gap.map(|time| time.0.clamp(from, until)));
            let same = before.filter(|before| before.0 == thread);
            if let (Some(other), None) = (before, same) {
                push(other, true, times(&other)[1], after_last(other));
            }
            let mut begin = same.map_or(from, |same| times(&same)[1]);
            if let Some([missing, end]) = gap {
                if let Some(same) = same {
                    push(same, true, begin, missing);
                }
                begin = begin.max(end);
            }
            push(part, false, begin, times(&part)[0]);
            before = Some(part);
        }
        if let Some(last) = before {
            push(last, true, times(&last)[1], after_last(last));
        }
        all
    }
}
