//! Encoding calls in rows gives the same result as encoding them one by one, in every format.

use jtrail_formats::{Checker, Encode, Findings, Format, Item, Reader, Rule};
use jtrail_model::*;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A thread: its open calls, its last ticket and its time.
#[derive(Default)]
struct Thread {
    open: Vec<(u64, u32)>,
    ticket: u32,
    time: i64,
}

/// A generator of what threads do: random, but the same each time.
struct Program {
    random: u64,
    threads: Vec<Thread>,
    methods: u64,
}

enum Next {
    Calls(ThreadId, Duration, u32, u32, Vec<CallStep>),
    Event(Event<'static>),
}

impl Program {
    fn new(methods: u64) -> Self {
        Self {
            random: 88_172_645_463_325_252,
            threads: (0..3).map(|_| Thread::default()).collect(),
            methods,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * u128::from(limit)) >> 64) as u64
    }

    fn step(&mut self, number: usize) -> CallStep {
        let wait = match self.below(100) {
            0 => self.below(10_000_000),
            1..5 => self.below(5_000),
            5..60 => 0,
            _ => self.below(240),
        };
        let method = match self.below(4) {
            0 => 1 + self.below(self.methods),
            _ => 1 + self.below(7),
        };
        let ends = self.below(100) < 48;
        let thread = &mut self.threads[number];
        thread.time += wait as i64;
        let (method, ticket, ends) = match thread.open.pop_if(|_| ends) {
            Some((method, ticket)) => (method, ticket, true),
            None => {
                thread.ticket = thread.ticket.wrapping_add(1);
                thread.open.push((method, thread.ticket));
                (method, thread.ticket, false)
            }
        };
        CallStep {
            time: Timestamp(thread.time),
            method: MethodId(method),
            class: ClassId(method % 100),
            ticket,
            ends,
        }
    }

    /// Returns a row of calls, or another event.
    fn next(&mut self) -> Next {
        let number = self.below(12).saturating_sub(9) as usize;
        let id = ThreadId(number as u64 + 5);
        let Thread { ticket, time, .. } = self.threads[number];
        match self.below(40) {
            0 => self.threads[number].ticket = ticket.wrapping_add(1_000_000_007),
            1 => {
                return Next::Event(Event::ThreadName(ThreadName {
                    thread: id,
                    time: Timestamp(time),
                    name: "other".into(),
                }));
            }
            2 => {
                if let Some((method, ticket)) = self.threads[number].open.pop() {
                    return Next::Event(Event::MethodLeave(MethodLeave {
                        thread: id,
                        time: Timestamp(time),
                        method: MethodId(method),
                        class: ClassId(method % 100),
                        ticket,
                        cpu_time: Duration(0),
                        by_exception: true,
                    }));
                }
            }
            _ => {}
        }
        let Thread { open, ticket, .. } = &self.threads[number];
        let (depth, ticket) = (open.len() as u32, *ticket);
        let cpu = match self.below(50) {
            0 => Duration(time / 2 + 1),
            _ => Duration(0),
        };
        let count = [1, 3, 64, 256, 700][self.below(5) as usize];
        let count = 1 + self.below(count);
        let steps = (0..count).map(|_| self.step(number)).collect();
        Next::Calls(id, cpu, ticket, depth, steps)
    }
}

/// In what form the encoder gets the rows of calls.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Reported {
    Calls,
    Run,
    /// As runs. The steps of some of the runs are stored in [`KeptSteps`].
    KeptRun,
    OneByOne,
}

/// Returns the encoded bytes of `rows` rows of calls and other events, and the number of events in
/// these rows.
fn encoded(format: Format, methods: u64, rows: u64, reported: Reported) -> (Vec<u8>, usize) {
    let mut encoder = format.encoder();
    let (mut out, mut events) = (Vec::new(), 0);
    let mut program = Program::new(methods);
    encoder.begin(&mut out);
    define(&mut *encoder, methods, &mut out);
    let numbers = MethodIds::default();
    for method in 1..=methods {
        numbers.give(number(method), (MethodId(method), ClassId(method % 100)));
    }
    for _ in 0..rows {
        match program.next() {
            Next::Event(event) => encoder.event(&event, &mut out),
            Next::Calls(thread, cpu_time, ticket, depth, steps) => {
                events += steps.len();
                let calls = Calls {
                    thread,
                    cpu_time,
                    ticket,
                    depth,
                    steps: &steps,
                };
                match reported {
                    Reported::Calls => encoder.calls(&calls, &mut out),
                    Reported::Run | Reported::KeptRun => {
                        let keeps = reported == Reported::KeptRun;
                        run(&mut *encoder, &calls, &numbers, keeps, &mut out);
                    }
                    Reported::OneByOne => calls.events().for_each(|e| encoder.event(&e, &mut out)),
                }
            }
        }
    }
    encoder.end(&mut out);
    (out, events)
}

fn define(encoder: &mut dyn Encode, methods: u64, out: &mut Vec<u8>) {
    for method in 1..=methods {
        let event = Event::MethodDef(MethodDef {
            method: MethodId(method),
            class: ClassId(method % 100),
            name: format!("m{method}").into(),
            signature: "()V".into(),
            ..MethodDef::default()
        });
        encoder.event(&event, out);
    }
}

/// Returns the number of a method, which differs from its id.
fn number(method: u64) -> u32 {
    (method as u32) << 4 ^ 0x0c
}

/// Maximum number of steps in a run.
const RUN: usize = 90;

/// Encodes calls in runs. The steps of some runs are in [`KeptSteps`]. The times of some of these
/// runs are there, too.
fn run(
    encoder: &mut dyn Encode,
    calls: &Calls<'_>,
    methods: &MethodIds,
    keeps: bool,
    out: &mut Vec<u8>,
) {
    let (mut ticket, mut depth) = (calls.ticket, calls.depth);
    // `among` begins with steps and times that belong to none of these runs.
    let mut among = KeptSteps {
        steps: vec![RunStep::new(3, false); 7],
        times: vec![Timestamp(5); 9],
    };
    let is_kept = |at: usize| keeps && !(calls.ticket as usize + at).is_multiple_of(4);
    let is_timed = |at: usize| match calls.ticket / 4 % 3 {
        0 => false,
        1 => true,
        _ => !(calls.ticket as usize + at).is_multiple_of(3),
    };
    let mut places = Vec::new();
    for (at, part) in calls.steps.chunks(RUN).enumerate() {
        places.push((among.steps.len(), among.times.len()));
        let steps = part.iter();
        let steps = steps.map(|step| RunStep::new(number(step.method.0), step.ends));
        among.steps.extend(steps.filter(|_| is_kept(at)));
        let times = part.iter().map(|step| step.time);
        among
            .times
            .extend(times.filter(|_| is_kept(at) && is_timed(at)));
    }
    let among = Arc::new(among);
    for (at, part) in calls.steps.chunks(RUN).enumerate() {
        let (mut before, mut begun) = (Vec::new(), Vec::new());
        for (place, step) in (0..).zip(part) {
            if !step.ends {
                begun.push(OpenedCall {
                    place,
                    method: number(step.method.0),
                    time: step.time,
                });
            } else if begun.pop().is_none() {
                before.push(step.ticket);
            }
        }
        let steps = part.iter();
        let steps = steps.map(|step| RunStep::new(number(step.method.0), step.ends));
        let steps: Vec<RunStep> = steps.collect();
        let times: Vec<Timestamp> = part.iter().map(|step| step.time).collect();
        let run = CallRun {
            thread: calls.thread,
            cpu_time: calls.cpu_time,
            ticket,
            depth,
            before: &before,
            steps: &steps,
            times: &times,
            begun: &begun,
            methods,
            kept: is_kept(at).then_some(KeptRun {
                among: &among,
                steps: places[at].0,
                times: is_timed(at).then_some(places[at].1),
            }),
        };
        assert_eq!(run.calls(&mut Vec::new()).steps, part);
        let enters = part.iter().filter(|step| !step.ends).count();
        assert_eq!(run.enters(), enters);
        for (at, OpenedCall { place, .. }) in begun.iter().enumerate() {
            assert_eq!(run.ticket_of_begun(at), part[*place as usize].ticket);
        }
        encoder.run(&run, out);
        ticket = ticket.wrapping_add(enters as u32);
        depth = depth + enters as u32 - (part.len() - enters) as u32;
    }
}

#[test]
fn rows_of_calls_are_the_same_bytes_in_every_format() {
    for format in Format::ALL {
        let (one_by_one, events) = encoded(format, 50, 300, Reported::OneByOne);
        assert!(events > 10_000, "{events}");
        for reported in [Reported::Calls, Reported::Run, Reported::KeptRun] {
            let (in_rows, _) = encoded(format, 50, 300, reported);
            // In a trail, calls in runs may be encoded as other bytes. Rows of equal times are
            // encoded differently, and segments end only after a run.
            let is_same = match (format, reported) {
                (Format::Trail, Reported::Run | Reported::KeptRun) => {
                    all_events(&in_rows) == all_events(&one_by_one)
                }
                _ => in_rows == one_by_one,
            };
            assert!(is_same, "{format:?} {reported:?}");
        }
    }
}

/// The rows fill several segments of a trail, with symbols of every width. Segments end after a
/// run.
#[test]
fn rows_of_calls_are_the_same_events_over_segments() {
    for (methods, rows) in [(100, 8_000), (300, 8_000), (90_000, 4_000)] {
        let (one_by_one, events) = encoded(Format::Trail, methods, rows, Reported::OneByOne);
        assert!(events > 350_000, "{events}");
        let expected = all_events(&one_by_one);
        for reported in [Reported::Calls, Reported::Run, Reported::KeptRun] {
            let (in_rows, _) = encoded(Format::Trail, methods, rows, reported);
            assert!(
                all_events(&in_rows) == expected,
                "{methods} methods, {reported:?}"
            );
        }
    }
}

fn all_events(trace: &[u8]) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut reader = Reader::new(trace).expect("a trace");
    let stopped = reader.for_each(|item| match item {
        Item::Event { event, .. } => {
            events.push(event.clone().into_static());
            ControlFlow::Continue(())
        }
        Item::Remark(remark) => ControlFlow::Break(remark),
    });
    assert_eq!(stopped.expect("readable"), None);
    events
}

/// Checks calls, some of which break rules. Returns the findings.
fn checked(agent: &str, seed: u64, in_rows: bool) -> Findings {
    const METHODS: u64 = 50;
    let mut checker = Checker::of(Format::Trail);
    let event = |checker: &mut Checker, event: Event<'_>| checker.event(7, &event);
    event(
        &mut checker,
        Event::AgentCreate(Box::new(AgentCreate {
            name: agent.to_owned().into(),
            ..AgentCreate::default()
        })),
    );
    for method in 1..=METHODS {
        let (method, class) = (MethodId(method), ClassId(method % 100));
        let def = MethodDef {
            method,
            class,
            ..MethodDef::default()
        };
        event(&mut checker, Event::MethodDef(def));
    }
    let mut program = Program::new(METHODS);
    program.random ^= seed << 20;
    // The last thread has no thread-start event before its calls.
    for thread in [5, 6] {
        let thread = ThreadId(thread);
        let start = ThreadStart {
            thread,
            ..ThreadStart::default()
        };
        event(&mut checker, Event::ThreadStart(start));
    }
    for offset in 0..200 {
        match program.next() {
            Next::Event(one) => checker.event(offset, &one),
            Next::Calls(thread, cpu_time, ticket, depth, mut steps) => {
                let (at, depth) = (program.below(400) as usize, u64::from(depth));
                let (wrong, other) = (program.below(12), program.below(70));
                if let Some(step) = steps.get_mut(at) {
                    match wrong {
                        0 => step.time.0 -= 1 + other as i64 * 1_000_000,
                        1 => step.ticket = step.ticket.wrapping_sub(other as u32),
                        2 => step.method = MethodId(other),
                        3 => step.class = ClassId(other),
                        4 => step.ends = !step.ends,
                        5 => step.ticket = step.ticket.wrapping_add(1 << 31),
                        _ => {}
                    }
                }
                let depth = match wrong {
                    6 => other.saturating_sub(10),
                    7 => depth + 1,
                    8 => depth.saturating_sub(1),
                    _ => depth,
                };
                let cpu_time = match wrong {
                    9 => Duration(1),
                    _ => cpu_time,
                };
                let calls = Calls {
                    thread,
                    cpu_time,
                    ticket,
                    depth: depth as u32,
                    steps: &steps,
                };
                match in_rows {
                    true => checker.calls(offset, &calls),
                    false => calls.events().for_each(|one| checker.event(offset, &one)),
                }
            }
        }
        if program.below(60) == 0 {
            let lost = Note::Lost(Lost {
                thread: ThreadId(5),
                events: offset,
                from: Timestamp(0),
                to: Timestamp(0),
                reason: "full".into(),
            });
            let body = lost.to_string().into();
            checker.event(offset, &Event::Custom(Custom { body }));
        }
    }
    checker.finish()
}

#[test]
fn rows_of_calls_are_checked_as_calls_one_by_one() {
    let mut rules = std::collections::BTreeSet::new();
    let mut enters = 0;
    for seed in 0..300 {
        for agent in ["jtrail", "other"] {
            let found = checked(agent, seed, true);
            let same = checked(agent, seed, false);
            let mut both = found.findings.iter().zip(&same.findings);
            assert_eq!(both.find(|(a, b)| a != b), None, "{agent}, seed {seed}");
            assert!(found == same, "{agent}, seed {seed}");
            rules.extend(found.totals.keys().copied());
            enters += found.counts.enters;
        }
    }
    assert!(enters > 1_000_000, "{enters}");
    for rule in [
        Rule::Calls,
        Rule::Tickets,
        Rule::Depth,
        Rule::Time,
        Rule::Definitions,
        Rule::Cpu,
    ] {
        assert!(rules.contains(&rule), "{rule:?}");
    }
}
