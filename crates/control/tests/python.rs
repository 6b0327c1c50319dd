//! A client in Python, written from the specification alone, against the server.
//! `tests/control/python_client.rs` uses it with agents in JVMs.

mod common;

use common::Served;
use common::trace::format;
use jtrail_control::frame::{FrameKind, encode};
use jtrail_control::{Answer, Destination, ErrorCode, Notice, Reply, Settings};
use jtrail_formats::{Checker, Item, Reader};
use jtrail_options::{Compat, OutputFormat};
use jtrail_testkit::{Dialogue, python};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Starts the client and connects it to a socket; `None` without Python.
fn client(socket: &Path) -> Option<Dialogue> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client.py");
    Some(Dialogue::with(python(script)?.arg(socket)))
}

/// Sends a command and returns its answer.
fn ask(client: &mut Dialogue, command: &str) -> Reply {
    let answer = client.ask(command);
    let reply = Reply::parse(answer.as_bytes()).unwrap_or_else(|e| panic!("{answer}: {e}"));
    assert!(reply.id.is_some(), "{answer}");
    reply
}

#[test]
fn every_command_is_answered() {
    let served = Served::new(Settings::default());
    let Some(mut client) = client(&served.socket) else {
        return;
    };
    for (command, expected) in [
        ("<status/>", "status"),
        (
            "<setOutputFormat><format>jinsight</format></setOutputFormat>",
            "enabledOutputFormat",
        ),
        ("<go/>", "done"),
        ("<stream/>", "done"),
        ("<stream release=\"true\"/>", "done"),
        (
            "<setFilters><include pattern=\"com.acme.*\"/><exclude pattern=\"*\"/></setFilters>",
            "filters",
        ),
        ("<forceGc/>", "done"),
        (
            "<start file=\"one.trcbin\" format=\"binary\" events=\"+gc\"/>",
            "started",
        ),
        ("<mark text=\"half &lt;way&gt; ü\"/>", "done"),
        ("<pause/>", "done"),
        ("<resume/>", "done"),
        ("<pause/>", "done"),
        ("<burst for=\"10ms\"/>", "done"),
        ("<snapshot kind=\"profile\"/>", "snapshot"),
        ("<rotate/>", "rotated"),
        ("<stop/>", "ended"),
        ("<burst count=\"100\"/>", "done"),
        ("<detach/>", "done"),
    ] {
        let reply = ask(&mut client, command);
        let document = String::from_utf8(reply.to_bytes()).expect("UTF-8");
        assert!(
            document.starts_with(&format!("<{expected}")),
            "{command}: {document}"
        );
    }
    for name in ["traceStarted", "state", "traceEnded", "ending"] {
        let notice = client.ask(&format!("await {name}"));
        Notice::parse(notice.as_bytes()).unwrap_or_else(|e| panic!("{notice}: {e}"));
    }
    assert_eq!(client.ask("closed"), "closed");
    client.end();
    let called = served.called();
    for call in ["mark \"half <way> ü\"", "go", "resume", "force_gc"] {
        assert!(called.contains(&call.to_owned()), "{call}: {called:?}");
    }
}

#[test]
fn errors_are_answered() {
    let served = Served::new(Settings::default());
    let Some(mut client) = client(&served.socket) else {
        return;
    };
    for (command, expected) in [
        ("<frob/>", ErrorCode::Unrecognized),
        ("<stop/>", ErrorCode::State),
        ("<resume/>", ErrorCode::State),
        ("<burst/>", ErrorCode::Invalid),
        ("<start to=\"stream\"/>", ErrorCode::State),
        ("<snapshot kind=\"heap\"/>", ErrorCode::State),
    ] {
        match ask(&mut client, command).answer {
            Answer::Error(failure) => assert_eq!(failure.code, expected, "{command}"),
            answer => panic!("{command}: {answer:?}"),
        }
    }
    client.end();
}

/// Agents of all versions answer the request for a format, correctly or not. If the client does not
/// understand the answer, the format is XML.
#[test]
fn answers_to_the_wish_for_a_format() {
    const BINARY: &str = "<enabledOutputFormat><format>binary</format></enabledOutputFormat>";
    for (answer, expected) in [
        (BINARY, "binary"),
        // As printed in old specifications.
        (
            "<enabledOutputFormat><format>binary</format><enabledOutputFormat>",
            "binary",
        ),
        (
            "<enabledOutputFormat><format>jinsight</format><enabledOutputFormat>\n",
            "jinsight",
        ),
        // A format other than the requested one applies.
        (
            "<enabledOutputFormat><format> xml </format></enabledOutputFormat>",
            "xml",
        ),
        (
            "<enabledOutputFormat><format>frob</format></enabledOutputFormat>",
            "xml",
        ),
        ("<enabledOutputFormat/>", "xml"),
        ("<enabledOutputFormat><format>binary", "xml"),
        ("<frob><format>binary</format></frob>", "xml"),
        (
            "<error code=\"unrecognized\"><message>unrecognized command</message></error>",
            "xml",
        ),
        ("unrecognized command", "xml"),
        ("", "xml"),
    ] {
        let folder = jtrail_testkit::temp_dir();
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("bound");
        let Some(mut client) = client(&socket) else {
            return;
        };
        let agent = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let mut header = [0; 8];
            socket.read_exact(&mut header).expect("a frame");
            let mut command = vec![0; usize::from(header[4])];
            socket.read_exact(&mut command).expect("a command");
            let mut frame = Vec::new();
            encode(FrameKind::Answer, answer.as_bytes(), &mut frame);
            socket.write_all(&frame).expect("it reads");
            String::from_utf8(command).expect("UTF-8")
        });
        assert_eq!(client.ask("negotiate binary"), expected, "{answer}");
        let command = agent.join().expect("no panic");
        assert!(command.starts_with("<setOutputFormat"), "{command}");
        assert!(command.contains("<format>binary</format>"), "{command}");
        client.end();
    }
}

/// Receives a trace by the stream, and checks that it is sound and has this format. `wish` is the
/// format that the client requests; an old client requests none.
fn streams(settings: Settings, wish: Option<&str>, expected: OutputFormat) {
    let served = Served::new(settings);
    let Some(mut client) = client(&served.socket) else {
        return;
    };
    if let Some(word) = wish {
        let agreed = client.ask(&format!("negotiate {word}"));
        assert_eq!(agreed, expected.to_string());
    }
    ask(&mut client, "<stream/>");
    ask(&mut client, "<start/>");
    std::thread::sleep(std::time::Duration::from_millis(50)); // for some events
    let Answer::Ended(ended) = ask(&mut client, "<stop/>").answer else {
        panic!("no end");
    };
    let file = served.folder.path().join("data");
    client.ask(&format!("save {}", file.display()));
    client.end();
    let data = std::fs::read(file).expect("written");
    assert_eq!(ended.trace.to, Destination::Stream);
    assert_eq!(ended.trace.format, expected);
    assert_eq!(ended.figures.bytes, data.len() as u64);
    let mut reader = Reader::new(&data[..]).expect("a trace");
    assert_eq!(reader.format(), format(expected));
    let mut checker = Checker::of(reader.format());
    let mut remarks = 0;
    reader
        .for_each(|item| {
            match item {
                Item::Event { offset, event } => checker.event(offset, &event),
                Item::Remark(_) => remarks += 1,
            }
            ControlFlow::<()>::Continue(())
        })
        .expect("readable");
    let findings = checker.finish();
    assert_eq!(
        (remarks, findings.faults(), findings.is_truncated()),
        (0, 0, false)
    );
}

#[test]
fn old_client_and_new_agent() {
    streams(Settings::default(), None, OutputFormat::Xml);
}

#[test]
fn new_client_and_old_agent() {
    let settings = Settings::default().with_compat(Compat::Pre45);
    streams(settings, Some("binary"), OutputFormat::Xml);
}

#[test]
fn both_new() {
    for (word, format) in [
        ("xml", OutputFormat::Xml),
        ("binary", OutputFormat::Binary),
        ("jinsight", OutputFormat::Jinsight),
    ] {
        streams(Settings::default(), Some(word), format);
    }
}
