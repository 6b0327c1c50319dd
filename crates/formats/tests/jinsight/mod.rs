//! JinsightLive: files of this encoder byte by byte, files of other writers, random traces.

mod broken;
mod classes;
mod foreign;
mod golden;
mod random;
mod raw;
mod rules;

use jtrail_formats::{DropCount, Encode, Format};
use jtrail_model::Event;

const FORMAT: Format = Format::Jinsight;

/// The encoder's result: the file after patching, and what was dropped.
struct Encoded {
    bytes: Vec<u8>,
    dropped: Vec<DropCount>,
}

impl Encoded {
    fn dropped(&self, what: &str) -> u64 {
        let found = self.dropped.iter().find(|kind| kind.what.starts_with(what));
        found.map_or(0, |kind| kind.count)
    }
}

fn encode<'e, 'a: 'e>(events: impl IntoIterator<Item = &'e Event<'a>>) -> Encoded {
    let mut encoder = FORMAT.encoder();
    let mut bytes = Vec::new();
    encoder.begin(&mut bytes);
    events
        .into_iter()
        .for_each(|event| encoder.event(event, &mut bytes));
    finished(&mut *encoder, bytes)
}

fn finished(encoder: &mut dyn Encode, mut bytes: Vec<u8>) -> Encoded {
    encoder.end(&mut bytes);
    for patch in encoder.patches() {
        let at = patch.offset as usize;
        bytes[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
    }
    let dropped = encoder.dropped();
    Encoded { bytes, dropped }
}

/// Decodes a file, ignoring remarks, and encodes its events again.
fn again(bytes: &[u8]) -> Encoded {
    let mut encoder = FORMAT.encoder();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    let mut reader = jtrail_formats::Reader::new(bytes).expect("a trace");
    let end = reader.for_each(|item| {
        if let jtrail_formats::Item::Event { event, .. } = item {
            encoder.event(&event, &mut out);
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    end.expect("a whole trace");
    finished(&mut *encoder, out)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
