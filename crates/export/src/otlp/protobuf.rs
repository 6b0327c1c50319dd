//! OTLP as protocol buffers.

use super::context::Context;
use super::wire::{KIND_INTERNAL, Message, SCOPE, STATUS_ERROR, Span, Value, Wire};
use crate::protobuf::{bytes, bytes_head, fixed64, integer, message, varint_len};

/// Fields of `TracesData` and `ExportTraceServiceRequest`.
mod traces {
    pub(super) const RESOURCE_SPANS: u32 = 1;
}

/// Fields of `ResourceSpans`.
mod resource_spans {
    pub(super) const RESOURCE: u32 = 1;
    pub(super) const SCOPE_SPANS: u32 = 2;
}

/// Fields of `ScopeSpans`.
mod scope_spans {
    pub(super) const SCOPE: u32 = 1;
    pub(super) const SPANS: u32 = 2;
}

/// Fields of `InstrumentationScope`.
mod scope {
    pub(super) const NAME: u32 = 1;
    pub(super) const VERSION: u32 = 2;
}

/// Fields of `Resource`.
mod resource {
    pub(super) const ATTRIBUTES: u32 = 1;
}

/// Fields of `Span`.
mod span {
    pub(super) const TRACE_ID: u32 = 1;
    pub(super) const SPAN_ID: u32 = 2;
    pub(super) const PARENT_SPAN_ID: u32 = 4;
    pub(super) const NAME: u32 = 5;
    pub(super) const KIND: u32 = 6;
    pub(super) const START_TIME: u32 = 7;
    pub(super) const END_TIME: u32 = 8;
    pub(super) const ATTRIBUTES: u32 = 9;
    pub(super) const EVENTS: u32 = 11;
    pub(super) const DROPPED_EVENTS_COUNT: u32 = 12;
    pub(super) const LINKS: u32 = 13;
    pub(super) const STATUS: u32 = 15;
}

/// Fields of `Span.Event`.
mod event {
    pub(super) const TIME: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const ATTRIBUTES: u32 = 3;
}

/// Fields of `Span.Link`.
mod link {
    pub(super) const TRACE_ID: u32 = 1;
    pub(super) const SPAN_ID: u32 = 2;
    pub(super) const ATTRIBUTES: u32 = 4;
}

/// Fields of `Status`.
mod status {
    pub(super) const MESSAGE: u32 = 2;
    pub(super) const CODE: u32 = 3;
}

/// Fields of `KeyValue`.
mod key_value {
    pub(super) const KEY: u32 = 1;
    pub(super) const VALUE: u32 = 2;
}

/// Fields of `AnyValue`.
mod any_value {
    pub(super) const STRING: u32 = 1;
    pub(super) const INTEGER: u32 = 3;
}

/// Writes protocol buffers.
#[derive(Debug)]
pub(crate) struct Protobuf;

impl Wire for Protobuf {
    fn attribute(&self, out: &mut Vec<u8>, of: Message, key: &str, value: Value<'_>) {
        let field = match of {
            Message::Resource => resource::ATTRIBUTES,
            Message::Span => span::ATTRIBUTES,
            Message::Event => event::ATTRIBUTES,
            Message::Link => link::ATTRIBUTES,
        };
        message(out, field, |out| {
            bytes(out, key_value::KEY, key.as_bytes());
            message(out, key_value::VALUE, |out| match value {
                Value::Text(text) => bytes(out, any_value::STRING, text.as_bytes()),
                Value::Number(number) => integer(out, any_value::INTEGER, number as u64),
            });
        });
    }

    fn name(&self, out: &mut Vec<u8>, name: &str) {
        bytes(out, span::NAME, name.as_bytes());
    }

    fn event(&self, out: &mut Vec<u8>, time: u64, name: &str, attributes: &[u8]) {
        message(out, span::EVENTS, |out| {
            fixed64(out, event::TIME, time);
            bytes(out, event::NAME, name.as_bytes());
            out.extend(attributes);
        });
    }

    fn link(&self, out: &mut Vec<u8>, to: Context, attributes: &[u8]) {
        message(out, span::LINKS, |out| {
            bytes(out, link::TRACE_ID, &to.trace.to_be_bytes());
            bytes(out, link::SPAN_ID, &to.span.to_be_bytes());
            out.extend(attributes);
        });
    }

    fn span(&self, out: &mut Vec<u8>, span: &Span<'_>) {
        bytes_head(out, scope_spans::SPANS, span_len(span));
        bytes(out, span::TRACE_ID, &span.context.trace.to_be_bytes());
        bytes(out, span::SPAN_ID, &span.context.span.to_be_bytes());
        if span.parent != 0 {
            bytes(out, span::PARENT_SPAN_ID, &span.parent.to_be_bytes());
        }
        out.extend(span.name);
        integer(out, span::KIND, KIND_INTERNAL);
        fixed64(out, span::START_TIME, span.start);
        fixed64(out, span::END_TIME, span.end);
        for attributes in span.attributes {
            out.extend(attributes);
        }
        out.extend(span.events);
        if span.dropped_events > 0 {
            let count = span.dropped_events.into();
            integer(out, span::DROPPED_EVENTS_COUNT, count);
        }
        out.extend(span.links);
        if let Some(text) = span.error {
            bytes_head(out, span::STATUS, status_len(text));
            if !text.is_empty() {
                bytes(out, status::MESSAGE, text.as_bytes());
            }
            integer(out, status::CODE, STATUS_ERROR);
        }
    }

    fn batch(&self, out: &mut Vec<u8>, resource: &[u8], spans: &[u8]) {
        let (name, version) = SCOPE;
        let mut scope = Vec::new();
        message(&mut scope, scope_spans::SCOPE, |out| {
            bytes(out, scope::NAME, name.as_bytes());
            bytes(out, scope::VERSION, version.as_bytes());
        });
        let scope_len = scope.len() + spans.len();
        let len = bytes_len(resource.len()) + bytes_len(scope_len);
        bytes_head(out, traces::RESOURCE_SPANS, len);
        bytes(out, resource_spans::RESOURCE, resource);
        bytes_head(out, resource_spans::SCOPE_SPANS, scope_len);
        out.extend(scope);
        out.extend(spans);
    }
}

/// Returns the length of a field of bytes. Keys below 16 take one byte, and no key here is larger.
fn bytes_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Returns the length of a span's fields.
#[inline]
fn span_len(span: &Span<'_>) -> usize {
    let attributes = span.attributes.iter().map(|bytes| bytes.len());
    let fixed = bytes_len(16) + bytes_len(8) + 2 + 2 * (1 + 8);
    let parent = if span.parent == 0 { 0 } else { bytes_len(8) };
    let dropped = match span.dropped_events {
        0 => 0,
        count => 1 + varint_len(count.into()),
    };
    let error = span.error.map_or(0, |text| bytes_len(status_len(text)));
    let written = span.name.len() + span.events.len() + span.links.len();
    fixed + parent + dropped + error + written + attributes.sum::<usize>()
}

/// Returns the length of the fields of a status.
fn status_len(text: &str) -> usize {
    match text.len() {
        0 => 2,
        len => bytes_len(len) + 2,
    }
}

/// Returns the length of the first batch in an export as protobuf. A batch can be sent as the body
/// of a request to `/v1/traces`. Returns `None` if no complete batch is there.
pub fn body_len(export: &[u8]) -> Option<usize> {
    let (mut len, mut at) = (0, 1);
    loop {
        let byte = *export.get(at)?;
        // A length has five bytes at most, because batches are short.
        len |= usize::from(byte & 0x7f) << (7 * (at - 1)).min(28);
        at += 1;
        if byte & 0x80 == 0 {
            break;
        }
    }
    (export.len() >= at + len).then_some(at + len)
}
