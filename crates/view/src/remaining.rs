//! The segments that an answer still needs.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// The segments that an answer still needs, in order.
#[derive(Debug)]
pub(crate) struct Remaining<T> {
    /// The next one is the last.
    segments: Vec<T>,
    all: usize,
}

impl<T> Default for Remaining<T> {
    fn default() -> Self {
        Self {
            segments: Vec::new(),
            all: 0,
        }
    }
}

impl<T: Sync> Remaining<T> {
    /// Creates the list of all segments, of which none is read.
    pub(crate) fn new(segments: impl DoubleEndedIterator<Item = T>) -> Self {
        let segments: Vec<T> = segments.rev().collect();
        Self {
            all: segments.len(),
            segments,
        }
    }

    /// Adds segments that follow all others.
    pub(crate) fn add(&mut self, segments: Vec<T>) {
        let before = self.segments.len();
        let more = segments
            .into_iter()
            .rev()
            .chain(std::mem::take(&mut self.segments));
        self.segments = more.collect();
        self.all += self.segments.len() - before;
    }

    /// Returns which share of all segments has been read: 1 if all have.
    pub(crate) fn share(&self) -> f64 {
        match self.all {
            0 => 1.0,
            all => 1.0 - self.segments.len() as f64 / all as f64,
        }
    }

    /// Reads more segments on all processors, until all are read or the time is over, and passes
    /// the results to `add`, in order.
    ///
    /// # Errors
    /// If `read` fails. The segment remains, so that the next attempt fails too.
    pub(crate) fn advance<R: Send>(
        &mut self,
        time: Duration,
        read: impl Fn(&T) -> io::Result<R> + Sync,
        mut add: impl FnMut(T, R),
    ) -> io::Result<()> {
        let begun = Instant::now();
        let workers = thread::available_parallelism().map_or(1, usize::from);
        while !self.segments.is_empty() && begun.elapsed() < time {
            let rest = self.segments.len().saturating_sub(workers);
            let (next, read) = (&self.segments[rest..], &read);
            let done: io::Result<Vec<R>> = thread::scope(|scope| {
                let start = |segment| scope.spawn(move || read(segment));
                let started: Vec<_> = next.iter().rev().map(start).collect();
                let join = |handle: thread::ScopedJoinHandle<'_, io::Result<R>>| {
                    let done = handle.join();
                    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                started.into_iter().map(join).collect()
            });
            for result in done? {
                if let Some(segment) = self.segments.pop() {
                    add(segment, result);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_once_and_in_order() {
        let mut remaining = Remaining::new(0..7);
        let mut found = Vec::new();
        let read = |number: &i32| Ok(number * 2);
        let add = |number, double| found.push((number, double));
        remaining.advance(Duration::MAX, read, add).expect("read");
        assert_eq!(found, (0..7).map(|n| (n, 2 * n)).collect::<Vec<_>>());
        assert_eq!(remaining.share(), 1.0);
    }

    #[test]
    fn what_can_not_be_read_remains() {
        let mut remaining = Remaining::new(0..7);
        for _ in 0..2 {
            let read = |number: &i32| match number {
                5 => Err(io::ErrorKind::InvalidData.into()),
                _ => Ok(()),
            };
            let failed = remaining.advance(Duration::MAX, read, |_, ()| {});
            assert!(failed.is_err());
            assert!(remaining.share() < 1.0);
        }
    }
}
