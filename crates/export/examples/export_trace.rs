//! Exports a trace: `export_trace TARGET MIN_NS TRACE FILE`. Calls shorter than `MIN_NS` become
//! part of their callers.

use jtrail_export::{CallFilter, Options, OtlpFormat, Target};
use jtrail_formats::{Item, Reader};
use jtrail_model::Duration;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let target = Target::by_name(&args[1]).expect("a target");
    let min = Duration(args[2].parse().expect("a number"));
    let filter = CallFilter::new(min, None, None);
    let mut encoder = target.encoder(Options {
        filter,
        otlp_format: OtlpFormat::by_file_name(&args[4]),
        ..Options::default()
    });
    let mut file = File::create(&args[4]).expect("created");
    let mut out = Vec::new();
    let mut reader = Reader::new(File::open(&args[3]).expect("there")).expect("a trace");
    encoder.begin(&mut out);
    let _ = reader.for_each(|item| -> ControlFlow<()> {
        if let Item::Event { event, .. } = item {
            encoder.event(&event, &mut out);
        }
        if out.len() > 1 << 20 {
            file.write_all(&out).expect("written");
            out.clear();
        }
        ControlFlow::Continue(())
    });
    encoder.end(&mut out);
    file.write_all(&out).expect("written");
}
