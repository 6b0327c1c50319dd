//! Sums a whole trail up on all processors.
//!
//! Each segment can be read by itself, and nearly all of a trace are calls, whose sums can be added. So workers take the segments in turn. One that has read its segment waits until those before
//! it are read: then it is known which calls were open at its begin. It says at once which ones are open at its end, for the next one, and sums its calls up.
//! What is no call goes to the thread that asked for all this, in the order of the trace, and a little at a time.
//!
//! That is for traces in which all is as it should be. Where it is not, or calls come as sums, nothing is answered, and the trace is to be read from the front, by one that tells what is wrong.

use crate::ahead::{BATCH, HELD, WAITING};
use crate::{Analysis, Calls, OpenCall, Subjects};
use jtrail_formats::Handed;
use jtrail_formats::trail::{Counts, SegmentReader, Segments, ThreadState};
use jtrail_model::{
    CallStep, Duration, Event, MethodEnter, MethodId, MethodLeave, Note, ThreadId, Timestamp,
};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use std::mem::take;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// More of them would wait for each other.
const MOST_WORKERS: usize = 16;

/// Where a thread is in more calls than that between two segments, which all have to be handed on, one reader is as fast.
const DEEPEST: usize = 1 << 16;

/// All that a trail says, summed up, but for the calls that are open at its end, and how many events it has. `None` where it is to be read from the front.
/// `progress` is told every now and then how many bytes are done, and of how many.
///
/// # Errors
/// When the file can't be read.
pub fn analysis(
    path: &Path,
    subjects: Subjects,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Option<(Analysis, u64)>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    analysis_by(processors.min(MOST_WORKERS), path, subjects, progress)
}

/// As [`analysis`], by so many workers.
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
    let turns = Turns::default();
    let workers = readers.len();
    let mut analysis = Analysis::new(subjects);
    let (is_whole, done) = thread::scope(|scope| {
        let start = |(first, reader)| {
            let (told, others) = sync_channel(WAITING);
            let worker = Worker {
                segments,
                turns: &turns,
                reader,
                told,
                calls: Calls::new(subjects.levels),
                first_time: None,
                last_time: Timestamp::default(),
            };
            let name = thread::Builder::new().name("segments".to_owned());
            let worker = name.spawn_scoped(scope, move || worker.run(first, workers));
            worker.map(|worker| (others, worker))
        };
        let started: io::Result<Vec<_>> = (0..).zip(readers).map(start).collect();
        let Ok(started) = started else {
            turns.stop(); // for those that are there
            return (false, Vec::new());
        };
        let (others, started): (Vec<_>, Vec<_>) = started.into_iter().unzip();
        let is_whole = take_others(segments, &others, &mut analysis, progress);
        if !is_whole {
            turns.stop();
        }
        drop(others);
        let done = started.into_iter().map(|worker| worker.join());
        let done = done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (is_whole, done.collect::<Vec<_>>())
    });
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
    if !is_whole || !segments.are_counts(&counts) {
        return None;
    }
    let threads = turns.threads();
    let mut open: Vec<_> = threads
        .into_iter()
        .filter(|(_, known)| !known.stack.is_empty())
        .collect();
    open.sort_unstable_by_key(|(id, _)| *id);
    let open = open
        .into_iter()
        .map(|(id, known)| (id, known.stack, known.cpu));
    analysis.add_parts(parts, open, first.map(|(_, time)| time), last);
    Some(analysis)
}

/// Takes what is no call, in the order of the trace; whether it came to the end.
fn take_others(
    segments: &Segments,
    others: &[Receiver<Told>],
    analysis: &mut Analysis,
    progress: &mut dyn FnMut(u64, u64),
) -> bool {
    let all = segments.count();
    let size = segments.end(all - 1);
    for number in 0..all {
        loop {
            match others[number % others.len()].recv() {
                Ok(Told::Events(events)) => {
                    events
                        .iter()
                        .for_each(|event| analysis.event(event, |_, _| true));
                }
                Ok(Told::End) => break,
                Err(_) => return false,
            }
        }
        progress(segments.end(number), size);
    }
    true
}

/// What a worker tells of a segment.
enum Told {
    Events(Vec<Event<'static>>),
    End,
}

/// What a worker has, when all its segments are read.
struct Done {
    calls: Calls,
    counts: Counts,
    /// The first time in its segments, and of which that was.
    first_time: Option<(usize, Timestamp)>,
    last_time: Timestamp,
}

/// What is known of a thread between two segments.
#[derive(Default)]
struct Known {
    state: ThreadState,
    stack: Vec<OpenCall>,
    /// CPU time as it was told last.
    cpu: Duration,
}

/// Whose turn it is, and what the threads of the trace are at there.
#[derive(Default)]
struct Turns {
    at: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Default)]
struct Turn {
    next: usize,
    threads: FxHashMap<ThreadId, Known>,
    is_over: bool,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Turn> {
        // Who panicked with it, has left nothing behind that anybody looks at.
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a segment, and gives it on. `None` if it does not come any more.
    fn take<T>(
        &self,
        number: usize,
        work: impl FnOnce(&mut FxHashMap<ThreadId, Known>) -> T,
    ) -> Option<T> {
        let is_early = |turn: &mut Turn| !turn.is_over && turn.next != number;
        let turn = self.changed.wait_while(self.lock(), is_early);
        let mut turn = turn.unwrap_or_else(PoisonError::into_inner);
        if turn.is_over {
            return None;
        }
        let result = work(&mut turn.threads);
        turn.next += 1;
        self.changed.notify_all();
        Some(result)
    }

    /// Nobody gets a turn any more.
    fn stop(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn threads(self) -> FxHashMap<ThreadId, Known> {
        self.at
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .threads
    }
}

/// Ends it for all, if one of them comes to no end.
struct Unfinished<'t>(Option<&'t Turns>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(turns) = self.0 {
            turns.stop();
        }
    }
}

struct Worker<'s> {
    segments: &'s Segments,
    turns: &'s Turns,
    reader: SegmentReader<File>,
    told: SyncSender<Told>,
    calls: Calls,
    first_time: Option<(usize, Timestamp)>,
    last_time: Timestamp,
}

impl Worker<'_> {
    /// Reads each segment whose turn it is, one in `all`. `None` if something is not as it should be.
    fn run(mut self, first: usize, all: usize) -> Option<Done> {
        let mut unfinished = Unfinished(Some(self.turns));
        let mut segment = Segment::default();
        for number in (first..self.segments.count()).step_by(all) {
            segment.clear();
            let told = &self.told;
            let mut visit = |handed: Handed<'_>| segment.take(handed, told);
            let is_read = self.reader.read(self.segments, number, &mut visit).ok()?;
            if !is_read || !segment.tell(&self.told) || self.told.send(Told::End).is_err() {
                return None;
            }
            let reader = &self.reader;
            let is_regular = self
                .turns
                .take(number, |threads| segment.follow(threads, reader))?;
            if !is_regular {
                return None;
            }
            segment.sum_up(&mut self.calls);
            if let Some(first) = segment.first_time {
                self.first_time.get_or_insert((number, first));
            }
            self.last_time = self.last_time.max(segment.last_time);
        }
        unfinished.0 = None;
        Some(Done {
            calls: self.calls,
            counts: self.reader.counts().clone(),
            first_time: self.first_time,
            last_time: self.last_time,
        })
    }
}

/// A segment that was read.
#[derive(Default)]
struct Segment {
    steps: Vec<CallStep>,
    did: Vec<Did>,
    threads: Vec<Local>,
    by_id: FxHashMap<ThreadId, usize>,
    /// The thread of the last calls.
    last: Option<(ThreadId, usize)>,
    others: Vec<Event<'static>>,
    held: usize,
    first_time: Option<Timestamp>,
    /// Of calls.
    last_time: Timestamp,
    is_irregular: bool,
}

/// What happened in it, in its order.
enum Did {
    /// A thread began and ended these calls.
    Calls(ThreadId, Duration, Range<usize>),
    /// An exception ended a call.
    Threw(MethodLeave),
    /// A thread ended.
    Ended(ThreadId, Timestamp),
}

/// A thread in a segment.
struct Local {
    thread: ThreadId,
    /// Calls that began before it and ended in it, innermost first.
    left: Vec<(MethodId, u32)>,
    /// Those that began in it and are open, outermost first.
    open: Vec<OpenCall>,
    has_ended: bool,
    cpu: Duration,
    /// What it was in, and its CPU time, at the segment's begin.
    before: (Vec<OpenCall>, Duration),
}

impl Local {
    /// Whether the call can be one that is open.
    #[inline]
    fn step(&mut self, step: &CallStep, cpu: Duration) -> bool {
        if self.has_ended {
            return false;
        }
        self.cpu = self.cpu.max(cpu);
        if !step.ends {
            self.open.push(OpenCall {
                method: step.method,
                ticket: step.ticket,
                enter: step.time,
                cpu_enter: cpu,
            });
            return true;
        }
        match self.open.last() {
            Some(open) if (open.method, open.ticket) == (step.method, step.ticket) => {
                self.open.pop();
                true
            }
            Some(_) => false,
            None => {
                self.left.push((step.method, step.ticket));
                true
            }
        }
    }
}

impl Segment {
    fn clear(&mut self) {
        self.steps.clear();
        self.did.clear();
        self.threads.clear();
        self.by_id.clear();
        self.last = None;
        (self.first_time, self.last_time) = (None, Timestamp::default());
    }

    fn local(&mut self, thread: ThreadId) -> usize {
        if let Some((last, at)) = self.last
            && last == thread
        {
            return at;
        }
        let next = self.threads.len();
        let at = *self.by_id.entry(thread).or_insert(next);
        if at == next {
            self.threads.push(Local {
                thread,
                left: Vec::new(),
                open: Vec::new(),
                has_ended: false,
                cpu: Duration(0),
                before: Default::default(),
            });
        }
        self.last = Some((thread, at));
        at
    }

    fn see(&mut self, time: Timestamp) {
        if time != Timestamp::default() {
            self.first_time.get_or_insert(time);
        }
    }

    fn take(&mut self, handed: Handed<'_>, told: &SyncSender<Told>) {
        let event = match handed {
            Handed::Calls(calls) => {
                return self.take_calls(calls.thread, calls.cpu_time, calls.steps);
            }
            Handed::Event(event) => event,
        };
        if let Some(time) = event.time() {
            self.see(time);
        }
        match event {
            Event::MethodEnter(e) => self.take_calls(e.thread, e.cpu_time, &[enter(&e)]),
            Event::MethodLeave(e) if e.by_exception => {
                self.follow_calls(e.thread, e.cpu_time, &[leave(&e)]);
                self.did.push(Did::Threw(e));
            }
            Event::MethodLeave(e) => self.take_calls(e.thread, e.cpu_time, &[leave(&e)]),
            Event::AggregatedEnter(_) | Event::AggregatedDetail(_) | Event::AggregatedLeave(_) => {
                self.is_irregular = true;
            }
            other => {
                if let Event::ThreadEnd(e) = &other {
                    let at = self.local(e.thread);
                    let local = &mut self.threads[at];
                    local.open.clear();
                    local.has_ended = true;
                    self.did.push(Did::Ended(e.thread, e.time));
                }
                self.is_irregular |= is_of_sums(&other);
                self.held = self.held.saturating_add(other.held());
                self.others.push(other.into_static());
                if self.others.len() >= BATCH || self.held >= HELD {
                    self.is_irregular |= !self.tell(told);
                }
            }
        }
    }

    /// Sends what is no call; whether somebody takes it.
    fn tell(&mut self, told: &SyncSender<Told>) -> bool {
        self.held = 0;
        self.others.is_empty() || told.send(Told::Events(take(&mut self.others))).is_ok()
    }

    /// Takes calls of one thread in a row, whose times do not fall.
    fn follow_calls(&mut self, thread: ThreadId, cpu: Duration, steps: &[CallStep]) {
        let first = steps.iter().find(|step| step.time.0 != 0);
        first.into_iter().for_each(|step| self.see(step.time));
        if let Some(last) = steps.last() {
            self.last_time = self.last_time.max(last.time);
        }
        let at = self.local(thread);
        let local = &mut self.threads[at];
        let mut is_regular = true;
        for step in steps {
            is_regular &= local.step(step, cpu);
        }
        self.is_irregular |= !is_regular;
    }

    fn take_calls(&mut self, thread: ThreadId, cpu: Duration, steps: &[CallStep]) {
        self.follow_calls(thread, cpu, steps);
        let begin = self.steps.len();
        self.steps.extend_from_slice(steps);
        let end = self.steps.len();
        match self.did.last_mut() {
            Some(Did::Calls(of, at, range)) if (*of, *at) == (thread, cpu) => range.end = end,
            _ => self.did.push(Did::Calls(thread, cpu, begin..end)),
        }
    }

    /// Takes over what the threads were in, and leaves what they are in behind it. Whether all fits together.
    fn follow(
        &mut self,
        threads: &mut FxHashMap<ThreadId, Known>,
        reader: &SegmentReader<File>,
    ) -> bool {
        let mut is_regular = !self.is_irregular;
        for (id, before, now) in reader.threads() {
            let known = threads.entry(id).or_default();
            is_regular &= known.state == before;
            known.state = now;
        }
        for local in &mut self.threads {
            let known = threads.entry(local.thread).or_default();
            local.before = (known.stack.clone(), known.cpu);
            for left in local.left.drain(..) {
                let open = known.stack.pop();
                is_regular &= open.is_some_and(|open| (open.method, open.ticket) == left);
            }
            if local.has_ended {
                known.stack.clear();
            }
            known.stack.append(&mut local.open);
            is_regular &= known.stack.len() <= DEEPEST;
            known.cpu = known.cpu.max(local.cpu);
        }
        for did in &self.did {
            if let Did::Ended(thread, _) = did {
                threads.remove(thread);
            }
        }
        is_regular
    }

    fn sum_up(&mut self, calls: &mut Calls) {
        for local in &self.threads {
            let (open, cpu) = &local.before;
            calls.begin_part(local.thread, open, *cpu);
        }
        for did in self.did.drain(..) {
            match did {
                Did::Calls(thread, cpu_time, steps) => {
                    let row = jtrail_model::Calls {
                        thread,
                        cpu_time,
                        ticket: 0,
                        depth: 0,
                        steps: &self.steps[steps],
                    };
                    calls.calls(&row, |_| true);
                }
                Did::Threw(leave) => calls.event(&Event::MethodLeave(leave), |_| true),
                Did::Ended(thread, time) => {
                    let end = jtrail_model::ThreadEnd { thread, time };
                    calls.event(&Event::ThreadEnd(end), |_| true);
                }
            }
        }
        for local in &self.threads {
            calls.end_part(local.thread);
        }
    }
}

fn enter(e: &MethodEnter) -> CallStep {
    CallStep {
        time: e.time,
        method: e.method,
        class: e.class,
        ticket: e.ticket,
        ends: false,
    }
}

fn leave(e: &MethodLeave) -> CallStep {
    CallStep {
        time: e.time,
        method: e.method,
        class: e.class,
        ticket: e.ticket,
        ends: true,
    }
}

/// Whether calls that come as sums are said to be elsewhere than they stand.
fn is_of_sums(event: &Event<'_>) -> bool {
    match event {
        Event::Custom(custom) => matches!(Note::parse(&custom.body), Some(Note::SumsAbove(_))),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
