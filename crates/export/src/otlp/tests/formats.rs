//! What the formats write, byte by byte.

use super::read::{read_json, read_protobuf};
use super::{Format, encode, export};
use crate::filter::CallFilter;
use crate::otlp::spans::without_package;
use crate::otlp::{MAX_BATCH, body_len};
use crate::testing::{class, enter, leave, method, thread};
use jtrail_model::Event;
use std::collections::BTreeSet;

#[test]
fn odd_names_pass_unharmed() {
    let long: String = "é\u{1f600}".repeat(11_000);
    for name in ["\"\\\u{0}\u{1}\n\t\u{7f}</script>", "\u{1f600}", "", &long] {
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let events = [
            thread(1, 0, name, "main"),
            class(1, name),
            method(1, name),
            enter(1, 10, 1, 1),
            leave(1, 20, 1, 1),
        ];
        let spans = export(CallFilter::default, &events);
        let expected = format!("{name}.{name}");
        assert_eq!(spans[0].name, expected);
        assert_eq!(spans[0].attributes["code.function.name"], expected);
        let thread = spans[0].attributes.get("thread.name");
        assert_eq!(thread.map_or("", |name| name), name);
    }
    for (class, short) in [
        ("a.b.C$D", "C$D"),
        ("C", "C"),
        ("a.$Proxy12", "$Proxy12"),
        ("a.B$$Lambda.0x7f00", "B$$Lambda.0x7f00"),
    ] {
        assert_eq!(without_package(class), short);
    }
}

#[test]
fn json_has_hexadecimal_ids_and_integers_as_texts() {
    let events = [class(1, "a.B"), method(1, "m\"\n"), enter(1, 10, 1, 1)];
    let (json, _) = encode(CallFilter::default(), Format::Json, &events);
    let json = String::from_utf8(json).expect("UTF-8");
    let (head, rest) = json.split_once("{\"traceId\":\"").expect("a span");
    let resource = ["service.name\",\"value\":{\"stringValue\":\"shop\"}}"].concat();
    assert!(head.contains(&resource), "{head}");
    let (ids, rest) = rest.split_at(32 + 12 + 16);
    let (trace, span) = (&ids[..32], &ids[44..]);
    for id in [trace, span] {
        let is_digit = |digit| matches!(digit, '0'..='9' | 'a'..='f');
        assert!(id.chars().all(is_digit), "{id}");
    }
    let expected = concat!(
        "\",\"name\":\"B.m\\\"\\n\",\"kind\":1",
        ",\"startTimeUnixNano\":\"1700000000000000010\"",
        ",\"endTimeUnixNano\":\"1700000000000000010\",\"attributes\":[",
        "{\"key\":\"code.function.name\",\"value\":{\"stringValue\":\"a.B.m\\\"\\n\"}},",
        "{\"key\":\"jtrail.descriptor\",\"value\":{\"stringValue\":\"(I)V\"}},",
        "{\"key\":\"thread.id\",\"value\":{\"intValue\":\"1\"}},",
        "{\"key\":\"thread.name\",\"value\":{\"stringValue\":\"thread-1\"}}]}]}]}]}\n",
    );
    assert_eq!(rest, expected);
}

/// Returns calls that all begin and end at one time.
fn many(count: u32) -> Vec<Event<'static>> {
    let mut events = vec![class(1, "a.B"), method(1, "m"), method(2, "root")];
    for root in 0..2 {
        let outer = root * (count + 1);
        events.push(enter(1, 5, 2, outer));
        for ticket in outer + 1..=outer + count {
            events.push(enter(1, 5, 1, ticket));
            events.push(leave(1, 5, 1, ticket));
        }
        events.push(leave(1, 5, 2, outer));
    }
    events
}

#[test]
fn batches_are_complete_requests() {
    let events = many(10_000);
    let (mut rest, size) = encode(CallFilter::default(), Format::Protobuf, &events);
    assert_eq!(size, 10_001, "spans of the larger trace");
    let mut ids = BTreeSet::new();
    let mut batches = 0;
    while let Some(len) = body_len(&rest) {
        assert_eq!(body_len(&rest[..len - 1]), None);
        assert!(len < MAX_BATCH + 1000, "{len} bytes");
        let batch: Vec<u8> = rest.drain(..len).collect();
        for span in read_protobuf(&batch) {
            assert_eq!(span.resource["service.name"], "shop");
            assert!(ids.insert(span.id), "ids are unique");
        }
        batches += 1;
    }
    assert_eq!((ids.len(), rest.len()), (20_002, 0));
    assert!(batches >= 3, "{batches} batches");
    let (json, _) = encode(CallFilter::default(), Format::Json, &events);
    assert_eq!(read_json(&json).len(), 20_002);
    assert_eq!(body_len(&[]), None);
    assert_eq!(body_len(&[0x0a, 0xff]), None);
    assert_eq!(body_len(&[0x0a; 12]), Some(12));
    assert_eq!(body_len(&[0xff; 100]), None);
}

#[test]
fn formats_go_by_file_names() {
    for (name, format) in [
        ("a.otlp.pb", Format::Protobuf),
        ("a.otlp.json", Format::Json),
        ("a.otlp.jsonl", Format::Json),
        ("a", Format::Protobuf),
    ] {
        assert_eq!(Format::by_file_name(name), format, "{name}");
    }
    let empty = encode(CallFilter::default(), Format::Protobuf, &[class(1, "a.B")]);
    assert_eq!(empty, (Vec::new(), 0));
}
