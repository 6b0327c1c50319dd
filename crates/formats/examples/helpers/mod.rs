//! Threads that pack the segments of an encoder.

use jtrail_formats::{Helpers, Job};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// A pool of threads that wait for jobs.
pub(crate) struct Threads {
    count: usize,
    jobs: Sender<Job>,
    taken: Arc<Mutex<Receiver<Job>>>,
}

impl Threads {
    /// Starts `count` threads, which end when the pool is dropped.
    pub(crate) fn start(count: usize) -> Arc<Self> {
        let (jobs, taken) = channel::<Job>();
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..count {
            let taken = Arc::clone(&taken);
            std::thread::spawn(move || {
                loop {
                    let next = taken.lock().expect("nobody panics").recv();
                    let Ok(job) = next else { return };
                    job();
                }
            });
        }
        Arc::new(Self { count, jobs, taken })
    }
}

impl Helpers for Threads {
    fn count(&self) -> usize {
        self.count
    }

    fn give(&self, job: Job) {
        self.jobs.send(job).expect("there is a receiver");
    }

    fn help(&self) -> bool {
        let next = self.taken.try_lock().map(|taken| taken.try_recv());
        match next {
            Ok(Ok(job)) => {
                job();
                true
            }
            _ => false,
        }
    }
}
