//! The server and a fake agent over real sockets, with several clients.

mod common;

use common::trace::format;
use common::{Fake, LONG, Served, call, next_notice, start, take_stream, to_file};
use jtrail_control::*;
use jtrail_formats::{Checker, Item, Reader};
use jtrail_options::{BurstLimit, Compat, OutputFormat};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

fn served() -> Served {
    Served::new(Settings::default())
}

/// Receives a trace up to its end. Returns its data, and the notice that it has ended.
fn until_ended(client: &mut Client) -> (Vec<u8>, Notice) {
    let mut data = Vec::new();
    loop {
        match client.receive(LONG).expect("connected").expect("in time") {
            Incoming::Data(bytes) => data.extend(bytes),
            Incoming::Notice(notice @ Notice::TraceEnded { .. }) => return (data, notice),
            Incoming::Notice(_) | Incoming::Reply(_) => {}
        }
    }
}

/// Checks that a trace is sound and contains calls.
fn assert_sound(data: &[u8], expected: OutputFormat) {
    let mut reader = Reader::new(data).expect("a trace");
    assert_eq!(reader.format(), format(expected));
    let mut checker = Checker::of(reader.format());
    let mut remarks = Vec::new();
    let mut calls = 0;
    reader
        .for_each(|item| {
            match item {
                Item::Event { offset, event } => {
                    calls += match &event {
                        jtrail_model::Event::MethodEnter(_) => 1,
                        jtrail_model::Event::AggregatedEnter(e) => e.calls,
                        _ => 0,
                    };
                    checker.event(offset, &event);
                }
                Item::Remark(remark) => remarks.push(remark),
            }
            ControlFlow::<()>::Continue(())
        })
        .expect("readable");
    let findings = checker.finish();
    assert!(remarks.is_empty(), "{remarks:?}");
    assert_eq!(findings.faults(), 0, "{:?}", findings.findings);
    assert!(!findings.is_truncated());
    assert!(calls >= 400, "{calls} calls");
}

/// Takes the stream, requests the format `wish` if there is one, and reads a trace until it is
/// stopped.
fn stream(served: &Served, wish: Option<OutputFormat>) -> (OutputFormat, Vec<u8>) {
    let mut client = served.client();
    let agreed = wish.map_or(OutputFormat::Xml, |wish| {
        client.set_output_format(wish).expect("an answer")
    });
    take_stream(&mut client);
    let mut data = Vec::new();
    let mut keep = |incoming| {
        if let Incoming::Data(bytes) = incoming {
            data.extend(bytes);
        }
        Ok(())
    };
    client.call(start(), &mut keep).expect("started");
    let end = Instant::now() + Duration::from_millis(30);
    while Instant::now() < end {
        if let Some(incoming) = client
            .receive(Duration::from_millis(10))
            .expect("connected")
        {
            keep(incoming).expect("kept");
        }
    }
    let Answer::Ended(ended) = client.call(Command::Stop, &mut keep).expect("stopped") else {
        panic!("no end");
    };
    assert_eq!(ended.figures.bytes, data.len() as u64);
    assert_eq!(ended.trace.format, agreed);
    (agreed, data)
}

#[test]
fn an_old_client_says_nothing_and_gets_xml() {
    let (_, data) = stream(&served(), None);
    assert_sound(&data, OutputFormat::Xml);
}

#[test]
fn an_old_agent_knows_no_format_and_both_use_xml() {
    let served = Served::new(Settings::default().with_compat(Compat::Pre45));
    let mut client = served.client();
    let format = "binary".to_owned();
    assert_eq!(
        call(&mut client, Command::SetOutputFormat { format }),
        Err("unrecognized: unrecognized command".to_owned())
    );
    drop(client);
    let (agreed, data) = stream(&served, Some(OutputFormat::Binary));
    assert_eq!(agreed, OutputFormat::Xml);
    assert_sound(&data, OutputFormat::Xml);
}

#[test]
fn two_new_ones_use_what_was_agreed() {
    let served = served();
    for wish in [
        OutputFormat::Binary,
        OutputFormat::Xml,
        OutputFormat::Jinsight,
        OutputFormat::Mlpd,
        OutputFormat::TraceLog,
        OutputFormat::ProfilerJ,
        OutputFormat::Trail,
    ] {
        let (agreed, data) = stream(&served, Some(wish));
        assert_eq!(agreed, wish);
        assert_sound(&data, wish);
    }
}

#[test]
fn the_format_is_open_until_data_come() {
    let served = served();
    let mut client = served.client();
    let ask = |client: &mut Client, word: &str| {
        let format = word.to_owned();
        call(client, Command::SetOutputFormat { format })
    };
    let enabled = |format| Ok(Answer::EnabledOutputFormat(format));
    assert_eq!(ask(&mut client, "binary"), enabled(OutputFormat::Binary));
    assert_eq!(
        ask(&mut client, "jinsight"),
        enabled(OutputFormat::Jinsight)
    );
    // An unknown format changes nothing.
    assert_eq!(ask(&mut client, "pcap"), enabled(OutputFormat::Jinsight));
    assert_eq!(ask(&mut client, "none"), enabled(OutputFormat::Jinsight));
    take_stream(&mut client);
    assert_eq!(ask(&mut client, "binary"), enabled(OutputFormat::Binary));
    call(&mut client, start()).expect("started");
    assert_eq!(ask(&mut client, "xml"), enabled(OutputFormat::Binary));
    // The trace does not affect other clients.
    let mut other = served.client();
    assert_eq!(ask(&mut other, "mlpd"), enabled(OutputFormat::Mlpd));
    call(&mut client, Command::Stop).expect("stopped");
    assert_eq!(ask(&mut client, "xml"), enabled(OutputFormat::Xml));
}

#[test]
fn start_can_name_format_events_and_filters() {
    let served = served();
    let mut client = served.client();
    take_stream(&mut client);
    let wishes = Start {
        format: Some(OutputFormat::Binary),
        events: Some("+alloc".to_owned()),
        patterns: vec![(true, "com.acme.*".to_owned())],
        ..Start::default()
    };
    let Ok(Answer::Started(trace)) = call(&mut client, Command::Start(wishes)) else {
        panic!("not started");
    };
    assert_eq!(
        (trace.format, trace.to),
        (OutputFormat::Binary, Destination::Stream)
    );
    call(&mut client, Command::Stop).expect("stopped");
    assert_eq!(
        served.called()[0],
        "start format=Some(Binary) events=Some(\"+alloc\") patterns=[(true, \"com.acme.*\")]"
    );
    let none = Start {
        format: Some(OutputFormat::None),
        ..Start::default()
    };
    let refused = call(&mut client, Command::Start(none));
    assert_eq!(
        refused,
        Err("invalid: nothing would go to the stream".to_owned())
    );
}

#[test]
fn commands_are_allowed_where_they_make_sense() {
    let served = served();
    let mut client = served.client();
    let refused = |problem: &str| Err(format!("state: {problem}"));
    let none = refused("there is no trace");
    let mark = || Command::Mark {
        text: "a <b>".to_owned(),
    };
    let rotate = || Command::Rotate { file: None };
    let profile = || Command::Snapshot {
        kind: SnapshotKind::Profile,
        file: None,
    };
    for command in [
        Command::Stop,
        Command::Pause,
        Command::Resume,
        rotate(),
        profile(),
        mark(),
    ] {
        assert_eq!(call(&mut client, command), none);
    }
    assert_eq!(call(&mut client, Command::ForceGc), Ok(Answer::Done));
    let patterns = vec![(true, "a.*".to_owned()), (false, "b.*".to_owned())];
    let filters = || Command::SetFilters {
        patterns: patterns.clone(),
    };
    assert_eq!(
        call(&mut client, filters()),
        Ok(Answer::Filters { retransformed: 2 })
    );
    assert!(served.called().iter().all(|c| !c.starts_with("stop")));

    assert!(matches!(
        call(&mut client, to_file("one.trcbin")),
        Ok(Answer::Started(_))
    ));
    assert_eq!(
        call(&mut client, start()),
        refused("a trace is active; stop it first")
    );
    assert_eq!(
        call(&mut client, Command::Resume),
        refused("it is not paused")
    );
    let burst = Command::Burst(BurstLimit::Events(5));
    assert_eq!(
        call(&mut client, burst.clone()),
        refused("it is recording already")
    );
    assert_eq!(call(&mut client, Command::Pause), Ok(Answer::Done));
    assert_eq!(
        call(&mut client, Command::Pause),
        refused("it is paused already")
    );
    assert_eq!(call(&mut client, mark()), Ok(Answer::Done));
    assert_eq!(call(&mut client, Command::Resume), Ok(Answer::Done));
    assert!(matches!(
        call(&mut client, profile()),
        Ok(Answer::Snapshot { file: Some(_), .. })
    ));
    let heap = Command::Snapshot {
        kind: SnapshotKind::Heap,
        file: None,
    };
    assert_eq!(
        call(&mut client, heap),
        Err("unavailable: the heap is not recorded; start with events=+heap".to_owned())
    );
    let Ok(Answer::Rotated { ended, started }) = call(&mut client, rotate()) else {
        panic!("not rotated");
    };
    assert!(ended.trace.file.expect("a file").ends_with("one.trcbin"));
    assert_ne!(started.file, None);
    assert!(matches!(
        call(&mut client, Command::Stop),
        Ok(Answer::Ended(_))
    ));
    assert_eq!(call(&mut client, Command::Stop), none);
    let file = std::fs::read(served.folder.path().join("one.trcbin")).expect("written");
    assert_sound(&file, OutputFormat::Binary);
}

#[test]
fn status_shows_clients_and_stream() {
    let served = served();
    let (mut one, mut two) = (served.client(), served.client());
    let status = |client: &mut Client| match call(client, Command::Status) {
        Ok(Answer::Status(status)) => status,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (status(&mut one).clients, status(&mut one).stream),
        (2, StreamUse::Free)
    );
    take_stream(&mut one);
    assert_eq!(status(&mut one).stream, StreamUse::Yours);
    assert_eq!(status(&mut two).stream, StreamUse::Taken);
    assert_eq!(status(&mut two).state, State::Idle);
    call(&mut two, to_file("x")).expect("started");
    let found = status(&mut one);
    assert_eq!(found.state, State::Recording);
    assert_eq!(found.trace.expect("one").trace.to, Destination::File);
}

#[test]
fn the_stream_has_one_owner() {
    let served = served();
    let (mut one, mut two) = (served.client(), served.client());
    let (take, release) = (
        || Command::Stream { release: false },
        || Command::Stream { release: true },
    );
    take_stream(&mut one);
    take_stream(&mut one);
    let busy = Err("busy: another client has the data stream".to_owned());
    assert_eq!(call(&mut two, take()), busy);
    let to_stream = || {
        Command::Start(Start {
            to: Some(Destination::Stream),
            ..Start::default()
        })
    };
    assert_eq!(call(&mut two, to_stream()), busy);
    assert_eq!(
        call(&mut two, release()),
        Err("state: this client does not have the data stream".to_owned())
    );
    call(&mut one, start()).expect("started");
    assert_eq!(
        call(&mut one, release()),
        Err("state: a trace goes to the stream; stop it first".to_owned())
    );
    let rotate = Command::Rotate {
        file: Some("x".to_owned()),
    };
    assert_eq!(
        call(&mut one, rotate),
        Err("invalid: the trace goes to the stream, which has no file".to_owned())
    );
    // Any client may stop the trace; the one that reads it is notified.
    let Ok(Answer::Ended(_)) = call(&mut two, Command::Stop) else {
        panic!("not stopped");
    };
    let (data, notice) = until_ended(&mut one);
    assert!(matches!(
        notice,
        Notice::TraceEnded {
            reason: EndReason::Stop,
            ..
        }
    ));
    assert!(!data.is_empty());
    assert_eq!(call(&mut one, release()), Ok(Answer::Done));
    assert_eq!(
        call(&mut two, to_stream()),
        Err("state: take the data stream first".to_owned())
    );
    take_stream(&mut two);
}

#[test]
fn a_rotated_stream_is_parted_by_a_notice() {
    let served = served();
    let mut client = served.client();
    client
        .set_output_format(OutputFormat::Binary)
        .expect("an answer");
    take_stream(&mut client);
    client.send(start()).expect("sent");
    client.send(Command::Rotate { file: None }).expect("sent");
    let (first, notice) = until_ended(&mut client);
    assert!(matches!(
        notice,
        Notice::TraceEnded {
            reason: EndReason::Rotate,
            ..
        }
    ));
    client.send(Command::Stop).expect("sent");
    let (second, _) = until_ended(&mut client);
    for data in [first, second] {
        // The trace may consist of a single batch.
        let mut reader = Reader::new(&data[..]).expect("a trace of its own");
        let mut ended = false;
        reader
            .for_each(|item| {
                if let Item::Event { event, .. } = item {
                    ended = matches!(event, jtrail_model::Event::AgentDestroy(_));
                }
                ControlFlow::<()>::Continue(())
            })
            .expect("readable");
        assert!(ended);
    }
}

#[test]
fn bursts_end_by_themselves() {
    let served = served();
    let mut client = served.client();
    take_stream(&mut client);
    let burst = || Command::Burst(BurstLimit::Time(Duration::from_millis(30)));
    client.send(burst()).expect("sent");
    let (data, notice) = until_ended(&mut client);
    assert!(matches!(
        notice,
        Notice::TraceEnded {
            reason: EndReason::Burst,
            ..
        }
    ));
    assert_sound(&data, OutputFormat::Xml);

    call(&mut client, to_file("x")).expect("started");
    call(&mut client, Command::Pause).expect("paused");
    let mut seen = Vec::new();
    client
        .call(burst(), |incoming| {
            seen.push(incoming);
            Ok(())
        })
        .expect("a burst");
    assert_eq!(seen, [Incoming::Notice(Notice::State(State::Recording))]);
    assert_eq!(next_notice(&mut client), Notice::State(State::Paused));
    call(&mut client, Command::Stop).expect("stopped");
}

/// The client that sends a command gets its notices before the answer, and none after it.
#[test]
fn notices_come_before_the_answer() {
    let served = served();
    let mut client = served.client();
    let rotate = Command::Rotate { file: None };
    for (command, expected) in [
        (to_file("x"), vec!["traceStarted"]),
        (Command::Pause, vec!["state"]),
        (Command::Resume, vec!["state"]),
        (rotate, vec!["traceEnded", "traceStarted"]),
        (Command::Stop, vec!["traceEnded"]),
        (Command::Status, vec![]),
        (to_file("y"), vec!["traceStarted"]),
        (Command::Detach, vec!["traceEnded"]),
    ] {
        let mut seen = Vec::new();
        let name = command.name();
        let answer = client.call(command, |incoming| {
            seen.push(match incoming {
                Incoming::Notice(Notice::TraceStarted(_)) => "traceStarted",
                Incoming::Notice(Notice::TraceEnded { .. }) => "traceEnded",
                Incoming::Notice(Notice::State(_)) => "state",
                other => panic!("{other:?}"),
            });
            Ok(())
        });
        answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen, expected, "{name}");
    }
    assert_eq!(next_notice(&mut client), Notice::Ending(EndReason::Detach));
}

#[test]
fn all_clients_are_notified() {
    let served = served();
    let (mut one, mut two) = (served.client(), served.client());
    call(&mut two, Command::Status).expect("connected");
    call(&mut one, to_file("x")).expect("started");
    call(&mut one, Command::Pause).expect("paused");
    served.notifier.notify(&Notice::Ending(EndReason::Failure));
    assert!(matches!(next_notice(&mut two), Notice::TraceStarted(_)));
    assert_eq!(next_notice(&mut two), Notice::State(State::Paused));
    assert_eq!(next_notice(&mut two), Notice::Ending(EndReason::Failure));
    call(&mut one, Command::Stop).expect("stopped");
    assert!(matches!(next_notice(&mut two), Notice::TraceEnded { .. }));
}

#[test]
fn detach_ends_everything() {
    let mut served = served();
    let (mut one, mut two) = (served.client(), served.client());
    call(&mut two, Command::Status).expect("connected");
    call(&mut one, to_file("x")).expect("started");
    assert_eq!(call(&mut one, Command::Detach), Ok(Answer::Done));
    assert!(matches!(next_notice(&mut two), Notice::TraceStarted(_)));
    assert!(matches!(
        next_notice(&mut two),
        Notice::TraceEnded {
            reason: EndReason::Detach,
            ..
        }
    ));
    assert_eq!(next_notice(&mut two), Notice::Ending(EndReason::Detach));
    assert!(matches!(two.receive(LONG), Err(ClientError::Closed)));
    served.join();
    assert!(!served.socket.exists());
}

#[test]
fn a_stopped_service_says_farewell() {
    let served = served();
    let mut client = served.client();
    call(&mut client, Command::Status).expect("connected");
    let socket = served.socket.clone();
    drop(served);
    assert_eq!(
        next_notice(&mut client),
        Notice::Ending(EndReason::Shutdown)
    );
    assert!(matches!(client.receive(LONG), Err(ClientError::Closed)));
    assert!(!socket.exists());
}

#[test]
fn the_agent_is_given_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let notifier = Notifier::default();
    let fake = Fake::new(folder.path(), notifier.clone());
    let server = Server::new(fake, Settings::default(), notifier);
    let listener = Listener::bind(&folder.path().join("x.sock")).expect("bound");
    let (service, stopper) = Service::new(server, listener, |_| ()).expect("made");
    stopper.stop();
    let fake = service.run().expect("served");
    assert_eq!(fake.state(), State::Idle);
}
