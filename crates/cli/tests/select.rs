//! Parts of a trace by time and thread. In a trail, the index finds these parts. Traces in other
//! formats are read completely. The results are equal.

use crate::common::{
    Folder, LOSSLESS, START, closing, encode, enter, file, in_time, jtrail, leave, method_def,
    opening, sample, thread_start,
};
use jtrail_formats::Format;
use jtrail_model::Event;
use serde_json::Value;
use std::fs;

/// Returns calls of three threads in many segments. The third thread starts late, and thread 2
/// pauses in the middle.
fn events() -> Vec<Event<'static>> {
    let mut events = sample();
    let closing = events.split_off(events.len() - 4);
    let mut events = in_time(events);
    for n in 0..6_000_i64 {
        let at = 20_000_000 + n * 1_000;
        if n == 3_000 {
            events.push(thread_start(77, at, "late-1"));
            events.push(method_def(99, "late", "()V"));
        }
        let (thread, method, depth) = match n {
            3_000.. if n % 3 == 0 => (77, 99, 1),
            1_000..4_000 => (1, 5, 2),
            _ => (2, 5, 2),
        };
        let ticket = 1_000 + n as u32;
        events.push(enter(thread, at, method, ticket, depth));
        events.push(leave(thread, at + 500, method, ticket));
    }
    for event in closing {
        events.push(match event {
            Event::TraceEnd(e) => Event::TraceEnd(jtrail_model::TraceEnd {
                time: crate::common::time(30_000_000),
                ..e
            }),
            other => other,
        });
    }
    events
}

fn trail(events: &[Event<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut out);
    for part in events.chunks(500) {
        for event in part {
            encoder.event(event, &mut out);
        }
        encoder.flush(&mut out);
    }
    encoder.end(&mut out);
    out
}

const PARTS: [&[&str]; 9] = [
    &["--from", "21ms", "--until", "22ms"],
    &["--from", "0.0255"],
    &["--until", "20500us"],
    &["--from", "9s"],
    &["--thread", "77"],
    &["--thread", "late-*"],
    &["--thread", "2", "--from", "0.021", "--until", "0.0251"],
    &[
        "--from",
        "2023-11-14T22:13:20.0222Z",
        "--until",
        "2023-11-14T22:13:20.0223Z",
    ],
    &["--thread", "77", "--until", "1ms"],
];

#[test]
fn a_part_of_a_trail_is_what_filtering_leaves() {
    assert_eq!(START, 1_700_000_000_000_000_000, "2023-11-14T22:13:20Z");
    let (folder, events) = (Folder::new(), events());
    let whole = folder.put("x.trail", &trail(&events));
    let other = folder.put("x.trcbin", &encode(Format::TptpBinary, &events));
    let all = jtrail(&["dump", &whole]).out.lines().count();
    for part in PARTS {
        let [ours, theirs] = [&whole, &other].map(|file| {
            let done = jtrail(&[&["dump", file], part].concat());
            assert_eq!((done.code, done.err.as_str()), (0, ""), "{part:?}");
            done.out
        });
        assert!(ours == theirs, "{part:?}");
        assert!(ours.lines().count() < all / 2, "{part:?}");
        if !part.contains(&"--thread") {
            let [ours, theirs] = [&whole, &other].map(|file| {
                let args = [
                    "report",
                    file,
                    "--format",
                    "tsv",
                    "--only",
                    "methods,tree,threads",
                ];
                jtrail(&[&args, part].concat()).out
            });
            assert!(ours == theirs, "{part:?}: {ours}\n{theirs}");
        }
    }
    let late = jtrail(&["dump", &whole, "--thread", "late-*"]).out;
    assert_eq!(late.matches(" enter com.acme.").count(), 1_000, "{late}");
}

#[test]
fn a_part_is_converted_to_a_sound_trace() {
    let (folder, events) = (Folder::new(), events());
    let whole = folder.put("x.trail", &trail(&events));
    let other = folder.put("x.trcbin", &encode(Format::TptpBinary, &events));
    for part in PARTS {
        for to in ["trail", "trcbin"] {
            let made = [&whole, &other].map(|file| {
                let out = folder.at("out").with_extension(to);
                let out = out.to_str().expect("UTF-8");
                let done = jtrail(&[&["convert", file, out], part].concat());
                assert_eq!(done.code, 0, "{part:?}: {}", done.err);
                let verified = jtrail(&["verify", out]);
                assert_eq!(verified.code, 0, "{part:?}: {}", verified.out);
                assert!(
                    !verified.out.contains("events lost: 0)"),
                    "{}",
                    verified.out
                );
                fs::read(out).expect("there")
            });
            assert!(made[0] == made[1], "{part:?} to {to}");
        }
    }
}

/// A trail without its index is read from the front, as rows of calls. Events that are not selected
/// are skipped there, too.
#[test]
fn a_part_of_a_truncated_trail_is_the_same() {
    let (folder, events) = (Folder::new(), events());
    let bytes = trail(&events);
    let whole = folder.put("x.trail", &bytes);
    let truncated = folder.put("y.trail", &bytes[..bytes.len() - 1]);
    let calls = |file: &str| {
        let out = jtrail(&["dump", file]).out;
        let lines = out.lines().filter(|line| {
            let is = |word: &str| line.contains(word);
            is(" enter ") || is(" leave ")
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for part in PARTS {
        let [ours, theirs] = [&truncated, &whole].map(|file| {
            let out = folder.at("out.trcbin");
            let out = out.to_str().expect("UTF-8");
            jtrail(&[&["convert", file, out], part].concat());
            calls(out)
        });
        assert!(ours == theirs, "{part:?}: {} {}", ours.len(), theirs.len());
        let [ours, theirs] = [&truncated, &whole].map(|file| {
            let args = ["report", file, "--format", "tsv", "--only", "methods"];
            jtrail(&[&args, part].concat()).out
        });
        assert!(ours == theirs, "{part:?}: {ours}\n{theirs}");
    }
}

/// Calls that are open at the end of the window end there, even if definitions follow.
#[test]
fn a_report_of_a_part_ends_with_the_part() {
    const MS: i64 = 1_000_000;
    let calls = vec![
        method_def(50, "outer", "()V"),
        method_def(51, "inner", "()V"),
        enter(1, 10 * MS, 50, 1, 1),
        enter(1, 12 * MS, 51, 2, 2),
        leave(1, 13 * MS, 51, 2),
        leave(1, 40 * MS, 50, 1),
        thread_start(9, 50 * MS, "late"),
        method_def(52, "late", "()V"),
    ];
    let events = [opening(), calls, closing(60 * MS)].concat();
    let folder = Folder::new();
    for format in LOSSLESS.into_iter().chain([Format::Trail]) {
        let file = file(&folder, format, &events);
        let report = |args: &[&str], table: &str, columns: [&str; 2]| {
            let args = [
                &["report", &file, "--format", "json", "--only", table],
                args,
            ]
            .concat();
            let report: Value = serde_json::from_str(&jtrail(&args).out).expect("JSON");
            let rows = match &report[table] {
                Value::Array(rows) => rows.clone(),
                row => vec![row.clone()],
            };
            rows.iter()
                .map(|row| columns.map(|column| row[column].clone()))
                .collect::<Vec<_>>()
        };
        let part = ["--from", "5ms", "--until", "20ms"];
        let outer = report(&part, "methods", ["calls", "total_ns"]);
        assert_eq!(outer, [[1, 10 * MS], [1, MS]], "{format:?}");
        let trace = report(&part, "trace", ["duration_ns", "open"]);
        assert_eq!(trace, [[15 * MS, 1]], "{format:?}");
        let before = report(&["--from", "70ms"], "trace", ["duration_ns", "open"]);
        assert_eq!(before, [[0, 0]], "{format:?}");
        let all = report(&["--until", "70ms"], "trace", ["duration_ns", "open"]);
        assert_eq!(
            all,
            report(&[], "trace", ["duration_ns", "open"]),
            "{format:?}"
        );
    }
}
