//! A client in Python, written from the specification alone, against the server.
//!
//! Without `python3` there is nothing to test with; `JTRAIL_REQUIRE_PYTHON=1` makes that a failure.

mod common;

use common::Served;
use common::trace::format;
use jtrail_control::{Answer, Destination, ErrorCode, Reply, Settings};
use jtrail_formats::{Checker, Item, Reader};
use jtrail_options::{Compat, OutputFormat};
use std::ops::ControlFlow;
use std::process::Command;

struct Done {
    code: i32,
    replies: Vec<Reply>,
    notices: Vec<String>,
}

/// Runs the client; none if there is no Python.
fn python(served: &Served, commands: &str, streamed: Option<&str>) -> Option<Done> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(&served.socket).arg(commands);
    if let Some(file) = streamed {
        command.arg("0.05").arg(served.folder.path().join(file));
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            assert!(
                std::env::var_os("JTRAIL_REQUIRE_PYTHON").is_none(),
                "no python3: {error}"
            );
            eprintln!("skipped: no python3: {error}");
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{commands}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (notices, answers): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("notice "));
    Some(Done {
        code: output.status.code().expect("it ended"),
        replies: answers
            .iter()
            .map(|line| Reply::parse(line.as_bytes()).expect(line))
            .collect(),
        notices: notices
            .iter()
            .map(|line| line["notice ".len()..].to_owned())
            .collect(),
    })
}

#[test]
fn every_command_is_answered() {
    let served = Served::new(Settings::default());
    let commands = [
        ("<status/>", "status"),
        (
            "<setOutputFormat><format>jinsight</format></setOutputFormat>",
            "enabledOutputFormat",
        ),
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
        ("<burst for=\"10ms\"/>", "done"),
        ("<snapshot kind=\"profile\"/>", "snapshot"),
        ("<rotate/>", "rotated"),
        ("<stop/>", "ended"),
        ("<burst count=\"100\"/>", "done"),
        ("<detach/>", "done"),
    ];
    let all = commands.map(|(command, _)| command).join("\n");
    let Some(done) = python(&served, &all, None) else {
        return;
    };
    assert_eq!(done.code, 0);
    assert_eq!(done.replies.len(), commands.len());
    for ((command, expected), reply) in commands.iter().zip(&done.replies) {
        let document = String::from_utf8(reply.to_bytes()).expect("UTF-8");
        assert!(
            document.starts_with(&format!("<{expected}")),
            "{command}: {document}"
        );
        assert!(reply.id.is_some());
    }
    assert!(
        served
            .called()
            .contains(&"mark \"half <way> ü\"".to_owned())
    );
    for notice in ["<traceStarted ", "<traceEnded ", "<state "] {
        assert!(
            done.notices.iter().any(|n| n.starts_with(notice)),
            "{notice}: {:?}",
            done.notices
        );
    }
}

#[test]
fn errors_are_answered() {
    let served = Served::new(Settings::default());
    let commands = "<frob/>\n<stop/>\n<burst/>\n<start to=\"stream\"/>\n<snapshot kind=\"heap\"/>";
    let Some(done) = python(&served, commands, None) else {
        return;
    };
    assert_eq!(done.code, 1);
    let codes: Vec<ErrorCode> = done
        .replies
        .iter()
        .map(|reply| match &reply.answer {
            Answer::Error(failure) => failure.code,
            answer => panic!("{answer:?}"),
        })
        .collect();
    assert_eq!(
        codes,
        [
            ErrorCode::Unrecognized,
            ErrorCode::State,
            ErrorCode::Invalid,
            ErrorCode::State,
            ErrorCode::State
        ]
    );
}

/// Streams after these commands; the trace must be sound, and have this format.
fn streams(settings: Settings, commands: &str, expected: OutputFormat) {
    let served = Served::new(settings);
    let Some(done) = python(&served, commands, Some("data")) else {
        return;
    };
    let Some(Answer::Ended(ended)) = done.replies.last().map(|r| &r.answer) else {
        panic!("{:?}", done.replies);
    };
    let data = std::fs::read(served.folder.path().join("data")).expect("written");
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

const BINARY: &str = "<setOutputFormat><format>binary</format></setOutputFormat>\n<start/>";

#[test]
fn old_client_and_new_agent() {
    streams(Settings::default(), "<start/>", OutputFormat::Xml);
}

#[test]
fn new_client_and_old_agent() {
    streams(
        Settings::default().with_compat(Compat::Pre45),
        BINARY,
        OutputFormat::Xml,
    );
}

#[test]
fn both_new() {
    streams(Settings::default(), BINARY, OutputFormat::Binary);
    let jinsight = BINARY.replace("binary", "jinsight");
    streams(Settings::default(), &jinsight, OutputFormat::Jinsight);
}
