//! Writes a long trace to standard output, in any format, to measure programs that read it.
//!
//! ```text
//! cargo run --release -p jtrail-formats --example write_trace FORMAT CALLS THREADS
//! ```
//!
//! `mlpd 17`, as one argument, is a format too: a log profile of the last data version.
//!
//! `CALLS` counts each enter and each leave as one. Memory use does not grow with it.

mod workload;

use std::env;
use std::error::Error;
use std::io::{self, Write};
use workload::Workload;
use workload::spelling::Spelling;

/// Size in bytes at which gathered output is written.
const CHUNK: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [format, calls, threads] = &arguments[..] else {
        return Err("usage: write_trace FORMAT CALLS THREADS".into());
    };
    let spelling = Spelling::all().into_iter().find(|s| s.name() == format);
    let spelling = spelling.ok_or("no such format")?;
    let (calls, threads) = (calls.parse()?, threads.parse()?);
    let mut encoder = spelling.encoder();
    let mut buffer = Vec::with_capacity(CHUNK + (CHUNK >> 2));
    let mut out = io::stdout().lock();
    let mut written = Ok(());
    encoder.begin(&mut buffer);
    Workload::new(threads).each(calls, |event| {
        encoder.event(&event, &mut buffer);
        if buffer.len() >= CHUNK && written.is_ok() {
            written = out.write_all(&buffer);
            buffer.clear();
        }
    });
    written?;
    while encoder.end_part(&mut buffer) {
        out.write_all(&buffer)?;
        buffer.clear();
    }
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(())
}
