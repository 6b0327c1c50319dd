use super::super::Builder;
use super::super::json::{Json, decimal};
use super::reader::*;
use crate::testing::*;
use jtrail_model::*;
use serde_json::{Value, json};

#[test]
fn threads_have_their_times_and_an_order() {
    let start = |id, ns, name| thread(id, ns, name, "main");
    let events = [
        start(1, 0, "nothing"),
        start(2, 0, "only waits"),
        park(2, 1),
        start(3, 2_000_000, "calls"),
        enter(3, 3_000_000, 1, 1),
        Event::TracePause(TracePause {
            time: time(3_500_000),
        }),
        Event::TraceResume(TraceResume {
            time: time(3_600_000),
        }),
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(3),
            time: time(4_000_000),
        }),
    ];
    let profile = profile(&events);
    let names = profile["threads"].as_array().expect("threads").iter();
    let names: Vec<_> = names.map(|thread| thread["name"].as_str()).collect();
    assert_eq!(names, [Some("JVM"), Some("calls"), Some("only waits")]);
    let thread = &profile["threads"][1];
    assert_eq!(ns(&thread["registerTime"]), 2_000_000);
    assert_eq!(ns(&thread["unregisterTime"]), 4_000_000);
    assert_eq!(thread["tid"], 3);
    let pause = json!([{"startTime": 3.5, "endTime": 3.6, "reason": "profiler-paused"}]);
    assert_eq!(thread["pausedRanges"], pause);
    let meta = &profile["meta"];
    assert_eq!(meta["initialVisibleThreads"], json!([0, 1]));
    assert_eq!(meta["initialSelectedThreads"], json!([1]));
    assert_eq!(meta["preprocessedProfileVersion"], 66);
    assert_eq!(meta["startTime"], START / 1_000_000);
}

#[test]
fn an_empty_trace_is_a_profile() {
    let profile = profile(&[]);
    assert_eq!(profile["threads"].as_array().map(Vec::len), Some(1));
    assert_eq!(profile["counters"], json!([]));
}

#[test]
fn odd_names_pass_unharmed() {
    let long: &'static str = "é".repeat(1 << 15).leak();
    for odd in ["a\"b\\c", "</script>", "\0\u{1}\u{7f}\n", "🦊", long] {
        let events = [
            thread(1, 0, odd, "main"),
            class(1, "B"),
            method(1, odd),
            enter(1, 1, 1, 1),
            leave(1, 2, 1, 1),
            mark(odd),
        ];
        let profile = profile(&events);
        let table = &thread_named(&profile, odd)["samples"];
        let (frames, _) = stack(&profile, &table["stack"][1]);
        assert_eq!(frames, format!("B.{odd}(int)"));
        let text = index(&profile["threads"][0]["markers"]["data"][0]["text"]);
        assert_eq!(profile["shared"]["stringArray"][text], odd);
    }
}

#[test]
fn milliseconds_keep_nanoseconds() {
    let cases = [
        (0, "0"),
        (1, "0.000001"),
        (-1, "-0.000001"),
        (120, "0.00012"),
        (1_000_000, "1"),
        (-2_500_000, "-2.5"),
        (1_234_567_891, "1234.567891"),
        (i64::MAX, "9223372036854.775807"),
        (i64::MIN, "-9223372036854.775808"),
    ];
    for (value, expected) in cases {
        let mut out = Vec::new();
        decimal(&mut out, value, 6);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}

#[test]
fn a_text_longer_than_a_batch_is_whole() {
    let mut json = Json::new();
    json.raw("{");
    json.integers("n", 0..100_000);
    json.length(100_000);
    let value: Value = serde_json::from_str(&unpack(&json.finish())).expect("JSON");
    assert_eq!(rows(&value), 100_000);
    assert_eq!(value["n"][99_999], 99_999);
}

#[test]
fn a_file_begins_where_the_preceding_one_ends() {
    let pause = |ns| Event::TracePause(TracePause { time: time(ns) });
    let first = [
        thread(3, 0, "main", "main"),
        enter(3, 1_000_000, 1, 1),
        pause(4_000_000),
    ];
    let second = [
        Event::TraceResume(TraceResume {
            time: time(5_000_000),
        }),
        leave(3, 6_000_000, 1, 1),
    ];
    let files = encode_parts(Builder::default, &[&first, &second]);
    let profile: Value = serde_json::from_str(&unpack(&files[1])).expect("JSON");
    let meta = &profile["meta"];
    assert_eq!(meta["startTime"], START / 1_000_000 + 4);
    assert_eq!(ns(&meta["profilingEndTime"]), 2_000_000);
    let thread = thread_named(&profile, "main");
    assert_eq!(ns(&thread["registerTime"]), 0);
    let pause = json!([{"startTime": 0.0, "endTime": 1.0, "reason": "profiler-paused"}]);
    assert_eq!(thread["pausedRanges"], pause);
}
