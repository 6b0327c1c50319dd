//! Measures how many events per second each codec encodes and decodes on one core, and compares the
//! figures with the project's aims.
//!
//! ```text
//! cargo run --release -p jtrail-formats --example codec_speed [FORMAT] [encode|decode]
//! ```
//!
//! The time is the CPU time of this thread where the system reports it, and wall-clock time
//! elsewhere. The rounds of all codecs are interleaved.

mod workload;

use jtrail_formats::{Checker, Format, Item, Reader};
use jtrail_model::Event;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use workload::Workload;
use workload::spelling::Spelling;

const CALLS: u64 = 2_000_000;
const THREADS: u64 = 8;
const ROUNDS: usize = 7;
/// Size in bytes at which an encoder's output is handed on, as the agent's writer does.
const FLUSH: usize = 256 << 10;

/// One measurement: a codec in one direction.
struct Row {
    name: String,
    /// Minimum aim in millions of events per second, if there is one.
    aim: Option<f64>,
    events: u64,
    bytes: usize,
    times: Vec<Duration>,
}

impl Row {
    fn measure_if(&mut self, chosen: impl Fn(&str) -> bool, run: impl FnOnce() -> usize) {
        if !chosen(&self.name) {
            return;
        }
        let start = (processor_time(), Instant::now());
        black_box(run());
        let time = match (start.0, processor_time()) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => start.1.elapsed(),
        };
        self.times.push(time);
    }

    fn print(&mut self) {
        if self.times.is_empty() {
            return;
        }
        self.times.sort_unstable();
        let millions = |time: Duration| self.events as f64 / time.as_secs_f64() / 1e6;
        let best = millions(self.times[0]);
        let median = millions(self.times[self.times.len() / 2]);
        let size = self.bytes as f64;
        let aim = self.aim.map_or(String::new(), |aim| {
            let result = if best >= aim { "PASS" } else { "FAIL" };
            format!("{aim:>9.0}  {result}")
        });
        println!(
            "{:17} {best:>9.1} {median:>9.1} {:>9.1} {:>9.1} {aim}",
            self.name,
            size / self.events as f64,
            size / self.times[0].as_secs_f64() / 1e6,
        );
    }
}

fn main() {
    let named: Vec<_> = std::env::args().skip(1).collect();
    let chosen = |name: &str| named.iter().all(|word| name.contains(word.as_str()));
    let mut events = Vec::new();
    Workload::new(THREADS).each(CALLS, |event| events.push(event));
    let mut traces: Vec<_> = Spelling::all()
        .into_iter()
        .filter(|s| {
            ["encode", "decode"]
                .iter()
                .any(|what| chosen(&format!("{} {what}", s.name())))
        })
        .map(|spelling| {
            let bytes = spelling.encode(&events);
            let row = |what, events| Row {
                name: format!("{} {what}", spelling.name()),
                aim: Some(aim(spelling.format)),
                events,
                bytes: bytes.len(),
                times: Vec::new(),
            };
            let encode = row("encode", events.len() as u64);
            let decode = row("decode", decode(&bytes) as u64);
            (spelling, bytes, encode, decode)
        })
        .collect();
    let mut checker = Row {
        name: "checker".into(),
        aim: None,
        events: events.len() as u64,
        bytes: 0,
        times: Vec::new(),
    };
    for _ in 0..ROUNDS {
        for (spelling, bytes, encoding, decoding) in &mut traces {
            encoding.measure_if(chosen, || encode(*spelling, &events));
            decoding.measure_if(chosen, || decode(bytes));
        }
        checker.measure_if(chosen, || check(&events));
    }
    println!(
        "{:17} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "best M/s", "median", "B/event", "MB/s", "aim M/s"
    );
    for (_, _, encoding, decoding) in &mut traces {
        encoding.print();
        decoding.print();
    }
    checker.print();
}

/// Returns the aim in millions of events per second, which differs for binary and text formats.
fn aim(format: Format) -> f64 {
    match format {
        Format::TptpXml | Format::TraceLog | Format::ProfilerJ => 3.0,
        _ => 10.0,
    }
}

/// Returns the CPU time that this thread has used so far.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn encode(spelling: Spelling, events: &[Event<'_>]) -> usize {
    let mut encoder = spelling.encoder();
    let mut out = Vec::with_capacity(2 * FLUSH);
    let mut total = 0;
    encoder.begin(&mut out);
    for event in events {
        encoder.event(event, &mut out);
        if out.len() >= FLUSH {
            total += black_box(&out).len();
            out.clear();
        }
    }
    while encoder.end_part(&mut out) {
        total += black_box(&out).len();
        out.clear();
    }
    total + black_box(&out).len()
}

fn decode(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut sum = 0;
    let mut reader = Reader::new(bytes).expect("a trace");
    let end = reader.for_each(|item| {
        match item {
            Item::Event { event, .. } => {
                if let Event::MethodEnter(e) = event {
                    sum += e.method.0;
                }
                count += 1;
            }
            Item::Remark(remark) => drop(black_box(remark)),
        }
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
