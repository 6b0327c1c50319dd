//! Helpers shared by the tests of the codecs.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    reason = "each test file uses a part of it"
)]

use jtrail_formats::{Decoded, Encode, Format, Step};
use jtrail_model::*;

pub mod check;
pub mod corpus;
pub mod damage;
mod decoding;
pub mod document;
mod events;
pub mod layout;
pub mod legal;
pub mod random;
pub mod spelling;
pub mod stream;
pub mod tracelog;
pub mod trail;

pub use decoding::{Decoding, decode, decode_pieces, drain, is_verbose, reports, same_in_pieces};
pub use events::{every_event, every_message, uneven_calls};

/// Encodes events that the format can store without loss.
pub fn encoded<'e, 'a: 'e>(
    format: Format,
    events: impl IntoIterator<Item = &'e Event<'a>>,
) -> Vec<u8> {
    let mut encoder = format.encoder();
    let out = written_by(&mut *encoder, events);
    assert_eq!(encoder.dropped_events(), 0);
    out
}

/// Encodes events, and ignores losses.
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

/// Decodes a trace, tests that there are no remarks, and encodes its events again.
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

/// Returns the events as XML gives them back, without what XML can't store.
pub fn without_losses(events: &[Event<'static>]) -> Vec<Event<'static>> {
    let mut trace = "".into();
    let lossy = |event: &Event<'static>| match event.clone() {
        // A filter belongs to the trace that began before it.
        Event::Filter(mut e) => {
            e.trace_id = std::borrow::Cow::clone(&trace);
            Event::Filter(e)
        }
        Event::TraceStart(e) => {
            trace = e.trace_id.clone();
            Event::TraceStart(e)
        }
        event => event,
    };
    events.iter().map(lossy).collect()
}
