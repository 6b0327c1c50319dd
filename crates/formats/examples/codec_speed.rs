//! How many calls a second each codec writes and reads, on one core.
//!
//! ```text
//! cargo run --release -p jtrail-formats --example codec_speed
//! ```

use jtrail_formats::{Checker, Format, Item, Reader};
use jtrail_model::{
    ClassDef, ClassId, Duration, Event, MethodDef, MethodEnter, MethodId, MethodLeave, ThreadId,
    ThreadStart, Timestamp,
};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

const EVENTS: usize = 2_000_000;
const METHODS: u64 = 3000;
const CLASSES: u64 = 400;
const THREADS: u64 = 8;
const ROUNDS: usize = 5;
/// An encoder's output is handed on when it is that large, as a writer does.
const FLUSH: usize = 256 << 10;

fn main() {
    let events = trace();
    let calls = events.len() as f64;
    println!(
        "{:8} {:>9} {:>12} {:>12}",
        "format", "B/event", "encode M/s", "decode M/s"
    );
    for format in Format::ALL {
        let bytes = encoded(format, &events);
        let encode = best(calls, || encode(format, &events));
        let decode = best(calls, || decode(&bytes));
        let size = bytes.len() as f64 / calls;
        println!(
            "{:8} {size:>9.1} {encode:>12.1} {decode:>12.1}",
            format.name()
        );
    }
    println!("checker: {:.1} M events/s", best(calls, || check(&events)));
}

/// Millions of events a second, of the best round.
fn best(events: f64, mut run: impl FnMut() -> usize) -> f64 {
    let round = |_| {
        let start = Instant::now();
        black_box(run());
        events / start.elapsed().as_secs_f64() / 1e6
    };
    (0..ROUNDS).map(round).fold(0.0, f64::max)
}

fn encode(format: Format, events: &[Event<'_>]) -> usize {
    let mut encoder = format.encoder();
    let mut out = Vec::with_capacity(2 * FLUSH);
    let mut total = 0;
    for event in events {
        encoder.event(event, &mut out);
        if out.len() >= FLUSH {
            total += black_box(&out).len();
            out.clear();
        }
    }
    total + out.len()
}

fn encoded(format: Format, events: &[Event<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = format.encoder();
    encoder.begin(&mut out);
    events
        .iter()
        .for_each(|event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    out
}

fn decode(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut sum = 0;
    let mut reader = Reader::new(bytes).expect("a trace");
    let end = reader.for_each(|item| {
        if let Item::Event {
            event: Event::MethodEnter(e),
            ..
        } = item
        {
            sum += e.method.0;
        }
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    end.expect("a whole trace");
    black_box(sum);
    count
}

fn check(events: &[Event<'_>]) -> usize {
    let mut checker = Checker::default();
    for (at, event) in events.iter().enumerate() {
        checker.event(at as u64, event);
    }
    checker.finish().findings.len()
}

/// Threads that call up and down between some depths, in runs as a writer hands them on.
fn trace() -> Vec<Event<'static>> {
    let mut events = Vec::with_capacity(EVENTS + 4000);
    let first_method = THREADS + CLASSES;
    let mut time = 1_700_000_000_000_000_000;
    for thread in 1..=THREADS {
        let name = format!("thread {thread}").into();
        let thread = ThreadId(thread);
        let start = ThreadStart {
            thread,
            time: Timestamp(time),
            name,
            ..Default::default()
        };
        events.push(Event::ThreadStart(start));
    }
    for class in 1..=CLASSES {
        let name = format!("com.example.Class{class}").into();
        let class = ClassId(THREADS + class);
        let def = ClassDef {
            class,
            time: Timestamp(time),
            name,
            ..Default::default()
        };
        events.push(Event::ClassDef(def));
    }
    for method in 1..=METHODS {
        let name = format!("method{method}").into();
        let signature = "()V".into();
        let class = class_of(method);
        let method = MethodId(first_method + method);
        events.push(Event::MethodDef(MethodDef {
            method,
            class,
            name,
            signature,
            start_line: 10,
            end_line: 20,
        }));
    }
    let mut stacks = vec![Vec::new(); THREADS as usize];
    let mut tickets = vec![0; THREADS as usize];
    let mut random = 88_172_645_463_325_252_u64;
    while events.len() < EVENTS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let slot = (events.len() / 4096) % THREADS as usize;
        let (stack, ticket) = (&mut stacks[slot], &mut tickets[slot]);
        let thread = ThreadId(slot as u64 + 1);
        time += (random % 400) as i64;
        let up = stack.is_empty() || (stack.len() < 40 && random & 0x1000 != 0);
        if up {
            *ticket += 1;
            let method = 1 + random % METHODS;
            let class = class_of(method);
            let method = MethodId(first_method + method);
            stack.push((method, class, *ticket));
            events.push(Event::MethodEnter(MethodEnter {
                thread,
                time: Timestamp(time),
                method,
                class,
                ticket: *ticket,
                cpu_time: Duration(0),
                stack_depth: stack.len() as i64,
            }));
        } else if let Some((method, class, ticket)) = stack.pop() {
            events.push(Event::MethodLeave(MethodLeave {
                thread,
                time: Timestamp(time),
                method,
                class,
                ticket,
                cpu_time: Duration(0),
                by_exception: false,
            }));
        }
    }
    events
}

fn class_of(method: u64) -> ClassId {
    ClassId(THREADS + 1 + method % CLASSES)
}
