//! Threads that run at the same time: the order of their events.

use crate::program::Program;
use crate::random::Random;
use crate::thread::{NEVER, Thread};
use jtrail_formats::Encode;
use jtrail_formats::trail::{CALLS_AHEAD, Encoder};
use jtrail_model::{CallRun, ClassId, Duration, Event, MethodId, MethodIds};
use std::{fmt, io};

pub(crate) const START: i64 = 1_700_000_000_000_000_000;
/// Number of objects that threads wait for.
pub(crate) const MONITORS: u64 = 16;
/// Classes of allocated objects and, the last one, of exceptions. Their numbers follow those of the
/// program's classes.
pub(crate) const OBJECTS: [&str; 6] = [
    "java.lang.Object",
    "java.lang.String",
    "byte[]",
    "java.util.ArrayList",
    "com.example.compiler.Tree",
    "java.lang.IllegalStateException",
];
pub(crate) const EXCEPTION: u64 = 5;
/// Bytes of the heap.
pub(crate) const HEAP: i64 = 1 << 30;
/// Maximum number of other events of a thread at one time.
const MOST_TOGETHER: u64 = 4;
/// Bytes at which encoded segments are handed on.
const FLUSH: usize = 1 << 20;

/// Sums of what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    pub(crate) events: u64,
    pub(crate) calls: u64,
    pub(crate) allocations: u64,
    pub(crate) exceptions: u64,
    pub(crate) waits: u64,
    pub(crate) collections: u64,
    pub(crate) bytes: u64,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} events: {} calls, {} allocations, {} exceptions, {} waits, {} collections; {} bytes",
            self.events,
            self.calls,
            self.allocations,
            self.exceptions,
            self.waits,
            self.collections,
            self.bytes
        )
    }
}

/// Where encoded bytes go.
pub(crate) type Sink<'s> = dyn FnMut(&[u8], &Written) -> io::Result<()> + 's;

/// A trace that is being generated.
pub(crate) struct Generator<'g> {
    pub(crate) program: &'g Program,
    encoder: Encoder,
    out: Vec<u8>,
    sink: &'g mut Sink<'g>,
    pub(crate) ids: MethodIds,
    pub(crate) threads: Vec<Thread>,
    pub(crate) random: Random,
    pub(crate) written: Written,
    /// No event so far is later.
    pub(crate) now: i64,
    /// Time of the next collection.
    pub(crate) collection: i64,
    /// Bytes in use after the last collection.
    pub(crate) used: i64,
    pub(crate) objects: u64,
}

impl<'g> Generator<'g> {
    pub(crate) fn new(
        program: &'g Program,
        threads: u64,
        seed: u64,
        encoder: Encoder,
        sink: &'g mut Sink<'g>,
    ) -> Self {
        let ids = MethodIds::default();
        for (number, (class, _)) in (0..).zip(&program.methods) {
            ids.give(number, (method_id(number), class_id(u64::from(*class))));
        }
        let thread = |id| Thread::new(id, START + 1000 * id as i64, program, seed);
        let mut random = Random::new(!seed);
        Self {
            threads: (1..=threads).map(thread).collect(),
            collection: match program.has_other_events {
                true => START + random.spread(1_000_000, 20_000_000) as i64,
                false => NEVER,
            },
            program,
            encoder,
            out: Vec::with_capacity(2 * FLUSH),
            sink,
            ids,
            random,
            written: Written::default(),
            now: START,
            used: 100 << 20,
            objects: MONITORS,
        }
    }

    /// Writes a trace with exactly `events` events.
    ///
    /// # Errors
    /// If the sink fails, or `InvalidInput` if a trace of this program has more events.
    pub(crate) fn write(mut self, events: u64) -> io::Result<Written> {
        self.encoder.begin(&mut self.out);
        self.begin();
        let least = self.written.events + self.ending();
        if events < least {
            let text = format!("a trace of this program has at least {least} events");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        while self.written.events + self.ending() + self.most_in_window() <= events {
            self.window();
            self.flush()?;
        }
        self.end(events);
        self.encoder.end(&mut self.out);
        self.hand_on()?;
        Ok(self.written)
    }

    /// Returns the maximum number of events of a window with the ends of calls that begin in it.
    fn most_in_window(&self) -> u64 {
        let least = self.program.gaps.iter().min().copied().unwrap_or(0).max(1);
        let steps = CALLS_AHEAD.0 as u64 / u64::from(least) + 1;
        self.threads.len() as u64 * (2 * steps + MOST_TOGETHER)
    }

    /// Writes what happens up to the next event that is not a step, and not for longer than runs
    /// may be ahead of each other.
    fn window(&mut self) {
        let first = self.threads.iter().map(Thread::first).min();
        let first = first.unwrap_or(NEVER);
        if first >= self.collection {
            return self.collect();
        }
        let others = self.threads.iter().map(|thread| thread.other.0).min();
        let end = (first + CALLS_AHEAD.0)
            .min(others.unwrap_or(NEVER))
            .min(self.collection);
        for at in 0..self.threads.len() {
            self.threads[at].play(self.program, end);
            self.write_run(at);
        }
        self.now = end;
        for at in 0..self.threads.len() {
            if self.threads[at].other.0 <= end {
                self.other(at);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.out.len() >= FLUSH {
            true => self.hand_on(),
            false => Ok(()),
        }
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.written.bytes += self.out.len() as u64;
        (self.sink)(&self.out, &self.written)?;
        self.out.clear();
        Ok(())
    }

    pub(crate) fn event(&mut self, event: Event<'static>) {
        self.encoder.event(&event, &mut self.out);
        self.written.events += 1;
    }

    pub(crate) fn write_run(&mut self, at: usize) {
        let thread = &self.threads[at];
        let run = CallRun {
            thread: thread.id,
            cpu_time: Duration(0),
            ticket: thread.run.ticket,
            depth: thread.run.depth,
            before: &thread.run.before,
            steps: &thread.run.steps,
            times: &thread.run.times,
            begun: &thread.run.begun,
            methods: &self.ids,
            kept: None,
        };
        self.written.events += run.steps.len() as u64;
        self.written.calls += run.enters() as u64;
        self.encoder.run(&run, &mut self.out);
    }
}

/// Returns the id of the method with a number.
pub(crate) fn method_id(number: u32) -> MethodId {
    MethodId(u64::from(number) + 1)
}

/// Returns the id of the class with a number.
pub(crate) fn class_id(number: u64) -> ClassId {
    ClassId(number + 1)
}
