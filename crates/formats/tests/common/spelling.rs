//! From format to format, without files.

use jtrail_formats::{Decoded, Encode, Format, Step, mlpd};
use jtrail_model::Event;

/// A format as it is written.
#[derive(Clone, Copy)]
pub(crate) struct Spelling {
    /// As `jtrail convert` is told of it.
    pub(crate) name: &'static str,
    format: Format,
    encoder: fn(Format) -> Box<dyn Encode>,
}

/// All of them.
pub(crate) fn spellings() -> Vec<Spelling> {
    let mut all: Vec<_> = Format::ALL
        .into_iter()
        .map(|format| Spelling {
            name: format.name(),
            format,
            encoder: Format::encoder,
        })
        .collect();
    let after = all.iter().position(|s| s.format == Format::Mlpd);
    let v17 = Spelling {
        name: "mlpd 17",
        format: Format::Mlpd,
        encoder: |_| Box::new(mlpd::Encoder::new(mlpd::DataVersion::V17)),
    };
    all.insert(after.map_or(0, |at| at + 1), v17);
    all
}

impl Spelling {
    pub(crate) fn encode(self, events: &[Event<'_>]) -> Vec<u8> {
        let mut encoder = (self.encoder)(self.format);
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for event in events {
            encoder.event(event, &mut out);
        }
        encoder.end(&mut out);
        for patch in encoder.patches() {
            let at = patch.offset as usize;
            out[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
        }
        out
    }

    /// The events of a trace. They borrow from its bytes, which are never given back.
    pub(crate) fn decode(self, bytes: Vec<u8>) -> Vec<Event<'static>> {
        let mut decoder = self.format.decoder();
        let (mut rest, mut events): (&'static [u8], _) = (bytes.leak(), Vec::new());
        loop {
            let Decoded { used, step } = decoder.step(rest, true).expect("a trace of our own");
            match step {
                Step::Event(event) => events.push(event),
                Step::End => return events,
                Step::NeedMore => panic!("more than there is"),
                Step::Nothing | Step::Remark(_) => {}
            }
            rest = &rest[used..];
        }
    }
}
