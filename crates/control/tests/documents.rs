//! Commands, answers and notices with any contents are the same after they are written and parsed.

use jtrail_control::*;
use jtrail_options::{BurstLimit, Events, OutputFormat};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::time::Duration;

/// Generates text of characters that XML allows.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let allowed = any::<char>().prop_filter("XML has it", |c| {
        matches!(c, '\t' | '\n' | '\r') || (*c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
    });
    let special = prop::sample::select(vec!['<', '>', '&', '"', '\'', '\n', '\t', '\r', ' ', ']']);
    vec(prop_oneof![allowed, special], 0..longest).prop_map(|chars| chars.into_iter().collect())
}

/// Generates text of an element, without blanks at its ends.
fn word() -> impl Strategy<Value = String> {
    "[a-z0-9<>&]{1,12}"
}

fn time() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_nanos)
}

fn some_text(longest: usize) -> impl Strategy<Value = String> {
    text(longest).prop_filter("not empty", |text| !text.is_empty())
}

fn format() -> impl Strategy<Value = OutputFormat> {
    let known = OutputFormat::WORDS
        .iter()
        .map(|word| OutputFormat::parse(word).expect("known"));
    prop::sample::select(known.collect::<Vec<_>>())
}

fn patterns() -> impl Strategy<Value = Vec<(bool, String)>> {
    vec(
        (
            any::<bool>(),
            "[a-z]{1,8}\\.[A-Z][a-z$]{0,8}(#[a-z*]{1,5}[a-z])?",
        ),
        0..5,
    )
}

fn start() -> impl Strategy<Value = Start> {
    let to = option::of(prop::sample::select(
        &[Destination::File, Destination::Stream][..],
    ));
    let events =
        option::of(prop::sample::subsequence(Events::WORDS, 1..5).prop_map(|w| w.join("+")));
    (
        to,
        option::of(some_text(40)),
        option::of(format()),
        events,
        patterns(),
    )
        .prop_map(|(to, file, format, events, patterns)| Start {
            to,
            file: file.filter(|_| to != Some(Destination::Stream)),
            format,
            events,
            patterns,
        })
}

fn command() -> impl Strategy<Value = Command> {
    let limit = prop_oneof![
        time().prop_map(|t| BurstLimit::Time(t.max(Duration::from_nanos(1)))),
        (1..=u64::MAX).prop_map(BurstLimit::Events),
    ];
    let kind = prop::sample::select(SnapshotKind::ALL);
    prop_oneof![
        word().prop_map(|format| Command::SetOutputFormat { format }),
        start().prop_map(Command::Start),
        Just(Command::Stop),
        Just(Command::Pause),
        Just(Command::Resume),
        limit.prop_map(Command::Burst),
        option::of(some_text(40)).prop_map(|file| Command::Rotate { file }),
        option::of(some_text(40)).prop_map(|file| Command::Save { file }),
        (kind, option::of(some_text(40))).prop_map(|(kind, file)| Command::Snapshot { kind, file }),
        Just(Command::ForceGc),
        patterns().prop_map(|patterns| Command::SetFilters { patterns }),
        some_text(200).prop_map(|text| Command::Mark { text }),
        Just(Command::Status),
        any::<bool>().prop_map(|release| Command::Stream { release }),
        Just(Command::Go),
        Just(Command::Detach),
    ]
}

fn id() -> impl Strategy<Value = Option<String>> {
    option::of(text(16))
}

fn trace() -> impl Strategy<Value = Trace> {
    (
        format(),
        prop::sample::select(Destination::ALL),
        option::of(text(40)),
    )
        .prop_map(|(format, to, file)| Trace { format, to, file })
}

fn ended() -> impl Strategy<Value = Ended> {
    (trace(), time(), any::<(u64, u64, u64)>()).prop_map(
        |(trace, elapsed, (events, lost, bytes))| {
            let figures = Figures {
                elapsed,
                events,
                lost,
                bytes,
            };
            Ended { trace, figures }
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    (
        prop::sample::select(&ErrorCode::ALL[..]),
        text(40),
        text(80),
    )
        .prop_map(|(code, place, message)| {
            Failure {
                code,
                place,
                // White space in the text of an element is read as blanks.
                message: message.replace(['\n', '\t', '\r'], " "),
            }
        })
        .prop_filter("blanks alone are no text", |f| {
            f.message.is_empty() || !f.message.trim().is_empty()
        })
}

fn status() -> impl Strategy<Value = Status> {
    let counts = || vec((text(10), any::<u64>()), 0..4);
    let stream = prop::sample::select(StreamUse::ALL);
    let numbers = any::<(u32, u64, u64, Option<u64>, Option<u32>, u32)>();
    let traced = (
        prop::sample::select(State::ALL),
        text(12),
        time(),
        option::of(ended()),
    );
    (numbers, traced, stream, counts(), counts()).prop_map(
        |(numbers, traced, stream, counts, losses)| {
            let (pid, buffer, buffered, memory, overhead, clients) = numbers;
            let (state, version, uptime, trace) = traced;
            Status {
                state,
                pid,
                version,
                uptime,
                trace,
                buffer,
                buffered,
                memory,
                overhead,
                clients,
                stream,
                counts,
                losses,
            }
        },
    )
}

fn answer() -> impl Strategy<Value = Answer> {
    let kind = prop::sample::select(SnapshotKind::ALL);
    prop_oneof![
        format().prop_map(Answer::EnabledOutputFormat),
        Just(Answer::Done),
        trace().prop_map(Answer::Started),
        ended().prop_map(Answer::Ended),
        ended().prop_map(Answer::Saved),
        (ended(), trace()).prop_map(|(ended, started)| Answer::Rotated { ended, started }),
        (kind, option::of(text(40))).prop_map(|(kind, file)| Answer::Snapshot { kind, file }),
        any::<u64>().prop_map(|retransformed| Answer::Filters { retransformed }),
        status().prop_map(Answer::Status),
        failure().prop_map(Answer::Error),
    ]
}

fn notice() -> impl Strategy<Value = Notice> {
    let reason = || prop::sample::select(EndReason::ALL);
    prop_oneof![
        trace().prop_map(Notice::TraceStarted),
        (reason(), ended(), text(40)).prop_map(|(reason, ended, message)| Notice::TraceEnded {
            reason,
            ended,
            message
        }),
        (text(20), ended()).prop_map(|(reason, saved)| Notice::TraceSaved { reason, saved }),
        prop::sample::select(State::ALL).prop_map(Notice::State),
        text(40).prop_map(|message| Notice::StreamLost { message }),
        reason().prop_map(Notice::Ending),
    ]
}

proptest! {
    #[test]
    fn commands_read_back((id, command) in (id(), command())) {
        let request = Request { id, command };
        prop_assert_eq!(Request::parse(&request.to_bytes()), Ok(request));
    }

    #[test]
    fn answers_read_back((id, answer) in (id(), answer())) {
        let reply = Reply { id, answer };
        prop_assert_eq!(Reply::parse(&reply.to_bytes()), Ok(reply));
    }

    #[test]
    fn notices_read_back(notice in notice()) {
        prop_assert_eq!(Notice::parse(&notice.to_bytes()), Ok(notice));
    }

    /// Half a document is refused as malformed.
    #[test]
    fn broken_commands_are_refused(command in command(), cut in any::<prop::sample::Index>()) {
        let bytes = Request::new(command).to_bytes();
        let cut = cut.index(bytes.len());
        let bad = Request::parse(&bytes[..cut]).expect_err("it is cut");
        prop_assert_eq!(bad.failure.code, ErrorCode::Malformed);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..300), edit in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), command in command()) {
        let _ = Request::parse(&bytes);
        let _ = (Reply::parse(&bytes), Notice::parse(&bytes));
        let mut document = Request::new(command).to_bytes();
        for (at, byte) in edit {
            let at = at.index(document.len());
            document[at] = byte;
        }
        if let Ok(request) = Request::parse(&document) {
            prop_assert_eq!(Request::parse(&request.to_bytes()), Ok(request));
        }
    }
}

#[test]
fn every_command_has_its_name() {
    let mut seen = std::collections::HashSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..500 {
        let command = command().new_tree(&mut runner).expect("a value").current();
        assert!(Command::NAMES.contains(&command.name()));
        seen.insert(command.name());
    }
    assert_eq!(seen.len(), Command::NAMES.len());
}

#[test]
fn the_seeds_spelling_is_understood() {
    let request = Request::parse(b"<setOutputFormat><format>binary</format></setOutputFormat>");
    let format = "binary".to_owned();
    assert_eq!(
        request,
        Ok(Request::new(Command::SetOutputFormat { format }))
    );
    for answer in [
        "<enabledOutputFormat><format>binary</format></enabledOutputFormat>",
        "<enabledOutputFormat><format>binary</format><enabledOutputFormat>",
        " <enabledOutputFormat>\n<format> binary </format>\n<enabledOutputFormat>\n",
    ] {
        let reply = Reply::parse(answer.as_bytes()).expect(answer);
        assert_eq!(
            reply.answer,
            Answer::EnabledOutputFormat(OutputFormat::Binary)
        );
    }
    let failure = Failure {
        code: ErrorCode::Unrecognized,
        place: "x".to_owned(),
        message: "unrecognized command".to_owned(),
    };
    let reply = Reply {
        id: None,
        answer: Answer::Error(failure),
    };
    assert_eq!(
        String::from_utf8(reply.to_bytes()).expect("UTF-8"),
        "<error code=\"unrecognized\" where=\"x\"><message>unrecognized command</message></error>"
    );
}

/// Returns the code, the position and the message of the failure for a document.
fn refused(document: &str) -> String {
    let failure = Request::parse(document.as_bytes())
        .expect_err(document)
        .failure;
    format!("{}|{}|{}", failure.code, failure.place, failure.message)
}

#[test]
fn what_is_not_known_is_an_error() {
    for (document, expected) in [
        ("<frob/>", "unrecognized|frob|unrecognized command"),
        ("<Stop/>", "unrecognized|Stop|unrecognized command"),
        ("<stop now='1'/>", "invalid|stop/@now|no such attribute"),
        ("<stop><now/></stop>", "invalid|stop/now|no such element"),
        ("<stop>now</stop>", "invalid|stop|it has no text"),
        (
            "<setOutputFormat/>",
            "invalid|setOutputFormat/format|there must be one",
        ),
        (
            "<setOutputFormat><format>xml</format><format>xml</format></setOutputFormat>",
            "invalid|setOutputFormat/format|there must be one",
        ),
        (
            "<setOutputFormat><format x='1'>xml</format></setOutputFormat>",
            "invalid|setOutputFormat/format[1]/@x|no such attribute",
        ),
        (
            "<start to='socket'/>",
            "invalid|start/@to|no such value; allowed are file, stream",
        ),
        (
            "<start to='stream' file='x'/>",
            "invalid|start/@file|the stream has no file",
        ),
        ("<start file=''/>", "invalid|start/@file|it is empty"),
        (
            "<start format='trails'/>",
            "invalid|start/@format|no such value \"trails\"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none; did you mean \"trail\"?",
        ),
        (
            "<start events='gcs'/>",
            "invalid|start/@events|no such event \"gcs\"; allowed are methods, threads, classes, gc, alloc, free, monitors, parks, exceptions, jit, cpu, samples, heap, lines, mounts, details, clinit, all, joined with \"+\"; did you mean \"gc\"?",
        ),
        (
            "<start><include/></start>",
            "invalid|start/include[1]/@pattern|the attribute is missing",
        ),
        (
            "<setFilters><include pattern='a.B'/><exclude pattern='a/B'/></setFilters>",
            "invalid|setFilters/exclude[2]/@pattern|class names have dots, not slashes; did you mean \"a.B\"?",
        ),
        (
            "<setFilters><keep pattern='a'/></setFilters>",
            "invalid|setFilters/keep|no such element",
        ),
        ("<burst/>", "invalid|burst|it needs either for or count"),
        (
            "<burst for='1s' count='1'/>",
            "invalid|burst|it needs either for or count",
        ),
        (
            "<burst for='10'/>",
            "invalid|burst/@for|\"10\" is not a time; write it like 500us, 10ms, 2s or 1m",
        ),
        ("<burst for='0s'/>", "invalid|burst/@for|it is 0"),
        (
            "<burst count='-1'/>",
            "invalid|burst/@count|it is not a whole number",
        ),
        ("<burst count='0'/>", "invalid|burst/@count|it is 0"),
        (
            "<snapshot/>",
            "invalid|snapshot/@kind|the attribute is missing",
        ),
        (
            "<snapshot kind='all'/>",
            "invalid|snapshot/@kind|no such value; allowed are profile, heap",
        ),
        ("<mark/>", "invalid|mark/@text|the attribute is missing"),
        ("<mark text=''/>", "invalid|mark/@text|it is empty"),
        (
            "<stream release='yes'/>",
            "invalid|stream/@release|no such value; allowed are true, false",
        ),
        ("<stop", "malformed|byte 0|it ends within markup"),
        ("<stop/><stop/>", "malformed|byte 7|a second element"),
        (
            "<!DOCTYPE stop><stop/>",
            "malformed|byte 0|a document type is not allowed",
        ),
        (
            "<mark text='&bomb;'/>",
            "malformed|byte 12|&bomb; is no reference that is known",
        ),
    ] {
        assert_eq!(refused(document), expected, "{document}");
    }
    let long = |n| format!("<mark text='{}'/>", "x".repeat(n));
    assert!(Request::parse(long(MAX_MARK_BYTES).as_bytes()).is_ok());
    assert_eq!(
        refused(&long(MAX_MARK_BYTES + 1)),
        "invalid|mark/@text|it is longer than 4096 bytes"
    );
    let id = |n| format!("<stop id='{}'/>", "x".repeat(n));
    assert!(Request::parse(id(MAX_ID_BYTES).as_bytes()).is_ok());
    assert_eq!(
        refused(&id(MAX_ID_BYTES + 1)),
        "invalid|stop/@id|it is longer than 64 bytes"
    );
    let bad = Request::parse(b"<burst id='7'/>").expect_err("it says nothing");
    assert_eq!(bad.id.as_deref(), Some("7"));
}

#[test]
fn a_later_agent_may_say_more() {
    let said = "<done id='1' more='1'><more/></done>";
    let reply = Reply::parse(said.as_bytes()).expect("understood");
    assert_eq!(
        (reply.id.as_deref(), reply.answer),
        (Some("1"), Answer::Done)
    );
    let notice = Notice::parse(b"<state state='paused' since='1s'/>");
    assert_eq!(notice, Ok(Notice::State(State::Paused)));
    let news = Notice::parse(b"<news/>").expect_err("not known");
    assert_eq!(news.0.code, ErrorCode::Unrecognized);
}

/// Every answer fits into a frame, however long the texts are that it repeats.
#[test]
fn long_names_make_short_answers() {
    let long = "x".repeat(frame::MAX_DOCUMENT_BYTES - 40);
    for document in [
        format!("<{long}/>"),
        format!("<stop {long}='1'/>"),
        format!("<start><{long}/></start>"),
        format!("<start events='{long}'/>"),
        format!("<start format='{long}'/>"),
        format!("<setFilters><include pattern='{long}/'/></setFilters>"),
        format!("<stop>&{long};</stop>"),
    ] {
        let failure = Request::parse(document.as_bytes())
            .expect_err("wrong")
            .failure;
        let answer = Answer::Error(failure);
        let reply = Reply {
            id: Some("<".repeat(MAX_ID_BYTES)),
            answer,
        };
        let bytes = reply.to_bytes();
        assert!(bytes.len() < 10_000, "{}", bytes.len());
        assert!(Reply::parse(&bytes).is_ok());
    }
    let message = "&".repeat(1 << 20);
    assert!(Notice::StreamLost { message }.to_bytes().len() < frame::MAX_DOCUMENT_BYTES);
}

/// Every example of bytes in the specification is a frame, and its document is understood.
#[test]
fn the_specifications_examples_are_right() {
    use jtrail_control::frame::{Decoder, FrameKind, encode};
    use std::collections::BTreeSet;
    let text = include_str!("../../../docs/control.md");
    // The number of examples for each kind of frame, and the names of the documents in them.
    let (mut kinds, mut shown) = ([0; 4], BTreeSet::new());
    for line in text.lines().filter(|line| line.starts_with("4A 54 ")) {
        let (hex, document) = line.split_once("   ").expect("bytes and text");
        let byte = |hex| u8::from_str_radix(hex, 16).expect("a byte");
        let mut bytes: Vec<u8> = hex.split(' ').map(byte).collect();
        if bytes.len() == frame::HEADER {
            bytes.extend_from_slice(document.trim().as_bytes());
        }
        let mut decoder = match bytes[2] {
            1 => Decoder::for_agent(),
            _ => Decoder::for_client(),
        };
        decoder.feed(&bytes);
        let frame = decoder.next_frame().expect(line).expect(line);
        assert!(!decoder.is_within_frame(), "{line}");
        let mut encoded = Vec::new();
        encode(frame.kind, &frame.payload, &mut encoded);
        assert_eq!(encoded, bytes);
        kinds[frame.kind as usize - 1] += 1;
        let payload = &frame.payload[..];
        let written = match frame.kind {
            FrameKind::Command => Request::parse(payload).expect(line).to_bytes(),
            FrameKind::Answer => Reply::parse(payload).expect(line).to_bytes(),
            FrameKind::Notice => Notice::parse(payload).expect(line).to_bytes(),
            FrameKind::Data => {
                let mut trace = Vec::new();
                jtrail_formats::Format::TptpXml.encoder().begin(&mut trace);
                assert!(trace.starts_with(payload), "{line}");
                continue;
            }
        };
        assert_eq!(written, payload, "{line}");
        let text = std::str::from_utf8(payload).expect("UTF-8");
        let end = text.find([' ', '/', '>']).expect("an element");
        shown.insert((frame.kind as u8, text[1..end].to_owned()));
    }
    assert_eq!(kinds, [2, 11, 1, 6]);
    let of = |kind, names: &[&str]| {
        names
            .iter()
            .map(|name| (kind, (*name).to_owned()))
            .collect()
    };
    let answers: BTreeSet<_> = of(
        2,
        &[
            "enabledOutputFormat",
            "done",
            "started",
            "ended",
            "rotated",
            "saved",
            "snapshot",
            "filters",
            "status",
            "error",
        ],
    );
    let notices: BTreeSet<_> = of(
        4,
        &[
            "traceStarted",
            "traceEnded",
            "traceSaved",
            "state",
            "streamLost",
            "ending",
        ],
    );
    // The specification shows all kinds of answers and notices.
    assert!(shown.is_superset(&answers) && shown.is_superset(&notices));
    for line in text
        .lines()
        .filter(|line| line.starts_with("<start ") || line.starts_with("<setFilters "))
    {
        Request::parse(line.as_bytes()).expect(line);
    }
}
