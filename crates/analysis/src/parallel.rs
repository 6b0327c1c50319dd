//! Analyses a whole trail on all processors.
//!
//! Nearly all events of a trace are calls. The sums over the calls of several segments can be
//! added. Each segment can be read by itself, because it says which calls are open at its start. So
//! workers take the segments in turn, and sum up calls while reading them.
//!
//! All other events are sent to the calling thread, in the order of the trace and in small batches.
//! Workers also send the state of each thread at the start and end of a segment. The state at the
//! end must match that at the start of the next segment.
//!
//! This works only for sound traces. The analysis returns nothing if anything is inconsistent, if
//! calls are aggregated or have CPU times, or if the trail has an older version, whose segments do
//! not list the open calls. Then the trace must be read from the front, with a reader that reports
//! what is wrong.

use crate::ahead::{BATCH, HELD, WAITING};
use crate::{Analysis, Calls, OpenCall, Subjects};
use jtrail_formats::trail::{self, Counts, SegmentItem, SegmentReader, Segments, ThreadState};
use jtrail_model::{Duration, Event, Note, ThreadId, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::HashMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::mem::take;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The maximum number of workers. With more, they would all wait for the thread that processes the
/// other events.
const MAX_WORKERS: usize = 16;

/// Analyses a whole trail, except the calls that are open at its end. Returns the analysis and the
/// number of events; `None` if the trail must be read from the front. `progress` is called now and
/// then with the number of bytes read and the number of all bytes.
///
/// # Errors
/// If the file can't be read.
pub fn analysis(
    path: &Path,
    subjects: Subjects,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Option<(Analysis, u64)>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    analysis_by(processors.min(MAX_WORKERS), path, subjects, progress)
}

/// Like [`analysis`], but with this number of workers.
fn analysis_by(
    workers: usize,
    path: &Path,
    subjects: Subjects,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Option<(Analysis, u64)>> {
    let Some(segments) = Segments::open(File::open(path)?)? else {
        return Ok(None);
    };
    let workers = workers.min(segments.count());
    if workers < 2 {
        return Ok(None);
    }
    let readers = (0..workers).map(|_| SegmentReader::new(File::open(path)?));
    let readers = readers.collect::<io::Result<Vec<_>>>()?;
    let events = segments.events();
    let found = summed(&segments, readers, subjects, progress);
    Ok(found.map(|analysis| (analysis, events)))
}

fn summed(
    segments: &Segments,
    readers: Vec<SegmentReader<File>>,
    subjects: Subjects,
    progress: &mut dyn FnMut(u64, u64),
) -> Option<Analysis> {
    let workers = readers.len();
    let last_of_threads = segments.last_of_threads();
    let mut analysis = Analysis::new(subjects);
    let (open, done) = thread::scope(|scope| {
        let start = |(first, reader)| {
            let (reported, others) = sync_channel(WAITING);
            let worker = Worker {
                segments,
                last_of_threads: &last_of_threads,
                reader,
                sums: Sums::new(subjects, reported),
            };
            let name = thread::Builder::new().name("segments".to_owned());
            let worker = name.spawn_scoped(scope, move || worker.run(first, workers));
            worker.map(|worker| (others, worker))
        };
        let started: io::Result<Vec<_>> = (0..).zip(readers).map(start).collect();
        // A worker could not be started. The return drops the channels, so the other workers end.
        let Ok(started) = started else {
            return (None, Vec::new());
        };
        let (others, started): (Vec<_>, Vec<_>) = started.into_iter().unzip();
        let open = take_others(segments, &others, &mut analysis, progress);
        drop(others);
        let done = started.into_iter().map(|worker| worker.join());
        let done = done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (open, done.collect::<Vec<_>>())
    });
    let open = open?;
    let mut counts = Counts::default();
    let (mut parts, mut first, mut last) = (Vec::new(), None, Timestamp::default());
    for done in done {
        let Done {
            calls,
            counts: of_worker,
            first_time,
            last_time,
        } = done?;
        counts.add(&of_worker);
        parts.push(calls);
        last = last.max(last_time);
        let earlier = [first, first_time]
            .into_iter()
            .flatten()
            .min_by_key(|(number, _)| *number);
        first = earlier;
    }
    if !segments.counts_match(&counts) {
        return None;
    }
    analysis.add_parts(parts, open, first.map(|(_, time)| time), last);
    Some(analysis)
}

/// Processes the other events, in the order of the trace. Returns the calls that are open at its
/// end, by thread; `None` if segments do not match or one could not be read.
fn take_others(
    segments: &Segments,
    others: &[Receiver<Reported>],
    analysis: &mut Analysis,
    progress: &mut dyn FnMut(u64, u64),
) -> Option<Vec<(ThreadId, Vec<OpenCall>)>> {
    let all = segments.count();
    let size = segments.end(all - 1);
    let mut threads: FxHashMap<ThreadId, (At, Timestamp)> = FxHashMap::default();
    let mut open = Vec::new();
    for number in 0..all {
        let ends = loop {
            match others[number % others.len()].recv().ok()? {
                Reported::Events(events) => {
                    events
                        .iter()
                        .for_each(|event| analysis.event(event, |_, _| true));
                }
                Reported::End(ends) => break ends,
            }
        };
        for Ends {
            thread,
            begin,
            end,
            times,
            open: at_end,
        } in ends
        {
            let known = threads.remove(&thread);
            let (at, last) = known.unwrap_or((At::default(), Timestamp(i64::MIN)));
            let [first, last] = times.unwrap_or([last, last]);
            let falls = known.is_some_and(|(_, before)| first < before);
            if at != begin || falls {
                return None;
            }
            if let Some(end) = end {
                threads.insert(thread, (end, last));
            }
            open.extend(at_end.map(|open| (thread, open)));
        }
        progress(segments.end(number), size);
    }
    open.sort_unstable_by_key(|(thread, _)| *thread);
    Some(open)
}

/// A message of a worker about a segment.
enum Reported {
    Events(Vec<Event<'static>>),
    End(Vec<Ends>),
}

/// The states of a thread at the start and end of a segment.
struct Ends {
    thread: ThreadId,
    begin: At,
    /// `None` if the thread has ended.
    end: Option<At>,
    /// The first and the last time of a call in the segment.
    times: Option<[Timestamp; 2]>,
    /// The calls open at the end, if this is the thread's last segment and there are any.
    open: Option<Vec<OpenCall>>,
}

/// The state of a thread between two segments.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct At {
    state: ThreadState,
    /// A hash of the open calls.
    open: u64,
}

impl At {
    /// Returns the state of a thread with these open calls. Returns `None` if the two do not match.
    fn new(state: ThreadState, open: &[OpenCall]) -> Option<Self> {
        let hash = |before, call: &OpenCall| {
            let mut hasher = FxHasher::default();
            (before, call.method, call.ticket, call.enter).hash(&mut hasher);
            hasher.finish()
        };
        let is_whole = i64::try_from(open.len()).is_ok_and(|depth| depth == state.depth());
        is_whole.then(|| Self {
            state,
            open: open.iter().fold(0, hash),
        })
    }
}

/// The results of a worker that has read all its segments.
struct Done {
    calls: Calls,
    counts: Counts,
    /// The first time in the worker's segments, with the number of the segment that has it.
    first_time: Option<(usize, Timestamp)>,
    last_time: Timestamp,
}

struct Worker<'s> {
    segments: &'s Segments,
    last_of_threads: &'s HashMap<ThreadId, usize>,
    reader: SegmentReader<File>,
    sums: Sums,
}

impl Worker<'_> {
    /// Reads every `all`th segment, beginning with `first`. Returns `None` if something is
    /// inconsistent or the receiver of the messages is closed.
    fn run(mut self, first: usize, all: usize) -> Option<Done> {
        let mut first_time = None;
        for number in (first..self.segments.count()).step_by(all) {
            let ends = self.segment(number)?;
            self.sums.reported.send(Reported::End(ends)).ok()?;
            if let Some(first) = self.sums.first_time.take() {
                first_time.get_or_insert((number, first));
            }
        }
        Some(Done {
            calls: self.sums.calls,
            counts: self.reader.counts().clone(),
            first_time,
            last_time: self.sums.last_time,
        })
    }

    fn segment(&mut self, number: usize) -> Option<Vec<Ends>> {
        let (reader, sums) = (&mut self.reader, &mut self.sums);
        if !reader.begin(self.segments, number).ok()? {
            return None;
        }
        let open = reader.open_calls(self.segments).ok()??;
        let begins: Option<Vec<At>> = open
            .into_iter()
            .zip(reader.threads())
            .map(|((thread, open), (_, state, _))| sums.begin(thread, open, state))
            .collect();
        let begins = begins?;
        sums.calls.begin_segment();
        let is_read = reader.read(&mut |found| sums.take(found));
        if !is_read || !sums.is_regular() || !sums.report() {
            return None;
        }
        let threads = reader.threads().zip(begins);
        let ends = threads.map(|((thread, _, state), begin)| {
            let open = sums.calls.end_part(thread);
            let end = At::new(state, &open);
            let has_ended = sums.ended.contains(&thread);
            if end.is_none() && !has_ended {
                return None;
            }
            let is_last = self.last_of_threads.get(&thread) == Some(&number);
            Some(Ends {
                thread,
                begin,
                end: end.filter(|_| !has_ended),
                times: sums.times.remove(&thread),
                open: (is_last && !has_ended && !open.is_empty()).then_some(open),
            })
        });
        let ends = ends.collect();
        sums.ended.clear();
        ends
    }
}

/// The sums of a worker.
struct Sums {
    calls: Calls,
    /// Events other than calls.
    others: Vec<Event<'static>>,
    held: usize,
    reported: SyncSender<Reported>,
    /// Threads that have ended in the segment.
    ended: FxHashSet<ThreadId>,
    /// The first and the last time of each thread's calls in the segment.
    times: FxHashMap<ThreadId, [Timestamp; 2]>,
    /// The first time in the segment.
    first_time: Option<Timestamp>,
    /// The last time of a call.
    last_time: Timestamp,
    is_irregular: bool,
}

impl Sums {
    fn new(subjects: Subjects, reported: SyncSender<Reported>) -> Self {
        Self {
            calls: Calls::new(subjects.levels),
            others: Vec::new(),
            held: 0,
            reported,
            ended: FxHashSet::default(),
            times: FxHashMap::default(),
            first_time: None,
            last_time: Timestamp::default(),
            is_irregular: false,
        }
    }

    /// Begins a segment in which a thread starts with these open calls.
    fn begin(
        &mut self,
        thread: ThreadId,
        open: Vec<trail::OpenCall>,
        state: ThreadState,
    ) -> Option<At> {
        let open: Vec<OpenCall> = open.into_iter().map(OpenCall::from).collect();
        self.calls.begin_part(thread, &open);
        At::new(state, &open)
    }

    fn is_regular(&self) -> bool {
        !self.is_irregular && self.calls.unmatched == 0 && self.calls.cut == 0
    }

    fn see(&mut self, time: Timestamp) {
        if time != Timestamp::default() {
            self.first_time.get_or_insert(time);
        }
    }

    /// Adds the times of a thread's enters and leaves, which must not decrease.
    fn see_calls(&mut self, thread: ThreadId, cpu_time: Duration, times: &[Timestamp]) {
        let [first, last] = match times {
            [only] => [*only, *only],
            [first, .., last] => [*first, *last],
            [] => return,
        };
        if self.first_time.is_none() {
            times.iter().for_each(|time| self.see(*time));
        }
        self.last_time = self.last_time.max(last);
        let seen = self.times.entry(thread).or_insert([first, first]);
        self.is_irregular |= first < seen[1];
        seen[1] = last;
        self.is_irregular |= cpu_time != Duration(0);
        self.is_irregular |= !self.ended.is_empty() && self.ended.contains(&thread);
    }

    fn take(&mut self, found: SegmentItem<'_>) {
        let event = match found {
            SegmentItem::Row(row) => {
                self.see_calls(row.thread, Duration(0), row.times);
                return self.calls.row(&row);
            }
            SegmentItem::Event(event) => event,
        };
        match &event {
            Event::MethodEnter(e) => self.see_calls(e.thread, e.cpu_time, &[e.time]),
            Event::MethodLeave(e) => self.see_calls(e.thread, e.cpu_time, &[e.time]),
            Event::AggregatedEnter(_) | Event::AggregatedDetail(_) | Event::AggregatedLeave(_) => {
                self.is_irregular = true;
                return;
            }
            _ => return self.take_other(event),
        }
        self.calls.event(&event, |_| true);
    }

    fn take_other(&mut self, event: Event<'_>) {
        if let Some(time) = event.time() {
            self.see(time);
        }
        if let Event::ThreadEnd(e) = &event {
            self.calls.event(&event, |_| true);
            self.ended.insert(e.thread);
        }
        self.is_irregular |= is_of_sums(&event);
        self.held = self.held.saturating_add(event.held());
        self.others.push(event.into_static());
        if self.others.len() >= BATCH || self.held >= HELD {
            self.is_irregular |= !self.report();
        }
    }

    /// Sends the events other than calls. Returns false if their receiver is closed.
    fn report(&mut self) -> bool {
        self.held = 0;
        self.others.is_empty()
            || self
                .reported
                .send(Reported::Events(take(&mut self.others)))
                .is_ok()
    }
}

/// Returns true for a note about the level of aggregated calls.
fn is_of_sums(event: &Event<'_>) -> bool {
    match event {
        Event::Custom(custom) => matches!(Note::parse(&custom.body), Some(Note::SumsAbove(_))),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
