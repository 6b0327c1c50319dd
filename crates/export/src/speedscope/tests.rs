use super::Profiles;
use super::events::{Events, SliceEvent};
use crate::json::reader::{Value, read};
use crate::testing::*;
use crate::{Options, Target};
use jtrail_model::*;

fn export(events: &[Event<'_>]) -> Value {
    read(&encode(Profiles::default(), events))
}

/// Returns each profile as its name, its span and its events, such as `+name 7` and `-name 9`.
fn profiles(file: &Value) -> Vec<(String, String, Vec<String>)> {
    let frames = file.get("shared").expect("shared").elements("frames");
    let event = |event: &Value| {
        let frame: usize = event.text("frame").parse().expect("a number");
        let sign = match event.text("type").as_str() {
            "O" => '+',
            "C" => '-',
            other => panic!("{other}"),
        };
        format!("{sign}{} {}", frames[frame].text("name"), event.text("at"))
    };
    let profile = |profile: &Value| {
        assert_eq!(profile.text("type"), "evented");
        assert_eq!(profile.text("unit"), "nanoseconds");
        let span = ["startValue", "endValue"].map(|key| profile.text(key));
        let events = profile.elements("events").iter().map(event).collect();
        (profile.text("name"), span.join("-"), events)
    };
    file.elements("profiles").iter().map(profile).collect()
}

#[test]
fn each_thread_with_slices_has_a_profile() {
    let file = export(&[
        process(71),
        thread(1, 0, "main", "main"),
        thread(2, 0, "busy", "main"),
        thread(3, 0, "", "VirtualThreads"),
        thread(4, 0, "idle", "main"),
        class(1, "a.B"),
        class(2, "a.Lock"),
        method(1, "outer"),
        method(2, "inner"),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(5),
            class: ClassId(2),
            ..ObjectDef::default()
        }),
        enter(1, 1_000, 1, 1),
        enter(2, 1_001, 1, 1),
        enter(1, 1_007, 2, 2),
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(1),
            time: time(1_008),
            object: ObjectId(5),
            ..ThreadPark::default()
        }),
        unpark(1, 1_300),
        leave(1, 1_400, 2, 2),
        leave(1, 1_401, 1, 1),
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(3),
            time: time(1_500),
            ..MonitorWait::default()
        }),
        leave(2, 2_000, 1, 1),
    ]);
    let expected = [
        (
            "busy",
            "1001-2000",
            vec!["+B.outer(int) 1001", "-B.outer(int) 2000"],
        ),
        (
            "main",
            "1000-1401",
            vec![
                "+B.outer(int) 1000",
                "+B.inner(int) 1007",
                "+parked (a.Lock) 1008",
                "-parked (a.Lock) 1300",
                "-B.inner(int) 1400",
                "-B.outer(int) 1401",
            ],
        ),
        (
            "virtual thread 3",
            "1500-2000",
            vec!["+Object.wait 1500", "-Object.wait 2000"],
        ),
    ];
    let expected = expected.map(|(name, span, events)| {
        let events = events.into_iter().map(str::to_owned).collect();
        (name.to_owned(), span.to_owned(), events)
    });
    assert_eq!(profiles(&file), expected);
    assert_eq!(file.text("name"), "java 71");
    assert_eq!(file.text("activeProfileIndex"), "0");
    let frames = file.get("shared").expect("shared").elements("frames");
    let files: Vec<_> = frames.iter().map(|frame| frame.text("file")).collect();
    assert_eq!(files, ["a.B", "a.B", "", ""]);
}

#[test]
fn collections_and_marks_are_written() {
    let collection = |start, end, cause: &'static str| {
        [
            Event::GcStart(GcStart { time: time(start) }),
            Event::GcDetail(GcDetail {
                time: time(start),
                collector: "G1".into(),
                cause: cause.into(),
                generation: Generation::Young,
            }),
            Event::GcFinish(GcFinish {
                time: time(end),
                ..GcFinish::default()
            }),
        ]
    };
    let mut events = vec![enter(1, 10, 1, 1)];
    events.extend(collection(20, 25, "full"));
    events.push(mark("between"));
    events.extend(collection(30, 36, ""));
    let file = export(&events);
    let collections = [
        "+young collection (G1, full) 10",
        "-young collection (G1, full) 15",
        "+young collection (G1) 20",
        "-young collection (G1) 26",
    ];
    let (name, span, events) = profiles(&file).pop().expect("a profile");
    assert_eq!(
        (name.as_str(), span.as_str()),
        ("Garbage collections", "10-26")
    );
    assert_eq!(events, collections);
    let jtrail = file.get("jtrail").expect("jtrail");
    assert_eq!(jtrail.text("start"), (START + 10).to_string());
    let [mark] = jtrail.elements("marks") else {
        panic!("{jtrail:?}");
    };
    assert_eq!(
        (mark.text("at"), mark.text("text")),
        ("15".into(), "between".into())
    );
}

#[test]
fn events_come_back_from_their_bytes() {
    let mut events = Events::default();
    let times = [-5, 0, 1, 63, 64, 1 << 20, i64::from(u32::MAX), 1 << 61];
    let mut expected = Vec::new();
    for (frame, ns) in (0u32..).step_by(1000).zip(times) {
        events.begin(Timestamp(ns), frame);
        expected.push((true, frame, ns));
    }
    // A time before the latest one counts as the latest.
    for _ in times {
        events.end(Timestamp(3));
    }
    let ends = (0..times.len() as u32)
        .rev()
        .map(|number| (false, 1000 * number, 1 << 61));
    expected.extend(ends);
    let read = events.iter().map(|event| {
        let SliceEvent {
            is_begin,
            frame,
            time,
        } = event;
        (is_begin, frame, time.0)
    });
    assert_eq!(read.collect::<Vec<_>>(), expected);
    let span = events.span().map(|(first, last)| (first.0, last.0));
    assert_eq!(span, Some((-5, 1 << 61)));
}

#[test]
fn times_before_the_first_event_are_not_negative() {
    let file = export(&[enter(1, 50, 1, 1), enter(2, 20, 2, 1), leave(2, 30, 2, 1)]);
    let spans: Vec<_> = profiles(&file)
        .into_iter()
        .map(|profile| profile.1)
        .collect();
    assert_eq!(spans, ["0-10", "30-30"]);
}

#[test]
fn odd_names_are_unharmed() {
    let long = "x".repeat(1 << 16);
    for name in ODD_NAMES.into_iter().chain([long.as_str()]) {
        let events = [
            class(1, "a.B"),
            Event::MethodDef(MethodDef {
                method: MethodId(1),
                name: name.into(),
                class: ClassId(1),
                ..MethodDef::default()
            }),
            Event::ThreadName(ThreadName {
                thread: ThreadId(1),
                name: name.into(),
                ..ThreadName::default()
            }),
            enter(1, 7, 1, 1),
        ];
        let thread = match name {
            "" => "thread 1".to_owned(),
            name => name.to_owned(),
        };
        let slices = ['+', '-'].map(|sign| format!("{sign}B.{name} 0"));
        let expected = (thread, "0-0".to_owned(), slices.to_vec());
        assert_eq!(profiles(&export(&events)), [expected]);
    }
}

#[test]
fn an_export_without_calls_has_a_profile_without_events() {
    let expected = ("no calls".to_owned(), "0-0".to_owned(), Vec::new());
    assert_eq!(profiles(&export(&[])), [expected]);
}

#[test]
fn the_size_counts_begins_and_ends() {
    let mut encoder = Target::Speedscope.encoder(Options::default());
    let mut out = Vec::new();
    for event in [enter(1, 0, 1, 1), leave(1, 1, 1, 1), enter(1, 2, 1, 2)] {
        encoder.event(&event, &mut out);
    }
    assert_eq!((encoder.size(), out.len()), (3, 0));
    encoder.end(&mut out);
    assert_eq!(encoder.size(), 4);
}
