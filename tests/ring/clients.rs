//! A flight recorder (`overflow=ring`) that clients command: they save its events, add marks, and
//! are notified of saved traces.

use crate::support::cli::{assert_verified, outcome};
use crate::support::control::{ControlledRun, rounds};
use crate::support::python_client::{client, good, refused};
use crate::support::{agent, at_once, few_versions, program};
use jtrail_control::{Answer, Command, Destination, Ended, ErrorCode, Incoming, Notice, State};
use jtrail_testkit::{Jdk, temp_dir};
use std::io::Write;
use std::time::Duration;

const RING: &str = "format=trail,overflow=ring,server=enabled,events=methods+threads+gc,buffer=16m";

fn saved(answer: Answer) -> Ended {
    match answer {
        Answer::Saved(saved) => saved,
        other => panic!("{other:?}"),
    }
}

/// Everything that docs/control.md says about flight recorders, with a client that was written from
/// that document.
#[test]
fn clients_save_the_newest_events() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, RING);
        let Some(mut client) = client(&app.path("socket")) else {
            return;
        };
        let (first, other) = (app.text("first"), app.text("other"));
        let status = |client: &mut _| match good(client, "<status/>") {
            Answer::Status(status) => status,
            answer => panic!("{answer:?}"),
        };
        let before = status(&mut client);
        assert_eq!(before.state, State::Recording);
        let trace = before.trace.expect("the newest events").trace;
        assert_eq!((trace.to, trace.file), (Destination::Ring, None));

        app.work();
        good(&mut client, "<mark text=\"one &lt;&amp;> two\"/>");
        good(&mut client, "<forceGc/>");
        let one = saved(good(&mut client, "<save/>"));
        assert_eq!(one.trace.file.as_deref(), Some(&*first));
        assert_eq!(one.trace.to, Destination::File);
        assert!(one.figures.events > 100 && one.figures.lost == 0, "{one:?}");
        assert!(one.figures.elapsed > Duration::ZERO, "{one:?}");

        app.work();
        app.work();
        let two = saved(good(&mut client, &format!("<save file=\"{other}\"/>")));
        assert_eq!(two.trace.file.as_deref(), Some(&*other));
        let filters = "<setFilters><include pattern=\"harness.Attached.work\"/></setFilters>";
        good(&mut client, filters);
        app.work();
        let three = saved(good(&mut client, "<save/>"));
        assert_eq!(three.trace.file, Some(app.text("first-2")));

        for command in [
            "<start/>",
            "<stop/>",
            "<pause/>",
            "<resume/>",
            "<burst count=\"5\"/>",
            "<rotate/>",
            "<snapshot kind=\"heap\"/>",
            "<stream/>",
        ] {
            assert_eq!(
                refused(&mut client, command),
                ErrorCode::Unavailable,
                "{command}"
            );
        }
        assert_eq!(
            refused(&mut client, "<save to=\"file\"/>"),
            ErrorCode::Invalid
        );
        let nowhere = format!("<save file=\"{}/a/b\"/>", app.text("nowhere"));
        assert_eq!(refused(&mut client, &nowhere), ErrorCode::Failed);
        // These events are lost, and recording goes on.
        assert_eq!(
            refused(&mut client, "<save file=\"/dev/full\"/>"),
            ErrorCode::Failed
        );

        let after = status(&mut client);
        let figures = after.trace.expect("the newest events").figures;
        let bytes: u64 = [&one, &two, &three].map(|s| s.figures.bytes).iter().sum();
        assert_eq!((figures.bytes, figures.lost), (bytes, 0));
        let events: u64 = [&one, &two, &three].map(|s| s.figures.events).iter().sum();
        assert!(figures.events >= events / 2, "{figures:?}, {events}");
        assert!(figures.elapsed < Duration::from_secs(60), "{figures:?}");
        assert!(after.overhead.is_some());

        app.work();
        good(&mut client, "<detach/>"); // save=exit
        for (reason, file) in [
            ("command", "first"),
            ("command", "other"),
            ("command", "first-2"),
            ("exit", "first-3"),
        ] {
            let reported = client.ask("await traceSaved");
            assert!(
                reported.contains(&format!("reason=\"{reason}\"")),
                "{reported}"
            );
            assert!(reported.contains(&format!("{file}\"")), "{reported}");
        }
        assert!(client.ask("await traceEnded").contains("to=\"ring\""));
        assert!(client.ask("await ending").contains("detach"));
        client.end();
        app.work(); // in no trace
        let (folder, output) = app.end();
        let path = |name: &str| folder.path().join(name);
        for name in ["first", "other", "first-2", "first-3"] {
            assert_verified(&path(name));
        }
        let (trace, count) = rounds(&path("first"), &output);
        assert_eq!(
            (count, trace.marks.as_slice()),
            (1, &["one <&> two".to_owned()][..])
        );
        assert!(trace.collections > 0, "{jdk:?}");
        let work = |trace: &crate::support::Trace| trace.calls["harness.Attached.work(I)I"];
        let a_round = work(&trace);
        let (trace, count) = rounds(&path("other"), &output);
        assert_eq!((count, work(&trace)), (2, 2 * a_round));
        assert!(trace.marks.is_empty());
        for name in ["first-2", "first-3"] {
            let (trace, count) = rounds(&path(name), &output);
            assert_eq!((count, work(&trace)), (0, a_round), "{name}");
            let attempt = "harness.Attached.attempt()V";
            assert!(!trace.calls.contains_key(attempt), "{:?}", trace.calls);
        }
        let (_, said) = output.stderr.split_once("jtrail: ").expect("a line");
        assert!(
            said.starts_with("the last ") && said.ends_with("first-3 (exit)\n"),
            "{output}"
        );
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 4, "neither socket nor spool");
    }
}

/// All clients are notified of a trace that is saved without a command. A client's mark is kept
/// among the recorded events.
#[test]
fn clients_are_notified_of_each_save() {
    at_once(|jdk| {
        let app = ControlledRun::new(jdk, &format!("{RING},save=request"));
        let mut watching = app.client();
        watching
            .call(Command::Status, |_| Ok(()))
            .expect("connected");
        outcome(&["request", &app.pid().to_string()]).expect("it is asked");
        let mut reported = Vec::new();
        let answer = watching.call(Command::Status, |incoming| {
            reported.push(incoming);
            Ok(())
        });
        answer.expect("it is there");
        match &reported[..] {
            [Incoming::Notice(Notice::TraceSaved { reason, saved })] => {
                assert_eq!(reason, "request", "{jdk}");
                assert_eq!(saved.trace.file, Some(app.text("first")), "{jdk}");
            }
            other => panic!("{jdk}: {other:?}"),
        }
        app.ctl(&["mark", "behind it"]);
        let said = app.ctl(&["save"]);
        assert!(said.contains("first-2: trail, events: "), "{jdk}: {said}");
        let said = app.ctl(&["status"]);
        assert!(
            said.contains("the newest events: trail, of the last "),
            "{jdk}: {said}"
        );
        let said = app.ctl(&["--json", "save", &app.text("third")]);
        assert!(said.contains("\"answer\":\"saved\""), "{jdk}: {said}");
        let (folder, output) = app.end();
        assert!(!folder.path().join("first-3").exists(), "{jdk}: {output}");
        let (trace, _) = rounds(&folder.path().join("first-2"), &output);
        assert_eq!(trace.marks, ["behind it"], "{jdk}");
        assert_verified(&folder.path().join("third"));
    });
}

/// A running program gets a flight recorder that is detached again, several times.
#[test]
fn a_flight_recorder_comes_and_goes() {
    at_once(|jdk| {
        let to = temp_dir();
        let mut running = program(jdk, "harness.Attached").spawn().expect("it starts");
        running.wait_ready();
        let pid = running.pid().to_string();
        let agent = agent();
        let mut input = running.stdin();
        for round in 1..=3 {
            let file = to.path().join(format!("{round}.trail"));
            let file = file.to_str().expect("text");
            let said = outcome(&[
                "attach",
                &pid,
                "--agent",
                agent.to_str().expect("text"),
                "--overflow",
                "ring",
                "--format",
                "trail",
                "--file",
                file,
            ]);
            let said = said.unwrap_or_else(|said| panic!("{jdk}: {said}"));
            let expected = format!(
                "jtrail: JVM {pid} keeps the newest events; what is saved of them is in {file}\n"
            );
            assert_eq!(said, expected, "{jdk}");
            input.write_all(b"work\n").expect("it reads");
            running.wait_for(&"[done]\n".repeat(round));
            outcome(&["ctl", &pid, "detach"]).unwrap_or_else(|said| panic!("{jdk}: {said}"));
            assert_verified(file.as_ref());
        }
        drop(input);
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        for round in 1..=3 {
            let (_, count) = rounds(&to.path().join(format!("{round}.trail")), &output);
            assert_eq!(count, 1, "{jdk}");
        }
        let left = std::fs::read_dir(to.path()).expect("a folder").count();
        assert_eq!(left, 3, "{jdk}");
    });
}
