//! `jtrail view` of a trace that the agent divided into several files.

use crate::common::{
    Folder, closing, encode, enter, jtrail, leave, method_def, opening, thread_start, time,
};
use jtrail_formats::Format;
use jtrail_model::*;
use serde_json::{Value, json};
use std::fs;

/// The time at which the part with a number begins, in ns since the start.
fn begin(number: u64) -> i64 {
    1_000 * number as i64
}

/// Returns a part of a trace. `main` is open in all of them, and in each, `work` is called and is
/// still open at its end.
fn part(number: u64, before: Option<&str>, loaded: i64) -> Vec<u8> {
    let from = begin(number);
    let mut events = opening();
    for event in &mut events {
        match event {
            Event::Node(node) => node.time = time(loaded),
            Event::TraceStart(start) => start.time = time(from),
            _ => {}
        }
    }
    if let Some(before) = before {
        for (key, value) in [("part", &*number.to_string()), ("before", before)] {
            events.push(Event::Option(TraceOption {
                key: key.into(),
                value: value.to_owned().into(),
            }));
        }
    }
    // Ids and tickets differ from part to part.
    let (thread, method, ticket) = (10 + number, 20 + 2 * number, number as u32);
    events.extend([
        thread_start(thread, from, "main"),
        Event::ClassDef(ClassDef {
            class: ClassId(3),
            time: time(from),
            name: "com.acme.Main".into(),
            ..ClassDef::default()
        }),
        method_def(method, "main", "()V"),
        method_def(method + 1, "work", "()V"),
        enter(thread, from, method, ticket, 1),
    ]);
    if number > 1 {
        events.extend([
            enter(thread, from, method + 1, ticket + 1, 2),
            leave(thread, from + 100, method + 1, ticket + 1),
        ]);
    }
    events.push(enter(thread, from + 200, method + 1, ticket + 2, 2));
    events.extend(closing(from + 900));
    encode(Format::Trail, &events)
}

/// Writes three parts, and returns their paths.
fn parts(folder: &Folder) -> [String; 3] {
    [
        folder.put("app.trail", &part(1, None, 0)),
        folder.put("app-2.trail", &part(2, Some("app.trail"), 0)),
        folder.put("app-3.trail", &part(3, Some("app-2.trail"), 0)),
    ]
}

/// Returns what a page has of a trace, and what is said.
fn page(args: &[&str]) -> (Value, String) {
    let done = jtrail(&[&["view", "--html", "-"], args].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    let (_, rest) = done.out.split_once("id=\"jtrail-data\">").expect("data");
    let (json, _) = rest.split_once("</script").expect("an end");
    let all: Value = serde_json::from_str(json).expect("JSON");
    (all["traces"][0].clone(), done.err)
}

/// Returns the lengths of the calls on the only thread, in ns, callers first.
fn lengths(trace: &Value) -> Value {
    assert_eq!(trace["info"]["threads"]["name"], json!(["main"]));
    trace["slices"]["0"]["length"].clone()
}

#[test]
fn all_parts_are_one_trace() {
    let folder = Folder::new();
    let files = parts(&folder);
    for (file, title) in files
        .iter()
        .zip(["app.trail", "app-2.trail", "app-3.trail"])
    {
        let (trace, said) = page(&[file]);
        assert_eq!(trace["info"]["title"], title);
        assert_eq!(trace["info"]["remarks"], json!([]));
        assert_eq!(trace["info"]["missing"], json!([]));
        // `work` goes on from one part into the next.
        assert_eq!(lengths(&trace), json!([2900, 900, 900, 700]));
        let message = format!("jtrail: {title}: the trace is in 3 files, which become one");
        assert!(said.starts_with(&message), "{said}");
    }
    // Nothing is added to the folder.
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3);
    let (alone, said) = page(&["--one-file", &files[1]]);
    assert_eq!(lengths(&alone), json!([900, 100, 700]));
    assert!(!said.contains("files"), "{said}");
    // Two traces, of which one is divided.
    let other = folder.put("other.trail", &part(1, None, 0));
    let done = jtrail(&["view", "--html", "-", &files[0], &other]);
    assert!(done.err.contains("3 files"), "{}", done.err);
    assert!(done.err.contains("6 calls"), "{}", done.err);
}

#[test]
fn missing_parts_are_reported() {
    let folder = Folder::new();
    let files = parts(&folder);
    fs::remove_file(&files[1]).expect("it is there");
    let (trace, said) = page(&[&files[2]]);
    // `main` goes on, and so may `work`.
    assert_eq!(lengths(&trace)[0], 2900);
    let missing = &trace["info"]["missing"][0];
    assert_eq!(missing["from"], 1900);
    assert_eq!(missing["until"], 3000);
    assert_eq!(missing["text"], "lost: app-2.trail is missing");
    let remark = "files before app-3.trail that are not there, the last one of them app-2.trail";
    assert!(
        trace["info"]["remarks"].to_string().contains(remark),
        "{trace}"
    );
    assert!(said.contains(remark), "{said}");
    // Of a ring, the first ones are deleted.
    fs::remove_file(&files[0]).expect("it is there");
    let (trace, said) = page(&[&files[2]]);
    assert_eq!(lengths(&trace), json!([900, 100, 700]));
    assert!(
        trace["info"]["remarks"].to_string().contains(remark),
        "{trace}"
    );
    assert!(said.contains(remark), "{said}");
}

#[test]
fn a_truncated_part_is_reported() {
    let folder = Folder::new();
    let files = parts(&folder);
    let second = fs::read(&files[1]).expect("it is there");
    fs::write(&files[1], &second[..second.len() - 40]).expect("written");
    let (trace, said) = page(&[&files[0]]);
    assert_eq!(lengths(&trace)[0], 2900);
    let missing = trace["info"]["missing"].to_string();
    assert!(missing.contains("app-2.trail is truncated"), "{missing}");
    assert!(said.contains("truncated"), "{said}");
    // A part that is no trace is as good as missing.
    fs::write(&files[1], "nothing").expect("written");
    let (trace, _) = page(&[&files[0]]);
    let missing = trace["info"]["missing"].to_string();
    assert!(missing.contains("app-2.trail is missing"), "{missing}");
}

#[test]
fn files_of_other_runs_are_left_alone() {
    let folder = Folder::new();
    let files = parts(&folder);
    // The next run has written over the third file.
    fs::write(&files[2], part(3, Some("app-2.trail"), 77)).expect("written");
    let (trace, said) = page(&[&files[0]]);
    assert_eq!(lengths(&trace), json!([1900, 900, 700]));
    assert!(said.contains("2 files"), "{said}");
    // A trace of its own, as `jtrail ctl PID rotate` begins it, has no part.
    let other = folder.put("app-4.trail", &part(1, None, 0));
    let (trace, said) = page(&[&other]);
    assert_eq!(lengths(&trace), json!([900, 700]));
    assert!(!said.contains("files"), "{said}");
}
