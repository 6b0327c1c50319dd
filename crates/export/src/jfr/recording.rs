//! A recording that is being written.

use super::chunk::{self, Span};
use super::constants::{Constants, state_key};
use super::encoding::{boolean, enclose, integer, signed, text};
use super::flush::Flushes;
use super::paths::{Path, Paths};
use super::pool::begin_pool;
use super::schema::Type;
use super::threads::Thread;
use crate::per_thread::PerThread;
use crate::sink::{ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_model::names::Names;
use jtrail_model::{ClassId, Frame, ThreadState, Timestamp};

/// A number that readers show as unknown, for times and lengths of time.
pub(super) const UNKNOWN: i64 = i64::MIN;

/// Size of a chunk in bytes after which the next one begins. Most of a chunk are stack traces, and
/// each chunk has those of its calls again: smaller chunks make larger recordings. Larger ones need
/// more memory to be written and read.
const CHUNK_SIZE: usize = if cfg!(test) { 1 << 16 } else { 32 << 20 };

/// First interval of the samples that are made from calls, in ns.
const PERIOD: i64 = 1_000_000;

/// The number of samples made from calls after which their interval doubles. Otherwise a long time
/// with few events, such as a day in one call, would be many samples.
const SAMPLES_OF_PERIOD: u64 = if cfg!(test) { 1_000 } else { 500_000 };

/// The sink that writes a recording.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// The events of the current chunk.
    events: Vec<u8>,
    /// Samples that were made from calls. They are events of the chunk if the trace turns out to
    /// have no samples itself.
    samples: Vec<u8>,
    pub(super) constants: Constants,
    pub(super) paths: Paths,
    pub(super) threads: PerThread<Thread>,
    /// Threads that the current chunk uses, with their former names.
    renamed: Vec<(u64, ThreadInfo)>,
    /// Key of the latest thread.
    last_thread: u64,
    /// The class definition whose details may follow.
    pub(super) defined: Option<(ClassId, Timestamp, Option<ThreadIndex>)>,
    /// The process's id and program file.
    pub(super) process: Option<(u64, String)>,
    /// The first time of the trace.
    pub(super) first: Option<Timestamp>,
    /// The start of the file, if it is not the first one.
    file_start: Option<Timestamp>,
    /// The start of the current chunk.
    chunk_start: Timestamp,
    /// The latest time of an event so far.
    pub(super) latest: Timestamp,
    /// Number of the latest collection.
    pub(super) collections: i64,
    /// Maximum number of frames of recorded stacks, if the trace says so.
    pub(super) stack_limit: Option<usize>,
    /// True if the trace has samples.
    pub(super) has_samples: bool,
    /// True if samples made from calls have been written.
    has_made_samples: bool,
    /// Number of samples made from calls.
    made_samples: u64,
    /// Number of ticks of samples that were left out.
    pub(super) dropped_ticks: u64,
    /// Number of events so far, without samples that were made from calls.
    event_count: u64,
    pub(super) flushes: Flushes,
    pub(super) out: Vec<u8>,
}

impl Recording {
    /// Returns the recording of the next file. It differs from the next chunk of this one in what
    /// is written once in a file, and in the samples made from calls, whose interval is short
    /// again.
    pub(super) fn continued(self) -> Self {
        Self {
            file_start: Some(self.chunk_start),
            has_made_samples: false,
            made_samples: 0,
            dropped_ticks: 0,
            event_count: 0,
            ..self
        }
    }

    /// Returns the ticks of a time. An unknown time (0) counts as the latest one, because tools
    /// show all that is between the first event and the last one.
    #[inline]
    pub(super) fn ticks(&mut self, time: Timestamp) -> u64 {
        let time = if time.0 == 0 { self.latest } else { time };
        let first = match self.first {
            Some(first) => first,
            None if time.0 == 0 => return 1,
            None => {
                (self.chunk_start, self.latest) = (time, time);
                *self.first.insert(time)
            }
        };
        self.latest = self.latest.max(time);
        time.0.wrapping_sub(first.0).wrapping_add(1) as u64
    }

    /// Appends an event that begins at a time.
    #[inline]
    pub(super) fn event(&mut self, id: Type, time: Timestamp, fields: impl FnOnce(&mut Vec<u8>)) {
        let ticks = self.ticks(time);
        self.event_count += 1;
        enclose(&mut self.events, id, |out| {
            integer(out, ticks);
            fields(out);
        });
    }

    pub(super) fn state(&mut self, index: ThreadIndex) -> &mut Thread {
        &mut self.threads[index]
    }

    pub(super) fn class(&mut self, names: &Names, id: ClassId) -> u64 {
        self.constants.used_class(names, id)
    }

    /// Returns the key of the stack trace of recorded frames.
    pub(super) fn recorded_trace(&mut self, names: &Names, stack: &[Frame<'_>]) -> u64 {
        let is_cut = self.stack_limit.is_some_and(|limit| stack.len() >= limit);
        let root = if is_cut { Path::CUT } else { Path::EMPTY };
        let path = stack.iter().rev().fold(root, |path, frame| {
            let method = self.constants.frame(names, frame);
            self.paths.callee(path, method, frame.line)
        });
        self.paths.trace(path)
    }

    /// Returns the key of the stack trace of recorded frames, or of the call path if there are
    /// none.
    pub(super) fn trace(&mut self, names: &Names, index: ThreadIndex, stack: &[Frame<'_>]) -> u64 {
        if stack.is_empty() {
            let path = self.state(index).path();
            self.paths.trace(path)
        } else {
            self.recorded_trace(names, stack)
        }
    }

    /// Begins the next chunk if the current one is full.
    #[inline]
    pub(super) fn make_room(&mut self, names: &Names) {
        if self.chunk_size() >= CHUNK_SIZE || self.paths.is_full() {
            self.write_chunk(names, false);
        }
    }

    /// Returns the size of the current chunk without its constants.
    #[inline]
    pub(super) fn chunk_size(&self) -> usize {
        self.events.len() + self.samples.len() + self.paths.bytes()
    }

    pub(super) fn write_chunk(&mut self, names: &Names, is_final: bool) {
        if self.has_samples {
            self.samples.clear();
        } else if !self.samples.is_empty() && !self.has_made_samples {
            self.has_made_samples = true;
            self.describe_samples();
        }
        self.flushes.waiting = 0;
        let start = self.chunk_start;
        let span = Span {
            start,
            ticks: self.ticks(start),
            length: self.latest.since(start).0.max(1),
            is_final,
        };
        self.chunk_start = Timestamp(start.0.saturating_add(span.length));
        let mut pools = Vec::new();
        let count = self.write_threads(&mut pools)
            + self.paths.write(&mut self.constants, &mut pools)
            + self.constants.write(&mut pools);
        let (before, size) = (self.out.len(), self.events.len() + self.samples.len());
        let events = [&mut self.events, &mut self.samples];
        chunk::write(span, events, (&mut pools, count), &mut self.out);
        self.flushes.constants = self.out.len() - before - size;
        if self.paths.is_full() {
            self.renew_paths(names);
        }
    }

    /// Forgets all call paths but those of open calls.
    fn renew_paths(&mut self, names: &Names) {
        self.paths.clear();
        for (_, thread) in self.threads.iter_mut() {
            let mut path = Path::EMPTY;
            for call in &mut thread.calls {
                let method = self.constants.method(names, call.method);
                path = self.paths.callee(path, method, 0);
                call.path = path;
            }
        }
    }

    /// Returns the key of a thread, which the current chunk uses.
    #[inline]
    pub(super) fn used_thread(&mut self, index: ThreadIndex) -> u64 {
        let thread = &mut self.threads[index];
        thread.is_used = true;
        thread.key
    }

    /// Sets what is known of a thread, and returns what was known before.
    pub(super) fn describe_thread(&mut self, index: ThreadIndex, info: &ThreadInfo) -> ThreadInfo {
        let thread = &mut self.threads[index];
        if thread.key == 0 {
            self.last_thread += 1;
            thread.key = self.last_thread;
        }
        let old = std::mem::replace(&mut thread.info, info.clone());
        if thread.is_fixed && old != *info {
            if thread.is_used {
                self.renamed.push((thread.key, old.clone()));
            }
            self.last_thread += 1;
            thread.key = self.last_thread;
            (thread.is_used, thread.is_fixed) = (false, false);
        }
        old
    }

    /// Appends the threads that the current chunk uses, and returns the number of pools.
    fn write_threads(&mut self, out: &mut Vec<u8>) -> u64 {
        let current = self.threads.iter().filter(|(_, thread)| thread.is_used);
        let current = current.map(|(_, thread)| (thread.key, &thread.info));
        let renamed = self.renamed.iter().map(|(key, info)| (*key, info));
        let used: Vec<_> = renamed.chain(current).collect();
        if used.is_empty() {
            return 0;
        }
        begin_pool(Type::Thread, used.len(), out);
        for (key, info) in used {
            let name = Some(info.name.as_str());
            integer(out, key);
            text(out, name);
            integer(out, info.os_id);
            text(out, name);
            integer(out, info.id.0);
            integer(out, self.constants.used_group(&info.group));
            boolean(out, info.is_virtual);
        }
        self.renamed.clear();
        for (_, thread) in self.threads.iter_mut() {
            thread.is_fixed |= thread.is_used;
            thread.is_used = false;
        }
        1
    }

    /// The interval of samples made from calls, in ns.
    fn period(&self) -> i64 {
        let doubled = u32::try_from(self.made_samples / SAMPLES_OF_PERIOD);
        let factor = doubled.ok().and_then(|doubled| 2_i64.checked_pow(doubled));
        PERIOD.saturating_mul(factor.unwrap_or(i64::MAX))
    }

    /// Writes that samples are made from calls.
    fn describe_samples(&mut self) {
        let time = self.chunk_start;
        self.write_period(time, PERIOD);
        self.note(
            time,
            "The trace has no samples. jdk.ExecutionSample was made from its calls, one for each \
             1 ms at which a thread is in a call and not in a recorded wait.",
        );
    }

    fn write_period(&mut self, time: Timestamp, period: i64) {
        self.event(Type::ActiveSetting, time, |out| {
            integer(out, Type::ExecutionSample as u64);
            text(out, Some("period"));
            text(out, Some(&format!("{} ms", period / PERIOD)));
        });
    }

    pub(super) fn note(&mut self, time: Timestamp, note: &str) {
        self.event(Type::Note, time, |out| text(out, Some(note)));
    }

    /// Makes samples of a thread up to `now`.
    #[inline]
    pub(super) fn sample_until(&mut self, names: &Names, now: ThreadTime) {
        if self.threads[now.thread].has_due_samples(now.time) {
            self.make_samples(names, now);
        }
    }

    fn make_samples(&mut self, names: &Names, now: ThreadTime) {
        let mut period = self.period();
        if self.has_samples {
            // A call may take centuries, so its samples are not skipped one by one.
            return self.state(now.thread).skip_samples(now.time, period);
        }
        while let Some(time) = self.state(now.thread).due_sample(now.time, period) {
            let ticks = self.ticks(time);
            let path = self.state(now.thread).path();
            let trace = self.paths.trace(path);
            let thread = self.used_thread(now.thread);
            enclose(&mut self.samples, Type::ExecutionSample, |out| {
                integer(out, ticks);
                integer(out, thread);
                integer(out, trace);
                integer(out, state_key(ThreadState::Runnable));
            });
            self.made_samples += 1;
            if self.period() != period {
                period = self.period();
                self.write_period(time, period);
                let text = format!(
                    "From here on, one jdk.ExecutionSample was made for each {} ms.",
                    period / PERIOD
                );
                self.note(time, &text);
            }
            self.make_room(names);
        }
    }

    /// Returns the number of events so far.
    pub(super) fn count(&self) -> u64 {
        let made = if self.has_samples {
            0
        } else {
            self.made_samples
        };
        self.event_count + made
    }

    /// Writes how much a thread has allocated.
    fn write_allocated(&mut self, index: ThreadIndex, time: Timestamp) {
        let allocated = self.threads[index].allocated;
        if allocated > 0 {
            let thread = self.used_thread(index);
            self.event(Type::AllocationStatistics, time, |out| {
                integer(out, allocated);
                integer(out, thread);
            });
        }
    }

    /// Forgets a thread that has ended. The current chunk may still need its description.
    pub(super) fn forget(&mut self, index: ThreadIndex) {
        self.write_allocated(index, self.latest);
        let Thread {
            key, info, is_used, ..
        } = &mut self.threads[index];
        if *is_used {
            self.renamed.push((*key, std::mem::take(info)));
        }
        self.threads.remove(index);
    }

    /// Writes what is known at the end only.
    pub(super) fn finish(&mut self, latest: Timestamp) {
        self.latest = self.latest.max(latest);
        for index in self.threads.indices() {
            self.write_allocated(index, latest);
        }
        let start = self.file_start.or(self.first).unwrap_or(latest);
        if let Some((id, program)) = self.process.take() {
            self.event(Type::JvmInformation, start, |out| {
                for _ in 0..5 {
                    text(out, None); // name, version, arguments, flags, arguments of the program
                }
                signed(out, UNKNOWN); // start
                integer(out, id);
            });
            if !program.is_empty() {
                self.note(start, &format!("The program file is {program}."));
            }
        }
        self.event(Type::ActiveRecording, start, |out| {
            integer(out, 1); // id
            text(out, Some("jtrail"));
            text(out, None); // destination
            boolean(out, true);
            signed(out, UNKNOWN); // maximum age
            signed(out, UNKNOWN); // flush interval
            integer(out, 0); // maximum size
            signed(out, start.0.div_euclid(1_000_000));
            signed(out, latest.since(start).0 / 1_000_000);
        });
    }
}
