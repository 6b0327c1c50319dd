//! Exports a trace: `export_trace TARGET MIN_NS TRACE FILE [BASE]`. Calls shorter than `MIN_NS`
//! become part of their callers. A flame graph is compared with that of `BASE`.

use jtrail_export::{BaseEncoder, CallFilter, Options, Target};
use jtrail_formats::{Encode, Item, Reader};
use jtrail_model::Duration;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let target = Target::by_name(&args[1]).expect("a target");
    let min = Duration(args[2].parse().expect("a number"));
    let filter = || CallFilter::new(min, None, None);
    let base = args.get(5).map(|path| {
        let mut base = BaseEncoder::new(name(path), filter());
        encode(&mut base, path, &mut std::io::sink());
        base.finish().into()
    });
    let mut encoder = target.encoder(Options {
        filter: filter(),
        title: name(&args[3]),
        base,
        ..Options::default()
    });
    let mut file = File::create(&args[4]).expect("created");
    encode(encoder.as_mut(), &args[3], &mut file);
}

fn encode(encoder: &mut (impl Encode + ?Sized), path: &str, file: &mut impl Write) {
    let mut out = Vec::new();
    let mut reader = Reader::new(File::open(path).expect("there")).expect("a trace");
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

fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
