//! Helpers for the tests of decoders.

use crate::{Decode, DecodeError, Severity, Step};
use jtrail_model::Event;

/// What a decoder returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Decoding {
    /// The events in short words.
    pub(crate) events: Vec<String>,
    pub(crate) remarks: Vec<(Severity, String)>,
    pub(crate) error: Option<DecodeError>,
}

/// Decodes a file in one piece and in small pieces, which must make no difference.
pub(crate) fn decoded<D: Decode + Default>(file: &[u8]) -> Decoding {
    let whole = decoded_in_pieces(D::default(), file, file.len().max(1));
    for piece in [1, 2, 7] {
        assert_eq!(decoded_in_pieces(D::default(), file, piece), whole);
    }
    whole
}

/// Decodes a file. Each time that the decoder needs more input, it gets `piece` further bytes.
pub(crate) fn decoded_in_pieces(mut decoder: impl Decode, file: &[u8], piece: usize) -> Decoding {
    let (mut start, mut end) = (0, 0);
    let mut decoding = Decoding::default();
    loop {
        let last = end == file.len();
        let decoded = match decoder.step(&file[start..end], last) {
            Ok(decoded) => decoded,
            Err(error) => {
                decoding.error = Some(error);
                return decoding;
            }
        };
        start += decoded.used;
        match decoded.step {
            Step::Event(event) => decoding.events.push(words(&event)),
            Step::Remark(remark) => decoding.remarks.push((remark.severity, remark.message)),
            Step::Nothing => {}
            Step::End => return decoding,
            Step::NeedMore => {
                assert!(!last, "no more bytes");
                end = (end + piece).min(file.len());
            }
        }
    }
}

fn words(event: &Event<'_>) -> String {
    match event {
        Event::ThreadStart(e) => format!(
            "thread {} {:?} {:?} at {}",
            e.thread, e.name, e.group, e.time.0
        ),
        Event::ClassDef(e) => format!("class {} {:?}", e.class, e.name),
        Event::MethodDef(e) => {
            format!(
                "method {} {} {:?} {:?}",
                e.method, e.class, e.name, e.signature
            )
        }
        Event::MethodEnter(e) => {
            let (thread, time, ticket) = (e.thread, e.time.0, e.ticket);
            format!(
                "{thread} enters {} at {time} ({ticket}, depth {})",
                e.method, e.stack_depth
            )
        }
        Event::MethodLeave(e) => {
            let (thread, time, ticket) = (e.thread, e.time.0, e.ticket);
            format!("{thread} leaves {} at {time} ({ticket})", e.method)
        }
        Event::AggregatedEnter(e) => {
            format!(
                "{} begins {} for {} ns, {} calls",
                e.thread, e.method, e.base_time.0, e.calls
            )
        }
        Event::AggregatedLeave(e) => format!("{} ends {}", e.thread, e.method),
        other => format!("{other:?}"),
    }
}
