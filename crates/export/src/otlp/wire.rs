//! What both formats write.

use super::context::Context;
use jtrail_model::Timestamp;

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Number(i64),
}

/// The message that has an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Resource,
    Span,
    Event,
    Link,
}

/// A span that has ended. The bytes are what the format has written before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub(crate) context: Context,
    /// Id of the parent; 0 for none.
    pub(crate) parent: u64,
    pub(crate) name: &'a [u8],
    /// Times in ns since 1970-01-01 UTC.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: [&'a [u8]; 3],
    pub(crate) events: &'a [u8],
    pub(crate) dropped_events: u32,
    pub(crate) links: &'a [u8],
    /// The status message of a span that failed. It may be empty.
    pub(crate) error: Option<&'a str>,
}

/// Writes the messages of a format. Each method appends to `out`.
pub(crate) trait Wire: Send {
    /// Writes an attribute of a message.
    fn attribute(&self, out: &mut Vec<u8>, of: Message, key: &str, value: Value<'_>);

    /// Writes the name of a span.
    fn name(&self, out: &mut Vec<u8>, name: &str);

    /// Writes an event of a span.
    fn event(&self, out: &mut Vec<u8>, time: u64, name: &str, attributes: &[u8]);

    /// Writes a link to a span.
    fn link(&self, out: &mut Vec<u8>, to: Context, attributes: &[u8]);

    /// Writes a span.
    fn span(&self, out: &mut Vec<u8>, span: &Span<'_>);

    /// Writes spans, with the attributes of their resource.
    fn batch(&self, out: &mut Vec<u8>, resource: &[u8], spans: &[u8]);
}

/// Name and version of what writes the spans.
pub(crate) const SCOPE: (&str, &str) = ("jtrail", env!("CARGO_PKG_VERSION"));

/// [`Span`]'s kind of calls within a program.
pub(crate) const KIND_INTERNAL: u64 = 1;

/// The status code of a span that failed.
pub(crate) const STATUS_ERROR: u64 = 2;

/// Returns a time as the formats hold it. Times before 1970 become 0.
pub(crate) fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.0).unwrap_or(0)
}
