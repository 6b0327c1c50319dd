//! Runs of calls must give the same trace as individual calls, for all kinds of records, with and
//! without followers.

use super::*;
use crate::helpers::Pool;
use jtrail_formats::{Format, Item, Reader, Severity};
use jtrail_model::{Timestamp, Totals};
use jtrail_records::OpenCalls;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

const THREADS: u32 = 3;
/// Number of threads that take turns in using the first thread's buffer, as virtual threads use
/// their carrier's.
const GUESTS: u32 = 2;
const METHODS: u32 = 40;
const STEPS: u32 = 4_000;

/// A reproducible sequence of pseudorandom numbers.
#[derive(Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.below(many) == 0
    }
}

/// The translator as a sink that takes no runs.
struct OneByOne<'t>(&'t mut Translator);

impl Sink for OneByOne<'_> {
    fn enter(&mut self, thread: u32, time: u64, method: u32) {
        self.0.enter(thread, time, method);
    }
    fn leave(&mut self, thread: u32, time: u64, method: u32) {
        self.0.leave(thread, time, method);
    }
    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]) {
        self.0.coded(thread, time, code, payload);
    }
}

/// Threads that record random events.
struct Program {
    random: Random,
    buffers: Vec<*const ThreadBuffer>,
    /// Methods of the open calls, from the view of each thread.
    open: Vec<Vec<u32>>,
    /// Index of the thread that uses the first thread's buffer.
    on_first: usize,
    now: u64,
    /// Larger values make threads live longer.
    lives: u32,
    /// Larger values make records other than calls rarer.
    calm: u32,
}

impl Program {
    /// Returns a program that begins at the tick `now`. `steps` is the number of its steps.
    fn new(seed: u64, (now, steps): (u64, u32), exchange: &Exchange, merge: &mut Merge) -> Self {
        let buffers = (1..=THREADS).map(|thread| {
            let buffer = ThreadBuffer::new(thread.into(), thread, exchange.clone());
            let (definition, buffer) = BufferHandle::share(buffer);
            merge.add_buffer(definition);
            buffer.cast_const()
        });
        Self {
            buffers: buffers.collect(),
            random: Random(0x9e37_79b9_7f4a_7c15 ^ seed << 32 ^ seed),
            open: vec![Vec::new(); (THREADS + GUESTS) as usize],
            on_first: 0,
            now,
            lives: steps / 100,
            calm: match steps {
                STEPS => 1,
                _ => [1, 500][seed as usize % 2],
            },
        }
    }

    /// Returns the buffer that a thread uses.
    fn buffer(&self, thread: usize) -> *const ThreadBuffer {
        match thread == self.on_first {
            true => self.buffers[0],
            false => self.buffers[thread],
        }
    }

    fn record(&self, thread: usize, low: u64) {
        let buffer = self.buffer(thread);
        // SAFETY: this thread created all buffers, is the only one that uses them, and finishes
        // them at the end.
        assert!(unsafe { (*buffer).try_record(self.now, low) || (*buffer).record(self.now, low) });
    }

    fn coded(&self, thread: usize, code: Code, first: u64) {
        let payload = [first, 0, 0];
        let words = code.words(first).expect("a known record");
        // SAFETY: this thread created all buffers, is the only one that uses them, and finishes
        // them at the end.
        assert!(unsafe { (*self.buffer(thread)).record_coded(self.now, code, &payload[..words]) });
    }

    /// Does one step, mostly a nested call on one thread.
    fn go_on(&mut self) {
        let thread = match self.random.one_in(20 * self.calm.min(30)) {
            true => self.random.below(THREADS) as usize,
            false => 0,
        };
        let thread = match thread {
            0 => self.on_first,
            other => other,
        };
        self.now += match self.random.below(40) {
            0..20 => 0,
            20..38 => u64::from(self.random.below(300)),
            38 => u64::from(self.random.below(100_000)),
            _ if self.random.one_in(200) => 1 << (30 + self.random.below(10)),
            _ => u64::from(self.random.below(5_000)),
        };
        if self.random.one_in(400) {
            // Lets many calls end in a row.
            let deep = self.open[thread].len().saturating_sub(70);
            for method in self.open[thread].split_off(deep).into_iter().rev() {
                self.record(thread, record::leave(method));
            }
        }
        if self.random.one_in(50 * self.calm.min(6)) {
            let guest = THREADS + self.random.below(GUESTS);
            let other = match self.on_first {
                0 => Some(guest),
                _ => None,
            };
            // SAFETY: this thread created all buffers, is the only one that uses them, and finishes
            // them at the end.
            unsafe { (*self.buffers[0]).switch_to(self.now, other.map(|guest| guest + 1)) };
            self.on_first = other.unwrap_or_default() as usize;
            return;
        }
        let any = self.random.below(METHODS);
        let innermost = self.open[thread].last().copied();
        let what = match self.random.one_in(self.calm) {
            true => self.random.below(60),
            false => 10 + self.random.below(50),
        };
        match (what, innermost) {
            (0, _) => self.coded(thread, Code::LeaveByException, any.into()),
            (1, Some(method)) => {
                self.open[thread].pop();
                self.coded(thread, Code::LeaveByException, method.into());
            }
            (2, Some(method)) => self.coded(thread, Code::SuperReturned, method.into()),
            (3, Some(method)) => self.coded(thread, Code::SuperCall, method.into()),
            (9, _) if self.random.one_in(4) => {
                self.coded(thread, Code::SuperReturned, any.into());
            }
            (4, _) if self.random.one_in(4) => self.coded(thread, Code::Caught, any.into()),
            (5, _) if self.random.one_in(4) => self.record(thread, record::leave(any)),
            (6, _) if self.random.one_in(20) => {
                let lost = record::lost(self.random.below(9).into(), self.random.below(3).into());
                self.coded(thread, Code::Lost, lost);
            }
            (7, _) if self.random.one_in(20) => self.coded(thread, Code::Cpu, self.now / 2),
            (8, _) if self.random.one_in(self.lives) => {
                self.open[thread].clear();
                self.coded(thread, Code::ThreadEnd, thread as u64 + 1);
            }
            (10..35, Some(method)) => {
                self.open[thread].pop();
                self.record(thread, record::leave(method));
            }
            _ => {
                let method = match any % 4 {
                    0 => any,
                    _ => any / 8,
                };
                // A constructor without its mark does not end like other calls.
                let method = match method % 5 {
                    0 | 1 if self.calm > 1 => method + 2,
                    _ => method,
                };
                self.open[thread].push(method);
                self.record(thread, record::enter(method));
            }
        }
    }
}

/// Returns settings for a seed. All of them occur within eight successive seeds.
fn settings(seed: u64) -> Settings {
    Settings {
        emit_threads: seed.is_multiple_of(2),
        aggregate: seed % 8 == 7,
        has_gate: seed % 8 == 5,
        ..Settings::default()
    }
}

/// Returns a method of the program. Some methods are constructors with marks.
fn method(number: u32) -> MethodInfo {
    MethodInfo {
        number,
        name: format!("m{number}").into(),
        descriptor: "()V".into(),
        marks: match number % 5 {
            0 => SuperMarks::After,
            1 => SuperMarks::Around,
            _ => SuperMarks::None,
        },
        ..MethodInfo::default()
    }
}

/// How the writer takes calls.
#[derive(Clone, Copy)]
enum Way<'p> {
    OneByOne,
    InRuns,
    /// In runs, with helpers that follow calls ahead. They may or may not finish before the merge
    /// reaches the chunk.
    WithHelpers(&'p Arc<Pool>),
}

/// Returns the traces that the writer makes of a program, and the totals of the last one. The
/// program begins at the tick `now` and does `steps` steps.
fn trace(
    seed: u64,
    (now, steps): (u64, u32),
    format: Format,
    timeline: Timeline,
    way: Way<'_>,
) -> (Vec<Vec<u8>>, Totals) {
    let (empty, supply, _memory) = create_pool(64 * CHUNK_BYTES as u64).expect("memory");
    let (full_sender, full): (_, Receiver<Full>) = unbounded();
    let exchange = exchange(supply, full_sender, bounded(1).0, WhenFull::Block);
    let mut merge = Merge::new(empty, false);
    let mut program = Program::new(seed, (now, steps), &exchange, &mut merge);
    let settings = settings(seed);
    let mut translator = Translator::new(format.encoder(), timeline, settings.clone());
    translator.begin();
    let (mut written, mut is_silent) = (Vec::new(), false);
    translator.add_class(ClassInfo::default());
    translator.add_methods(0, (0..METHODS).map(method).collect());
    let mut take = |program: &mut Program, translator: &mut Translator, limit| {
        if let Way::WithHelpers(helpers) = way {
            merge.follow_by(translator.follower(), helpers);
            merge.follow_all();
        }
        let published = merge.published().expect("nobody hands a chunk over");
        let has_full = !full.is_empty();
        for message in full.try_iter() {
            merge.add_full(&message);
        }
        merge.add_published(published);
        match way {
            Way::OneByOne => assert!(merge.run(limit, 0, &mut OneByOne(translator), usize::MAX)),
            Way::InRuns => assert!(merge.run(limit, 0, translator, usize::MAX)),
            Way::WithHelpers(_) => {
                if has_full && limit % 4 > 0 {
                    sleep(Duration::from_millis(limit % 4));
                }
                assert!(merge.run(limit, 0, translator, usize::MAX));
            }
        }
        if !is_silent && program.random.one_in(8) {
            let time = Timestamp(timeline.at(limit));
            match program.random.one_in(3) {
                true => translator.pause(time),
                false => translator.resume(time),
            }
        }
        // The trace ends, and later another one begins.
        if !is_silent && program.random.one_in(12) {
            translator.flush();
            written.push(std::mem::take(&mut translator.out));
            translator.go_silent();
            is_silent = true;
        } else if is_silent && program.random.one_in(4) {
            let calls = match program.random.one_in(2) {
                true => OpenCalls::Enter,
                false => OpenCalls::Hide,
            };
            translator.restart(format.encoder(), settings.clone(), calls);
            translator.begin();
            if calls == OpenCalls::Enter {
                translator.emit_present_state(limit, OpenCalls::Enter);
            }
            is_silent = false;
        }
    };
    // With helpers, some chunks are full when they are first read.
    let looks = match steps {
        STEPS => 100,
        _ => steps / 10,
    };
    for _ in 0..steps {
        program.go_on();
        if program.random.one_in(looks) {
            let limit = program.now - u64::from(program.random.below(3_000));
            take(&mut program, &mut translator, limit);
        }
    }
    let now = program.now;
    take(&mut program, &mut translator, now);
    for buffer in program.buffers {
        // SAFETY: this thread created the buffer, and does not use it afterwards.
        unsafe { ThreadBuffer::finish(buffer) };
    }
    full.try_iter().for_each(|message| merge.add_full(&message));
    merge.discard();
    translator.totals(Timestamp(timeline.at(now)), None);
    while translator.end_part() {}
    let totals = translator.totals_so_far();
    written.push(std::mem::take(&mut translator.out));
    (written, totals)
}

/// Returns the events of a trace, which may be truncated.
fn events(trace: &[u8]) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut reader = Reader::new(trace).expect("a trace");
    let fault = reader.for_each(|item| match item {
        Item::Event { event, .. } => {
            events.push(event.clone().into_static());
            ControlFlow::Continue(())
        }
        Item::Remark(remark) if remark.severity == Severity::Truncated => ControlFlow::Continue(()),
        Item::Remark(remark) => ControlFlow::Break(remark),
    });
    assert_eq!(fault.expect("readable"), None);
    events
}

#[test]
fn runs_make_the_same_trace_as_calls_one_by_one() {
    let first = Reading::take(System::now);
    let timeline = clock::timeline(first, System::now);
    let mut calls = 0;
    for seed in 0..120 {
        // Most programs begin after the first reading of the clock, some shortly before it.
        let now = first.ticks() - 5_000 * (seed % 3);
        calls += same_traces(seed, (now, STEPS), timeline, Way::InRuns);
    }
    assert!(calls > 40_000, "{calls}");
}

/// The programs fill some chunks.
#[test]
fn helpers_make_the_same_trace_as_calls_one_by_one() {
    let first = Reading::take(System::now);
    let timeline = clock::timeline(first, System::now);
    let helpers = Arc::<Pool>::default();
    helpers.start(Some(3));
    let mut calls = 0;
    for seed in 0..12 {
        let begin = (first.ticks(), 80 * STEPS);
        calls += same_traces(seed, begin, timeline, Way::WithHelpers(&helpers));
    }
    assert!(calls > 200_000, "{calls}");
}

/// Checks that a program has the same traces as with individual calls. Returns the number of
/// enters.
fn same_traces(seed: u64, begin: (u64, u32), timeline: Timeline, way: Way<'_>) -> usize {
    let mut calls = 0;
    for format in [Format::Trail, Format::TptpBinary] {
        let (traces, totals) = trace(seed, begin, format, timeline, way);
        let (one_by_one, same) = trace(seed, begin, format, timeline, Way::OneByOne);
        assert_eq!(traces.len(), one_by_one.len(), "seed {seed}");
        for (run, one) in traces.iter().zip(&one_by_one) {
            // The segments of a trail end after a run.
            let is_trail = format == Format::Trail;
            let is_same = run == one || is_trail && events(run) == events(one);
            assert!(is_same, "seed {seed}, {format:?}");
        }
        assert_eq!(totals, same);
        if format == Format::Trail {
            let all = one_by_one.iter().filter(|trace| !trace.is_empty());
            let all = all.flat_map(|trace| events(trace));
            let enters = all.filter(|event| matches!(event, Event::MethodEnter(_)));
            calls += enters.count();
        }
    }
    calls
}
