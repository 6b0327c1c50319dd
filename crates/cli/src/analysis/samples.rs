//! Stacks that the sampler took.

use super::frames::Frames;
use super::table::Index;
use jtrail_model::{Event, Sample, ThreadId, ThreadState};
use rustc_hash::FxHashMap;

/// Samples of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SampleStat {
    /// The method was innermost, and the thread could run.
    pub own_runnable: u64,
    /// The method was innermost.
    pub own: u64,
    /// The method was on the stack, and the thread could run. Recursion does not count twice.
    pub total_runnable: u64,
    /// The method was on the stack. Recursion does not count twice.
    pub total: u64,
    /// Number of the last sample that counted.
    last: u64,
}

/// The thread states, in the order of [`Samples::threads`].
pub const STATES: [ThreadState; 5] = [
    ThreadState::Runnable,
    ThreadState::Blocked,
    ThreadState::Waiting,
    ThreadState::Parked,
    ThreadState::Sleeping,
];

/// All samples.
#[derive(Debug, Default)]
pub struct Samples {
    /// How many.
    pub count: u64,
    /// How many of threads that could run.
    pub runnable: u64,
    /// By thread and state.
    pub threads: FxHashMap<ThreadId, [u64; STATES.len()]>,
    methods: Index<u32>,
    stats: Vec<SampleStat>,
}

impl Samples {
    /// Takes samples; other events are passed over.
    pub fn event(&mut self, event: &Event<'_>, frames: &mut Frames) {
        if let Event::Sample(e) = event {
            self.sample(e, frames);
        }
    }

    fn sample(&mut self, e: &Sample<'_>, frames: &mut Frames) {
        let runnable = u64::from(e.state == ThreadState::Runnable);
        self.count += 1;
        self.runnable += runnable;
        let states = self.threads.entry(e.thread).or_default();
        if let Some(at) = STATES.iter().position(|s| *s == e.state) {
            states[at] += 1;
        }
        for (depth, frame) in e.stack.iter().enumerate() {
            let method = self.methods.number(frames.method(&frame.method)) as usize;
            if method == self.stats.len() {
                self.stats.push(SampleStat::default());
            }
            let stat = &mut self.stats[method];
            if depth == 0 {
                stat.own += 1;
                stat.own_runnable += runnable;
            }
            if stat.last != self.count {
                stat.last = self.count;
                stat.total += 1;
                stat.total_runnable += runnable;
            }
        }
    }

    /// Samples by the method's number in [`Frames`], in the order of first sight.
    pub fn methods(&self) -> impl Iterator<Item = (u32, &SampleStat)> {
        self.methods.keys().iter().copied().zip(&self.stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::Frame;

    #[test]
    fn hits_are_counted_once_for_each_sample() {
        let (mut samples, mut frames) = (Samples::default(), Frames::default());
        for (thread, state, stack) in [
            (1, ThreadState::Runnable, &["f()V", "f()V", "main()V"][..]),
            (1, ThreadState::Runnable, &["g()V", "f()V", "main()V"]),
            (2, ThreadState::Parked, &["g()V"]),
            (2, ThreadState::Sleeping, &[]),
        ] {
            let frame = |m: &&'static str| Frame {
                method: (*m).into(),
                line: 1,
            };
            let sample = Sample {
                thread: ThreadId(thread),
                state,
                stack: stack.iter().map(frame).collect(),
                ..Sample::default()
            };
            samples.event(&Event::Sample(sample), &mut frames);
        }
        let rows: Vec<_> = samples
            .methods()
            .map(|(m, s)| {
                let (own, total) = ((s.own_runnable, s.own), (s.total_runnable, s.total));
                (frames.raw_method(m), own, total)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("f()V", (1, 1), (2, 2)),
                ("main()V", (0, 0), (2, 2)),
                ("g()V", (1, 2), (1, 2)),
            ]
        );
        assert_eq!((samples.count, samples.runnable), (4, 2));
        assert_eq!(samples.threads[&ThreadId(1)], [2, 0, 0, 0, 0]);
        assert_eq!(samples.threads[&ThreadId(2)], [0, 0, 0, 1, 1]);
    }
}
