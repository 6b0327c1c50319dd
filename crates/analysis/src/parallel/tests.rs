use super::*;
use crate::{MethodStat, Tree};
use jtrail_formats::{Format, Item, Reader};
use jtrail_model::{
    AggregatedEnter, AggregatedLeave, ClassId, Cost, Custom, GcFinish, GcStart, MethodDef,
    MethodEnter, MethodId, MethodLeave, ThreadEnd, ThreadStart,
};
use std::fs;
use std::ops::ControlFlow;

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

const THREADS: u64 = 4;
const METHODS: u64 = 7;

fn start(thread: ThreadId, time: i64) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread,
        time: Timestamp(time),
        ..ThreadStart::default()
    })
}

/// Returns the events of a program with some threads, which start and end, with collections and
/// marks. Calls are properly nested, and some are open at the end.
fn program(seed: u64, length: usize, has_cpu: bool) -> Vec<Event<'static>> {
    let mut random = Random(seed);
    let mut events = Vec::new();
    for method in 1..=METHODS {
        events.push(Event::MethodDef(MethodDef {
            method: MethodId(method),
            class: ClassId(1),
            name: format!("m{method}").into(),
            ..MethodDef::default()
        }));
    }
    let mut threads: Vec<ThreadId> = (1..=THREADS).map(ThreadId).collect();
    let mut stacks = vec![Vec::<(u64, u32)>::new(); THREADS as usize];
    let mut tickets = vec![0_u32; THREADS as usize];
    let mut time = 1_000;
    events.extend(threads.iter().map(|thread| start(*thread, time)));
    let (mut at, mut stays) = (0, 0);
    for _ in 0..length {
        time += random.below(50) as i64 * random.below(30) as i64;
        let cpu = if has_cpu { time / 3 } else { 0 };
        let (now, cpu_time) = (Timestamp(time), Duration(cpu));
        // Some threads run for a long time.
        if stays == 0 {
            at = random.below(THREADS) as usize;
            stays = [0, 0, 0, 700][random.below(4) as usize];
        } else {
            stays -= 1;
        }
        let (thread, stack) = (threads[at], &mut stacks[at]);
        match random.below(if stays > 0 { 4_000 } else { 400 }) {
            0 => {
                events.push(Event::ThreadEnd(ThreadEnd { thread, time: now }));
                stack.clear();
                tickets[at] = 0;
                threads[at] = ThreadId(thread.0 + THREADS);
                events.push(start(threads[at], time));
            }
            1 => {
                events.push(Event::GcStart(GcStart { time: now }));
                events.push(Event::GcFinish(GcFinish {
                    time: now,
                    ..GcFinish::default()
                }));
            }
            2 => events.push(Event::Custom(Custom {
                body: "a mark".into(),
            })),
            n if stack.is_empty() || n % 2 == 0 && stack.len() < 20 => {
                tickets[at] += 1;
                stack.push((1 + random.below(METHODS), tickets[at]));
                let (method, ticket) = stack[stack.len() - 1];
                events.push(Event::MethodEnter(MethodEnter {
                    thread,
                    time: now,
                    method: MethodId(method),
                    class: ClassId(1),
                    ticket,
                    cpu_time,
                    stack_depth: stack.len() as i64,
                }));
            }
            n => {
                let (method, ticket) = stack.pop().expect("one");
                events.push(Event::MethodLeave(MethodLeave {
                    thread,
                    time: now,
                    method: MethodId(method),
                    class: ClassId(1),
                    ticket,
                    cpu_time,
                    by_exception: n % 50 == 7,
                }));
            }
        }
    }
    events
}

/// Returns the trail of these events, with segments that end at random events.
fn trail(events: &[Event<'_>], seed: u64) -> Vec<u8> {
    let mut random = Random(seed + 99);
    let mut encoder = Format::Trail.encoder();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for event in events {
        encoder.event(event, &mut out);
        if random.below(150) == 0 {
            encoder.flush(&mut out);
        }
    }
    encoder.end(&mut out);
    out
}

const SUBJECTS: Subjects = Subjects {
    levels: 4,
    objects: false,
    classes: false,
    heap: false,
};

fn by_parts(bytes: &[u8], workers: usize) -> Option<Analysis> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.trail");
    fs::write(&path, bytes).expect("written");
    let found = analysis_by(workers, &path, SUBJECTS, &mut |_, _| {}).expect("it can be read");
    found.map(|(analysis, _)| analysis)
}

fn from_front(bytes: &[u8]) -> Analysis {
    sound(bytes).expect("it can be read, without remarks")
}

/// Analyses a trace read from the front. Returns the analysis, or the reader's first remark.
fn sound(bytes: &[u8]) -> Result<Analysis, String> {
    let mut analysis = Analysis::new(SUBJECTS);
    let mut reader = Reader::new(bytes).map_err(|error| error.to_string())?;
    let visit = |item: Item<'_>| match item {
        Item::Event { event, .. } => {
            analysis.event(&event, |_, _| true);
            ControlFlow::Continue(())
        }
        Item::Remark(remark) => ControlFlow::Break(remark.message),
    };
    let broken = reader.for_each(visit);
    match broken.map_err(|error| error.to_string())? {
        None => Ok(analysis),
        Some(remark) => Err(remark),
    }
}

/// Computes CRC-32C bit by bit.
fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let crc = bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    });
    (!crc).to_le_bytes()
}

/// Corrects the checksums of segments.
fn mend(bytes: &mut [u8]) {
    const HEADER: usize = 56;
    let mut rest = bytes;
    while rest.len() >= HEADER {
        let length = u32::from_le_bytes([rest[12], rest[13], rest[14], rest[15]]) as usize;
        let end = rest.len().min(HEADER.saturating_add(length));
        let (segment, following) = rest.split_at_mut(end);
        let payload = crc32c(&segment[HEADER..]);
        segment[16..20].copy_from_slice(&payload);
        let header = crc32c(&segment[..HEADER - 4]);
        segment[HEADER - 4..HEADER].copy_from_slice(&header);
        rest = following;
    }
}

/// A segment with errors can still have a correct checksum. If the parallel analysis returns a
/// result, it must equal the analysis of the trace read from the front.
#[test]
fn a_change_under_right_checksums_is_read_from_the_front_or_is_none() {
    let good = trail(&program(3, 600, false), 3);
    let mut answered = 0;
    for at in 0..good.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= change;
            mend(&mut bad);
            let Some(mut parts) = by_parts(&bad, 2) else {
                continue;
            };
            answered += 1;
            let whole = sound(&bad);
            let mut whole = whole.unwrap_or_else(|said| panic!("byte {at}, {change:#x}: {said}"));
            let cost = Cost::default();
            assert_eq!(
                found(&mut parts, cost),
                found(&mut whole, cost),
                "byte {at}, {change:#x}"
            );
        }
    }
    assert!(answered > 0, "no change leaves a trace as sound as before");
}

#[test]
fn deep_recursion_is_read_from_the_front() {
    let call = |ticket: u32, ends| {
        let (thread, method, class) = (ThreadId(1), MethodId(1), ClassId(1));
        let time = Timestamp(ticket.into());
        match ends {
            false => Event::MethodEnter(MethodEnter {
                thread,
                time,
                method,
                class,
                ticket,
                stack_depth: ticket.into(),
                ..MethodEnter::default()
            }),
            true => Event::MethodLeave(MethodLeave {
                thread,
                time: Timestamp(200_000),
                method,
                class,
                ticket,
                ..MethodLeave::default()
            }),
        }
    };
    for (depth, is_answered) in [(60_000, true), (70_000, false)] {
        let mut encoder = Format::Trail.encoder();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        (1..=depth).for_each(|ticket| encoder.event(&call(ticket, false), &mut out));
        encoder.flush(&mut out);
        let ends = (1..=depth).rev();
        ends.for_each(|ticket| encoder.event(&call(ticket, true), &mut out));
        encoder.end(&mut out);
        assert_eq!(by_parts(&out, 2).is_some(), is_answered, "{depth}");
    }
}

#[test]
fn earlier_versions_are_read_from_the_front() {
    for version in [1, 2] {
        let name = format!("../formats/tests/trail/version-{version}.trail");
        let bytes = fs::read(name).expect("it is there");
        assert!(by_parts(&bytes, 2).is_none(), "{version}");
    }
}

/// All results about calls, in a canonical order.
#[derive(PartialEq, Debug)]
struct Found {
    methods: Vec<MethodStat>,
    paths: Vec<(Vec<MethodId>, MethodStat)>,
    threads: Vec<(ThreadId, u64, i64)>,
    counts: [u64; 5],
    span: Option<(Timestamp, Timestamp)>,
    collections: u64,
}

fn found(analysis: &mut Analysis, cost: Cost) -> Found {
    analysis.finish();
    analysis.calls.without(cost);
    let calls = &analysis.calls;
    let mut methods = calls.methods();
    methods.sort_by_key(|stat| stat.method);
    let tree = calls.tree();
    let path = |path: u32| {
        let all = std::iter::successors(Some(path), |path| Some(tree.caller(*path)));
        let all = all.take_while(|path| *path != Tree::ROOT);
        let named = all.map(|path| calls.path(path).method).collect();
        (named, calls.path(path))
    };
    let mut paths: Vec<(Vec<MethodId>, MethodStat)> = tree.paths().map(path).collect();
    paths.sort_by(|(a, _), (b, _)| a.cmp(b));
    let threads = calls.threads().iter();
    let mut threads: Vec<_> = threads.map(|t| (t.thread, t.calls, t.busy)).collect();
    threads.sort_unstable();
    Found {
        methods,
        paths,
        threads,
        counts: [
            calls.count(),
            calls.summed(),
            calls.unmatched,
            calls.cut,
            calls.open,
        ],
        span: analysis.span,
        collections: analysis.collections.count,
    }
}

#[test]
fn parts_come_to_the_same_as_the_whole() {
    for seed in 0..40 {
        let bytes = trail(&program(seed, 6_000, false), seed);
        for workers in [2, 3, 8] {
            for cost in [
                Cost::default(),
                Cost {
                    clock: 0,
                    record: 7_000,
                },
            ] {
                let mut parts = by_parts(&bytes, workers).expect("all is as it should be");
                let mut whole = from_front(&bytes);
                let whole = found(&mut whole, cost);
                assert!(
                    whole.counts[0] > 500 && whole.counts[4] > 0,
                    "{:?}",
                    whole.counts
                );
                assert_eq!(
                    found(&mut parts, cost),
                    whole,
                    "seed {seed}, {workers} workers"
                );
            }
        }
    }
}

#[test]
fn what_is_not_as_it_should_be_is_read_from_the_front() {
    let events = program(1, 3_000, false);
    let good = trail(&events, 1);
    assert!(by_parts(&good, 3).is_some());
    assert!(by_parts(&good, 1).is_none(), "one worker is no faster");
    for length in [0, 10, 60, good.len() / 2, good.len() - 1] {
        assert!(by_parts(&good[..length], 3).is_none(), "{length} bytes");
    }
    for at in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(by_parts(&bad, 3).is_none(), "byte {at}");
    }
    let [one, another] = [good.clone(), trail(&program(2, 3_000, false), 2)];
    assert!(
        by_parts(&[one, another].concat(), 3).is_none(),
        "two traces"
    );
    let with = |at: usize, more: &[Event<'static>]| {
        let mut all = events.clone();
        all.splice(at..at, more.iter().cloned());
        by_parts(&trail(&all, 1), 3)
    };
    let enter = |thread, ticket| {
        Event::MethodEnter(MethodEnter {
            thread: ThreadId(thread),
            time: Timestamp(5_000),
            method: MethodId(1),
            ticket,
            stack_depth: 1,
            ..MethodEnter::default()
        })
    };
    let leave = |thread, ticket| {
        Event::MethodLeave(MethodLeave {
            thread: ThreadId(thread),
            time: Timestamp(6_000),
            method: MethodId(1),
            ticket,
            ..MethodLeave::default()
        })
    };
    let end = Event::ThreadEnd(ThreadEnd {
        thread: ThreadId(77),
        time: Timestamp(7_000),
    });
    let (thread, method) = (ThreadId(77), MethodId(1));
    let sums = [
        Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            calls: 3,
            ..AggregatedEnter::default()
        }),
        Event::AggregatedLeave(AggregatedLeave { thread, method }),
    ];
    assert!(with(100, &[enter(77, 1), leave(77, 1), end.clone()]).is_some());
    assert!(
        with(100, &[leave(77, 1)]).is_none(),
        "a leave without a call"
    );
    assert!(
        with(100, &[enter(77, 1), leave(77, 2)]).is_none(),
        "another call's leave"
    );
    assert!(
        with(100, &[enter(77, 1), enter(77, 2), leave(77, 1)]).is_none(),
        "a call is cut off"
    );
    assert!(
        with(100, &[end, enter(77, 1)]).is_none(),
        "a call behind the end of its thread"
    );
    let other_class = |event: Event<'static>| match event {
        Event::MethodLeave(e) => Event::MethodLeave(MethodLeave {
            class: ClassId(9),
            ..e
        }),
        other => other,
    };
    let deeper = |event: Event<'static>| match event {
        Event::MethodEnter(e) => Event::MethodEnter(MethodEnter {
            stack_depth: 2,
            time: Timestamp(6_000), // no time decreases
            ..e
        }),
        other => other,
    };
    let of_another_class = [
        enter(77, 1),
        other_class(leave(77, 1)),
        deeper(enter(77, 2)),
        leave(77, 2),
        leave(77, 1),
    ];
    assert!(
        with(100, &of_another_class).is_none(),
        "a leave of another class"
    );
    assert!(with(100, &sums).is_none(), "sums");
    assert!(
        by_parts(&trail(&program(1, 3_000, true), 1), 3).is_none(),
        "CPU times"
    );
}
