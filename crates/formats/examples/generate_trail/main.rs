//! Writes a trail of any length, to measure programs that read it: the viewer above all.
//!
//! ```text
//! cargo run --release -p jtrail-formats --example generate_trail -- \
//!     FILE --events N [--shape fib|javac] [--threads 8] [--seed 1]
//! ```
//!
//! The trail has exactly N events, and is the same for the same arguments. `fib` is a recursive
//! function, whose calls take 10 to 60 ns. `javac` is like a compiler: three thousand methods with
//! call paths that recur, allocations, exceptions, waits of threads for each other, and
//! collections. Memory use does not grow with N.
//!
//! | Module | Contents |
//! |---|---|
//! | `program` | methods and scripts of steps |
//! | `thread` | a thread that plays scripts |
//! | `generate` | the order of the events of all threads |
//! | `other` | events that are not steps |
//! | `begin_and_end` | the first and the last events |

mod begin_and_end;
mod generate;
#[path = "../helpers/mod.rs"]
mod helpers;
mod other;
mod program;
mod random;
#[cfg(test)]
mod tests;
mod thread;

use generate::{Generator, Written};
use helpers::Threads;
use jtrail_formats::trail::Encoder;
use program::{Program, Shape};
use std::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: generate_trail FILE --events N [--shape fib|javac] [--threads 8] [--seed 1]";
/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_millis(200);

struct Arguments {
    file: String,
    events: u64,
    shape: Shape,
    threads: u64,
    seed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let program = Program::new(arguments.shape, arguments.seed);
    let mut file = File::create_new(&arguments.file)
        .map_err(|error| format!("{}: {error}", arguments.file))?;
    let start = Instant::now();
    let mut shown = None;
    let mut sink = |bytes: &[u8], written: &Written| {
        if io::stderr().is_terminal() && shown.is_none_or(|at: Instant| at.elapsed() >= PROGRESS) {
            shown = Some(Instant::now());
            eprint!(
                "\r\x1b[2K{}",
                progress(written.events, arguments.events, start)
            );
        }
        file.write_all(bytes)
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let encoder = Encoder::with_helpers(Threads::start(cores));
    let generator = Generator::new(
        &program,
        arguments.threads,
        arguments.seed,
        encoder,
        &mut sink,
    );
    let written = generator.write(arguments.events)?;
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[2K");
    }
    let speed = written.events as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{written}, {speed:.1} M events/s");
    Ok(())
}

fn progress(events: u64, all: u64, start: Instant) -> String {
    let speed = events as f64 / start.elapsed().as_secs_f64().max(1e-3);
    let left = (all - events) as f64 / speed.max(1.0);
    format!(
        "{:.0} of {:.0} M events, {:.0} M/s, {left:.0} s left",
        events as f64 / 1e6,
        all as f64 / 1e6,
        speed / 1e6
    )
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut found = Arguments {
        file: String::new(),
        events: 0,
        shape: Shape::Javac,
        threads: 8,
        seed: 1,
    };
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("{word} needs a value; {USAGE}"))
        };
        match &*word {
            "--events" => found.events = value()?.replace('_', "").parse()?,
            "--threads" => found.threads = value()?.parse()?,
            "--seed" => found.seed = value()?.parse()?,
            "--shape" => {
                found.shape = match &*value()? {
                    "fib" => Shape::Fib,
                    "javac" => Shape::Javac,
                    other => return Err(format!("--shape: there is no {other:?}; {USAGE}").into()),
                }
            }
            _ if found.file.is_empty() && !word.starts_with('-') => found.file = word,
            _ => return Err(format!("unexpected {word:?}; {USAGE}").into()),
        }
    }
    if found.file.is_empty() || found.events == 0 || !(1..=10_000).contains(&found.threads) {
        return Err(
            format!("a FILE, --events and 1 to 10,000 --threads are needed; {USAGE}").into(),
        );
    }
    Ok(found)
}
