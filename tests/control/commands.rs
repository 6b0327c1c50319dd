//! Clients command the agent in a running program.

use crate::support::classes::Classes;
use crate::support::cli::jtrail;
use crate::support::control::{ControlledRun, ROUND, rounds};
use crate::support::few_versions;
use crate::support::figures::{Figures, short};
use crate::support::python_client::client;
use jtrail_control::{Answer, Client, Command as Ask, Incoming, Notice, Start, State};
use jtrail_formats::Format;
use jtrail_options::OutputFormat;
use jtrail_testkit::Jdk;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Every call is in the trace that was active when it happened, and in no other.
#[test]
fn traces_begin_pause_and_follow_each_other() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads+gc+monitors");
        app.work();
        app.ctl(&["mark", "one <&> two"]);
        app.ctl(&["pause"]);
        app.work(); // in no trace
        app.ctl(&["gc"]);
        app.ctl(&["resume"]);
        app.work();
        let second = app.text("second");
        let reported = app.ctl(&["rotate", &second]);
        assert!(
            reported.contains("first") && reported.contains("second"),
            "{reported}"
        );
        app.work();
        let status = app.ctl(&["status"]);
        assert!(
            status.contains("recording")
                && status.contains("second")
                && status.contains("overhead"),
            "{status}"
        );
        app.ctl(&["stop"]);
        app.work(); // in no trace
        let status = app.ctl(&["status"]);
        assert!(
            status.contains("idle") && !status.contains("overhead"),
            "{status}"
        );
        let third = format!("file={}", app.text("third"));
        app.ctl(&["start", &third, "format=xml"]);
        app.work();
        app.work();
        let (folder, output) = app.end();
        let file = |name: &str| folder.path().join(name);
        let (first, count) = rounds(&file("first"), &output);
        assert_eq!(count, 2, "{output}");
        assert_eq!(first.marks, ["one <&> two"]);
        assert_eq!(first.collections, 0, "the collection was in the pause");
        let (_, count) = rounds(&file("second"), &output);
        assert_eq!(count, 1);
        let (third, count) = rounds(&file("third"), &output);
        assert_eq!((third.format, count), (Some(Format::TptpXml), 2));
        // All the work of a round is recorded, on all threads.
        let attempts = first.calls["harness.Attached.attempt()V"];
        let one = third.calls["harness.Attached.attempt()V"] / 2;
        assert_eq!(attempts, 2 * one);
        assert!(!folder.path().join("socket").exists());
    }
}

/// The figures that a client gets about the trace match its final contents.
#[test]
fn status_is_what_is_in_the_trace() {
    for jdk in Jdk::require(&few_versions()) {
        let begun = Instant::now();
        let options = "format=binary,events=methods+threads+monitors,buffer=8m";
        let mut app = ControlledRun::new(&jdk, options);
        let ready = Instant::now();
        app.work();
        app.work();
        app.ctl(&["pause"]);
        let least = ready.elapsed();
        let status = app.status();
        assert!(status.uptime >= least && status.uptime <= begun.elapsed());
        assert_eq!((status.pid, status.state), (app.pid(), State::Paused));
        assert_eq!(status.buffer, 8 << 20);
        assert!(status.buffered <= status.buffer, "{status:?}");
        let memory = status.memory.expect("it says so");
        assert!((10_000..16 << 20).contains(&memory), "{memory}");
        assert_eq!(status.losses, []);
        let so_far = status.trace.expect("a trace").figures;
        assert!(so_far.elapsed <= status.uptime);
        let Ok(Answer::Ended(ended)) = app.client().call(Ask::Stop, |_| Ok(())) else {
            panic!("no end");
        };
        let ended = ended.figures;
        assert_eq!((ended.events, ended.lost), (so_far.events, 0));
        let idle = app.status();
        assert_eq!((idle.state, idle.trace), (State::Idle, None));
        assert_eq!((idle.counts, idle.losses), (vec![], vec![]));
        assert!(idle.uptime > status.uptime);
        let (folder, output) = app.end();
        let file = folder.path().join("first");
        let (trace, count) = rounds(&file, &output);
        assert_eq!(count, 2);
        assert_eq!(file.metadata().expect("there").len(), ended.bytes);
        let totals = trace.totals();
        let steps: usize = trace.threads.iter().map(|thread| thread.steps.len()).sum();
        let counts = [("calls", steps as u64), ("monitors", totals.monitors)];
        assert_eq!(
            status.counts,
            counts.map(|(kind, events)| (kind.to_owned(), events))
        );
        assert_eq!(totals.enters + totals.leaves, steps as u64);
        assert_eq!(totals.monitors + steps as u64, ended.events);
        assert!(totals.monitors > 0);
    }
}

/// While a trace is being written to a file, the file can't be opened for another trace, by
/// whatever name.
#[test]
fn a_trace_is_not_written_over() {
    for jdk in Jdk::require(&few_versions()) {
        for format in ["binary", "profilerj"] {
            let mut app =
                ControlledRun::new(&jdk, &format!("format={format},events=methods+threads"));
            app.work();
            let path = |name: &str| app.path(name);
            std::os::unix::fs::symlink("first", path("link")).expect("a link");
            std::os::unix::fs::symlink(path("link"), path("now.xml.part")).expect("a link");
            std::fs::hard_link(path("first"), path("other")).expect("a name");
            let mut names = vec!["first", "./first", "link", "other"];
            let mut refused = vec![&["rotate"][..]];
            if format == "profilerj" {
                refused.push(&["snapshot", "profile", "--file"]);
            }
            for words in refused {
                for name in &names {
                    let name = app.text(name);
                    let words = [words, &[&name]].concat();
                    let error = app.try_ctl(&words).expect_err("it is refused");
                    let expected = format!("is the file of the active trace ({}/@file)", words[0]);
                    assert!(error.contains(&expected), "{words:?}: {error}");
                }
                names.push("now.xml"); // written under another name until it is complete
            }
            app.work();
            // Once the file was renamed, its old name is free for another trace.
            std::fs::rename(app.path("first"), app.path("moved")).expect("ours");
            app.ctl(&["rotate", &app.text("first")]);
            let error = app.try_ctl(&["rotate", &app.text("first")]);
            assert!(error.expect_err("refused").contains("active trace"));
            app.work();
            if format == "profilerj" {
                let reported = app.ctl(&["snapshot", "profile", "--file", &app.text("now-%p")]);
                assert!(
                    reported.contains(&format!("now-{}", app.pid())),
                    "{reported}"
                );
            }
            app.ctl(&["stop"]);
            // The trace is not active any more.
            let third = format!("file={}", app.text("first"));
            app.ctl(&["start", &third]);
            for _ in 0..4 {
                app.work();
            }
            let (folder, output) = app.end();
            for (name, expected) in [("moved", 2), ("other", 2), ("first", 4)] {
                let figures = Figures::read(&folder.path().join(name));
                let figures = figures.unwrap_or_else(|e| panic!("{format} {name}: {e}\n{output}"));
                let rounds = figures.calls[&short(ROUND)];
                assert_eq!(rounds, expected, "{format} {name}");
            }
        }
    }
}

/// New filters take effect at once, for loaded classes and for new calls. A new trace may have
/// filters of its own.
#[test]
fn filters_change_while_the_program_runs() {
    const WORK: &str = "harness.Attached.work(I)I";
    const NEXT: &str = "harness.Attached$Worker.next()Ljava/util/concurrent/CountDownLatch;";
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads");
        app.work();
        let reported = app.ctl(&["filters", "include=harness.Attached.round"]);
        assert!(reported.contains("retransformed"), "{reported}");
        app.work();
        app.ctl(&[
            "filters",
            "exclude=harness.Expect*",
            "exclude=harness.Attached.work",
        ]);
        app.work();
        app.ctl(&["stop"]);
        app.work();
        let second = format!("file={}", app.text("second"));
        app.ctl(&["start", &second, "include=harness.Attached.work"]);
        app.work();
        app.ctl(&["stop"]);
        let third = format!("file={}", app.text("third"));
        app.ctl(&["start", &third]); // the filters are still the last ones
        app.work();
        let (folder, output) = app.end();
        let file = |name: &str| folder.path().join(name);
        let (first, count) = rounds(&file("first"), &output);
        assert_eq!(count, 3);
        let attempts = first.calls["harness.Attached.attempt()V"];
        assert_eq!(attempts % 2, 0, "two of the rounds");
        // 21 calls of the method in each attempt, in the first round.
        assert_eq!(first.calls[WORK], attempts / 2 * 21);
        assert!(first.calls[NEXT] > 0);
        for name in ["second", "third"] {
            let (trace, count) = rounds(&file(name), &output);
            assert_eq!((count, trace.calls[WORK]), (0, attempts / 2 * 21), "{name}");
            assert_eq!(trace.calls.len(), 1, "{:?}", trace.calls);
        }
    }
}

/// Each trace defines the objects that it mentions, even those that an earlier trace defined.
#[test]
fn objects_are_defined_in_each_trace() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+monitors");
        app.work();
        app.ctl(&["rotate", &app.text("second")]);
        app.work();
        app.ctl(&["stop"]);
        app.work();
        let third = format!("file={}", app.text("third"));
        app.ctl(&["start", &third]);
        app.work();
        let (folder, output) = app.end();
        for name in ["first", "second", "third"] {
            rounds(&folder.path().join(name), &output);
            let file = folder.path().join(name).display().to_string();
            let (_, out, _) = jtrail(&["report", "--monitors", "--format", "tsv", &file]);
            let waits = out
                .lines()
                .filter(|line| line.contains("\tharness.Attached\t"));
            assert!(waits.count() > 0, "{name}: {out}");
        }
    }
}

/// If a trace's format lists the members of classes, the trace begins with them, even if the agent
/// was loaded for other events. So do the following traces.
#[test]
fn classes_are_declared_in_each_trace() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=none,server=enabled,events=methods+threads");
        let first = format!("file={}", app.text("one"));
        app.ctl(&["start", "format=jinsight", &first]);
        app.work();
        app.ctl(&["rotate", &app.text("two")]);
        app.work();
        app.ctl(&["stop"]);
        let third = format!("file={}", app.text("three"));
        app.ctl(&["start", "format=jinsight", &third]);
        app.work();
        let (folder, output) = app.end();
        for name in ["one", "two", "three"] {
            let file = folder.path().join(name);
            assert_eq!(rounds(&file, &output).1, 1, "{name}");
            let classes = Classes::read(&file);
            let own = classes.named("harness.Attached");
            assert_eq!(own.len(), 1, "{name}: {own:?}"); // once, though methods may be found later
            assert!(own[0].methods.iter().any(|method| method.name == "round"));
            assert!(own[0].fields.iter().any(|field| field.name == "LOCK"));
            assert_eq!(classes.named("java.util.HashMap").len(), 1, "{name}");
        }
    }
}

/// A client receives the data as they are written, in the format that it requested.
#[test]
fn data_come_live() {
    for jdk in Jdk::require(&few_versions()) {
        for (word, format) in [
            ("binary", Format::TptpBinary),
            ("xml", Format::TptpXml),
            ("jinsight", Format::Jinsight),
            ("mlpd", Format::Mlpd),
            ("tracelog", Format::TraceLog),
            ("profilerj", Format::ProfilerJ),
            ("trail", Format::Trail),
        ] {
            let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads+gc");
            app.ctl(&["stop"]);
            let (socket, live) = (app.text("socket"), app.text("live"));
            let client =
                thread::spawn(move || jtrail(&["stream", &socket, "-o", &live, "--format", word]));
            app.wait_for("recording");
            app.work();
            app.work();
            app.ctl(&["stop"]);
            app.work();
            let (code, _, err) = client.join().expect("no panic");
            assert_eq!(code, ExitCode::SUCCESS, "{err}");
            let (folder, output) = app.end();
            let trace = Figures::read(&folder.path().join("live"));
            let trace = trace.unwrap_or_else(|problem| panic!("{word}: {problem}\n{output}"));
            assert!(!trace.is_truncated, "{word}");
            assert_eq!(trace.format, Some(format));
            let rounds = |(key, _): &(&String, &u64)| key.starts_with("harness.Attached.round(");
            let rounds = trace.calls.iter().find(rounds).map(|(_, n)| *n);
            assert_eq!(rounds, Some(2), "{word}");
        }
    }
}

/// A trace that is streamed to a client is rotated: two traces, separated by the notice, and every
/// call in exactly one of them.
#[test]
fn a_stream_is_rotated() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads");
        app.ctl(&["stop"]);
        let timeout = Duration::from_secs(60);
        let mut client = Client::of_socket(&app.path("socket"), timeout).expect("connected");
        let (mut files, mut data) = (Vec::new(), Vec::new());
        let mut call = |client: &mut Client, command: Ask| {
            let take = |incoming: Incoming| {
                match incoming {
                    Incoming::Data(bytes) => data.extend(bytes),
                    Incoming::Notice(Notice::TraceEnded { .. }) => {
                        files.push(std::mem::take(&mut data));
                    }
                    _ => {}
                }
                Ok(())
            };
            client.call(command, take).expect("done")
        };
        call(&mut client, Ask::Stream { release: false });
        let start = Start {
            format: Some(OutputFormat::Binary),
            ..Start::default()
        };
        call(&mut client, Ask::Start(start));
        for rounds in 1..4 {
            for _ in 0..rounds {
                app.work();
            }
            match rounds {
                3 => call(&mut client, Ask::Stop),
                _ => call(&mut client, Ask::Rotate { file: None }),
            };
        }
        let (folder, output) = app.end();
        assert_eq!(files.len(), 3);
        for (bytes, expected) in files.iter().zip(1..) {
            let path = folder.path().join("part");
            std::fs::write(&path, bytes).expect("written");
            assert_eq!(rounds(&path, &output).1, expected);
        }
    }
}

/// The program goes on, and ends, after its client was killed.
#[test]
fn clients_that_go_away_do_no_harm() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary");
        app.ctl(&["stop"]);
        let Some(mut client) = client(&app.path("socket")) else {
            return;
        };
        for command in ["<stream/>", "<start/>"] {
            client.ask(command);
        }
        app.wait_for("recording");
        app.work();
        client.kill();
        app.work();
        app.wait_for("idle");
        let file = format!("file={}", app.text("after"));
        app.ctl(&["start", &file]);
        app.work();
        let (folder, output) = app.end();
        assert_eq!(rounds(&folder.path().join("after"), &output).1, 1);
        assert!(!output.stderr.contains("tracing is off"), "{output}");
    }
}

/// What this agent can't do is refused, with a reason, and nothing else happens.
#[test]
fn what_can_not_be_done_is_refused() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods");
        for (words, expected) in [
            (&["start"][..], "a trace is active"),
            (&["resume"], "paus"),
            (&["burst", "--for", "1s"], "recording"),
            (&["snapshot", "heap"], "events=heap"),
            (&["snapshot", "profile"], "profilerj"),
            (&["rotate", "/proc/none/trace"], "cannot write"),
        ] {
            let error = app.try_ctl(words).expect_err("it is refused");
            assert!(error.contains(expected), "{words:?}: {error}");
        }
        app.work();
        app.ctl(&["stop"]);
        for (words, expected) in [
            (&["stop"][..], "no trace"),
            (&["start", "events=parks"], "events=methods"),
            (&["start", "format=none"], "none"),
        ] {
            let error = app.try_ctl(words).expect_err("it is refused");
            assert!(error.contains(expected), "{words:?}: {error}");
        }
        let (folder, output) = app.end();
        assert_eq!(rounds(&folder.path().join("first"), &output).1, 1);
    }
}

/// Bursts end after their time or their number of events. Afterwards, a paused trace is paused
/// again, and an idle agent is idle again.
#[test]
fn bursts_end_by_themselves() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads");
        app.ctl(&["pause"]);
        app.work(); // in no trace
        app.ctl(&["burst", "--for", "60s"]);
        app.work();
        app.ctl(&["pause"]); // cuts the burst short
        app.work(); // in no trace
        app.ctl(&["burst", "--events", "100"]);
        app.work();
        app.wait_for("paused");
        app.work(); // in no trace
        app.ctl(&["burst", "--for", "200ms"]);
        app.wait_for("paused");
        app.ctl(&["stop"]);
        app.ctl(&["burst", "--events", "50"]);
        app.work();
        app.wait_for("idle");
        app.work(); // in no trace
        let done = app.rounds as u64;
        let (folder, output) = app.end();
        let in_one: u64 = output.counts().exact.values().sum::<u64>() / done;
        let calls = |name: &str| {
            let (trace, _) = rounds(&folder.path().join(name), &output);
            trace.calls.values().sum::<u64>()
        };
        // The trace has a whole round, and the calls of 100 events of another round.
        let first = calls("first");
        assert!(
            (in_one + 20..=in_one + 100).contains(&first),
            "{first}, {in_one}"
        );
        let own = calls("first-2");
        assert!((25..=50).contains(&own), "{own}");
        assert!(!folder.path().join("first-3").exists());
    }
}

/// After a write to a full disk there is no trace, and none can begin; the program goes on.
#[test]
fn a_full_disk_is_reported() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods");
        let error = app.try_ctl(&["rotate", "/dev/full"]).expect_err("full");
        assert!(error.contains("tracing is off"), "{error}");
        app.wait_for("idle");
        let file = format!("file={}", app.text("after"));
        let error = app.try_ctl(&["start", &file]).expect_err("refused");
        assert!(error.contains("tracing is off"), "{error}");
        app.work();
        let (folder, output) = app.end();
        assert!(
            output.stderr.contains("jtrail: cannot write /dev/full"),
            "{output}"
        );
        rounds(&folder.path().join("first"), &output);
    }
}

/// Old agents answer that they do not know the command for the format.
#[test]
fn old_agents_are_known_by_their_answer() {
    for jdk in Jdk::require(&few_versions()) {
        let app = ControlledRun::new(&jdk, "format=binary,compat=pre45");
        let error = app.try_ctl(&["format", "binary"]).expect_err("not known");
        assert!(error.contains("unrecognized command"), "{error}");
        app.end();
    }
}

/// Snapshots on command: a heap snapshot goes into the trace, a document of totals into a file.
#[test]
fn snapshots_on_command() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=profilerj,events=methods");
        app.work();
        let (named, reported) = (app.text("now.xml"), app.ctl(&["snapshot", "profile"]));
        assert!(reported.contains("first-1"), "{reported}");
        app.ctl(&["snapshot", "profile", "--file", &named]);
        let (folder, output) = app.end();
        for name in ["first-1", "now.xml", "first"] {
            let (code, _, err) =
                jtrail(&["verify", folder.path().join(name).to_str().expect("text")]);
            assert_eq!(code, ExitCode::SUCCESS, "{err}{output}");
        }
        let app = ControlledRun::new(&jdk, "format=binary,events=methods+heap,heap=request");
        app.ctl(&["snapshot", "heap"]);
        let (folder, _) = app.end();
        let (_, out, _) = jtrail(&[
            "report",
            "--heap",
            folder.path().join("first").to_str().expect("text"),
        ]);
        assert!(out.contains("java.lang.String"), "{out}");
    }
}
