//! Threads that follow calls ahead of the writer and compress a trace's segments. Like the writer's
//! thread, they are not Java threads and block all signals. So the program does not notice them.

use crossbeam_channel::{Receiver, Sender, unbounded};
use jtrail_formats::{Helpers, Job};
use jtrail_guard::threads::without_signals;
use jtrail_guard::{guard, log};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism};

/// Maximum number of threads if the options do not set the number.
const MAX_HELPERS: usize = 8;

/// A pool of helper threads, which wait for jobs once they are started. They end when the pool is
/// dropped.
pub(super) struct Pool {
    jobs: Mutex<Option<Sender<Job>>>,
    taken: Receiver<Job>,
    threads: OnceLock<Vec<JoinHandle<()>>>,
}

impl Default for Pool {
    fn default() -> Self {
        let (jobs, taken) = unbounded();
        Self {
            jobs: Mutex::new(Some(jobs)),
            taken,
            threads: OnceLock::new(),
        }
    }
}

impl Pool {
    /// Starts `count` threads, or one per four processors. Has an effect only the first time.
    pub(super) fn start(&self, count: Option<usize>) {
        self.threads.get_or_init(|| {
            let processors = || available_parallelism().map_or(1, usize::from);
            let count = count.unwrap_or_else(|| (processors() / 4).min(MAX_HELPERS));
            let mut threads = Vec::new();
            for number in 1..=count {
                match self.start_one(number) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        let started = threads.len();
                        log::say(&format!(
                            "the writer goes on with {started} helpers, not {count} (writers): {error}"
                        ));
                        break;
                    }
                }
            }
            threads
        });
    }

    /// Returns a function that returns the number of jobs that no thread has begun. Jobs use it,
    /// because they must not hold the pool: dropping the pool waits for its threads.
    pub(super) fn waiting(&self) -> impl Fn() -> usize + Send + use<> {
        let taken = self.taken.clone();
        move || taken.len()
    }

    fn start_one(&self, number: usize) -> std::io::Result<JoinHandle<()>> {
        let taken = self.taken.clone();
        let work = move || taken.iter().for_each(|job| job());
        without_signals(|| {
            Builder::new()
                .name(format!("jtrail encoder{number}"))
                .spawn(move || guard::run_thread("a helper of the writer", work))
        })
    }
}

impl Helpers for Pool {
    fn count(&self) -> usize {
        self.threads.get().map_or(0, Vec::len)
    }

    fn give(&self, job: Job) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            // Sending can't fail, because the pool has a receiver itself.
            let _ = jobs.send(job);
        }
    }

    fn help(&self) -> bool {
        let job = self.taken.try_recv();
        job.is_ok_and(|job| {
            job();
            true
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut();
        *jobs.unwrap_or_else(PoisonError::into_inner) = None;
        for thread in self.threads.take().into_iter().flatten() {
            let _ = thread.join();
        }
        // If all threads have panicked, jobs are left. Some of them hold the channel that holds
        // them, so they must be dropped here.
        while self.taken.try_recv().is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_is_done_before_the_threads_end() {
        for count in [0, 1, 4] {
            let done = Arc::new(AtomicUsize::new(0));
            let pool = Pool::default();
            pool.start(Some(count));
            assert_eq!(pool.count(), count);
            for _ in 0..100 {
                let done = Arc::clone(&done);
                pool.give(Box::new(move || {
                    done.fetch_add(1, Ordering::Relaxed);
                }));
            }
            if count == 0 {
                while pool.help() {}
            }
            drop(pool);
            assert_eq!(done.load(Ordering::Relaxed), 100, "{count} threads");
        }
    }

    #[test]
    fn a_job_knows_how_many_others_wait() {
        let pool = Pool::default();
        pool.start(Some(1));
        let (go_on, are_given) = unbounded();
        let (answer, answers) = unbounded();
        let ask = || {
            let (waiting, answer) = (pool.waiting(), answer.clone());
            move || answer.send(waiting()).unwrap()
        };
        let first = ask();
        pool.give(Box::new(move || {
            are_given.recv().unwrap();
            first();
        }));
        pool.give(Box::new(ask()));
        go_on.send(()).unwrap();
        assert_eq!(answers.recv(), Ok(1));
        assert_eq!(answers.recv(), Ok(0));
    }
}
