//! Recordings in several files.

use super::super::Recording;
use super::reader::{Chunk, read};
use super::{definitions, events_of, with};
use crate::testing::*;
use jtrail_model::*;

/// Returns the chunks of each file, of a trace whose parts are in files of their own.
fn files(parts: &[&[Event<'_>]]) -> Vec<Vec<Chunk>> {
    let files = encode_parts(Recording::default, parts);
    files.iter().map(|file| read(file)).collect()
}

#[test]
fn a_thread_starts_in_one_file() {
    let files = files(&[
        &definitions(),
        &[thread(2, 5, "second", "main"), enter(1, 10, 1, 1)],
        &[leave(1, 20, 1, 1)],
    ]);
    let starts = files
        .iter()
        .map(|chunks| events_of(chunks, &["jdk.ThreadStart"]).len());
    assert_eq!(starts.collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn the_maximum_length_of_stacks_is_known_in_all_files() {
    let limit = Event::Option(TraceOption {
        key: "stackdepth".into(),
        value: "2".into(),
    });
    let throw = |ns| {
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            time: time(ns),
            stack: vec![frame("a.B.f(I)V", 3), frame("x.Y.main()V", 9)],
            ..ExceptionThrow::default()
        })
    };
    let files = files(&[&with([limit, throw(10)]), &[throw(20)]]);
    for chunks in files {
        let throws = events_of(&chunks, &["jdk.JavaExceptionThrow"]);
        assert!(throws[0].contains("x/Y.main()V:9, …]"), "{throws:?}");
    }
}

#[test]
fn samples_are_made_in_no_file_if_the_trace_has_some() {
    let sample = Event::Sample(Sample {
        thread: ThreadId(1),
        time: time(1_000),
        state: ThreadState::Runnable,
        ticks: Ticks::new(1).expect("not 0"),
        stack: vec![frame("a.B.f(I)V", 3)],
    });
    let call = [enter(1, 2_000, 1, 1), leave(1, 9_000_000, 1, 1)];
    let count = |parts: &[&[Event<'_>]]| -> Vec<usize> {
        let samples = |chunks: &Vec<_>| events_of(chunks, &["jdk.ExecutionSample"]).len();
        files(parts).iter().map(samples).collect()
    };
    assert_eq!(count(&[&with([sample]), &call]), [1, 0]);
    let later = [enter(1, 10_000_000, 1, 2), leave(1, 12_500_000, 1, 2)];
    assert_eq!(count(&[&with(call), &later]), [8, 3]);
}

#[test]
fn a_wait_has_its_recorded_stack_in_all_files() {
    let wait = Event::ThreadPark(ThreadPark {
        thread: ThreadId(1),
        time: time(10),
        stack: vec![frame("x.Y.take()V", 5)],
        ..ThreadPark::default()
    });
    let files = files(&[
        &with([wait, enter(2, 20, 1, 1)]),
        &[leave(2, 30, 1, 1)],
        &[unpark(1, 40)],
    ]);
    for (chunks, start) in files.iter().zip([11, 21, 31]) {
        let parks = events_of(chunks, &["jdk.ThreadPark"]);
        let begin = format!("jdk.ThreadPark startTime={start} duration=10 ");
        assert!(parks[0].starts_with(&begin), "{parks:?}");
        assert!(parks[0].contains("[x/Y.take()V:5]"), "{parks:?}");
    }
}

#[test]
fn a_file_begins_where_the_preceding_one_ends() {
    let files = files(&[
        &with([process(7), enter(1, 1_000, 1, 1), alloc(1, 1_500, 16)]),
        &[alloc(1, 2_000, 32), leave(1, 3_000, 1, 1)],
    ]);
    let [first, second] = files.as_slice() else {
        panic!("{files:?}");
    };
    assert_eq!(first[0].start + first[0].length, second[0].start);
    let types = ["jdk.JVMInformation", "jdk.ActiveRecording"];
    for (chunks, start) in [(first, 1), (second, 1_501)] {
        let once = events_of(chunks, &types);
        assert_eq!(once.len(), 2, "{once:?}");
        let begins = format!("startTime={start} ");
        assert!(once.iter().all(|event| event.contains(&begins)), "{once:?}");
    }
    // The bytes of a thread are those since its start.
    let allocated = [first, second].map(|chunks| events_of(chunks, &["jdk.ThreadAllocationSt"]));
    assert!(allocated[0][0].contains("allocated=16 "), "{allocated:?}");
    assert!(allocated[1][0].contains("allocated=48 "), "{allocated:?}");
}
