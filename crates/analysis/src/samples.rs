//! Samples of stacks.

use super::frames::Frames;
use super::table::Index;
use crate::saved::by_key;
use jtrail_model::{Event, Sample, SampleSum, ThreadId, ThreadState};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The samples of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SampleStat {
    /// Samples in which the method was innermost and the thread was runnable.
    pub own_runnable: u64,
    /// Samples in which the method was innermost.
    pub own: u64,
    /// Samples in which the method was on the stack and the thread was runnable. A sample counts
    /// once, even if the method is on the stack several times.
    pub total_runnable: u64,
    /// Samples in which the method was on the stack. A sample counts once, even if the method is on
    /// the stack several times.
    pub total: u64,
    /// The number of the last event that was counted in `total`.
    #[serde(skip)]
    last: u64,
}

/// The samples of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadSamples {
    /// All samples.
    pub all: u64,
    /// Samples by state, in the order of [`STATES`]. Of aggregated samples, only the runnable ones
    /// are known.
    pub states: [u64; STATES.len()],
}

/// The thread states, in the order of [`ThreadSamples::states`].
pub const STATES: [ThreadState; 5] = [
    ThreadState::Runnable,
    ThreadState::Blocked,
    ThreadState::Waiting,
    ThreadState::Parked,
    ThreadState::Sleeping,
];

/// All samples of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Samples {
    /// The number of samples.
    pub count: u64,
    /// The number of samples of runnable threads.
    pub runnable: u64,
    /// Samples by thread.
    #[serde(with = "by_key")]
    pub threads: FxHashMap<ThreadId, ThreadSamples>,
    /// For each thread, the frames that may call the next frame of its tree.
    #[serde(skip)]
    paths: FxHashMap<ThreadId, Vec<u32>>,
    /// The number of events.
    #[serde(skip)]
    events: u64,
    methods: Index<u32>,
    stats: Vec<SampleStat>,
}

impl Samples {
    /// Processes samples. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>, frames: &mut Frames) {
        match event {
            Event::Sample(e) => self.sample(e, frames),
            Event::SampleSum(e) => self.sum(e, frames),
            _ => {}
        }
    }

    fn sample(&mut self, e: &Sample<'_>, frames: &mut Frames) {
        let thread = self.threads.entry(e.thread).or_default();
        let ticks = e.ticks.get();
        if let Some(at) = STATES.iter().position(|s| *s == e.state) {
            thread.states[at] = thread.states[at].saturating_add(ticks);
        }
        let runnable = match e.state {
            ThreadState::Runnable => ticks,
            _ => 0,
        };
        let methods = e.stack.iter().map(|frame| frames.method(&frame.method));
        let stack: Vec<u32> = methods.map(|method| self.method(method)).collect();
        self.hit(e.thread, &stack, runnable, ticks);
    }

    fn sum(&mut self, e: &SampleSum<'_>, frames: &mut Frames) {
        let thread = self.threads.entry(e.thread).or_default();
        let runnable = STATES.iter().position(|s| *s == ThreadState::Runnable);
        if let Some(at) = runnable {
            thread.states[at] = thread.states[at].saturating_add(e.runnable);
        }
        let method = self.method(frames.method(&e.frame.method));
        // The outermost frame is first.
        let mut path = self.paths.remove(&e.thread).unwrap_or_default();
        let callers = usize::try_from(e.depth).unwrap_or(usize::MAX);
        path.truncate(callers.saturating_sub(1));
        path.push(method);
        path.reverse();
        self.hit(e.thread, &path, e.runnable, e.all);
        path.reverse();
        self.paths.insert(e.thread, path);
    }

    /// Returns the number of a method in `stats`, by its number in [`Frames`].
    fn method(&mut self, method: u32) -> u32 {
        let method = self.methods.number(method);
        if method as usize == self.stats.len() {
            self.stats.push(SampleStat::default());
        }
        method
    }

    /// Counts samples of a stack, innermost method first.
    fn hit(&mut self, thread: ThreadId, stack: &[u32], runnable: u64, all: u64) {
        let add = |sum: &mut u64, hits| *sum = sum.saturating_add(hits);
        self.events += 1;
        add(&mut self.count, all);
        add(&mut self.runnable, runnable);
        add(&mut self.threads.entry(thread).or_default().all, all);
        for (depth, method) in stack.iter().enumerate() {
            let stat = &mut self.stats[*method as usize];
            if depth == 0 {
                add(&mut stat.own, all);
                add(&mut stat.own_runnable, runnable);
            }
            if stat.last != self.events {
                stat.last = self.events;
                add(&mut stat.total, all);
                add(&mut stat.total_runnable, runnable);
            }
        }
    }

    /// Returns the samples by the method's number in [`Frames`], in the order of first occurrence.
    pub fn methods(&self) -> impl Iterator<Item = (u32, &SampleStat)> {
        self.methods.keys().iter().copied().zip(&self.stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{Frame, Ticks};

    /// A method, its `own` samples, and its `total` samples. Each pair is (runnable, any state).
    type Row<'f> = (&'f str, (u64, u64), (u64, u64));

    fn rows<'f>(samples: &Samples, frames: &'f Frames) -> Vec<Row<'f>> {
        let row = |(method, s): (u32, &SampleStat)| {
            let (own, total) = ((s.own_runnable, s.own), (s.total_runnable, s.total));
            (frames.raw_method(method), own, total)
        };
        samples.methods().map(row).collect()
    }

    #[test]
    fn hits_are_counted_once_for_each_sample() {
        let (mut samples, mut frames) = (Samples::default(), Frames::default());
        for (thread, state, ticks, stack) in [
            (
                1,
                ThreadState::Runnable,
                1,
                &["f()V", "f()V", "main()V"][..],
            ),
            (1, ThreadState::Runnable, 5, &["g()V", "f()V", "main()V"]),
            (2, ThreadState::Parked, 3, &["g()V"]),
            (2, ThreadState::Sleeping, 1, &[]),
        ] {
            let frame = |m: &&'static str| Frame {
                method: (*m).into(),
                line: 1,
            };
            let sample = Sample {
                thread: ThreadId(thread),
                state,
                ticks: Ticks::new(ticks).expect("not 0"),
                stack: stack.iter().map(frame).collect(),
                ..Sample::default()
            };
            samples.event(&Event::Sample(sample), &mut frames);
        }
        assert_eq!(
            rows(&samples, &frames),
            [
                ("f()V", (1, 1), (6, 6)),
                ("main()V", (0, 0), (6, 6)),
                ("g()V", (5, 8), (5, 8)),
            ]
        );
        assert_eq!((samples.count, samples.runnable), (10, 6));
        let thread = |id| {
            let thread = samples.threads[&ThreadId(id)];
            (thread.all, thread.states)
        };
        assert_eq!(thread(1), (6, [6, 0, 0, 0, 0]));
        assert_eq!(thread(2), (4, [0, 0, 0, 3, 1]));
    }

    #[test]
    fn sums_of_samples_count_as_often_as_they_say() {
        let (mut samples, mut frames) = (Samples::default(), Frames::default());
        for (depth, method, runnable, all) in [
            (1, "main()", 0, 0),
            (2, "f()", 1, 2),
            (3, "f()", 3, 3),
            (4, "g()", 0, 5),
            (2, "g()", 7, 7),
        ] {
            samples.event(
                &Event::SampleSum(SampleSum {
                    thread: ThreadId(1),
                    depth,
                    frame: Frame {
                        method: method.into(),
                        line: -1,
                    },
                    runnable,
                    all,
                    ..SampleSum::default()
                }),
                &mut frames,
            );
        }
        assert_eq!(
            rows(&samples, &frames),
            [
                ("main()", (0, 0), (11, 17)),
                ("f()", (4, 5), (4, 10)),
                ("g()", (7, 12), (7, 12)),
            ]
        );
        assert_eq!((samples.count, samples.runnable), (17, 11));
        assert_eq!(samples.threads[&ThreadId(1)].states[0], 11);
    }
}
