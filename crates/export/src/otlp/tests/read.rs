//! Reads exports, as the protocol's documents describe them.

use serde_json::Value;
use std::collections::BTreeMap;

type Pairs = BTreeMap<String, String>;

/// A span with its ids in hexadecimal. Absent texts are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ReadSpan {
    pub(super) resource: Pairs,
    pub(super) scope: String,
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: u64,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) attributes: Pairs,
    pub(super) events: Vec<(i64, String, Pairs)>,
    pub(super) dropped_events: u64,
    pub(super) links: Vec<(String, String)>,
    /// The status message, if the status is an error.
    pub(super) error: Option<String>,
}

/// A message of protocol buffers, as its fields by number.
#[derive(Default)]
struct Message<'b> {
    integers: BTreeMap<u64, u64>,
    bytes: BTreeMap<u64, Vec<&'b [u8]>>,
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

impl<'b> Message<'b> {
    fn new(mut rest: &'b [u8]) -> Self {
        let mut message = Self::default();
        while !rest.is_empty() {
            let key = varint(&mut rest);
            let field = key >> 3;
            match key & 7 {
                0 => _ = message.integers.insert(field, varint(&mut rest)),
                1 => {
                    let (value, after) = rest.split_first_chunk().expect("8 bytes");
                    rest = after;
                    message.integers.insert(field, u64::from_le_bytes(*value));
                }
                2 => {
                    let len = varint(&mut rest) as usize;
                    let (value, after) = rest.split_at(len);
                    rest = after;
                    message.bytes.entry(field).or_default().push(value);
                }
                wire_type => panic!("wire type {wire_type}"),
            }
        }
        message
    }

    fn integer(&self, field: u64) -> u64 {
        self.integers.get(&field).copied().unwrap_or(0)
    }

    fn time(&self, field: u64) -> i64 {
        i64::try_from(self.integer(field)).expect("a time")
    }

    fn all(&self, field: u64) -> Vec<Message<'b>> {
        let found = self.bytes.get(&field).into_iter().flatten();
        found.map(|bytes| Message::new(bytes)).collect()
    }

    fn text(&self, field: u64) -> String {
        let found = self.bytes.get(&field).map_or(&[][..], |all| all[0]);
        String::from_utf8(found.to_vec()).expect("UTF-8")
    }

    fn id(&self, field: u64) -> String {
        let found = self.bytes.get(&field).map_or(&[][..], |all| all[0]);
        found.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the attributes of a field.
    fn pairs(&self, field: u64) -> Pairs {
        let pair = |pair: Message<'_>| {
            let value = pair.all(2).pop().expect("a value");
            let value = match value.integers.get(&3) {
                Some(number) => (*number as i64).to_string(),
                None => value.text(1),
            };
            (pair.text(1), value)
        };
        self.all(field).into_iter().map(pair).collect()
    }
}

/// Reads a `TracesData` message.
pub(super) fn read_protobuf(bytes: &[u8]) -> Vec<ReadSpan> {
    let mut spans = Vec::new();
    for resource_spans in Message::new(bytes).all(1) {
        let resource = resource_spans.all(1).pop().expect("a resource").pairs(1);
        for scope_spans in resource_spans.all(2) {
            let scope = scope_spans.all(1).pop().expect("a scope");
            let scope = format!("{} {}", scope.text(1), scope.text(2));
            for span in scope_spans.all(2) {
                spans.push(ReadSpan {
                    resource: resource.clone(),
                    scope: scope.clone(),
                    ..protobuf_span(&span)
                });
            }
        }
    }
    spans
}

fn protobuf_span(span: &Message<'_>) -> ReadSpan {
    let event = |event: Message<'_>| (event.time(1), event.text(2), event.pairs(3));
    let link = |link: Message<'_>| {
        assert_eq!(link.pairs(4)["jtrail.link"], "owner of the monitor");
        (link.id(1), link.id(2))
    };
    let status = span.all(15).pop();
    ReadSpan {
        trace: span.id(1),
        id: span.id(2),
        parent: span.id(4),
        name: span.text(5),
        kind: span.integer(6),
        start: span.time(7),
        end: span.time(8),
        attributes: span.pairs(9),
        events: span.all(11).into_iter().map(event).collect(),
        dropped_events: span.integer(12),
        links: span.all(13).into_iter().map(link).collect(),
        error: status.map(|status| {
            assert_eq!(status.integer(3), 2);
            status.text(2)
        }),
        ..ReadSpan::default()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |list| list)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn time(value: &Value) -> i64 {
    value.as_str().expect("a text").parse().expect("a number")
}

fn pairs(value: &Value) -> Pairs {
    let pair = |pair: &Value| {
        let value = &pair["value"];
        let value = value.get("intValue").unwrap_or(&value["stringValue"]);
        (
            text(&pair["key"]),
            value.as_str().expect("a text").to_owned(),
        )
    };
    list(&value["attributes"]).iter().map(pair).collect()
}

/// Reads lines of `TracesData` messages.
pub(super) fn read_json(bytes: &[u8]) -> Vec<ReadSpan> {
    let mut spans = Vec::new();
    for line in std::str::from_utf8(bytes).expect("UTF-8").lines() {
        let traces: Value = serde_json::from_str(line).expect("JSON");
        for resource_spans in list(&traces["resourceSpans"]) {
            let resource = pairs(&resource_spans["resource"]);
            for scope_spans in list(&resource_spans["scopeSpans"]) {
                let scope = &scope_spans["scope"];
                let scope = format!("{} {}", text(&scope["name"]), text(&scope["version"]));
                for span in list(&scope_spans["spans"]) {
                    spans.push(ReadSpan {
                        resource: resource.clone(),
                        scope: scope.clone(),
                        ..json_span(span)
                    });
                }
            }
        }
    }
    spans
}

fn json_span(span: &Value) -> ReadSpan {
    let event = |event: &Value| {
        let name = text(&event["name"]);
        (time(&event["timeUnixNano"]), name, pairs(event))
    };
    let link = |link: &Value| (text(&link["traceId"]), text(&link["spanId"]));
    let status = span.get("status");
    ReadSpan {
        trace: text(&span["traceId"]),
        id: text(&span["spanId"]),
        parent: text(&span["parentSpanId"]),
        name: text(&span["name"]),
        kind: span["kind"].as_u64().expect("a kind"),
        start: time(&span["startTimeUnixNano"]),
        end: time(&span["endTimeUnixNano"]),
        attributes: pairs(span),
        events: list(&span["events"]).iter().map(event).collect(),
        dropped_events: span["droppedEventsCount"].as_u64().unwrap_or(0),
        links: list(&span["links"]).iter().map(link).collect(),
        error: status.map(|status| {
            assert_eq!(status["code"], 2);
            text(&status["message"])
        }),
        ..ReadSpan::default()
    }
}
