//! Summing up short calls: each call is in the trace exactly once, with its caller and its time.
//! Calls that must be single events stay single events.

use jtrail_formats::{Bounds, Encode, ShortCalls};
use jtrail_model::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

const THREADS: u64 = 3;
const METHODS: u64 = 12;

/// An encoder that keeps the events it is given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Event<'static>>>>);

impl Encode for Kept {
    fn begin(&mut self, _: &mut Vec<u8>) {}
    fn event(&mut self, event: &Event<'_>, _: &mut Vec<u8>) {
        self.0
            .lock()
            .expect("one thread")
            .push(event.clone().into_static());
    }
    fn end(&mut self, _: &mut Vec<u8>) {}
}

/// Pseudo-random number generator, which repeats its numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// Parameters of a generated program.
#[derive(Clone, Copy)]
struct Shape {
    steps: u64,
    deepest: usize,
    /// One in this many steps is an event other than a call; 0 for none.
    others: u64,
    /// One in this many steps takes long.
    pauses: u64,
}

/// Returns the events of a generated program. The events of each thread are in the order of time.
fn program(seed: u64, shape: Shape) -> Vec<Event<'static>> {
    let mut random = Random(seed);
    let mut events = Vec::new();
    let mut stacks = vec![Vec::<(u64, u32)>::new(); THREADS as usize];
    let mut tickets = vec![0; THREADS as usize];
    let (mut time, mut at) = (1_000, 0);
    for _ in 0..shape.steps {
        if random.one_in(20) {
            at = random.below(THREADS) as usize;
        }
        time += random.below(40) as i64;
        if random.one_in(shape.pauses) {
            time += random.below(5_000) as i64;
        }
        let thread = ThreadId(at as u64 + 1);
        if shape.others > 0 && random.one_in(shape.others) {
            events.push(Event::ThreadCpu(ThreadCpu {
                thread,
                time: Timestamp(time),
                cpu_time: Duration(time),
            }));
            continue;
        }
        let depth = stacks[at].len();
        if depth == 0 || depth < shape.deepest && random.one_in(2) {
            let method = 1 + random.below(METHODS).min(random.below(METHODS));
            tickets[at] += 1;
            stacks[at].push((method, tickets[at]));
            events.push(Event::MethodEnter(MethodEnter {
                thread,
                time: Timestamp(time),
                method: MethodId(method),
                class: ClassId(100),
                ticket: tickets[at],
                cpu_time: Duration(0),
                stack_depth: depth as i64 + 1,
            }));
        } else if let Some((method, ticket)) = stacks[at].pop() {
            events.push(Event::MethodLeave(MethodLeave {
                thread,
                time: Timestamp(time),
                method: MethodId(method),
                class: ClassId(100),
                ticket,
                cpu_time: Duration(0),
                by_exception: random.one_in(9),
            }));
        }
    }
    events
}

/// Passes the events through [`ShortCalls`], sometimes with several calls of a thread in one row.
/// If `flushes` is not 0, flushes after one in `flushes` steps. Returns the resulting events.
fn bounded(
    events: &[Event<'static>],
    bounds: Bounds,
    flushes: u64,
    seed: u64,
) -> Vec<Event<'static>> {
    let kept = Kept::default();
    let mut encoder = ShortCalls::new(Box::new(kept.clone()), bounds);
    let (mut random, mut out) = (Random(seed), Vec::new());
    encoder.begin(&mut out);
    let mut rest = events;
    while let Some(first) = rest.first() {
        let step = |event: &Event<'_>| match event {
            Event::MethodEnter(e) => Some((e.time, e.method, e.class, e.ticket, false)),
            Event::MethodLeave(e) if !e.by_exception => {
                Some((e.time, e.method, e.class, e.ticket, true))
            }
            _ => None,
        };
        let most = random.below(60) as usize;
        let same = |event: &&Event<'_>| event.thread() == first.thread() && step(event).is_some();
        let count = rest.iter().take(most).take_while(same).count();
        match first {
            Event::MethodEnter(e) if count > 1 => {
                let steps: Vec<CallStep> = rest[..count]
                    .iter()
                    .filter_map(step)
                    .map(|(time, method, class, ticket, ends)| CallStep {
                        time,
                        method,
                        class,
                        ticket,
                        ends,
                    })
                    .collect();
                let calls = Calls {
                    thread: e.thread,
                    cpu_time: Duration(0),
                    ticket: e.ticket - 1,
                    depth: e.stack_depth as u32 - 1,
                    steps: &steps,
                };
                encoder.calls(&calls, &mut out);
                rest = &rest[count..];
            }
            _ => {
                encoder.event(first, &mut out);
                rest = &rest[1..];
            }
        }
        if flushes > 0 && random.one_in(flushes) {
            encoder.flush(&mut out);
        }
    }
    encoder.end(&mut out);
    let kept = kept.0.lock().expect("one thread");
    kept.clone()
}

/// Four figures by thread and method. The first three are: number of calls, their time without
/// callees, and number of calls that ended by an exception. The last one is the total time of the
/// calls that were not nested in another call of the same method.
type Methods = BTreeMap<(ThreadId, MethodId), (u64, i64, u64, i64)>;

#[derive(Default)]
struct Found {
    methods: Methods,
    /// Number of calls by thread, caller and method.
    callers: BTreeMap<(ThreadId, Option<MethodId>, MethodId), u64>,
    /// Calls that the trace has as single events, by thread and ticket.
    written: BTreeSet<(ThreadId, u32)>,
    lengths: BTreeMap<(ThreadId, u32), i64>,
}

/// An open call or sum: its method, its begin, and the time of its callees.
#[derive(Clone, Copy)]
struct Open {
    method: MethodId,
    began: i64,
    callees: i64,
}

#[derive(Default)]
struct Thread {
    open: Vec<Open>,
    /// Open calls that are set aside, outermost first. The sums that come next are not inside of
    /// these calls.
    inner: Vec<Open>,
    sums: usize,
    last: i64,
    ticket: u32,
}

impl Thread {
    /// Ends the innermost open call. Returns its method, its time without callees, and its time,
    /// which is 0 if the call is nested in another call of its method.
    fn end(&mut self, length: i64) -> (MethodId, i64, i64) {
        let ended = self.open.pop().expect("an open call");
        if let Some(caller) = self.open.last_mut() {
            caller.callees += length;
        }
        let is_nested = self.open.iter().any(|open| open.method == ended.method);
        let time = if is_nested { 0 } else { length };
        (ended.method, length - ended.callees, time)
    }

    fn caller(&self) -> Option<MethodId> {
        self.open.last().map(|open| open.method)
    }

    /// Ends a group of sums: restores the calls that were set aside for them.
    fn go_back(&mut self) {
        self.open.append(&mut self.inner);
    }
}

/// Returns the figures of a trace. Calls without an end are treated as if they all ended together,
/// much later.
fn found<'e>(events: impl IntoIterator<Item = &'e Event<'static>>) -> Found {
    let mut found = Found::default();
    let mut threads: BTreeMap<ThreadId, Thread> = BTreeMap::new();
    for event in events {
        match event {
            Event::MethodEnter(e) => {
                let thread = threads.entry(e.thread).or_default();
                thread.go_back();
                assert_eq!(thread.sums, 0);
                assert!(e.time.0 >= thread.last && e.ticket > thread.ticket);
                (thread.last, thread.ticket) = (e.time.0, e.ticket);
                let edge = (e.thread, thread.caller(), e.method);
                *found.callers.entry(edge).or_default() += 1;
                thread.open.push(Open {
                    method: e.method,
                    began: e.time.0,
                    callees: 0,
                });
                assert_eq!(e.stack_depth, thread.open.len() as i64);
                found.methods.entry((e.thread, e.method)).or_default().0 += 1;
                found.written.insert((e.thread, e.ticket));
            }
            Event::MethodLeave(e) => {
                let thread = threads.entry(e.thread).or_default();
                thread.go_back();
                assert!(thread.sums == 0 && e.time.0 >= thread.last);
                thread.last = e.time.0;
                let length = e.time.0 - thread.open.last().expect("an open call").began;
                let (method, own, time) = thread.end(length);
                assert_eq!(method, e.method);
                let sums = found.methods.entry((e.thread, method)).or_default();
                sums.1 += own;
                sums.2 += u64::from(e.by_exception);
                sums.3 += time;
                found.lengths.insert((e.thread, e.ticket), length);
            }
            Event::AggregatedEnter(e) => {
                let thread = threads.entry(e.thread).or_default();
                thread.sums += 1;
                let sums = found.methods.entry((e.thread, e.method)).or_default();
                sums.0 += e.calls as u64;
                let edge = (e.thread, thread.caller(), e.method);
                if e.calls > 0 {
                    *found.callers.entry(edge).or_default() += e.calls as u64;
                }
                thread.open.push(Open {
                    method: e.method,
                    began: e.base_time.0,
                    callees: 0,
                });
                if e.calls == 0 {
                    assert_eq!((e.min_time, e.max_time), (Duration(0), Duration(0)));
                    assert!(e.base_time.0 <= 0);
                    continue;
                }
                assert!(e.calls > 0 && e.min_time <= e.max_time);
                assert!(e.max_time.0 <= e.base_time.0 && e.min_time.0 * e.calls <= e.base_time.0);
            }
            Event::AggregatedDetail(e) => {
                let thread = threads.entry(e.thread).or_default();
                let method = thread.caller().expect("an open sum");
                assert_eq!(method, e.method);
                found.methods.entry((e.thread, method)).or_default().2 += e.exceptions;
            }
            Event::AggregatedLeave(e) => {
                let thread = threads.entry(e.thread).or_default();
                let sum = *thread.open.last().expect("an open sum");
                let (method, own, time) = thread.end(sum.began + sum.callees);
                assert_eq!(method, e.method);
                thread.sums -= 1;
                let sums = found.methods.entry((e.thread, method)).or_default();
                sums.1 += own;
                sums.3 += time;
            }
            Event::Custom(e) => {
                if let Some(Note::SumsAbove(e)) = Note::parse(&e.body) {
                    let thread = threads.entry(e.thread).or_default();
                    thread.go_back();
                    assert_eq!(thread.sums, 0);
                    let outer = thread.open.len() - e.calls as usize;
                    thread.inner = thread.open.split_off(outer);
                }
            }
            _ => {}
        }
    }
    // Ends the calls that are still open, much later.
    for (id, mut thread) in threads {
        thread.go_back();
        while let Some(open) = thread.open.last() {
            let (method, own, time) = thread.end(1_000_000_000_000 - open.began);
            let sums = found.methods.entry((id, method)).or_default();
            sums.1 += own;
            sums.3 += time;
        }
    }
    found
}

fn notes(events: &[Event<'static>]) -> Vec<Note<'static>> {
    let note = |event: &Event<'static>| match event {
        Event::Custom(e) => Note::parse(&e.body),
        _ => None,
    };
    events.iter().filter_map(note).collect()
}

const SHAPES: [Shape; 4] = [
    Shape {
        steps: 3_000,
        deepest: 8,
        others: 0,
        pauses: 50,
    },
    Shape {
        steps: 3_000,
        deepest: 30,
        others: 40,
        pauses: 200,
    },
    Shape {
        steps: 60_000,
        deepest: 12,
        others: 0,
        pauses: 5_000,
    },
    Shape {
        steps: 30_000,
        deepest: 400,
        others: 5_000,
        pauses: 20_000,
    },
];

#[test]
fn each_call_is_in_the_trace_once_and_has_its_time() {
    let bounds = |min, rate| Bounds {
        min: Duration(min),
        rate,
    };
    for seed in 1..=16 {
        let shape = SHAPES[seed as usize % SHAPES.len()];
        let events = program(seed * 7919, shape);
        let all = found(&events);
        for bounds in [
            bounds(500, None),
            bounds(20, None),
            bounds(3_600_000_000_000, None),
            bounds(0, Some(500)),
            bounds(300, Some(2_000)),
        ] {
            for flushes in [0, 700] {
                let reported = bounded(&events, bounds, flushes, seed);
                let few = found(&reported);
                let what = format!("seed {seed}, {bounds:?}, {flushes}");
                assert_eq!(few.callers, all.callers, "{what}");
                assert_eq!(few.methods, all.methods, "{what}");
                assert!(few.written.is_subset(&all.written));
                let demoted = |note: &Note<'_>| matches!(note, Note::Demoted(_));
                let is_demoted = notes(&reported).iter().any(demoted);
                assert_eq!(is_demoted, bounds.rate.is_some());
                let others = |events: &[Event<'static>]| {
                    let others = events.iter().filter(|e| matches!(e, Event::ThreadCpu(_)));
                    others.count()
                };
                assert_eq!(others(&reported), others(&events));
            }
        }
    }
}

#[test]
fn the_calls_that_are_written_are_those_that_take_as_long() {
    for seed in 1..=20 {
        let events = program(seed * 104_729, SHAPES[0]);
        let all = found(&events);
        for min in [1, 60, 500, 2_000] {
            let bounds = Bounds {
                min: Duration(min),
                rate: None,
            };
            let reported = bounded(&events, bounds, 0, seed);
            let written = found(&reported).written;
            for call in &all.written {
                let is_written = written.contains(call);
                match all.lengths.get(call) {
                    Some(length) => assert_eq!(is_written, *length >= min, "{call:?} {length}"),
                    None => assert!(is_written, "{call:?} did not end"),
                }
            }
            let expected = Note::ShortCalls(ShortCallsNote {
                min: Duration(min),
                rate: 0,
            });
            let has_sums = written.len() < all.written.len();
            let mut notes = notes(&reported);
            notes.retain(|note| !matches!(note, Note::SumsAbove(_)));
            assert_eq!(notes, vec![expected; usize::from(has_sums)]);
        }
    }
}

#[test]
fn a_call_in_which_something_else_happens_is_written() {
    let (thread, class) = (ThreadId(1), ClassId(9));
    let enter = |time, method, ticket, depth| {
        Event::MethodEnter(MethodEnter {
            thread,
            time: Timestamp(time),
            method: MethodId(method),
            class,
            ticket,
            cpu_time: Duration(0),
            stack_depth: depth,
        })
    };
    let leave = |time, method, ticket| {
        Event::MethodLeave(MethodLeave {
            thread,
            time: Timestamp(time),
            method: MethodId(method),
            class,
            ticket,
            cpu_time: Duration(0),
            by_exception: false,
        })
    };
    let other = Event::ThreadCpu(ThreadCpu {
        thread,
        time: Timestamp(13),
        cpu_time: Duration(1),
    });
    let events = [
        enter(10, 1, 1, 1),
        enter(11, 2, 2, 2),
        leave(12, 2, 2),
        enter(12, 3, 3, 2),
        other,
        leave(14, 3, 3),
        leave(15, 1, 1),
        enter(16, 1, 4, 1),
        leave(17, 1, 4),
    ];
    let bounds = Bounds {
        min: Duration(1_000),
        rate: None,
    };
    let reported = bounded(&events, bounds, 0, 1);
    let kinds: Vec<&str> = reported.iter().map(|e| e.kind().name()).collect();
    assert_eq!(
        kinds,
        [
            "MethodEnter",
            "MethodEnter",
            "ThreadCpu",
            "MethodLeave",
            "MethodLeave",
            "Custom",
            "AggregatedEnter",
            "AggregatedLeave",
            "AggregatedEnter", // the part of the first call in the call path
            "AggregatedEnter",
            "AggregatedLeave",
            "AggregatedLeave",
        ]
    );
}

#[test]
fn a_method_that_is_called_too_often_is_demoted_and_named() {
    let thread = ThreadId(1);
    let mut events = Vec::new();
    let mut call = |time: i64, length: i64, method: u64| {
        let ticket = events.len() as u32 / 2 + 1;
        let (method, class) = (MethodId(method), ClassId(100));
        events.push(Event::MethodEnter(MethodEnter {
            thread,
            time: Timestamp(time),
            method,
            class,
            ticket,
            cpu_time: Duration(0),
            stack_depth: 1,
        }));
        events.push(Event::MethodLeave(MethodLeave {
            thread,
            time: Timestamp(time + length),
            method,
            class,
            ticket,
            cpu_time: Duration(0),
            by_exception: false,
        }));
    };
    // 20 calls per second, and 2,000 per second for one second.
    for n in 0..40 {
        call(n * 50_000_000, 10, 1);
    }
    for n in 0..2_000 {
        call(2_000_000_000 + n * 500_000, 10, 2);
    }
    for n in 0..10 {
        call(4_000_000_000 + n * 500_000_000, 10, 2);
    }
    let bounds = Bounds {
        min: Duration(0),
        rate: Some(1_000),
    };
    let reported = bounded(&events, bounds, 0, 1);
    let few = found(&reported);
    assert_eq!(few.methods, found(&events).methods);
    // The rate allows 100 calls in a tenth of a second. These 100 calls are written before the
    // method is demoted.
    assert_eq!(few.written.len(), 40 + 100);
    let demoted = Demoted {
        method: MethodId(2),
        time: Timestamp(2_000_000_000 + 100 * 500_000),
        rate: 1_000,
    };
    let short = ShortCallsNote {
        min: Duration(0),
        rate: 1_000,
    };
    assert_eq!(
        notes(&reported),
        [Note::Demoted(demoted), Note::ShortCalls(short)]
    );
}
