//! `jtrail recover`.

use crate::common::{Folder, enter, jtrail, leave, sample};
use jtrail_formats::Format;
use jtrail_model::Event;
use serde_json::Value;
use std::fs;

/// Returns the sample with many calls as a trail, and the start and end of each flushed segment.
fn trail() -> (Vec<u8>, Vec<(usize, usize)>) {
    let mut events = sample();
    let closing = events.split_off(events.len() - 4);
    let mut out = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut out);
    let mut ends = vec![];
    let calls: Vec<Event<'static>> = (0..2_000)
        .flat_map(|n| {
            let (ticket, at) = (100 + n as u32, 20_000_000 + n * 10);
            [enter(2, at, 5, ticket, 2), leave(2, at + 3, 5, ticket)]
        })
        .collect();
    for part in [&events[..], &calls[..2_000], &calls[2_000..], &closing[..]] {
        for event in part {
            encoder.event(event, &mut out);
        }
        let start = out.len();
        encoder.flush(&mut out);
        ends.push((start, out.len()));
    }
    encoder.end(&mut out);
    (out, ends)
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_sound_trail_is_whole() {
    let folder = Folder::new();
    let (bytes, _) = trail();
    let (file, out) = (folder.put("x.trail", &bytes), folder.at("y.trail"));
    let done = jtrail(&["recover", &file, "-o", text(&out)]);
    assert_eq!((done.code, done.out.as_str()), (0, ""), "{}", done.err);
    assert!(done.err.contains("4,030 events, lost: 0, "), "{}", done.err);
    let same = jtrail(&["compare", &file, text(&out)]);
    assert_eq!(same.code, 0, "{}{}", same.out, same.err);
}

#[test]
fn what_is_missing_is_said_and_is_in_the_new_trace() {
    let folder = Folder::new();
    let (mut bytes, ends) = trail();
    let (start, end) = ends[1];
    bytes[start + 60] ^= 1;
    let (file, out) = (folder.put("x.trail", &bytes), folder.at("y.trail"));
    let done = jtrail(&["recover", &file, "-o", text(&out)]);
    assert_eq!((done.code, done.out.as_str()), (3, ""), "{}", done.err);
    let gap = format!(
        "x.trail: bytes {start} to {}: {} bytes are damaged, events 27 to 2026 are missing\n",
        end - 1,
        end - start
    );
    assert!(done.err.contains(&gap), "{}", done.err);
    assert!(
        done.err.contains("2,030 events, lost: 2,000, "),
        "{}",
        done.err
    );
    assert!(!out.with_extension("trail.part").exists());

    let verified = jtrail(&["verify", text(&out)]);
    assert_eq!(verified.code, 0, "{}", verified.out);
    assert!(
        verified.out.contains("events lost: 2,000)"),
        "{}",
        verified.out
    );
    let report = jtrail(&["report", text(&out), "--format", "json"]);
    let report: Value = serde_json::from_str(&report.out).expect("JSON");
    assert_eq!(report["lost"][0]["events"], 2_000);
    assert_eq!(report["lost"][0]["reason"], "damaged");

    let json = jtrail(&["recover", &file, "-o", text(&out), "--json"]);
    assert_eq!((json.code, json.err.as_str()), (3, ""));
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(
        (&json["lost"], &json["complete"]),
        (&2_000.into(), &false.into())
    );
    assert_eq!(json["gaps"][0]["from"], start);
    assert_eq!(json["gaps"][0]["to"], end);
}

#[test]
fn a_truncated_trail_is_recovered_to_standard_output() {
    let folder = Folder::new();
    let (bytes, ends) = trail();
    let file = folder.put("x.trail", &bytes[..ends[2].1 - 1]);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jtrail"))
        .args(["recover", &file, "-o", "-"])
        .output()
        .expect("jtrail starts");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("the trace is truncated"), "{said}");
    assert!(said.contains("events 2027 to 4026 are missing"), "{said}");
    let verified = jtrail(&["verify", &folder.put("y.trail", &output.stdout)]);
    assert_eq!(verified.code, 3, "{}", verified.out);
    assert!(
        verified.out.contains("events lost: 2,000)"),
        "{}",
        verified.out
    );
}

#[test]
fn nothing_is_overwritten_and_no_files_remain() {
    let folder = Folder::new();
    let (bytes, _) = trail();
    let file = folder.put("x.trail", &bytes);
    let done = jtrail(&["recover", &file, "-o", &file]);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("read and written at once"),
        "{}",
        done.err
    );
    assert_eq!(fs::read(&file).expect("there"), bytes);
    let other = folder.sample(Format::TptpBinary);
    let out = folder.put("there.trail", b"as it was");
    let done = jtrail(&["recover", &other, "-o", &out]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("not a trail"), "{}", done.err);
    assert_eq!(fs::read(&out).expect("there"), b"as it was");
    assert!(!folder.at("there.trail.part").exists());
}

/// The name of the temporary file may be that of a file of the user, also of the input.
#[test]
fn files_with_the_temporary_name_are_not_touched() {
    let folder = Folder::new();
    let (bytes, _) = trail();
    let (input, other) = ("y.trail.part", "y.trail-2.part");
    let file = folder.put(input, &bytes);
    folder.put(other, b"of somebody");
    let out = folder.at("y.trail");
    for _ in 0..2 {
        let done = jtrail(&["recover", &file, "-o", text(&out)]);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(fs::read(&file).expect("there") == bytes);
        assert_eq!(fs::read(folder.at(other)).expect("there"), b"of somebody");
        assert_eq!(jtrail(&["compare", &file, text(&out)]).code, 0);
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 3);
    }
    // A subcommand that fails does not touch them either.
    let recovered = fs::read(&out).expect("there");
    let nothing = folder.put(input, b"no trail");
    assert_eq!(jtrail(&["recover", &nothing, "-o", text(&out)]).code, 2);
    assert_eq!(fs::read(&nothing).expect("there"), b"no trail");
    assert!(fs::read(&out).expect("there") == recovered);
}
