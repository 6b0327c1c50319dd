//! The formats with their variants, and helpers that write and read traces in memory. Examples and
//! fuzz targets use this module too.

use jtrail_formats::{Decoded, Encode, Format, Step, mlpd};
use jtrail_model::Event;

/// A format, with its variant where it has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spelling {
    pub format: Format,
    /// Data version of a log profile.
    version: mlpd::DataVersion,
}

impl Spelling {
    /// Returns the format with default settings.
    pub fn of(format: Format) -> Self {
        let version = mlpd::DataVersion::V1;
        Self { format, version }
    }

    /// Returns all variants: every format with default settings, and the log profile of the last
    /// data version.
    pub fn all() -> Vec<Self> {
        let spellings = Format::ALL.into_iter().flat_map(|format| {
            let version = mlpd::DataVersion::V17;
            let last = (format == Format::Mlpd).then_some(Self { format, version });
            std::iter::once(Self::of(format)).chain(last)
        });
        spellings.collect()
    }

    /// Returns the name used in documents. `jtrail convert` takes it as `--to` and
    /// `--mlpd.version`.
    pub fn name(self) -> &'static str {
        match self.version {
            mlpd::DataVersion::V17 => "mlpd 17",
            _ => self.format.name(),
        }
    }

    pub fn encoder(self) -> Box<dyn Encode> {
        match self.version {
            mlpd::DataVersion::V17 => Box::new(mlpd::Encoder::new(self.version)),
            _ => self.format.encoder(),
        }
    }

    /// Returns the bytes of a file with the events that `report` passes to the encoder.
    pub fn written(self, report: impl FnOnce(&mut dyn FnMut(&Event<'_>))) -> Vec<u8> {
        let (mut encoder, mut out) = (self.encoder(), Vec::new());
        encoder.begin(&mut out);
        report(&mut |event| encoder.event(event, &mut out));
        encoder.end(&mut out);
        for patch in encoder.patches() {
            let at = usize::try_from(patch.offset).expect("a place in memory");
            out[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
        }
        out
    }

    pub fn encode(self, events: &[Event<'_>]) -> Vec<u8> {
        self.written(|report| events.iter().for_each(report))
    }

    /// Decodes a trace. The events borrow from its bytes, which are leaked.
    pub fn decode(self, bytes: Vec<u8>) -> Vec<Event<'static>> {
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
