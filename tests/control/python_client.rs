//! The client in Python, written from docs/control.md alone, with agents in real JVMs. It
//! negotiates formats with old and new agents and receives their data live. Each of its commands
//! does what the document says.

use crate::support::cli::{jtrail, outcome};
use crate::support::control::{ControlledRun, rounds};
use crate::support::python_client::{client, good, refused};
use crate::support::{FILTER, Trace, agent, few_versions, program};
use jtrail_control::{Answer, ErrorCode, State, StreamUse};
use jtrail_formats::Format;
use jtrail_testkit::{Dialogue, Jdk, temp_dir};
use std::path::Path;
use std::process::ExitCode;

const WORK: &str = "harness.Attached.work(I)I";

/// Runs `jtrail verify`, which must find the trace sound.
pub(crate) fn verify(file: &Path) {
    let (code, out, err) = jtrail(&["verify", &file.display().to_string()]);
    assert_eq!(code, ExitCode::SUCCESS, "{}: {out}{err}", file.display());
}

/// Returns how often [`WORK`] was called, according to `jtrail report`.
fn calls_of_work(file: &Path) -> Option<u64> {
    let file = file.display().to_string();
    let args = ["report", "--only", "methods", "--format", "tsv", &file];
    let report = outcome(&args).expect("a trace");
    let line = report
        .lines()
        .find(|line| line.contains("harness.Attached.work"))?;
    line.split('\t').find_map(|word| word.parse().ok())
}

/// All cases of the format negotiation: an old client, which requests nothing, and a new one, each
/// with an old and a new agent. The client receives the format that the answer named.
#[test]
fn formats_are_agreed_on() {
    for jdk in Jdk::require(&few_versions()) {
        for is_old in [false, true] {
            let compat = if is_old { "pre45" } else { "current" };
            // The format in the agent's own options does not matter.
            let options = format!("format=binary,compat={compat},events=methods+threads+gc");
            let mut app = ControlledRun::new(&jdk, &options);
            app.ctl(&["stop"]);
            let mut files = Vec::new();
            for wish in [None, Some("xml"), Some("binary"), Some("jinsight")] {
                let Some(mut client) = client(&app.path("socket")) else {
                    return;
                };
                let word = match wish {
                    None => "xml".to_owned(),
                    Some(wish) => client.ask(&format!("negotiate {wish}")),
                };
                assert_eq!(word, if is_old { "xml" } else { wish.unwrap_or("xml") });
                good(&mut client, "<stream/>");
                good(&mut client, "<start/>");
                app.work();
                app.work();
                let Answer::Ended(ended) = good(&mut client, "<stop/>") else {
                    panic!("no end");
                };
                let file = app.path(&format!("{wish:?}"));
                let reported = client.ask(&format!("save {}", file.display()));
                assert_eq!(reported, format!("{} bytes", ended.figures.bytes));
                client.end();
                files.push((file, word));
            }
            let (_folder, output) = app.end();
            for (file, word) in files {
                verify(&file);
                let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
                let expected = match word.as_str() {
                    "xml" => Format::TptpXml,
                    "binary" => Format::TptpBinary,
                    _ => Format::Jinsight,
                };
                assert_eq!(trace.format, Some(expected), "{}", file.display());
                let round = "harness.Attached.round(Ljava/util/List;Z)V";
                assert_eq!(trace.calls.get(round), Some(&2), "{}", file.display());
            }
        }
    }
}

/// Commands for a trace in a file: pauses, bursts, filters, marks, collections, snapshots,
/// rotation.
#[test]
fn commands_for_files() {
    for jdk in Jdk::require(&few_versions()) {
        let options = "format=binary,events=methods+threads+heap,heap=request";
        let mut app = ControlledRun::new(&jdk, options);
        let Some(mut client) = client(&app.path("socket")) else {
            return;
        };
        let start = |name: &str, rest: &str| {
            let file = app.text(name);
            let filter = "<exclude pattern=\"harness.Expect*\"/>";
            format!("<start file=\"{file}\" {rest}>{filter}</start>")
        };
        let first = start("first.trcbin", "format=\"binary\" events=\"+gc+heap\"");
        let rest = start("totals.xml", "format=\"profilerj\" events=\"methods\"");
        let (second, totals) = (app.text("second.trcbin"), app.text("now.xml"));

        good(&mut client, "<stop/>"); // the trace from the JVM's start
        let Answer::Status(status) = good(&mut client, "<status/>") else {
            panic!("no status");
        };
        assert_eq!((status.state, status.pid), (State::Idle, app.pid()));
        assert!(status.uptime.as_nanos() > 0 && status.trace.is_none());
        assert_eq!((status.clients, status.stream), (1, StreamUse::Free));

        let Answer::Started(trace) = good(&mut client, &first) else {
            panic!("no start");
        };
        assert!(
            trace
                .file
                .is_some_and(|file| file.ends_with("first.trcbin"))
        );
        app.work();
        good(&mut client, "<mark text=\"half &lt;way&gt; ü\"/>");
        good(&mut client, "<forceGc/>");
        good(&mut client, "<snapshot kind=\"heap\"/>");
        good(&mut client, "<pause/>");
        assert_eq!(refused(&mut client, "<pause/>"), ErrorCode::State);
        app.work(); // in no trace
        good(&mut client, "<resume/>");
        app.work();
        let Answer::Status(status) = good(&mut client, "<status/>") else {
            panic!("no status");
        };
        assert_eq!(status.state, State::Recording);
        assert!(status.trace.is_some_and(|ended| ended.figures.events > 0));
        assert!(
            status
                .counts
                .iter()
                .any(|(kind, n)| kind == "calls" && *n > 0)
        );

        // Another file; first only one method is traced, then everything again.
        let Answer::Rotated { ended, started } =
            good(&mut client, &format!("<rotate file=\"{second}\"/>"))
        else {
            panic!("no other file");
        };
        assert_eq!(started.file.as_deref(), Some(second.as_str()));
        assert_eq!(ended.figures.lost, 0);
        let filters = "<setFilters><include pattern=\"harness.Attached.work\"/></setFilters>";
        let Answer::Filters { retransformed } = good(&mut client, filters) else {
            panic!("no filters");
        };
        assert!(retransformed > 0);
        app.work();
        let filters = "<setFilters><exclude pattern=\"harness.Expect*\"/></setFilters>";
        good(&mut client, filters);
        // A burst for a time, which `pause` cuts short; one that ends after its time; and one of a
        // number of events.
        good(&mut client, "<pause/>");
        good(&mut client, "<burst for=\"10m\"/>");
        app.work();
        good(&mut client, "<pause/>");
        good(&mut client, "<burst for=\"1ms\"/>");
        let (paused, recording) = ("paused", "recording");
        for state in [
            paused, recording, paused, recording, paused, recording, paused,
        ] {
            assert!(client.ask("await state").contains(state));
        }
        app.work(); // in no trace
        let Answer::Ended(ended) = good(&mut client, "<stop/>") else {
            panic!("no end");
        };
        assert_eq!((ended.figures.lost, ended.trace.file), (0, Some(second)));

        // A burst that is a trace of its own, of a number of events.
        for reason in ["stop", "rotate", "stop"] {
            assert!(client.ask("await traceEnded").contains(reason));
        }
        let Answer::Done = good(&mut client, "<burst count=\"40\"/>") else {
            panic!("not done");
        };
        app.work();
        assert!(client.ask("await traceEnded").contains("burst"));

        // Totals, on request and at the end.
        good(&mut client, &rest);
        app.work();
        let Answer::Snapshot { file, .. } = good(
            &mut client,
            &format!("<snapshot kind=\"profile\" file=\"{totals}\"/>"),
        ) else {
            panic!("no snapshot");
        };
        assert_eq!(file, Some(totals));
        app.work();
        good(&mut client, "<stop/>");
        assert_eq!(refused(&mut client, "<stop/>"), ErrorCode::State);
        assert_eq!(refused(&mut client, "<frob/>"), ErrorCode::Unrecognized);
        client.end();

        let (folder, output) = app.end();
        let path = |name: &str| folder.path().join(name);
        for name in [
            "first.trcbin",
            "second.trcbin",
            "first-2",
            "now.xml",
            "totals.xml",
        ] {
            verify(&path(name));
        }
        let (trace, count) = rounds(&path("first.trcbin"), &output);
        assert_eq!(count, 2, "one more was in the pause");
        assert!(trace.collections > 0);
        let one = trace.calls[WORK] / 2;
        let text = outcome(&["dump", &path("first.trcbin").display().to_string()]);
        let text = text.expect("a trace");
        assert!(text.contains("half <way> ü"), "{text}");
        let heap = [
            "report",
            "--heap",
            &path("first.trcbin").display().to_string(),
        ];
        assert!(
            outcome(&heap)
                .expect("a trace")
                .contains("java.lang.String")
        );
        let (trace, count) = rounds(&path("second.trcbin"), &output);
        assert_eq!((count, trace.calls[WORK]), (1, 2 * one));
        let (burst, _) = rounds(&path("first-2"), &output);
        let calls: u64 = burst.calls.values().sum();
        assert!((20..=40).contains(&calls), "{:?}", burst.calls);
        for (name, expected) in [("now.xml", one), ("totals.xml", 2 * one)] {
            assert_eq!(calls_of_work(&path(name)), Some(expected), "{name}");
        }
    }
}

/// The data stream: one client has it at a time, may release it, and receives one trace after the
/// other.
#[test]
fn commands_for_the_stream() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=none,server=enabled,events=methods+threads");
        let (Some(mut one), Some(mut other)) =
            (client(&app.path("socket")), client(&app.path("socket")))
        else {
            return;
        };
        let stream_of = |client: &mut Dialogue| match good(client, "<status/>") {
            Answer::Status(status) => status.stream,
            answer => panic!("{answer:?}"),
        };
        assert_eq!(
            refused(&mut one, "<start to=\"stream\"/>"),
            ErrorCode::State
        );
        good(&mut one, "<stream/>");
        assert_eq!(stream_of(&mut one), StreamUse::Yours);
        assert_eq!(stream_of(&mut other), StreamUse::Taken);
        assert_eq!(refused(&mut other, "<stream/>"), ErrorCode::Busy);
        good(&mut one, "<stream release=\"true\"/>");
        assert_eq!(stream_of(&mut one), StreamUse::Free);
        good(&mut other, "<stream/>");

        let start = "<start to=\"stream\" format=\"jinsight\" events=\"methods\"><include pattern=\"harness.*\"/></start>";
        good(&mut other, start);
        let release = "<stream release=\"true\"/>";
        assert_eq!(refused(&mut other, release), ErrorCode::State);
        // Too late for another format: the answer names the current one.
        assert_eq!(other.ask("negotiate xml"), "jinsight");
        app.work();
        good(&mut one, "<rotate/>"); // any client may command
        app.work();
        app.work();
        good(&mut one, "<stop/>");
        let files = [app.path("one"), app.path("two")];
        for file in &files {
            other.ask(&format!("save {}", file.display()));
        }

        // The agent detaches: all clients are notified, and the program goes on.
        good(&mut one, "<detach/>");
        for client in [&mut one, &mut other] {
            assert!(client.ask("await ending").contains("detach"));
            assert_eq!(client.ask("closed"), "closed");
        }
        one.end();
        other.end();
        assert!(!app.path("socket").exists());
        app.work(); // in no trace
        let (folder, output) = app.end();
        for (file, expected) in files.iter().zip(1..) {
            verify(file);
            let trace = Trace::read(file).unwrap_or_else(|e| panic!("{e}\n{output}"));
            assert_eq!(trace.format, Some(Format::Jinsight));
            let round = "harness.Attached.round(Ljava/util/List;Z)V";
            assert_eq!(trace.calls.get(round), Some(&expected));
        }
        drop(folder);
    }
}

/// A program that waits for a client goes on at the client's command, and not before.
#[test]
fn a_program_that_waits_is_let_go() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let socket = folder.path().join("socket");
        let options = format!(
            "server=controlled,wait=10m,format=binary,{FILTER},control={}",
            socket.display()
        );
        let run = program(&jdk, "harness.Attached").agent(agent(), options);
        let mut running = run.spawn().expect("it starts");
        let begin = std::time::Instant::now();
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(begin.elapsed().as_secs() < 60, "no socket");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let Some(mut client) = client(&socket) else {
            return;
        };
        good(&mut client, "<status/>");
        good(&mut client, "<go/>");
        running.wait_ready();
        assert_eq!(refused(&mut client, "<go/>"), ErrorCode::State);
        client.end();
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
    }
}
