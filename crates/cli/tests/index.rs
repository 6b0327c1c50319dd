//! `jtrail index`: the index of a long trail.

use crate::common::{Folder, encode, in_time, jtrail, sample};
use jtrail_formats::Format;
use jtrail_model::*;
use std::fs;

/// Returns a trail of some MiB. The calls take random times, which `seed` decides on.
fn long(seed: u64) -> Vec<u8> {
    let mut encoder = Format::Trail.encoder();
    let mut trail = Vec::new();
    encoder.begin(&mut trail);
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let names = [
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(1),
            time: Timestamp(1_700_000_000_000_000_000),
            name: "main".into(),
            ..ThreadStart::default()
        }),
        Event::ClassDef(ClassDef {
            class: ClassId(9),
            name: "org.example.Shop".into(),
            ..ClassDef::default()
        }),
    ];
    for event in names {
        encoder.event(&event, &mut trail);
    }
    for method in 1..=20 {
        let definition = Event::MethodDef(MethodDef {
            method: MethodId(method),
            class: ClassId(9),
            name: format!("step{method}").into(),
            signature: "()V".into(),
            ..MethodDef::default()
        });
        encoder.event(&definition, &mut trail);
    }
    let (mut time, mut ticket, mut open) = (1_700_000_000_000_000_000, 0, Vec::new());
    for _ in 0..1_500_000 {
        time += random(1 << 20) as i64;
        let (thread, class) = (ThreadId(1), ClassId(9));
        let event = if open.len() < 30 && (open.is_empty() || random(2) == 0) {
            ticket += 1;
            let method = MethodId(1 + random(20));
            open.push((method, ticket));
            Event::MethodEnter(MethodEnter {
                thread,
                time: Timestamp(time),
                method,
                class,
                ticket,
                ..MethodEnter::default()
            })
        } else {
            let (method, ticket) = open.pop().expect("an open call");
            Event::MethodLeave(MethodLeave {
                thread,
                time: Timestamp(time),
                method,
                class,
                ticket,
                ..MethodLeave::default()
            })
        };
        encoder.event(&event, &mut trail);
    }
    encoder.end(&mut trail);
    trail
}

/// Returns what a report of a trail prints, as text and as JSON.
fn reports(trail: &str) -> [String; 2] {
    ["table", "json"].map(|format| {
        let done = jtrail(&["report", trail, "--format", format]);
        assert_eq!((done.code, done.err.as_str()), (0, ""));
        done.out
    })
}

#[test]
fn a_report_from_an_index_is_that_of_the_trace() {
    let folder = Folder::new();
    let trail = folder.put("long.trail", &long(1));
    let index = folder.at("long.trail.idx");
    let expected = reports(&trail);
    assert!(!index.exists(), "a report makes no index");
    let done = jtrail(&["index", &trail]);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert!(done.out.contains("long.trail.idx: "), "{}", done.out);
    let [size, of_trail] = [index.as_path(), trail.as_ref()].map(|path| {
        let about = fs::metadata(path).expect("a file");
        about.len()
    });
    assert!(size * 100 <= of_trail * 3, "{size} of {of_trail} bytes");
    assert!(
        jtrail_view::saved_analysis(trail.as_ref())
            .expect("read")
            .is_some()
    );
    assert_eq!(reports(&trail), expected);
    let again = jtrail(&["index", &trail]);
    assert_eq!(again.out, format!("{trail}: it has an index\n"));

    // Wherever the index is damaged, it is not taken, or has what is asked for.
    let sound = fs::read(&index).expect("an index");
    for part in 0..40 {
        let mut damaged = sound.clone();
        let at = part * (sound.len() - 1) / 39;
        damaged[at] ^= 0x55;
        fs::write(&index, &damaged).expect("written");
        assert_eq!(reports(&trail), expected, "damaged at {at}");
        fs::write(&index, &sound[..at]).expect("written");
        assert_eq!(reports(&trail), expected, "cut at {at}");
    }
    // Methods have their numbers as the threads that read first meet them: two indexes of a trail
    // need not be the same, byte for byte.
    let done = jtrail(&["index", &trail]);
    assert!(done.out.contains("long.trail.idx: "), "{}", done.out);
    let again = jtrail(&["index", &trail]);
    assert_eq!(again.out, format!("{trail}: it has an index\n"));
    assert_eq!(reports(&trail), expected);
}

#[test]
fn the_index_of_another_trail_is_replaced() {
    let folder = Folder::new();
    let trail = folder.put("long.trail", &long(1));
    assert_eq!(jtrail(&["index", &trail]).code, 0);
    let of_first = reports(&trail);
    let index = fs::read(folder.at("long.trail.idx")).expect("an index");
    folder.put("long.trail", &long(2));
    folder.put("long.trail.idx", &index);
    let of_second = reports(&trail);
    assert_ne!(of_first, of_second);
    let done = jtrail(&["index", &trail]);
    assert!(done.out.contains("long.trail.idx: "), "{}", done.out);
    assert_eq!(reports(&trail), of_second);
}

/// A process that is killed while it makes an index leaves nothing beside the trail.
#[cfg(target_os = "linux")]
#[test]
fn an_index_has_no_name_until_it_is_complete() {
    let folder = Folder::new();
    let path = folder.put("long.trail", &long(1));
    let trace = jtrail_view::Trace::open(path.as_ref());
    let trace = trace.expect("read").expect("a trail");
    let names = || {
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("read").file_name())
            .collect();
        names.sort();
        names
    };
    let index = folder.at("long.trail.idx");
    let mut looks = 0;
    let is_complete = trace.build_index(&index, |_| {
        looks += 1;
        assert_eq!(names(), ["long.trail"]);
        true
    });
    assert!(is_complete.expect("an index"));
    assert!(looks > 1);
    assert_eq!(names(), ["long.trail", "long.trail.idx"]);
    let before = fs::read(&index).expect("an index");
    assert!(!trace.build_index(&index, |_| false).expect("no index"));
    assert_eq!(names(), ["long.trail", "long.trail.idx"]);
    assert_eq!(fs::read(&index).expect("an index"), before);
}

#[test]
fn another_file_is_not_replaced() {
    let folder = Folder::new();
    let trail = folder.put("long.trail", &long(1));
    let other = folder.put("long.trail.idx", b"mine");
    let done = jtrail(&["index", "--force", &trail]);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("another file than an index is there"),
        "{}",
        done.err
    );
    assert_eq!(fs::read(other).expect("a file"), b"mine");
}

#[test]
fn short_and_other_traces_have_none() {
    let folder = Folder::new();
    let short = folder.put("short.trail", &encode(Format::Trail, &in_time(sample())));
    let done = jtrail(&["index", &short]);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert_eq!(
        done.out,
        format!("{short}: it is short and needs no index\n")
    );
    let other = folder.put("other.trcxml", &encode(Format::TptpXml, &in_time(sample())));
    let done = jtrail(&["index", &other]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("only a complete trail"), "{}", done.err);
    assert!(!folder.at("short.trail.idx").exists());
}
