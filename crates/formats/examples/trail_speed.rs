//! Measures the time per event of decoding and encoding a real trail, on one core, and of encoding
//! it with several threads.
//!
//! ```text
//! cargo run --release -p jtrail-formats --example trail_speed FILE
//! ```
//!
//! Decoding produces all events. Encoding takes the trace's first events in runs, as the agent's
//! translator reports them. Encoding is measured as wall-clock time, without helper threads and
//! with one and more.

mod helpers;

use helpers::Threads;
use jtrail_formats::Encode;
use jtrail_formats::trail::{Encoder, SegmentItem, SegmentReader, Segments};
use jtrail_model::{
    CallRun, CallStep, Calls, Event, MethodIds, OpenedCall, RunStep, ThreadId, Timestamp,
};
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::Cursor;
use std::time::{Duration, Instant};

/// Maximum number of events to encode.
const MAX_EVENTS: usize = 30_000_000;
const ROUNDS: usize = 5;

/// Maximum number of steps in a run.
const RUN: usize = 256;

/// A run of calls of one thread, in the form that the encoder takes.
struct Run {
    thread: ThreadId,
    ticket: u32,
    depth: u32,
    before: Vec<u32>,
    steps: Vec<RunStep>,
    times: Vec<Timestamp>,
    begun: Vec<OpenedCall>,
}

enum Reported {
    Run(Run),
    Event(Event<'static>),
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give a trail")?;
    let trace = fs::read(file)?;
    let segments = Segments::open(Cursor::new(&trace[..]))?.ok_or("no trail that is whole")?;
    let events = segments.events();
    println!(
        "{events} events, {:.4} bytes each",
        trace.len() as f64 / events as f64
    );
    let mut decoded = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut seen = 0_u64;
        decode(&trace, &segments, |found| {
            seen += match &found {
                SegmentItem::Row(row) => row.steps.len() as u64,
                SegmentItem::Event(_) => 1,
            };
            black_box(&found);
        })?;
        assert_eq!(seen, events);
        decoded.push(start.elapsed());
    }
    print("decode, one core", &mut decoded, events);
    let ids = MethodIds::default();
    let reported = reported(&trace, &segments, &ids)?;
    let count: usize = reported.iter().map(Reported::events).sum();
    let mut encoded: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (helpers, times) in encoded.iter_mut().enumerate() {
            let encoder = Encoder::with_helpers(Threads::start(helpers));
            let start = Instant::now();
            encode(encoder, &reported, &ids);
            times.push(start.elapsed());
        }
    }
    for (helpers, times) in encoded.iter_mut().enumerate() {
        print(&format!("encode, {helpers} helpers"), times, count as u64);
    }
    Ok(())
}

fn print(what: &str, times: &mut [Duration], events: u64) {
    times.sort();
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / events as f64;
    let (best, median) = (ns(times[0]), ns(times[times.len() / 2]));
    println!("{what:20} {best:6.2} ns an event, median {median:6.2}");
}

fn decode(
    trace: &[u8],
    segments: &Segments,
    mut visit: impl FnMut(SegmentItem<'_>),
) -> Result<(), Box<dyn Error>> {
    let mut reader = SegmentReader::new(Cursor::new(trace))?;
    for number in 0..segments.count() {
        if !reader.begin(segments, number)? || !reader.read(&mut visit) {
            return Err("a segment is damaged".into());
        }
    }
    Ok(())
}

impl Reported {
    fn events(&self) -> usize {
        match self {
            Self::Run(run) => run.steps.len(),
            Self::Event(_) => 1,
        }
    }
}

/// Returns the trace's first events, with calls in runs.
fn reported(
    trace: &[u8],
    segments: &Segments,
    ids: &MethodIds,
) -> Result<Vec<Reported>, Box<dyn Error>> {
    let (mut reported, mut count) = (Vec::new(), 0);
    let mut room = Vec::new();
    decode(trace, segments, |found| {
        if count >= MAX_EVENTS {
            return;
        }
        match found {
            SegmentItem::Event(event) => reported.push(Reported::Event(event.into_static())),
            SegmentItem::Row(row) => {
                let mut calls = row.calls(&mut room);
                while !calls.steps.is_empty() {
                    let part = calls.steps.len().min(RUN);
                    reported.push(Reported::Run(run(&calls, &calls.steps[..part], ids)));
                    count += part;
                    calls = calls.after(part);
                }
            }
        }
    })?;
    Ok(reported)
}

fn run(calls: &Calls<'_>, steps: &[CallStep], ids: &MethodIds) -> Run {
    let (mut before, mut begun) = (Vec::new(), Vec::new());
    for (place, step) in (0..).zip(steps) {
        let number = step.method.0 as u32;
        if ids.get(number).0 != step.method {
            ids.give(number, (step.method, step.class));
        }
        if !step.ends {
            begun.push(OpenedCall {
                place,
                method: number,
                time: step.time,
            });
        } else if begun.pop().is_none() {
            before.push(step.ticket);
        }
    }
    let words = steps.iter();
    let words = words.map(|step| RunStep::new(step.method.0 as u32, step.ends));
    Run {
        thread: calls.thread,
        ticket: calls.ticket,
        depth: calls.depth,
        before,
        steps: words.collect(),
        times: steps.iter().map(|step| step.time).collect(),
        begun,
    }
}

fn encode(mut encoder: Encoder, reported: &[Reported], methods: &MethodIds) {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for reported in reported {
        match reported {
            Reported::Event(event) => encoder.event(event, &mut out),
            Reported::Run(run) => encoder.run(
                &CallRun {
                    thread: run.thread,
                    cpu_time: Default::default(),
                    ticket: run.ticket,
                    depth: run.depth,
                    before: &run.before,
                    steps: &run.steps,
                    times: &run.times,
                    begun: &run.begun,
                    methods,
                    kept: None,
                },
                &mut out,
            ),
        }
        if out.len() > 1 << 20 {
            black_box(&out);
            out.clear();
        }
    }
    encoder.end(&mut out);
}
