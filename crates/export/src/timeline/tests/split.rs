//! Exports in several files.

use crate::chrome::TraceEvents;
use crate::collapsed::{Weight, Writer};
use crate::profile::Profiler;
use crate::target::{Options, Target};
use crate::testing::*;
use jtrail_model::*;

fn texts(files: Vec<Vec<u8>>) -> Vec<String> {
    let files = files.into_iter().map(String::from_utf8);
    files.map(|file| file.expect("UTF-8")).collect()
}

#[test]
fn counters_have_their_values_in_all_files() {
    let first = [
        thread(1, 0, "main", "main"),
        thread(2, 0, "second", "main"),
        Event::GcStart(GcStart { time: time(1_000) }),
        Event::GcFinish(GcFinish {
            time: time(2_000),
            used_space: 77,
            ..GcFinish::default()
        }),
    ];
    let second = [enter(1, 3_000, 1, 1), leave(1, 4_000, 1, 1)];
    let files = texts(encode_parts(TraceEvents::default, &[&first, &second]));
    let values: Vec<_> = files[1]
        .lines()
        .filter(|line| line.contains(r#""C""#))
        .collect();
    assert_eq!(values.len(), 2, "{values:?}");
    let heap = r#""ts":2.000,"name":"Heap used","args":{"bytes":77}"#;
    let threads = r#""ts":2.000,"name":"Live","args":{"threads":2}"#;
    assert!(
        values[0].contains(heap) && values[1].contains(threads),
        "{values:?}"
    );
}

/// A file may be full between the begin and the end of a sum.
#[test]
fn sums_are_divided() {
    let first = [
        thread(1, 0, "main", "main"),
        class(1, "a.B"),
        method(1, "f"),
        method(2, "g"),
        method(3, "h"),
        enter(1, 0, 1, 1),
        leave(1, 1_000, 1, 1),
        begin_sum(1, 1, 0, -700),
        begin_sum(1, 2, 3, 300),
    ];
    let second = [
        begin_sum(1, 3, 2, 400),
        end_sum(1, 3),
        end_sum(1, 2),
        end_sum(1, 1),
    ];
    let make_sink = || Profiler::new(Writer::new(Weight::Calls, false));
    let files = texts(encode_parts(make_sink, &[&first, &second]));
    assert_eq!(files[0], "a.B.f(int) 1\na.B.f(int);a.B.g(int) 3\n");
    let path = "(calls recorded as sums);a.B.f(int);a.B.g(int);a.B.h(int) 2\n";
    assert_eq!(files[1], path);
    let make_sink = || Profiler::new(Writer::new(Weight::SelfTime, false));
    let files = texts(encode_parts(make_sink, &[&first, &second]));
    assert_eq!(files[0], "a.B.f(int) 700\na.B.f(int);a.B.g(int) 300\n");
}

#[test]
fn what_was_dropped_is_counted_in_all_files() {
    let mut encoder = Target::Pprof.encoder(Options::default());
    let mut out = Vec::new();
    for number in 0..2 {
        for level in 0..1_026 {
            let ticket = number * 1_026 + level;
            encoder.event(&enter(1, i64::from(level), 1, ticket), &mut out);
        }
        for level in (0..1_026).rev() {
            let ticket = number * 1_026 + level;
            encoder.event(&leave(1, 2_000, 1, ticket), &mut out);
        }
        if number == 0 {
            encoder.split(&mut out, &mut Vec::new());
        }
    }
    encoder.end(&mut out);
    let dropped: Vec<u64> = encoder.dropped().iter().map(|count| count.count).collect();
    assert_eq!(dropped, [4]);
}
