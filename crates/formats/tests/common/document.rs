//! Builds XML documents by hand.

use super::{Decoding, decode, encoded};
use jtrail_formats::Format;
use jtrail_model::{Event, GcStart, Timestamp};

pub const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TRACE>\n";
pub const GC: &str = "<gcStart time=\"0.000000001\"/>\n";

/// Returns the event of [`GC`].
pub fn gc() -> Event<'static> {
    Event::GcStart(GcStart { time: Timestamp(1) })
}

pub fn xml(text: &str) -> Decoding {
    decode(Format::TptpXml, text.as_bytes())
}

/// Decodes elements inside a document of this agent.
pub fn elements(text: &str) -> Decoding {
    xml(&format!("{HEAD}{text}</TRACE>\n"))
}

pub fn document(events: &[Event<'_>]) -> String {
    String::from_utf8(encoded(Format::TptpXml, events)).unwrap()
}
