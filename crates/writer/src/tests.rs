//! Tests of buffers, streams, merge and translation together, without a JVM. Threads record
//! invented calls, and the result must match what they did.

mod ahead;
mod classes;
mod fakes;
mod pause;
mod runs;
mod scarce;
mod speed;
mod threads;

use super::merge::Merge;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use jtrail_classfile::SuperMarks;
use jtrail_formats::Encode;
use jtrail_model::{Event, MethodEnter, Note};
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::buffer::{
    CHUNK_BYTES, Exchange, Full, Supply, ThreadBuffer, WhenFull, create_pool,
};
use jtrail_recorder::clock::{self, Clock, Reading, System};
use jtrail_recorder::message::BufferHandle;
use jtrail_records::Definition;
use jtrail_records::definition::{ClassInfo, MethodInfo, ThreadInfo};
use jtrail_records::read::Sink;
use jtrail_records::{Settings, Timeline, Translator};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A record that a sink received, with only the first word of its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handed {
    Enter(u32),
    Leave(u32),
    Coded(Code, u64),
}

/// Collects all records: thread, time, and kind.
#[derive(Default)]
struct Collect(Vec<(u32, u64, Handed)>);

impl Sink for Collect {
    fn enter(&mut self, thread: u32, time: u64, method: u32) {
        self.0.push((thread, time, Handed::Enter(method)));
    }
    fn leave(&mut self, thread: u32, time: u64, method: u32) {
        self.0.push((thread, time, Handed::Leave(method)));
    }
    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]) {
        self.0.push((thread, time, Handed::Coded(code, payload[0])));
    }
}

/// Returns an exchange without a spool and a coarse clock.
fn exchange(empty: Supply, full: Sender<Full>, wake: Sender<()>, when_full: WhenFull) -> Exchange {
    Exchange {
        empty,
        full,
        wake,
        when_full,
        ticks: None,
        spool: None,
    }
}

/// Records calls of a fixed shape, whose depth goes up and down, so that enters and leaves nest.
fn calls(buffer: &ThreadBuffer, now: fn() -> u64, count: u32) {
    fn call(buffer: &ThreadBuffer, now: fn() -> u64, method: u32) {
        let record = |low| {
            let now = now();
            // SAFETY: each test thread records into its own buffer.
            assert!(unsafe { buffer.try_record(now, low) || buffer.record(now, low) });
        };
        record(record::enter(method));
        if method > 0 {
            call(buffer, now, method - 1);
        }
        record(record::leave(method));
    }
    for _ in 0..count {
        call(buffer, now, 4);
    }
}

/// When a test's writer empties chunks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drains {
    Meanwhile,
    /// After all threads have ended.
    Afterwards,
}

/// Runs `threads` threads, which share `chunks` chunks. Each thread runs `work` with a buffer of
/// its own. A writer reads the records without holding any back; calls may be `ahead` ticks early.
/// Returns all records.
fn run_with(
    threads: u32,
    chunks: u64,
    when_full: WhenFull,
    drains: Drains,
    ahead: u64,
    work: impl Fn(u32, &ThreadBuffer) + Send + Sync + 'static,
) -> Vec<(u32, u64, Handed)> {
    let (empty, supply, _memory) = create_pool(chunks * CHUNK_BYTES as u64).expect("memory");
    let (full_sender, full): (_, Receiver<Full>) = unbounded();
    let (define, defined) = unbounded();
    let exchange = exchange(supply, full_sender, bounded(1).0, when_full);
    let done = Arc::new(AtomicBool::new(false));
    let work = Arc::new(work);
    let workers: Vec<_> = (1..=threads)
        .map(|thread| {
            let (exchange, define) = (exchange.clone(), define.clone());
            let work = Arc::clone(&work);
            std::thread::spawn(move || {
                let buffer = ThreadBuffer::new(u64::from(thread), thread, exchange);
                let (handle, buffer) = BufferHandle::share(buffer);
                define.send(handle).expect("the writer is there");
                // SAFETY: `share` made the pointer. The buffer exists until `finish`, and this
                // thread does not use it afterwards.
                unsafe {
                    work(thread, &*buffer);
                    ThreadBuffer::finish(buffer);
                }
            })
        })
        .collect();
    drop((exchange, define));
    let writer = {
        let done = Arc::clone(&done);
        std::thread::spawn(move || {
            while drains == Drains::Afterwards && !done.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let mut merge = Merge::new(empty, false);
            let mut seen = Collect::default();
            loop {
                let last = done.load(Ordering::Acquire);
                let before = System::now();
                defined
                    .try_iter()
                    .for_each(|handle| merge.add_buffer(handle));
                let published = merge.published();
                let messages: Vec<Full> = full.try_iter().collect();
                defined
                    .try_iter()
                    .for_each(|handle| merge.add_buffer(handle));
                messages.iter().for_each(|message| merge.add_full(message));
                let Some(published) = published else { continue };
                merge.add_published(published);
                merge.run(
                    if last { u64::MAX } else { before },
                    ahead,
                    &mut seen,
                    usize::MAX,
                );
                if last {
                    return seen.0;
                }
            }
        })
    };
    for worker in workers {
        worker.join().expect("no panic");
    }
    done.store(true, Ordering::Release);
    writer.join().expect("no panic")
}

/// Lets each thread make `count` × 5 calls.
fn run(threads: u32, count: u32, chunks: u64, when_full: WhenFull) -> Vec<(u32, u64, Handed)> {
    run_with(
        threads,
        chunks,
        when_full,
        Drains::Meanwhile,
        0,
        move |_, buffer| calls(buffer, System::now, count),
    )
}

/// Virtual threads move from carrier to carrier. The records of each thread must be read in order,
/// although they are in chunks of all carriers. The few chunks are reused all the time.
#[test]
fn threads_that_change_carriers_stay_in_order() {
    // The order must also hold if calls may be ahead of other threads.
    for ahead in [0, 20_000, 1 << 40] {
        change_carriers(ahead);
    }
}

fn change_carriers(ahead: u64) {
    const CARRIERS: u32 = 3;
    const VIRTUAL: u32 = 6;
    const TURNS: u32 = 3_000;
    const CALLS: u32 = 20;
    let (mount, mounted) = unbounded();
    for thread in 0..VIRTUAL {
        mount.send((CARRIERS + 1 + thread, 0)).expect("room");
    }
    let seen = run_with(
        CARRIERS,
        1,
        WhenFull::Block,
        Drains::Meanwhile,
        ahead,
        move |_, buffer| {
            while let Ok((thread, turn)) = mounted.try_recv() {
                // SAFETY: each test thread records into its own buffer.
                unsafe {
                    buffer.switch_to(System::now(), Some(thread));
                    for call in 0..CALLS {
                        let low = record::enter(turn * CALLS + call);
                        let now = System::now();
                        assert!(buffer.try_record(now, low) || buffer.record(now, low));
                    }
                    buffer.switch_to(System::now(), None);
                }
                if turn + 1 < TURNS {
                    mount.send((thread, turn + 1)).expect("room");
                }
            }
        },
    );
    for thread in CARRIERS + 1..=CARRIERS + VIRTUAL {
        let own = seen.iter().filter(|s| s.0 == thread).map(|s| s.2);
        let expected = (0..TURNS * CALLS).map(Handed::Enter);
        assert!(own.eq(expected), "virtual thread {thread}");
    }
    assert_eq!(seen.len() as u32, VIRTUAL * TURNS * CALLS);
}

fn expected(count: u32) -> Vec<Handed> {
    let one: Vec<Handed> = (0..5)
        .rev()
        .map(Handed::Enter)
        .chain((0..5).map(Handed::Leave))
        .collect();
    one.repeat(count as usize)
}

#[test]
fn nothing_is_lost_or_reordered_with_one_and_eight_threads() {
    for (threads, chunks) in [(1, 1), (1, 8), (8, 1), (8, 4), (8, 64)] {
        let count = 20_000;
        let seen = run(threads, count, chunks, WhenFull::Block);
        for thread in 1..=threads {
            let own: Vec<_> = seen.iter().filter(|s| s.0 == thread).collect();
            assert!(
                own.is_sorted_by_key(|s| s.1),
                "time falls on thread {thread}"
            );
            let what: Vec<Handed> = own.iter().map(|s| s.2).collect();
            assert!(
                what == expected(count),
                "thread {thread} of {threads}, {chunks} chunks"
            );
        }
        assert_eq!(seen.len() as u32, threads * count * 10);
    }
}

#[test]
fn in_drop_mode_every_loss_is_counted() {
    // A writer that keeps up loses nothing. The more there is to write, the less likely the writer
    // keeps up.
    let lost = (1..=20).map(|times| lost_by_eight_threads(30_000 * times));
    assert!(
        lost.into_iter().any(|events| events > 0),
        "eight threads over one chunk lose something"
    );
}

/// Returns the number of events that eight threads with one chunk report as lost. Checks that all
/// other events were read.
fn lost_by_eight_threads(count: u32) -> u64 {
    let threads = 8;
    let seen = run(threads, count, 1, WhenFull::Drop);
    let mut lost_at_all = 0;
    for thread in 1..=threads {
        let own: Vec<_> = seen.iter().filter(|s| s.0 == thread).collect();
        let mut lost = 0;
        let mut open: Vec<u32> = Vec::new();
        for (_, _, what) in own.iter().copied() {
            match *what {
                Handed::Enter(method) => open.push(method),
                Handed::Leave(method) => assert_eq!(open.pop(), Some(method)),
                Handed::Coded(Code::Lost, payload) => {
                    let (events, closed) = record::lost_parts(payload);
                    lost += events;
                    open.truncate(open.len() - closed as usize);
                }
                Handed::Coded(..) => {}
            }
        }
        let kept = own
            .iter()
            .filter(|s| !matches!(s.2, Handed::Coded(..)))
            .count() as u64;
        // A gap that is open when the thread ends is not recorded; the thread records nothing after
        // it.
        assert!(kept + lost <= u64::from(count) * 10);
        assert!(open.len() <= 5);
        lost_at_all += lost;
    }
    lost_at_all
}

/// An encoder that prints each event on a line.
struct Lines;

impl Encode for Lines {
    fn begin(&mut self, _: &mut Vec<u8>) {}
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let line = match event {
            Event::MethodEnter(e) => format!("> {} {}\n", e.method, e.stack_depth),
            Event::MethodLeave(e) => {
                format!("< {}{}\n", e.method, if e.by_exception { " !" } else { "" })
            }
            Event::MethodDef(e) => format!("def {} {}\n", e.method, e.name),
            Event::ThreadStart(e) => format!("thread {} {}\n", e.thread, e.name),
            Event::ThreadName(e) => format!("name {} {}\n", e.thread, e.name),
            Event::ThreadEnd(e) => format!("end {}\n", e.thread),
            Event::ThreadCpu(e) => format!("cpu {}\n", e.cpu_time.0),
            Event::ClassUnload(e) => format!("unload {}\n", e.class),
            Event::LineCounts(e) => {
                let lines: Vec<_> = e.lines.iter().map(|l| (l.line, l.count)).collect();
                format!("lines {} {lines:?}\n", e.calls)
            }
            Event::Custom(e) => format!("{}\n", e.body),
            Event::TracePause(_) => "pause\n".to_owned(),
            Event::TraceResume(_) => "resume\n".to_owned(),
            _ => return,
        };
        out.extend(line.bytes());
    }
    fn open_call(&mut self, call: &MethodEnter, out: &mut Vec<u8>) {
        out.extend(format!("~ {} {}\n", call.method, call.stack_depth).bytes());
    }
    fn end(&mut self, _: &mut Vec<u8>) {}
}

fn translator() -> Translator {
    translator_of(Settings {
        emit_threads: true,
        ..Settings::default()
    })
}

fn translator_of(settings: Settings) -> Translator {
    let timeline = clock::timeline(Reading::take(System::now), System::now);
    let mut translator = Translator::new(Box::new(Lines), timeline, settings);
    translator.add_thread(ThreadInfo {
        number: 1,
        name: "main".into(),
        ..ThreadInfo::default()
    });
    for (number, name, super_name) in [(0, "Base", "java.lang.Object"), (1, "Derived", "Base")] {
        translator.add_class(ClassInfo {
            number,
            name: name.into(),
            super_name: super_name.into(),
            ..ClassInfo::default()
        });
    }
    let method = |number, name: &str, marks| MethodInfo {
        number,
        name: name.into(),
        descriptor: "()V".into(),
        marks,
        ..MethodInfo::default()
    };
    translator.add_methods(
        0,
        vec![
            method(0, "<init>", SuperMarks::None),
            method(1, "run", SuperMarks::None),
        ],
    );
    translator.add_methods(
        1,
        vec![
            method(2, "<init>", SuperMarks::After),
            method(3, "<init>", SuperMarks::Around),
        ],
    );
    translator
}

/// Returns the lines for some records, without definitions. Methods have names instead of ids.
fn translated(records: &[Handed]) -> Vec<String> {
    let mut translator = translator();
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut lines = Vec::new();
    let mut names = ["base", "run", "derived", "around"].iter();
    // Define the four methods in the order of their numbers, so that their ids can be mapped to
    // names.
    for number in 0..4 {
        translator.enter(1, 1, number);
        translator.leave(1, 1, number);
        if number == 3 {
            translator.coded(1, 1, Code::LeaveByException, &[3]);
        }
    }
    let preamble = String::from_utf8(std::mem::take(&mut translator.out)).expect("text");
    for line in preamble.lines().filter(|l| l.starts_with("def ")) {
        let id = line.split(' ').nth(1).expect("an id");
        ids.insert(id.to_owned(), names.next().expect("four").to_string());
    }
    for (time, what) in records.iter().enumerate() {
        let time = 2 + time as u64;
        match *what {
            Handed::Enter(method) => translator.enter(1, time, method),
            Handed::Leave(method) => translator.leave(1, time, method),
            Handed::Coded(code, first) => {
                let words = code.words(first).expect("a known record");
                // The reader of the stream adds the losses that were reported before.
                let words = words + usize::from(code == Code::Lost);
                translator.coded(1, time, code, &[first, 0, 0, 0][..words]);
            }
        }
    }
    for line in String::from_utf8(translator.out).expect("text").lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        if let Some(name) = words.get(1).and_then(|id| ids.get(*id)) {
            words[1] = name;
        }
        lines.push(words.join(" "));
    }
    lines
}

const BASE: u32 = 0;
const RUN: u32 = 1;
const DERIVED: u32 = 2;
const AROUND: u32 = 3;

fn thrown(method: u32) -> Handed {
    Handed::Coded(Code::LeaveByException, method.into())
}

#[test]
fn a_constructor_left_out_of_super_is_closed_with_it() {
    // The constructor of Base throws. It was called by the constructor of Derived, which has no
    // leave record.
    let lines = translated(&[
        Handed::Enter(RUN),
        Handed::Enter(DERIVED),
        Handed::Enter(BASE),
        thrown(BASE),
        Handed::Leave(RUN),
    ]);
    assert_eq!(
        lines,
        [
            "> run 1",
            "> derived 2",
            "> base 3",
            "< base !",
            "< derived !",
            "< run"
        ]
    );
}

#[test]
fn a_constructor_that_came_back_from_super_stays_open() {
    let lines = translated(&[
        Handed::Enter(DERIVED),
        Handed::Enter(BASE),
        Handed::Leave(BASE),
        Handed::Coded(Code::SuperReturned, DERIVED.into()),
        Handed::Enter(BASE), // another object, created in the body, whose exception is caught there
        thrown(BASE),
        Handed::Leave(DERIVED),
    ]);
    assert_eq!(
        lines,
        [
            "> derived 1",
            "> base 2",
            "< base",
            "> base 2",
            "< base !",
            "< derived"
        ]
    );
}

#[test]
fn marks_distinguish_recursion_through_a_failing_super() {
    // The body of the outer constructor creates an inner object, whose super() throws outside of
    // the trace. The body catches the exception and returns.
    let lines = translated(&[
        Handed::Enter(DERIVED),
        Handed::Coded(Code::SuperReturned, DERIVED.into()),
        Handed::Enter(DERIVED),
        Handed::Coded(Code::Caught, DERIVED.into()),
        Handed::Enter(RUN),
        Handed::Leave(RUN),
        Handed::Leave(DERIVED),
    ]);
    assert_eq!(
        lines,
        [
            "> derived 1",
            "> derived 2",
            "< derived !",
            "> run 2",
            "< run",
            "< derived"
        ]
    );
    // The outer constructor has not called super() yet: an argument creates the inner object, whose
    // super() throws.
    let lines = translated(&[
        Handed::Enter(AROUND),
        Handed::Enter(AROUND),
        Handed::Coded(Code::SuperCall, AROUND.into()),
        thrown(AROUND),
        Handed::Enter(RUN),
        Handed::Leave(RUN),
    ]);
    assert_eq!(
        lines,
        [
            "> around 1",
            "> around 2",
            "< around !",
            "< around !",
            "> run 1",
            "< run"
        ]
    );
}

#[test]
fn a_catch_closes_calls_that_have_ended() {
    let lines = translated(&[
        Handed::Enter(RUN),
        Handed::Enter(DERIVED), // its superclass is outside of the trace, and throws
        Handed::Coded(Code::Caught, RUN.into()),
        Handed::Enter(BASE),
        Handed::Leave(BASE),
        Handed::Leave(RUN),
    ]);
    assert_eq!(
        lines,
        [
            "> run 1",
            "> derived 2",
            "< derived !",
            "> base 2",
            "< base",
            "< run"
        ]
    );
}

#[test]
fn a_leave_without_an_enter_is_left_out() {
    let lines = translated(&[
        Handed::Leave(RUN),
        thrown(BASE),
        Handed::Enter(RUN),
        Handed::Leave(RUN),
    ]);
    assert_eq!(lines, ["> run 1", "< run"]);
}

#[test]
fn losses_are_written_where_they_happened() {
    let lines = translated(&[
        Handed::Enter(RUN),
        Handed::Enter(BASE),
        Handed::Coded(Code::Lost, record::lost(10, 1)),
        Handed::Leave(RUN),
    ]);
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!(lines[..3], ["> run 1", "> base 2", "< base"]);
    let Some(Note::Lost(lost)) = Note::parse(&lines[3]) else {
        panic!("{}", lines[3])
    };
    assert_eq!((lost.events, &*lost.reason), (9, "overflow"));
    assert_eq!(lines[4], "< run");
}

#[test]
fn after_its_end_a_thread_is_silent() {
    let lines = translated(&[
        Handed::Enter(RUN),
        Handed::Leave(RUN),
        Handed::Coded(Code::ThreadEnd, 1),
        Handed::Enter(RUN),
        Handed::Leave(RUN),
    ]);
    assert_eq!(lines[..2], ["> run 1", "< run"]);
    assert!(lines[2].starts_with("end "), "{lines:?}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn definitions_are_small() {
    // One definition is queued for every class and thread.
    assert!(size_of::<Definition>() <= 64);
}
