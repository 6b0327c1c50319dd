//! A trail is the same, byte for byte, whichever thread packs its segments.

use crate::common::trail::busy;
use jtrail_formats::trail::Encoder;
use jtrail_formats::{Encode, Helpers, Job};
use jtrail_model::Event;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A pool of helper threads, which may be slow.
#[derive(Default)]
struct Threads {
    count: usize,
    jobs: Mutex<VecDeque<Job>>,
    given: Condvar,
    /// Number of jobs done by the pool's threads, and by threads that waited for a job.
    done: [AtomicUsize; 2],
}

impl Threads {
    /// Returns a pool that claims to have `count` threads. Only `take` threads take jobs.
    fn start(count: usize, take: usize, pause: Duration) -> Arc<Self> {
        let threads = Arc::new(Self {
            count,
            ..Self::default()
        });
        for _ in 0..take {
            let threads = Arc::clone(&threads);
            thread::spawn(move || {
                loop {
                    let mut jobs = threads.jobs.lock().expect("no panic");
                    let job = loop {
                        match jobs.pop_front() {
                            Some(job) => break job,
                            None => jobs = threads.given.wait(jobs).expect("no panic"),
                        }
                    };
                    drop(jobs);
                    thread::sleep(pause);
                    job();
                    threads.done[0].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        threads
    }
}

impl Helpers for Threads {
    fn count(&self) -> usize {
        self.count
    }

    fn give(&self, job: Job) {
        self.jobs.lock().expect("no panic").push_back(job);
        self.given.notify_one();
    }

    fn help(&self) -> bool {
        let job = self.jobs.lock().expect("no panic").pop_front();
        job.is_some_and(|job| {
            job();
            self.done[1].fetch_add(1, Ordering::Relaxed);
            true
        })
    }
}

/// Encodes events as a trail, with occasional flushes.
fn encoded(mut encoder: Encoder, events: &[Event<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for (number, event) in events.iter().enumerate() {
        encoder.event(event, &mut out);
        if number % 1_000_003 == 1_000_002 {
            encoder.flush(&mut out);
            assert!(!encoder.has_pending());
            assert_eq!(encoder.waiting(), 0);
        }
    }
    encoder.end(&mut out);
    out
}

#[test]
fn a_trace_is_the_same_whoever_packs_it() {
    let events = busy(2_000_000, 17);
    let alone = encoded(Encoder::default(), &events);
    for (count, take, pause) in [
        (0, 0, 0),
        (1, 1, 0),
        (1, 1, 60),
        (4, 4, 0),
        (4, 4, 30),
        (2, 0, 0),
    ] {
        let threads = Threads::start(count, take, Duration::from_millis(pause));
        let helped = encoded(Encoder::with_helpers(threads.clone()), &events);
        assert!(
            helped == alone,
            "{count} helpers, of which {take} take something"
        );
        let [others, own] = threads
            .done
            .each_ref()
            .map(|done| done.load(Ordering::Relaxed));
        assert_eq!(others + own > 0, count > 0);
        // If no helper takes a job, the thread that waits for the job does the job.
        assert!(count == 0 || take > 0 || own > 0, "{others} and {own}");
    }
}

/// If a helper panics, the thread that waits for its job fails instead of waiting forever.
#[test]
fn a_helper_that_fails_is_noticed() {
    struct Failing;
    impl Helpers for Failing {
        fn count(&self) -> usize {
            1
        }

        fn give(&self, job: Job) {
            thread::spawn(move || {
                let _job = job;
                panic!("a test of what becomes of a helper's error");
            });
        }

        fn help(&self) -> bool {
            false
        }
    }
    let failed = thread::spawn(|| {
        let mut encoder = Encoder::with_helpers(Arc::new(Failing));
        encoder.begin(&mut Vec::new());
    });
    assert!(failed.join().is_err());
}
