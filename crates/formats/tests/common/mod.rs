//! What the tests of codecs share.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    reason = "each test file uses a part of it"
)]

use jtrail_formats::{DecodeError, Decoded, Encode, Format, Remark, Severity, Step};
use jtrail_model::*;

pub mod check;
pub mod document;
mod events;
pub mod layout;
pub mod legal;
pub mod random;
pub mod stream;

pub use events::{every_event, every_message};

/// A decoded trace. Events are compared by what `Debug` shows of them, which is everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decoding {
    pub events: Vec<String>,
    pub remarks: Vec<Remark>,
    pub error: Option<DecodeError>,
}

impl Decoding {
    pub fn count(&self, severity: Severity) -> usize {
        self.remarks
            .iter()
            .filter(|r| r.severity == severity)
            .count()
    }

    /// The only remark of that severity.
    pub fn only(&self, severity: Severity) -> (u64, &str) {
        let mut found = self.remarks.iter().filter(|r| r.severity == severity);
        match (found.next(), found.next()) {
            (Some(remark), None) => (remark.offset, &remark.message),
            _ => panic!("not one {severity:?} in {self:#?}"),
        }
    }

    /// The error.
    pub fn refused(&self) -> (u64, &str) {
        let error = self.error.as_ref().expect("an error");
        (error.offset, &error.message)
    }

    pub fn is_clean(&self) -> bool {
        self.remarks.is_empty() && self.error.is_none()
    }
}

pub fn decode(format: Format, bytes: &[u8]) -> Decoding {
    decode_pieces(format, bytes, bytes.len().max(1))
}

/// Decodes bytes that come in pieces of a size. Tests on the way what every decoder promises.
pub fn decode_pieces(format: Format, bytes: &[u8], piece: usize) -> Decoding {
    let mut decoding = Decoding::default();
    let mut decoder = format.decoder();
    let (mut start, mut end) = (0, 0);
    // A step uses input, hands something out, or asks for more: that bounds the number of steps.
    let mut idle = 0;
    loop {
        let last = end == bytes.len();
        let Decoded { used, step } = match decoder.step(&bytes[start..end], last) {
            Ok(decoded) => decoded,
            Err(error) => {
                decoding.error = Some(error);
                break;
            }
        };
        assert!(used <= end - start, "more used than given");
        let asks = matches!(step, Step::NeedMore);
        idle = if used > 0 || asks { 0 } else { idle + 1 };
        assert!(idle < 50_000, "no progress at {start}");
        start += used;
        match step {
            Step::Event(event) => decoding.events.push(format!("{event:?}")),
            Step::Remark(remark) => decoding.remarks.push(remark),
            Step::Nothing => {}
            Step::NeedMore => {
                assert!(!last, "asks for more than there is");
                end = bytes.len().min(end + piece);
            }
            Step::End => {
                assert_eq!(start, bytes.len(), "ends before the input does");
                break;
            }
        }
    }
    // Done is done.
    assert!(matches!(
        decoder.step(&[], true),
        Ok(Decoded {
            used: 0,
            step: Step::End
        }) | Err(_)
    ));
    decoding
}

/// Encodes events that the format can hold.
pub fn encoded<'e, 'a: 'e>(
    format: Format,
    events: impl IntoIterator<Item = &'e Event<'a>>,
) -> Vec<u8> {
    let mut encoder = format.encoder();
    let out = written_by(&mut *encoder, events);
    assert_eq!(encoder.dropped(), 0);
    out
}

/// Encodes events, whatever is lost.
pub fn written<'e, 'a: 'e>(
    format: Format,
    events: impl IntoIterator<Item = &'e Event<'a>>,
) -> Vec<u8> {
    written_by(&mut *format.encoder(), events)
}

pub fn written_by<'e, 'a: 'e>(
    encoder: &mut dyn Encode,
    events: impl IntoIterator<Item = &'e Event<'a>>,
) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for event in events {
        encoder.event(event, &mut out);
    }
    encoder.end(&mut out);
    out
}

/// Decodes a trace without remarks, and encodes its events again.
pub fn recoded(from: Format, bytes: &[u8], to: Format) -> Vec<u8> {
    let (mut decoder, mut encoder) = (from.decoder(), to.encoder());
    let mut out = Vec::new();
    encoder.begin(&mut out);
    let mut rest = bytes;
    loop {
        let Decoded { used, step } = decoder.step(rest, true).expect("a sound trace");
        rest = &rest[used..];
        match step {
            Step::Event(event) => encoder.event(&event, &mut out),
            Step::Nothing => {}
            Step::End => break,
            other => panic!("{other:?}"),
        }
    }
    encoder.end(&mut out);
    out
}

pub fn shown(events: &[Event<'_>]) -> Vec<String> {
    events.iter().map(|e| format!("{e:?}")).collect()
}

/// What XML has no place for, as it is read back.
pub fn without_losses(events: &[Event<'static>]) -> Vec<Event<'static>> {
    let mut trace = "".into();
    let lossy = |event: &Event<'static>| match event.clone() {
        // A filter belongs to the trace that began before it.
        Event::Filter(e) => Event::Filter(Filter {
            trace_id: std::borrow::Cow::clone(&trace),
            ..e
        }),
        Event::TraceStart(e) => {
            trace = e.trace_id.clone();
            Event::TraceStart(e)
        }
        event => event,
    };
    events.iter().map(lossy).collect()
}
