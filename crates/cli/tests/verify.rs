//! `jtrail verify`.

use crate::common::{Folder, LOSSLESS, encode, enter, jtrail, leave, note, sample, time};
use jtrail_formats::Format;
use jtrail_model::{Event, Lost, Note, ThreadId, Totals, Uninstrumented};

/// Returns the sample with `event` inserted before the closing events.
fn with(event: Event<'static>) -> Vec<Event<'static>> {
    let mut events = sample();
    events.insert(events.len() - 4, event);
    events
}

#[test]
fn sound_traces_are_sound() {
    let folder = Folder::new();
    for format in LOSSLESS {
        let file = folder.sample(format);
        let done = jtrail(&["verify", &file]);
        assert_eq!(done.code, 0, "{}", done.out);
        let name = format.name();
        assert_eq!(
            done.out,
            format!("{file}: sound ({name}, 30 events, events lost: 0)\n")
        );
    }
}

#[test]
fn losses_are_reported_and_are_no_fault() {
    let folder = Folder::new();
    let lost = Lost {
        thread: ThreadId(2),
        events: 12,
        from: time(9_000_000),
        to: time(10_000_000),
        reason: "overflow".into(),
    };
    let mut events = with(note(&Note::Lost(lost)));
    let totals = events.len() - 3;
    events[totals] = note(&Note::Totals(Totals {
        enters: 7,
        leaves: 6,
        open: 1,
        lost: 12,
        ..Totals::default()
    }));
    let bytes = encode(Format::TptpBinary, &events);
    let done = jtrail(&["verify", &folder.put("x", &bytes)]);
    assert_eq!(done.code, 0, "{}", done.out);
    assert!(done.out.contains("events lost: 12)"), "{}", done.out);
}

#[test]
fn every_kind_of_fault_is_found() {
    let folder = Folder::new();
    for (what, event) in [
        ("a leave of nothing", leave(2, 10_500_000, 5, 77)),
        (
            "a method that was never defined",
            enter(2, 10_500_000, 99, 3, 2),
        ),
        (
            "a thread that was never defined",
            enter(9, 10_500_000, 6, 1, 1),
        ),
        (
            "an event of a thread that ended",
            enter(1, 11_500_000, 6, 6, 1),
        ),
    ] {
        for format in LOSSLESS {
            let file = folder.put("x", &encode(format, &with(event.clone())));
            let done = jtrail(&["verify", &file]);
            assert_eq!(done.code, 1, "{what}: {}", done.out);
            assert!(
                done.out.starts_with(&format!("{file}: faulty (")),
                "{what}: {}",
                done.out
            );
            assert!(done.out.contains("\n  at byte "), "{what}: {}", done.out);
            assert!(done.out.contains(": fault ("), "{what}: {}", done.out);
        }
    }
}

#[test]
fn a_truncated_trace_has_its_own_exit_code() {
    let folder = Folder::new();
    for format in LOSSLESS {
        let whole = encode(format, &sample());
        let file = folder.put("cut", &whole[..whole.len() - 10]);
        let done = jtrail(&["verify", &file]);
        assert_eq!(done.code, 3, "{}", done.out);
        assert!(
            done.out.starts_with(&format!("{file}: truncated (")),
            "{}",
            done.out
        );
    }
}

#[test]
fn of_several_the_worst_counts() {
    let folder = Folder::new();
    let whole = encode(Format::TptpBinary, &sample());
    let sound = folder.put("sound", &whole);
    let cut = folder.put("cut", &whole[..whole.len() - 10]);
    let bad = with(leave(2, 10_500_000, 5, 77));
    let faulty = folder.put("faulty", &encode(Format::TptpBinary, &bad));
    let none = folder.put("none", b"hello");
    for (files, code) in [
        (&[&sound, &sound][..], 0),
        (&[&cut, &sound], 3),
        (&[&sound, &cut, &faulty], 1),
        (&[&none, &faulty, &sound], 2),
    ] {
        let args: Vec<&str> = ["verify"]
            .into_iter()
            .chain(files.iter().map(|f| f.as_str()))
            .collect();
        let done = jtrail(&args);
        assert_eq!(done.code, code, "{}", done.out);
        for file in files {
            assert!(done.out.contains(&format!("{file}: ")), "{}", done.out);
        }
    }
}

/// This includes trails, which store notes in compressed columns.
#[test]
fn notes_of_the_agent_are_reported_from_any_format() {
    let folder = Folder::new();
    for format in LOSSLESS.into_iter().chain([Format::Trail]) {
        let file = folder.sample(format);
        let plain = jtrail(&["verify", &file]).out;
        let reported = jtrail(&["verify", "--notes", &file]).out;
        let notes = reported
            .strip_prefix(plain.trim_end())
            .expect("it comes last");
        assert!(
            notes.starts_with("\n  jtrail totals enters=7 leaves=6 repaired=0 lost=0 open=1 "),
            "{reported}"
        );
        assert!(
            notes.ends_with("\n  not instrumented: 1 × code would pass 65535 bytes\n"),
            "{reported}"
        );
        let json = jtrail(&["verify", "--json", &file]).out;
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json[0]["totals"]["enters"], 7);
        assert_eq!(json[0]["totals"]["uninstrumented"], 1);
        let uninstrumented = serde_json::json!({"code would pass 65535 bytes": 1});
        assert_eq!(json[0]["uninstrumented"], uninstrumented);
    }
}

/// A hostile file may contain any number of reasons.
#[test]
fn not_every_reason_of_a_hostile_trace_is_kept() {
    let folder = Folder::new();
    let mut events = sample();
    let reasons = (0..5_000).map(|n| {
        note(&Note::Uninstrumented(Uninstrumented {
            reason: format!("reason {n}").into(),
            ..Uninstrumented::default()
        }))
    });
    let end = events.len() - 4;
    events.splice(end..end, reasons);
    let file = folder.put("x", &encode(Format::TptpBinary, &events));
    let json = jtrail(&["verify", "--json", &file]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let kept = json[0]["uninstrumented"].as_object().expect("an object");
    assert_eq!(kept.len(), 1_000);
    assert_eq!(kept["reason 7"], 1);
}

#[test]
fn json_says_the_same() {
    let folder = Folder::new();
    let whole = encode(Format::TptpBinary, &sample());
    let sound = folder.put("sound", &whole);
    let cut = folder.put("cut", &whole[..whole.len() - 10]);
    let none = folder.put("none", b"hello");
    let done = jtrail(&["verify", "--json", &sound, &cut, &none]);
    assert_eq!(done.code, 2);
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let field = |n: usize, key: &str| json[n][key].clone();
    assert_eq!(field(0, "verdict"), "sound");
    assert_eq!(field(0, "format"), "binary");
    assert_eq!(field(0, "events"), 30);
    assert_eq!(field(0, "findings"), serde_json::json!([]));
    assert_eq!(field(1, "verdict"), "truncated");
    assert_eq!(json[1]["findings"][0]["severity"], "truncated");
    assert_eq!(field(2, "verdict"), "unreadable");
    assert!(
        json[2]["error"]
            .as_str()
            .expect("text")
            .contains("not a trace")
    );
    assert!(json[2]["format"].is_null());
    assert!(json[2]["totals"].is_null());
}
