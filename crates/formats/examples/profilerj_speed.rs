//! How many events a second ProfilerJ's encoder adds up, and its decoder hands out, on one core.
//!
//! ```text
//! cargo run --release -p jtrail-formats --example profilerj_speed
//! ```

use jtrail_formats::{Encode, Item, Reader, profilerj};
use jtrail_model::{
    ClassDef, ClassId, Event, MethodDef, MethodEnter, MethodId, MethodLeave, ObjectAlloc,
    ObjectFree, ObjectId, ThreadId, Timestamp,
};
use std::ops::ControlFlow;
use std::time::Instant;

const EVENTS: u64 = 20_000_000;
const METHODS: u64 = 3000;
const THREADS: u64 = 8;

fn main() {
    println!("program    paths    document MB  encode M/s  write s  decode M/s  decode MB/s");
    // How many different methods one calls, and how deep: a usual program, and one that fills the table.
    for (name, callees, depth) in [("usual", 3, 8), ("full", 40, 40)] {
        let mut encoder = profilerj::Encoder::default();
        let mut document = Vec::new();
        encoder.begin(&mut document);
        definitions(&mut encoder, &mut document);
        let start = Instant::now();
        calls(callees, depth, |event| encoder.event(event, &mut document));
        let encode = EVENTS as f64 / start.elapsed().as_secs_f64() / 1e6;
        let start = Instant::now();
        encoder.end(&mut document);
        let write = start.elapsed().as_secs_f64();
        drop(encoder);
        let paths = document
            .windows(13)
            .filter(|w| w == b"<profile name")
            .count();
        let megabytes = document.len() as f64 / 1e6;
        let start = Instant::now();
        let events = decode(&document) as f64;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name:8} {paths:>8} {megabytes:>12.1} {encode:>11.1} {write:>8.2} {:>11.1} {:>12.1}",
            events / seconds / 1e6,
            megabytes / seconds
        );
    }
    println!("objects: {:.1} M events/s", objects());
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find(|line| line.starts_with("VmHWM"));
        println!("{}", peak.unwrap_or_default());
    }
}

fn definitions(encoder: &mut profilerj::Encoder, out: &mut Vec<u8>) {
    for number in 0..METHODS {
        let class = ClassDef {
            class: ClassId(number + 1),
            name: format!("com.example.compiler.Class{number}").into(),
            ..Default::default()
        };
        encoder.event(&Event::ClassDef(class), out);
        let method = MethodDef {
            method: MethodId(number + 1),
            class: ClassId(number + 1),
            name: format!("method{number}").into(),
            signature: "(ILjava/lang/String;)Ljava/util/List;".into(),
            ..Default::default()
        };
        encoder.event(&Event::MethodDef(method), out);
    }
}

/// Threads that call up and down at random, in runs as a writer hands them on.
fn calls(callees: u64, deepest: usize, mut event: impl FnMut(&Event<'_>)) {
    let mut stacks = vec![Vec::new(); THREADS as usize];
    let mut random = 88_172_645_463_325_252_u64;
    for number in 0..EVENTS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let slot = (number / 4096 % THREADS) as usize;
        let stack = &mut stacks[slot];
        let (thread, time) = (ThreadId(slot as u64 + 1), Timestamp(number as i64 * 100));
        let up = stack.is_empty() || (stack.len() < deepest && random & 0x1000 != 0);
        if up {
            let caller = stack.last().map_or(0, |(method, _)| *method);
            let method = 1 + (caller * 7 + random % callees) % METHODS;
            stack.push((method, number as u32));
            event(&Event::MethodEnter(MethodEnter {
                thread,
                time,
                method: MethodId(method),
                class: ClassId(method),
                ticket: number as u32,
                ..Default::default()
            }));
        } else if let Some((method, ticket)) = stack.pop() {
            event(&Event::MethodLeave(MethodLeave {
                thread,
                time,
                method: MethodId(method),
                class: ClassId(method),
                ticket,
                ..Default::default()
            }));
        }
    }
}

fn decode(document: &[u8]) -> u64 {
    let mut count = 0;
    let mut reader = Reader::new(document).expect("a snapshot");
    let end = reader.for_each(|item| {
        assert!(matches!(item, Item::Event { .. }), "{item:?}");
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    end.expect("a whole snapshot");
    count
}

/// Millions of allocations and frees a second.
fn objects() -> f64 {
    let mut encoder = profilerj::Encoder::default();
    let mut out = Vec::new();
    definitions(&mut encoder, &mut out);
    let start = Instant::now();
    for number in 1..=EVENTS / 2 {
        let alloc = ObjectAlloc {
            thread: ThreadId(1 + number % THREADS),
            object: ObjectId(number),
            class: ClassId(1 + number * 31 % METHODS),
            ..Default::default()
        };
        encoder.event(&Event::ObjectAlloc(alloc), &mut out);
        if number > 1000 {
            let free = ObjectFree {
                object: ObjectId(number - 1000),
                ..Default::default()
            };
            encoder.event(&Event::ObjectFree(free), &mut out);
        }
    }
    encoder.end(&mut out);
    EVENTS as f64 / start.elapsed().as_secs_f64() / 1e6
}
