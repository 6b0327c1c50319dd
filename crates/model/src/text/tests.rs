use super::*;
use crate::{
    ClassId, CodeRange, Custom, Duration, Frame, Generation, LineCount, LiveClass, Member,
    MethodId, ObjectId, ObjectKind, ThreadId, ThreadState, Ticks, Timestamp,
};

/// A text with all characters that have a meaning in the grammar.
const NASTY: &str =
    "a=\"b\\ c\" \\\\\" jtrail sample x=\t\n\r\0\u{1}\u{85}\u{a0}é\u{10ffff}\u{fffd}' ";

fn written(event: &Event<'_>) -> String {
    let mut out = String::new();
    assert!(write(event, &mut out), "{event:?}");
    out
}

/// Returns one event of each kind, whose texts are all `text`.
fn events(text: &str) -> Vec<Event<'_>> {
    let time = Timestamp(-5);
    let (thread, object, class) = (ThreadId(1), ObjectId(u64::MAX), ClassId(3));
    let frame = |line| Frame {
        method: text.into(),
        line,
    };
    let stack = vec![frame(i64::MIN), frame(0), frame(i64::MAX)];
    let member = |access| Member {
        name: text.into(),
        signature: text.into(),
        access,
    };
    vec![
        Event::ObjectDef(ObjectDef {
            object,
            time,
            kind: ObjectKind(255),
            size: -1,
            class,
        }),
        Event::ExceptionThrow(ExceptionThrow {
            thread,
            time,
            object,
            class,
            stack: stack.clone(),
        }),
        Event::ExceptionCatch(ExceptionCatch {
            thread,
            time,
            object,
            class,
            frame: frame(-2),
        }),
        Event::ThreadName(ThreadName {
            thread,
            time,
            name: text.into(),
        }),
        Event::ThreadCpu(ThreadCpu {
            thread,
            time,
            cpu_time: Duration(i64::MIN),
        }),
        Event::ThreadMount(ThreadMount {
            thread,
            time,
            carrier: ThreadId(2),
        }),
        Event::ThreadUnmount(ThreadUnmount {
            thread,
            time,
            carrier: ThreadId(2),
        }),
        Event::ThreadPark(ThreadPark {
            thread,
            time,
            object,
            stack: stack.clone(),
        }),
        Event::ThreadUnpark(ThreadUnpark { thread, time }),
        ClassDetail {
            class,
            time,
            access: u16::MAX,
            super_name: text.into(),
            interfaces: vec![text.into(), "".into()],
            loader: text.into(),
            size: 7,
            fields: vec![member(1), member(2)],
            methods: vec![member(3)],
        }
        .into(),
        Event::ClassUnload(ClassUnload { class, time }),
        Event::ClassRedefine(ClassRedefine {
            class,
            time,
            size: i64::MAX,
        }),
        Event::MethodCompile(MethodCompile {
            method: MethodId(5),
            time,
            address: u64::MAX,
            size: 416,
            ranges: vec![
                CodeRange {
                    offset: 0,
                    frames: vec![],
                },
                CodeRange {
                    offset: 8,
                    frames: stack.clone(),
                },
                CodeRange {
                    offset: 16,
                    frames: vec![frame(1)],
                },
            ],
        }),
        Event::MethodUncompile(MethodUncompile {
            method: MethodId(5),
            time,
            address: u64::MAX,
        }),
        Event::Sample(Sample {
            thread,
            time,
            state: ThreadState::Sleeping,
            ticks: Ticks::default(),
            stack: stack.clone(),
        }),
        Event::Sample(Sample {
            thread,
            time,
            state: ThreadState::Sleeping,
            ticks: Ticks::new(u64::MAX).expect("not 0"),
            stack,
        }),
        Event::GcDetail(GcDetail {
            time,
            collector: text.into(),
            cause: text.into(),
            generation: Generation::Full,
        }),
        Event::HeapObject(HeapObject {
            object,
            class,
            ..Default::default()
        }),
        Event::HeapDumpEnd(HeapDumpEnd::default()),
        Event::LineCounts(LineCounts {
            method: MethodId(5),
            time,
            calls: u64::MAX,
            lines: vec![
                LineCount { line: 0, count: 0 },
                LineCount {
                    line: u32::MAX,
                    count: u64::MAX,
                },
            ],
        }),
        Event::TracePause(TracePause { time }),
        Event::TraceResume(TraceResume { time }),
        Event::AggregatedDetail(AggregatedDetail {
            thread,
            method: MethodId(5),
            exceptions: u64::MAX,
            overhead: Duration(i64::MIN),
        }),
        Event::SampleSum(SampleSum {
            thread,
            time,
            depth: 1,
            frame: frame(-1),
            runnable: 0,
            all: u64::MAX,
        }),
        Event::ObjectCounts(ObjectCounts {
            thread,
            time,
            class,
            live: 0,
            peak: u64::MAX,
        }),
        Event::ClassSource(ClassSource {
            class,
            source_name: text.into(),
        }),
        Event::MethodDetail(MethodDetail {
            method: MethodId(5),
            size: i64::MAX,
        }),
        Event::CatchDetail(CatchDetail {
            thread,
            time,
            entry: 65_535,
            takes_all: text.is_empty(),
        }),
        Event::ThreadOsId(ThreadOsId {
            thread,
            time,
            os_id: u64::MAX,
        }),
        Event::ProcessCpu(ProcessCpu {
            time,
            cpu_time: Duration(i64::MAX),
        }),
        Event::AllocationSum(AllocationSum {
            thread,
            time,
            class,
            objects: u64::MAX,
            bytes: 0,
        }),
        Event::LiveObjects(LiveObjects {
            time,
            classes: [0, u64::MAX]
                .map(|objects| LiveClass {
                    class,
                    objects,
                    bytes: 24,
                })
                .into(),
        }),
        Event::ClassInitStart(ClassInitStart {
            thread,
            time,
            class,
        }),
        Event::ClassInitEnd(ClassInitEnd {
            thread,
            time,
            class,
            failed: !text.is_empty(),
        }),
    ]
}

#[test]
fn every_event_comes_back_whatever_its_text() {
    let names = ["", " ", "\"", "\\", "\\\"", "plain", "a=b", "12 x", NASTY];
    for text in names {
        for event in events(text) {
            let text = written(&event);
            let borrowed = parse(&Cow::Borrowed(&text));
            assert_eq!(borrowed.as_ref(), Some(&event), "{text}");
            assert_eq!(parse(&Cow::Owned(text.clone())), borrowed, "{text}");
        }
    }
}

#[test]
fn words_are_distinguished() {
    for state in ThreadState::ALL {
        let event = Event::Sample(Sample {
            state,
            ..Default::default()
        });
        assert_eq!(parse(&written(&event).into()), Some(event));
    }
    for generation in Generation::ALL {
        let event = Event::GcDetail(GcDetail {
            generation,
            ..Default::default()
        });
        assert_eq!(parse(&written(&event).into()), Some(event));
    }
}

#[test]
fn one_tick_is_not_written() {
    let sample = |ticks| {
        Event::Sample(Sample {
            thread: ThreadId(1),
            time: Timestamp(2),
            ticks: Ticks::new(ticks).expect("not 0"),
            ..Default::default()
        })
    };
    let one = "jtrail sample thread=1 time=2 state=runnable";
    assert_eq!(written(&sample(1)), one);
    assert_eq!(parse(&one.into()), Some(sample(1)));
    let more = format!("{one} ticks=3");
    assert_eq!(written(&sample(3)), more);
    assert_eq!(parse(&more.into()), Some(sample(3)));
    for wrong in ["0", "1", "-1", "18446744073709551616", ""] {
        assert_eq!(parse(&format!("{one} ticks={wrong}").into()), None);
    }
}

/// Truncated, doubled or changed text is parsed as another event or not at all, without a panic.
#[test]
fn damaged_text_does_no_harm() {
    for event in events(NASTY).into_iter().chain(events("ab")) {
        let text = written(&event);
        for (at, c) in text.char_indices() {
            let (head, tail) = text.split_at(at);
            let rest = &tail[c.len_utf8()..];
            for damaged in [
                head.to_owned(),
                tail.to_owned(),
                format!("{head}{rest}"),
                format!("{head}{c}{tail}"),
                format!("{head}\"{rest}"),
                format!("{head}\\{rest}"),
                format!("{head} {rest}"),
                format!("{head}={rest}"),
            ] {
                if let Some(read) = parse(&Cow::Borrowed(&damaged)) {
                    let again = written(&read);
                    assert_eq!(parse(&again.into()), Some(read), "{damaged}");
                }
            }
        }
    }
}

#[test]
fn what_does_not_read_to_the_end_is_text() {
    for text in [
        "",
        "jtrail",
        "jtrail unpark",
        "jtrail unpark ",
        "jtrail unpark thread=1",
        "jtrail unpark time=1 thread=1",
        "jtrail unpark thread=1 time=1 more=1",
        "jtrail unpark thread=1 time=1 time=1",
        "jtrail unpark thread=1  time=1",
        "jtrail unpark thread=+1 time=1",
        "jtrail unpark thread=-1 time=1",
        "jtrail unpark thread=18446744073709551616 time=1",
        "jtrail unpark thread=x time=1",
        "jtrail unpark thread=\"1\"time=1",
        "Jtrail unpark thread=1 time=1",
        " jtrail unpark thread=1 time=1",
        "jtrail sample thread=1 time=1 state=asleep",
        "jtrail sample thread=1 time=1 state=runnable frame=12",
        "jtrail sample thread=1 time=1 state=runnable frame=\"x a.b()V\"",
        "jtrail catch thread=1 time=1 object=0 class=0",
        "jtrail lines method=1 time=1 calls=1 line=12",
        "jtrail lines method=1 time=1 calls=1 line=4294967296:1",
        "jtrail lines method=1 time=1 calls=1 frame=\"1 x\"",
        "jtrail totals enters=1",
        "jtrail later a=b",
    ] {
        assert_eq!(parse(&Cow::Borrowed(text)), None, "{text}");
    }
}

#[test]
fn other_events_have_no_text() {
    let mut out = String::from("x");
    assert!(!write(&Event::Custom(Custom::default()), &mut out));
    assert_eq!(out, "x");
}

/// Tests that the examples in the documentation are what is written.
#[test]
fn examples_are_as_documented() {
    let head = include_str!("mod.rs").lines();
    let head = head.filter_map(|line| line.strip_prefix("//! "));
    let guide = include_str!("../../../../docs/events.md").lines();
    let notes = [
        "uninstrumented",
        "dropped",
        "burst",
        "short-calls",
        "demoted",
        "sums-above",
        "lost",
        "totals",
    ];
    let examples = |lines: Vec<&'static str>| {
        let is_event = |text: &&str| {
            text.strip_prefix(PREFIX)
                .is_some_and(|rest| !notes.iter().any(|note| rest.starts_with(note)))
        };
        lines.into_iter().filter(is_event).collect::<Vec<_>>()
    };
    let head = examples(head.collect());
    assert_eq!(examples(guide.collect()), head);
    assert_eq!(head.len(), events("").len());
    for (example, event) in head.into_iter().zip(events("")) {
        let read = parse(&Cow::Borrowed(example)).expect(example);
        assert_eq!(written(&read), example);
        assert_eq!(
            std::mem::discriminant(&read),
            std::mem::discriminant(&event)
        );
    }
}
