//! Chunks, and what they share.

use super::super::Recording;
use super::reader::Chunk;
use super::{chunks, definitions, events_of, with};
use crate::filter::CallFilter;
use crate::sink::Sink;
use crate::testing::{enter, leave, time};
use jtrail_model::*;

/// Asserts that chunks follow one another, and that a key stands for one constant.
pub(super) fn check_chunks(chunks: &[Chunk]) {
    for pair in chunks.windows(2) {
        assert_eq!(pair[0].start + pair[0].length, pair[1].start);
        assert!(!pair[0].is_final);
        for (key, constant) in &pair[1].constants {
            if let Some(previous) = pair[0].constants.get(key) {
                assert_eq!(previous, constant, "{key:?}");
            }
        }
    }
    assert!(chunks.iter().all(|chunk| chunk.length > 0));
    assert!(chunks.last().is_some_and(|chunk| chunk.is_final));
}

#[test]
fn chunks_share_the_keys_of_constants() {
    // So many methods that paths are forgotten several times, while the outermost call is open.
    let names = (3..5_003).map(|id| {
        Event::MethodDef(MethodDef {
            method: MethodId(id),
            class: ClassId(1),
            name: format!("m{id}").into(),
            signature: "()V".into(),
            ..MethodDef::default()
        })
    });
    let mut trace = with(names);
    trace.push(enter(1, 0, 1, 1));
    for number in 0..5_000 {
        let (ns, method, ticket) = (1 + 10 * number as i64, 3 + number, 2 + 2 * number as u32);
        trace.extend([
            enter(1, ns, method, ticket),
            enter(1, ns + 1, 2, ticket + 1),
            leave(1, ns + 2, 2, ticket + 1),
            leave(1, ns + 5, method, ticket),
        ]);
    }
    trace.push(leave(1, 60_000, 1, 1));
    let chunks = chunks(&trace);
    assert!(chunks.len() > 4, "{} chunks", chunks.len());
    check_chunks(&chunks);
    let calls = events_of(&chunks, &["jdk.MethodTrace"]);
    assert_eq!(calls.len(), 10_001);
    for (number, pair) in calls.as_chunks::<2>().0.iter().enumerate() {
        let (inner, outer) = (3 + 10 * number, 2 + 10 * number);
        let name = format!("a/B.m{}()V", number + 3);
        assert_eq!(
            *pair,
            [
                format!(
                    "jdk.MethodTrace startTime={inner} duration=1 eventThread=main stackTrace=[{name}:0, a/B.f(I)V:0] method=a/B.g(I)V"
                ),
                format!(
                    "jdk.MethodTrace startTime={outer} duration=5 eventThread=main stackTrace=[a/B.f(I)V:0] method={name}"
                ),
            ]
        );
    }
}

#[test]
fn renamed_threads_get_another_key() {
    let mut trace = definitions();
    let calls = |from: i64| {
        (from..from + 10_000).flat_map(|number| {
            let ticket = number as u32 + 1;
            [
                enter(1, number * 4, 1, ticket),
                leave(1, number * 4 + 1, 1, ticket),
            ]
        })
    };
    trace.extend(calls(0));
    trace.push(Event::ThreadName(ThreadName {
        thread: ThreadId(1),
        time: time(40_000),
        name: "worker".into(),
    }));
    trace.extend(calls(10_000));
    let chunks = chunks(&trace);
    assert!(chunks.len() > 2, "{} chunks", chunks.len());
    check_chunks(&chunks);
    let calls = events_of(&chunks, &["jdk.MethodTrace"]);
    let of = |name: &str| {
        let thread = format!("eventThread={name} ");
        calls.iter().filter(|call| call.contains(&thread)).count()
    };
    assert_eq!([of("main"), of("worker")], [10_000, 10_000]);
}

#[test]
fn an_empty_trace_is_a_recording() {
    let chunks = chunks(&[]);
    assert_eq!(chunks.len(), 1);
    assert!(chunks[0].is_final && chunks[0].length > 0, "{chunks:?}");
    assert_eq!(events_of(&chunks, &["jdk"]).len(), 1, "{chunks:?}");
}

#[test]
fn the_ceiling_counts_events() {
    let mut timeline = crate::timeline::Timeline::new(CallFilter::default(), Recording::default);
    let mut out = Vec::new();
    for event in with([enter(1, 0, 1, 1), enter(1, 1, 2, 2), leave(1, 3, 2, 2)]) {
        jtrail_formats::Encode::event(&mut timeline, &event, &mut out);
    }
    assert_eq!(timeline.sink().size(), 3); // a thread start, a call, and a sample made from it
    assert!(out.is_empty(), "a chunk is written when it is complete");
}

#[test]
fn deep_stacks_lose_their_outermost_frames() {
    let enters = (0..300).map(|level| enter(1, level, 1 + u64::from(level == 0), level as u32 + 1));
    let chunks = chunks(&with(enters));
    let calls = events_of(&chunks, &["jdk.MethodTrace"]);
    let frames = |call: &String| call.matches("a/B.f(I)V:0").count();
    assert_eq!(frames(&calls[0]), 256);
    assert!(calls[0].contains(":0, …]") && !calls[0].contains("a/B.g"));
    // 255 callers and the outermost one.
    let complete = &calls[299 - 256];
    assert_eq!(frames(complete), 255);
    assert!(complete.contains("a/B.g(I)V:0]"), "{complete}");
}
