//! OTLP as JSON: ids in hexadecimal, and integers of 64 bits as texts.
//!
//! Elements of an array are followed by a comma. It is removed at the array's end.

use super::context::Context;
use super::wire::{KIND_INTERNAL, Message, SCOPE, STATUS_ERROR, Span, Value, Wire};

/// Writes JSON.
#[derive(Debug)]
pub(crate) struct Json;

impl Wire for Json {
    fn attribute(&self, out: &mut Vec<u8>, _: Message, key: &str, value: Value<'_>) {
        out.extend(b"{\"key\":");
        string(out, key);
        match value {
            Value::Text(text) => {
                out.extend(b",\"value\":{\"stringValue\":");
                string(out, text);
            }
            Value::Number(number) => {
                out.extend(b",\"value\":{\"intValue\":\"");
                if number < 0 {
                    out.push(b'-');
                }
                decimal(out, number.unsigned_abs());
                out.push(b'"');
            }
        }
        out.extend(b"}},");
    }

    fn name(&self, out: &mut Vec<u8>, name: &str) {
        string(out, name);
    }

    fn event(&self, out: &mut Vec<u8>, time: u64, name: &str, attributes: &[u8]) {
        out.extend(b"{\"timeUnixNano\":\"");
        decimal(out, time);
        out.extend(b"\",\"name\":");
        string(out, name);
        array(out, b",\"attributes\":[", [attributes]);
        out.extend(b"},");
    }

    fn link(&self, out: &mut Vec<u8>, to: Context, attributes: &[u8]) {
        out.extend(b"{\"traceId\":\"");
        hexadecimal(out, &to.trace.to_be_bytes());
        out.extend(b"\",\"spanId\":\"");
        hexadecimal(out, &to.span.to_be_bytes());
        out.push(b'"');
        array(out, b",\"attributes\":[", [attributes]);
        out.extend(b"},");
    }

    fn span(&self, out: &mut Vec<u8>, span: &Span<'_>) {
        out.extend(b"{\"traceId\":\"");
        hexadecimal(out, &span.context.trace.to_be_bytes());
        out.extend(b"\",\"spanId\":\"");
        hexadecimal(out, &span.context.span.to_be_bytes());
        if span.parent != 0 {
            out.extend(b"\",\"parentSpanId\":\"");
            hexadecimal(out, &span.parent.to_be_bytes());
        }
        out.extend(b"\",\"name\":");
        out.extend(span.name);
        out.extend(b",\"kind\":");
        decimal(out, KIND_INTERNAL);
        out.extend(b",\"startTimeUnixNano\":\"");
        decimal(out, span.start);
        out.extend(b"\",\"endTimeUnixNano\":\"");
        decimal(out, span.end);
        out.push(b'"');
        array(out, b",\"attributes\":[", span.attributes);
        array(out, b",\"events\":[", [span.events]);
        if span.dropped_events > 0 {
            out.extend(b",\"droppedEventsCount\":");
            decimal(out, span.dropped_events.into());
        }
        array(out, b",\"links\":[", [span.links]);
        if let Some(text) = span.error {
            out.extend(b",\"status\":{");
            if !text.is_empty() {
                out.extend(b"\"message\":");
                string(out, text);
                out.push(b',');
            }
            out.extend(b"\"code\":");
            decimal(out, STATUS_ERROR);
            out.push(b'}');
        }
        out.extend(b"},");
    }

    fn batch(&self, out: &mut Vec<u8>, resource: &[u8], spans: &[u8]) {
        let (name, version) = SCOPE;
        out.extend(b"{\"resourceSpans\":[{\"resource\":{");
        array(out, b"\"attributes\":[", [resource]);
        out.extend(b"},\"scopeSpans\":[{\"scope\":{\"name\":");
        string(out, name);
        out.extend(b",\"version\":");
        string(out, version);
        out.push(b'}');
        array(out, b",\"spans\":[", [spans]);
        out.extend(b"}]}]}\n");
    }
}

/// Appends an array, unless it is empty.
fn array<const N: usize>(out: &mut Vec<u8>, head: &[u8], elements: [&[u8]; N]) {
    if elements.iter().all(|elements| elements.is_empty()) {
        return;
    }
    out.extend(head);
    for elements in elements {
        out.extend(elements);
    }
    out.pop();
    out.push(b']');
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hexadecimal(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        out.extend(digits);
    }
}

fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(&digits[at..]);
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let needs_escape = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(needs_escape) {
        out.extend(&rest[..at]);
        match rest[at] {
            b'\n' => out.extend(b"\\n"),
            byte if byte < b' ' => {
                out.extend(b"\\u00");
                hexadecimal(out, &[byte]);
            }
            byte => out.extend([b'\\', byte]),
        }
        rest = &rest[at + 1..];
    }
    out.extend(rest);
    out.push(b'"');
}
