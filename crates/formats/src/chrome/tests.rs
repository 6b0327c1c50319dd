use super::{Decoder, is_begin};
use crate::Severity;
use crate::testing::{Decoding, decoded, decoded_in_pieces};

fn read(file: impl AsRef<[u8]>) -> Decoding {
    decoded::<Decoder>(file.as_ref())
}

/// Returns the begins and ends of calls.
fn calls(file: &str) -> Vec<String> {
    let mut events = read(file).events;
    events.retain(|event| event.contains(" enters ") || event.contains(" leaves "));
    events
}

fn messages(file: &str) -> Vec<String> {
    read(file)
        .remarks
        .into_iter()
        .map(|(_, text)| text)
        .collect()
}

const NESTED: &str = r#"
    {"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"main"}},
    {"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"labels":[],"name":"shop"}},
    {"name":"a.B.inner(int)","ph":"X","ts":1.5,"dur":0.25,"pid":1,"tid":7},
    {"name":"a.B.outer","ph":"B","ts":1,"pid":1,"tid":7,"args":{"deep":[[{}]]}},
    {"ph":"E","ts":2.000999,"pid":1,"tid":7},
    {"name":"x","ph":"X","ts":"1.75","dur":1,"pid":1,"tid":"worker \"2\""}
"#;

const EVENTS: [&str; 13] = [
    "thread 1 \"main\" \"shop\" at 1000",
    "thread 2 \"worker \\\"2\\\"\" \"shop\" at 1750",
    "class 3 \"a.B\"",
    "method 4 3 \"outer\" \"\"",
    "1 enters 4 at 1000 (1, depth 1)",
    "method 5 3 \"inner\" \"(int)\"",
    "1 enters 5 at 1500 (2, depth 2)",
    "1 leaves 5 at 1750 (2)",
    "class 6 \"?\"",
    "method 7 6 \"x\" \"\"",
    "2 enters 7 at 1750 (1, depth 1)",
    "1 leaves 4 at 2000 (1)",
    "2 leaves 7 at 2750 (1)",
];

#[test]
fn both_forms_of_the_document_are_read() {
    for file in [
        format!("[{NESTED}]"),
        format!("\u{feff} [{NESTED},"),
        format!("[{NESTED}"),
        format!(r#"{{"traceEvents" : [{NESTED}]}}"#),
        format!(
            r#"{{"otherData":{{"a":"]}}\"","traceEvents":[1]}},"b":-1.5e3, "c":null,
               "traceEvents":[{NESTED}],"displayTimeUnit":"ns"}} "#
        ),
    ] {
        let decoding = read(&file);
        assert_eq!((decoding.remarks, decoding.error), (vec![], None), "{file}");
        assert_eq!(decoding.events, EVENTS);
    }
}

#[test]
fn events_of_one_time_nest() {
    let file = r#"[
        {"name":"c","ph":"X","ts":1,"dur":2,"tid":1},
        {"name":"b","ph":"X","ts":1,"dur":3,"tid":1},
        {"name":"d","ph":"B","ts":3,"tid":1},
        {"name":"d","ph":"E","ts":3,"tid":1},
        {"name":"e","ph":"X","ts":4,"dur":0,"tid":1}
    ]"#;
    let expected = [
        "1 enters 3 at 1000 (1, depth 1)",
        "1 enters 4 at 1000 (2, depth 2)",
        "1 leaves 4 at 3000 (2)",
        "1 enters 5 at 3000 (3, depth 2)",
        "1 leaves 5 at 3000 (3)",
        "1 leaves 3 at 4000 (1)",
        "1 enters 6 at 4000 (4, depth 1)",
        "1 leaves 6 at 4000 (4)",
    ];
    assert_eq!(calls(file), expected);
    assert_eq!(messages(file), [""; 0]);
}

#[test]
fn slices_that_do_not_nest_are_cut() {
    let file = r#"[
        {"name":"a","ph":"X","ts":1,"dur":4},
        {"name":"b","ph":"X","ts":2,"dur":9},
        {"name":"c","ph":"B","ts":3},
        {"name":"c","ph":"E","ts":7},
        {"name":"d","ph":"B","ts":8},
        {"name":"e","ph":"B","ts":9},
        {"name":"d","ph":"E","ts":10},
        {"ph":"E","ts":11},
        {"name":"f","ph":"B","ts":12}
    ]"#;
    let times = calls(file);
    let times: Vec<_> = times
        .iter()
        .map(|call| {
            let mut words = call.split(' ');
            (words.nth(1).unwrap_or(""), words.nth(2).unwrap_or(""))
        })
        .collect();
    let expected = [
        ("enters", "1000"),
        ("enters", "2000"),
        ("enters", "3000"),
        ("leaves", "5000"),
        ("leaves", "5000"),
        ("leaves", "5000"),
        ("enters", "8000"),
        ("enters", "9000"),
        ("leaves", "10000"),
        ("leaves", "10000"),
        ("enters", "12000"),
    ];
    assert_eq!(times, expected);
    let remarks = [
        "skipped: ends without a begin (2)",
        "slices that do not nest, and end with the slice around them (3)",
    ];
    assert_eq!(messages(file), remarks);
}

#[test]
fn what_does_not_fit_is_counted() {
    for (event, message) in [
        (r#"{"ph":"C","ts":1}"#, "skipped: events of type C (1)"),
        (
            r#"{"ph":"M","name":"sort","args":{}}"#,
            "skipped: metadata sort (1)",
        ),
        (
            r#"{"ts":1}"#,
            "skipped: elements that are no trace events (1)",
        ),
        ("7", "skipped: elements that are no trace events (1)"),
        (
            r#"{"ph":"B"  1}"#,
            "skipped: elements that are no trace events (1)",
        ),
        (
            r#"{"ph":"B","name":"a"}"#,
            "skipped: events without a time, a length or a name (1)",
        ),
        (
            r#"{"ph":"X","name":"a","ts":1}"#,
            "skipped: events without a time, a length or a name (1)",
        ),
        (
            r#"{"ph":"B","ts":1}"#,
            "skipped: events without a time, a length or a name (1)",
        ),
        (
            r#"{"ph":"X","name":"a","ts":1,"dur":-1}"#,
            "lengths below 0, read as 0 (1)",
        ),
    ] {
        let found = messages(&format!("[{event}]"));
        assert_eq!(found.len(), 1, "{event} {found:?}");
        assert!(
            found[0].ends_with(message.trim_start_matches("skipped: ")),
            "{found:?}"
        );
    }
    let decoding = read(
        r#"[{"ph":"B","ts":1,"name":"a\ud800"},{"ph":"B","ts":2,"name":"a\ud801"},
            {"ph":"M","name":"thread_name","args":{"name":"\udfff"}}]"#,
    );
    assert_eq!(decoding.remarks, []);
    assert_eq!(decoding.events[0], "thread 1 \"\\\\udfff\" \"\" at 1000");
    assert_eq!(decoding.events[2], "method 3 2 \"a\\\\ud800\" \"\"");
    assert_eq!(decoding.events[4], "method 4 2 \"a\\\\ud801\" \"\"");
    let decoding = read(b"[{\"ph\":\"B\",\"ts\":1,\"name\":\"\xff\"}]");
    assert_eq!(decoding.events[2], "method 3 2 \"\u{fffd}\" \"\"");
    assert_eq!(decoding.remarks.len(), 1);
}

#[test]
fn a_truncated_document_is_read_up_to_its_end() {
    for file in [
        format!(r#"{{"traceEvents":[{NESTED}"#),
        format!(r#"{{"traceEvents":[{NESTED}]"#),
        format!(r#"{{"traceEvents":[{NESTED}],"a":["#),
        format!(r#"{{"traceEvents":[{NESTED}],"a""#),
        format!(r#"[{NESTED},{{"ph":"#),
    ] {
        let decoding = read(&file);
        assert_eq!(decoding.events, EVENTS, "{file}");
        let message = "the document is truncated".to_owned();
        assert_eq!(decoding.remarks, [(Severity::Truncated, message)]);
    }
    let decoding = read(format!("[{NESTED}] x"));
    let message = "something follows the end of the document".to_owned();
    assert_eq!(decoding.remarks, [(Severity::Fault, message)]);
    let decoding = read(format!(r#"{{"traceEvents":[{NESTED}] x"#));
    let message = "what follows is no JSON".to_owned();
    assert_eq!(decoding.remarks, [(Severity::Fault, message)]);
}

#[test]
fn other_documents_are_refused() {
    for (file, message) in [
        (r#"{"a":1}"#, "the JSON document has no traceEvents"),
        (
            r#"{"traceEvents":{}}"#,
            "the JSON document has no traceEvents",
        ),
        (r#"{"a":"#, "the JSON document has no traceEvents"),
        (r#"{"a" 1}"#, "it is no JSON"),
        (r#"{"a":}"#, "it is no JSON"),
        (r#"{"a":1 b}"#, "it is no JSON"),
    ] {
        let decoding = read(file);
        let error = decoding.error.map(|error| error.message);
        assert_eq!(error.as_deref(), Some(message), "{file}");
    }
    for (head, expected) in [
        ("[{", true),
        (" [ ]", true),
        ("{\n\"", true),
        ("{}", true),
        ("[1", false),
        ("[main];a 1", false),
        ("{a", false),
        ("", false),
        ("[", false),
    ] {
        assert_eq!(is_begin(head.as_bytes()), expected, "{head}");
    }
}

#[test]
fn hostile_documents_take_no_stack() {
    let deep = format!(
        r#"[{{"ph":"B","ts":1,"name":"a","args":{}"#,
        "[".repeat(1 << 20)
    );
    let decoding = decoded_in_pieces(Decoder::default(), deep.as_bytes(), 1 << 16);
    assert_eq!(decoding.remarks.len(), 1);
    let args = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    let deep = format!(r#"[{{"ph":"B","ts":1,"name":"a","args":{args}}}]"#);
    let decoding = decoded_in_pieces(Decoder::default(), deep.as_bytes(), 1 << 20);
    assert_eq!((decoding.events.len(), decoding.remarks.len()), (4, 0));
    let mut many = String::from("[");
    for time in 0..100_000 {
        many += &format!(r#"{{"ph":"B","ts":{time},"name":"a"}},"#);
    }
    for time in 0..100_000 {
        many += &format!(r#"{{"ph":"E","ts":{time},"name":"b"}},"#);
    }
    let decoding = decoded_in_pieces(Decoder::default(), many.as_bytes(), 1 << 16);
    assert_eq!(decoding.events.len(), 100_003);
    assert_eq!(decoding.remarks.len(), 1);
}
