//! `jtrail export`.

use crate::common::{
    Done, Folder, closing, encode, enter, file, in_time, jtrail, leave, method_def, opening,
    sample, thread_start, time,
};
use jtrail_export::Target;
use jtrail_formats::Format;
use jtrail_model::{ClassDef, ClassId, Event, MonitorWait, MonitorWaited, ThreadEnd, ThreadId};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

const MAIN: &str = "com.acme.Main.main(String[])";
const FIB: &str = "com.acme.Main.fib(int)";
const RUN: &str = "com.acme.Main.run()";

/// Returns the names of the files in a folder.
fn files(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

/// Exports the sample as collapsed stacks, to standard output.
fn collapsed(args: &[&str]) -> Done {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    jtrail(&[&["export", &file, "--to", "collapsed", "-o", "-"], args].concat())
}

#[test]
fn names_of_collapsed_stacks_are_kept() {
    let folder = Folder::new();
    let file = folder.at("a.collapsed").display().to_string();
    let text = "/usr/lib/libc.so.6 7\n\
                ?.x 5\n\
                a.B.c(I) 3\n\
                a.B.c(int) 2\n\
                main 1\n\
                main;foo 10\n\
                main;foo;JavaThread::run() 4\n\
                net/http.HandlerFunc.ServeHTTP 6\n";
    fs::write(&file, text).expect("ours");
    let trail = folder.at("a.trail").display().to_string();
    assert_eq!(jtrail(&["convert", &file, &trail]).code, 0);
    for file in [&file, &trail] {
        let done = jtrail(&["export", file, "--to", "collapsed", "-o", "-"]);
        let mut lines: Vec<_> = done.out.split_inclusive('\n').collect();
        lines.sort_unstable();
        assert_eq!(lines.concat(), text, "{}", done.err);
        let done = jtrail(&["report", file]);
        assert!(
            done.out.contains("main") && !done.out.contains("?.main"),
            "{}",
            done.out
        );
        let done = jtrail(&["dump", file]);
        assert!(
            done.out.contains("foo") && !done.out.contains("?.foo"),
            "{}",
            done.out
        );
    }
}

#[test]
fn selections_are_those_of_the_report() {
    let whole = format!(
        "{MAIN} 5000000\n{MAIN};{FIB} 1500000\n{MAIN};{FIB};{FIB} 1500000\n\
         {MAIN};{FIB};{FIB};{FIB} 1000000\n{MAIN};{RUN} 1000000\n{RUN} 6000000\n"
    );
    let no_fib = format!("{MAIN} 9000000\n{MAIN};{RUN} 1000000\n{RUN} 6000000\n");
    let two =
        format!("{MAIN} 5000000\n{MAIN};{FIB} 4000000\n{MAIN};{RUN} 1000000\n{RUN} 6000000\n");
    let long = format!(
        "{MAIN} 6000000\n{MAIN};{FIB} 1500000\n{MAIN};{FIB};{FIB} 2500000\n{RUN} 6000000\n"
    );
    for (args, expected) in [
        (&[][..], whole.as_str()),
        (&["--method", "run", "--method", "main"], &no_fib),
        (
            &["--class", "com.*", "--method", "com.acme.Main.run"],
            &format!("{RUN} 7000000\n"),
        ),
        (&["--depth", "2"], &two),
        (&["--min", "1500us"], &long),
        (
            &["--top", "2"],
            &format!("{MAIN} 9000000\n{MAIN};{RUN} 1000000\n{RUN} 6000000\n"),
        ),
        (
            &["--top", "1", "--method", "fib"],
            &format!("{FIB} 1500000\n{FIB};{FIB} 1500000\n{FIB};{FIB};{FIB} 1000000\n"),
        ),
        (&["--thread", "worker*"], &format!("{RUN} 6000000\n")),
        (
            &["--from", "3ms", "--until", "8500us"],
            &format!("{FIB} 1500000\n{FIB};{FIB} 1000000\n{RUN} 4500000\n"),
        ),
        (
            &["--weight", "calls", "--threads", "--thread", "2"],
            &format!("[worker 1];{RUN} 2\n"),
        ),
    ] {
        let done = collapsed(args);
        assert_eq!(
            (done.code, done.out.as_str()),
            (0, expected),
            "{args:?}: {}",
            done.err
        );
    }
}

#[test]
fn a_selection_of_nothing_is_an_error() {
    // A wait is in no class.
    let mut with_wait = sample();
    let end = with_wait.split_off(with_wait.len() - 2);
    with_wait.extend([
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(2),
            time: time(11_000_000),
            ..MonitorWait::default()
        }),
        Event::MonitorWaited(MonitorWaited {
            thread: ThreadId(2),
            time: time(11_500_000),
            ..MonitorWaited::default()
        }),
    ]);
    with_wait.extend(end);
    for (args, what) in [
        (&["--thread", "nobody"][..], "calls or waits"),
        (&["--class", "org.*"], "calls"),
        (&["--class", "org.*", "--thread", "worker*"], "calls"),
        (&["--method", "Main.run"], "calls"),
        (&["--from", "9s"], "calls or waits"),
        (&["--min", "1h"], "calls or waits"),
        (&["--depth", "0"], "calls"),
        (&["--top", "0"], "calls"),
    ] {
        let folder = Folder::new();
        let file = file(&folder, Format::TptpBinary, &with_wait);
        let message = format!("jtrail: {file}: the selection has no {what}; nothing is written\n");
        for target in Target::ALL {
            let output = folder.at(&format!("y{}", target.extensions()[0]));
            let output = output.to_str().expect("UTF-8");
            let done = jtrail(&[&["export", &file, "-o", output], args].concat());
            assert_eq!((done.code, &done.err), (2, &message), "{args:?}");
        }
        for subcommand in [
            &["open", &file, "--print", "--in", "firefox"][..],
            &["export", &file, "--send", "http://127.0.0.1:9"],
        ] {
            let done = jtrail(&[subcommand, args].concat());
            let result = (done.code, done.out.as_str(), &done.err);
            assert_eq!(result, (2, "", &message), "{subcommand:?} {args:?}");
        }
        assert_eq!(files(&folder), ["x.trcbin"], "{args:?}");
    }
}

/// Calls may be recorded as sums only.
#[test]
fn sums_are_selected_by_targets_that_take_them() {
    use jtrail_model::{AggregatedEnter, AggregatedLeave, Duration, MethodId};
    let folder = Folder::new();
    let mut events = sample();
    let end = events.split_off(events.len() - 2);
    events.push(method_def(7, "summed", "()V"));
    events.extend([
        Event::AggregatedEnter(AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(7),
            calls: 3,
            base_time: Duration(3_000),
            ..AggregatedEnter::default()
        }),
        Event::AggregatedLeave(AggregatedLeave {
            thread: ThreadId(1),
            method: MethodId(7),
        }),
    ]);
    events.extend(end);
    let file = file(&folder, Format::TptpBinary, &events);
    let export = |target: &str| {
        let args = ["--to", target, "-o", "-", "--method", "summed"];
        jtrail(&[&["export", &file][..], &args].concat())
    };
    let done = export("collapsed");
    let expected = "com.acme.Main.summed() 3000\n";
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, expected),
        "{}",
        done.err
    );
    let done = export("chrome");
    assert_eq!(done.code, 2);
    assert!(done.err.ends_with("has no calls\n"), "{}", done.err);
}

/// Threads by id, with the times in µs at which they start and end.
const LIVES: [(u64, i64, i64); 6] = [
    (1, 0, 30_000),
    (2, 1_000, 4_000),
    (3, 2_000, 12_000),
    (4, 11_000, 30_000),
    (5, 14_000, 16_000),
    (6, 22_000, 25_000),
];

/// Returns a trace in which all these threads run calls.
fn lives() -> Vec<Event<'static>> {
    let mut events = opening();
    let mut ticket = 0;
    for (thread, start, end) in LIVES {
        events.push(thread_start(thread, start * 1_000, "worker"));
        for at in (start + 100..end).step_by(100) {
            ticket += 1;
            events.push(enter(thread, at * 1_000, 5, ticket, 1));
            events.push(leave(thread, at * 1_000 + 50, 5, ticket));
        }
        events.push(Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(thread),
            time: time(end * 1_000),
        }));
    }
    let mut events = in_time(events);
    events.extend(closing(31_000_000));
    events
}

/// Returns the times in µs and the values of the counter of live threads.
fn live_threads(trace: &str) -> Vec<(i64, i64)> {
    let values = trace
        .lines()
        .filter(|line| line.contains(r#""name":"Live""#));
    let number = |line: &str, field: &str| -> i64 {
        let (_, text) = line.split_once(field).expect("the field");
        let digits = text.split(|c: char| !c.is_ascii_digit()).next();
        digits.expect("digits").parse().expect("a number")
    };
    values
        .map(|line| (number(line, r#""ts":"#), number(line, r#""threads":"#)))
        .collect()
}

/// Threads that are not selected are alive, too, and those that ended in a part of the trace that
/// is not read are not.
#[test]
fn a_part_has_the_number_of_live_threads() {
    let (folder, events) = (Folder::new(), lives());
    let mut trail = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut trail);
    for part in events.chunks(20) {
        for event in part {
            encoder.event(event, &mut trail);
        }
        encoder.flush(&mut trail);
    }
    encoder.end(&mut trail);
    let trail = folder.put("x.trail", &trail);
    let other = file(&folder, Format::TptpBinary, &events);
    let in_span = [
        (10_000, 2),
        (11_000, 3),
        (12_000, 2),
        (14_000, 3),
        (16_000, 2),
    ];
    let all = [
        (0, 1),
        (1_000, 2),
        (2_000, 3),
        (4_000, 2),
        (11_000, 3),
        (12_000, 2),
        (14_000, 3),
        (16_000, 2),
        (22_000, 3),
        (25_000, 2),
        (30_000, 0),
    ];
    for (args, expected) in [
        (&["--from", "10ms", "--until", "20ms"][..], &in_span[..]),
        (
            &["--from", "10ms", "--until", "20ms", "--thread", "5"],
            &in_span,
        ),
        (&["--thread", "4"], &all),
        (&["--until", "1500us"], &all[..2]),
        (&[], &all),
    ] {
        for input in [&trail, &other] {
            let export = ["export", input, "--to", "chrome", "-o", "-"];
            let done = jtrail(&[&export, args].concat());
            assert_eq!(done.code, 0, "{}", done.err);
            let mut values = live_threads(&done.out);
            // The last value of a time counts. A repeated value is no change.
            values.dedup_by(|next, kept| {
                let is_same_time = next.0 == kept.0;
                if is_same_time {
                    kept.1 = next.1;
                }
                is_same_time
            });
            values.dedup_by_key(|(_, value)| *value);
            assert_eq!(values, expected, "{input} {args:?}");
        }
    }
}

#[test]
fn the_extension_names_the_target_for_convert_too() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    for target in Target::ALL {
        let name = |subcommand: &str| {
            let name = format!("{subcommand}{}", target.extensions()[0]);
            folder.at(&name).to_str().expect("UTF-8").to_owned()
        };
        let [exported, converted, named] = ["export", "convert", "named"].map(name);
        assert_eq!(jtrail(&["export", &file, "-o", &exported]).code, 0);
        assert_eq!(jtrail(&["convert", &file, &converted]).code, 0);
        let to = ["export", &file, "--to", target.name(), "-o", &named];
        assert_eq!(jtrail(&to).code, 0);
        let bytes = fs::read(exported).expect("there");
        assert!(!bytes.is_empty());
        assert!(
            bytes == fs::read(converted).expect("there"),
            "{}",
            target.name()
        );
        assert!(
            bytes == fs::read(named).expect("there"),
            "{}",
            target.name()
        );
    }
}

#[test]
fn what_can_not_be_written_is_said_and_leaves_nothing() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let missing = folder.at("missing/x.pftrace");
    let missing = missing.to_str().expect("UTF-8");
    let other = folder.at("x.pftrace");
    let other = other.to_str().expect("UTF-8");
    for (args, message) in [
        (&["-o", missing][..], "x.pftrace: No such file or directory"),
        (
            &["-o", "x.txt"],
            "no target has the extension of x.txt; add --to perfetto or ",
        ),
        (
            &["-o", &file, "--to", "perfetto"],
            "can't be read and written at once",
        ),
        (
            &["-o", other, "--weight", "calls"],
            "--weight goes with collapsed, and not with perfetto",
        ),
        (
            &["-o", other, "--threads"],
            "--threads goes with collapsed, and not with perfetto",
        ),
        (
            &["-o", "-", "--to", "perfetto", "--split"],
            "--split writes several files",
        ),
        (
            &["-o", other, "--split", "--force"],
            "'--split' cannot be used with '--force'",
        ),
        (
            &["-o", other, "--min", "5"],
            "write it like 500us, 10ms, 2s or 1m",
        ),
        (
            &["-o", other, "--method", ""],
            "the name of a method is needed",
        ),
        (&["-o", other, "--class", ""], "a class name is needed"),
    ] {
        let done = jtrail(&[&["export", &file], args].concat());
        assert_eq!(done.code, 2, "{args:?}");
        assert!(done.err.contains(message), "{args:?}: {}", done.err);
    }
    assert_eq!(files(&folder), ["sample.trcbin"]);
}

#[test]
fn a_damaged_trace_is_exported_as_far_as_it_goes() {
    let folder = Folder::new();
    let bytes = encode(Format::TptpBinary, &sample());
    let whole = fs::read(folder.put("whole.trcbin", &bytes)).expect("there");
    let truncated = folder.put("truncated.trcbin", &whole[..whole.len() * 3 / 4]);
    let nothing = folder.put("nothing.trcbin", b"no trace at all");
    for target in Target::ALL {
        let output = folder.at(&format!("x{}", target.extensions()[0]));
        let path = output.to_str().expect("UTF-8");
        let done = jtrail(&["export", &truncated, "-o", path]);
        assert_eq!(done.code, 3, "{}: {}", target.name(), done.err);
        assert!(fs::metadata(&output).expect("there").len() > 0);
        fs::remove_file(&output).expect("removed");
        let done = jtrail(&["export", &nothing, "-o", path]);
        assert_eq!(done.code, 2, "{}: {}", target.name(), done.err);
        assert!(!output.exists());
    }
    let kept = ["nothing.trcbin", "truncated.trcbin", "whole.trcbin"];
    assert_eq!(files(&folder), kept);
}

/// Returns a trail of this many calls of 10 to 1,009 ns, one for each microsecond, within a call of
/// `main`.
fn many_calls(count: u32) -> Vec<u8> {
    let mut events = opening();
    events.extend([
        thread_start(1, 1_000, "main"),
        Event::ClassDef(ClassDef {
            class: ClassId(3),
            thread: ThreadId(0),
            name: "com.acme.Main".into(),
            ..ClassDef::default()
        }),
        method_def(4, "main", "([Ljava/lang/String;)V"),
        method_def(5, "fib", "(I)J"),
        enter(1, 2_000, 4, 1, 1),
    ]);
    let mut out = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut out);
    events
        .iter()
        .for_each(|event| encoder.event(event, &mut out));
    for n in 0..count {
        let begin = 3_000 + 1_000 * i64::from(n);
        let end = begin + i64::from(n % 1_000) + 10;
        let end = end.min(begin + 1_000);
        encoder.event(&enter(1, begin, 5, n + 2, 2), &mut out);
        encoder.event(&leave(1, end, 5, n + 2), &mut out);
    }
    let end = 3_000 + 1_000 * i64::from(count);
    encoder.event(&leave(1, end, 4, 1), &mut out);
    closing(end + 1_000)
        .iter()
        .for_each(|event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    out
}

#[test]
fn above_the_ceiling_the_answer_is_what_fits() {
    let folder = Folder::new();
    let file = folder.put("many.trail", &many_calls(6_000_000));
    let output = folder.at("many.pftrace");
    let output = output.to_str().expect("UTF-8");
    let done = jtrail(&["export", &file, "-o", output]);
    let message = format!(
        "jtrail: {file}: 6,000,001 slices; the Perfetto UI opens 5,000,000 in reasonable time; \
         add one of these:\n\
         \x20 --min 200ns            calls and waits that take so long: 4,860,001\n\
         \x20 --until 4.999167999s   calls and waits up to then: 4,999,166\n\
         \x20 --split                2 files, each with a part of the time\n\
         \x20 --force                one file all the same\n"
    );
    assert_eq!((done.code, done.err), (2, message));
    assert_eq!(files(&folder), ["many.trail"]);

    // Each of the proposals is accepted, and says the truth.
    for (args, slices) in [
        (&["--min", "200ns"][..], 4_860_001),
        (&["--until", "4.999167999s"], 4_999_166),
        (&["--force"], 6_000_001),
    ] {
        let done = jtrail(&[&["export", &file, "-o", output], args].concat());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
        let done = jtrail(
            &[
                &[
                    "export",
                    &file,
                    "--to",
                    "collapsed",
                    "--weight",
                    "calls",
                    "-o",
                    "-",
                ],
                args,
            ]
            .concat(),
        );
        let calls = done.out.lines().map(|line| {
            let (_, calls) = line.rsplit_once(' ').expect("a number");
            calls.parse::<u64>().expect("a number")
        });
        assert_eq!(calls.sum::<u64>(), slices, "{args:?}");
        fs::remove_file(output).expect("written");
    }
    let done = jtrail(&["export", &file, "-o", output, "--split"]);
    let [first, second] = ["many-1.pftrace", "many-2.pftrace"].map(|name| folder.at(name));
    let names = format!(
        "jtrail: {}\njtrail: {}\n",
        first.display(),
        second.display()
    );
    assert_eq!((done.code, done.err), (0, names));
    assert_eq!(
        files(&folder),
        ["many-1.pftrace", "many-2.pftrace", "many.trail"]
    );
    let size = |path| fs::metadata(path).expect("there").len();
    assert!(size(first) > 4 * size(second));
}

#[test]
fn what_is_kept_in_memory_is_said_before_it_is_read() {
    let folder = Folder::new();
    let file = folder.put("many.trail", &many_calls(1_100_000));
    let output = folder.at("many.speedscope.json");
    let output = output.to_str().expect("UTF-8");
    let done = jtrail(&["export", &file, "-o", output]);
    let force = "\n  --force                one file all the same; it is kept in memory until the end: some 94.4 MiB\n";
    assert!(done.err.ends_with(force), "{}", done.err);
    assert_eq!(
        (done.code, files(&folder)),
        (2, vec!["many.trail".to_owned()])
    );

    let done = jtrail(&["export", &file, "-o", output, "--force"]);
    let said = "jtrail: speedscope: begins and ends of calls and waits are kept in memory until the end, \
                some 45 bytes for each\n";
    assert_eq!((done.code, done.err.as_str()), (0, said));
}

/// Each subcommand proposes what it takes.
#[test]
fn above_the_ceiling_only_options_of_the_subcommand_are_proposed() {
    let folder = Folder::new();
    let file = folder.put("many.trail", &many_calls(1_100_000));
    let output = folder.at("x.speedscope.json");
    let output = output.to_str().expect("UTF-8");
    let mentions = |err: &str| {
        let options = ["--min", "--until", "--split", "--force", "jtrail export"];
        let mut found: Vec<_> = options
            .into_iter()
            .filter_map(|option| Some((err.find(option)?, option)))
            .collect();
        found.sort_unstable();
        found
            .into_iter()
            .map(|(_, option)| option)
            .collect::<Vec<_>>()
    };
    let all = ["--min", "--until", "--split", "--force"];
    let convert = ["--until", "jtrail export", "--min", "--split", "--force"];
    for (args, expected) in [
        (&["export", &file, "-o", output][..], &all[..]),
        (
            &["open", &file, "--in", "speedscope"],
            &["--min", "--until", "--force"],
        ),
        (&["convert", &file, output], &convert),
    ] {
        let done = jtrail(args);
        assert_eq!(done.code, 2);
        assert_eq!(mentions(&done.err), expected, "{}", done.err);
    }
    // Each of the options that `convert` proposes for itself is accepted.
    let done = jtrail(&["convert", &file, output]);
    let (_, until) = done.err.split_once("--until ").expect("proposed");
    let until = until.split(' ').next().expect("a time");
    let done = jtrail(&["convert", &file, output, "--until", until]);
    assert_eq!(done.code, 0, "{}", done.err);

    // Standard input is not read again.
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_jtrail"));
        let input = fs::File::open(&file).expect("there");
        let done = command.args(args).stdin(input).output().expect("run");
        String::from_utf8(done.stderr).expect("UTF-8")
    };
    for (args, expected) in [
        (&["export", "-", "-o", output][..], &all[..]),
        (
            &["open", "-", "--in", "speedscope"],
            &["--min", "--until", "--force"],
        ),
        (
            &["convert", "-", output],
            &["--until", "jtrail export", "--min", "--split", "--force"],
        ),
    ] {
        let err = run(args);
        assert_eq!(mentions(&err), expected, "{err}");
    }
}

#[test]
fn more_spans_than_a_collector_shows_are_not_split() {
    let folder = Folder::new();
    let file = folder.put("many.trail", &many_calls(30_000));
    let done = jtrail(&["export", &file, "--send", "http://127.0.0.1:9"]);
    assert_eq!(done.code, 2);
    let named = |option: &str| done.err.contains(option);
    assert!(named("--min ") && named("--force "), "{}", done.err);
    assert!(!named("--split"), "{}", done.err);
}

/// Answers each request like a collector that accepts it. Returns the port, and how to end it with
/// the bodies that it got.
fn collector() -> (u16, impl FnOnce() -> Vec<Vec<u8>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answers = std::thread::spawn(move || {
        let mut bodies = Vec::new();
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a client"));
            let (mut line, mut len) = (String::new(), 0);
            stream.read_line(&mut line).expect("a line");
            if line == "end" {
                break;
            }
            assert_eq!(line, "POST /v1/traces HTTP/1.1\r\n");
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).expect("a line");
                if let Some(value) = line.strip_prefix("Content-Length: ") {
                    len = value.trim().parse().expect("a number");
                }
            }
            let mut body = vec![0; len];
            stream.read_exact(&mut body).expect("a body");
            bodies.push(body);
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.get_mut().write_all(answer.as_bytes()).expect("sent");
        }
        bodies
    });
    let end = move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
        stream.write_all(b"end").expect("sent");
        drop(stream);
        answers.join().expect("ended")
    };
    (port, end)
}

#[test]
fn spans_are_sent_to_a_collector() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let (port, end) = collector();
    let url = format!("http://127.0.0.1:{port}");
    let output = folder.at("x.otlp.pb");
    let path = output.to_str().expect("UTF-8");
    let selection = ["--span", "fib", "--service", "shop"];
    let done = jtrail(&[&["export", &file, "--send", &url], &selection[..]].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        done.err.contains(&format!(" in 1 requests to {url}\n")),
        "{}",
        done.err
    );
    let done = jtrail(&[&["export", &file, "-o", path], &selection[..]].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(end().concat(), fs::read(path).expect("there"));

    let done = jtrail(&["export", &file, "--send", &url]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("cannot connect"), "{}", done.err);
    for (args, message) in [
        (&["--send", "https://x"][..], "https is not supported"),
        (
            &["--send", &url, "--to", "perfetto"],
            "--send goes with otlp, and not with perfetto",
        ),
        (&["--send", &url, "-o", path], "cannot be used with"),
        (
            &["-o", "x.pftrace", "--service", "x"],
            "--service goes with otlp",
        ),
        (&[], "--output <FILE>"),
    ] {
        let done = jtrail(&[&["export", &file], args].concat());
        assert_eq!(done.code, 2, "{args:?}");
        assert!(done.err.contains(message), "{args:?}: {}", done.err);
    }
}

/// No input is an output, whatever option names it.
#[test]
fn no_input_is_written() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let base = folder.put("base.trcbin", &fs::read(&file).expect("there"));
    let before = fs::read(&base).expect("there");
    let names = files(&folder);
    for output in [&base, &file] {
        let args = ["export", &file, "--to", "flame", "--base", &base, "-o"];
        let done = jtrail(&[&args[..], &[output.as_str()]].concat());
        let message = format!("jtrail: {output} can't be read and written at once\n");
        assert_eq!((done.code, done.err), (2, message));
    }
    assert!(fs::read(&base).expect("there") == before);
    assert!(fs::read(&file).expect("there") == before);
    assert_eq!(files(&folder), names);
}

/// Appends a conversion to the file that is its standard input.
#[test]
fn a_standard_stream_is_an_input_too() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    let before = fs::read(&file).expect("there");
    let run = |args: &[&str], out: std::process::Stdio| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_jtrail"));
        let input = fs::File::open(&file).expect("there");
        let command = command.args(args).stdin(input).stdout(out);
        let done = command.output().expect("run");
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8(done.stderr).expect("UTF-8");
        let message = "standard input can't be read and written at once\n";
        assert!(said.ends_with(message), "{said}");
    };
    let appends = || {
        fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .expect("ours")
    };
    run(
        &["export", "-", "--to", "perfetto", "-o", &file],
        appends().into(),
    );
    run(
        &["export", "-", "--to", "perfetto", "-o", "-"],
        appends().into(),
    );
    run(
        &["convert", "-", &file, "--to", "xml"],
        std::process::Stdio::null(),
    );
    run(&["convert", "-", "-", "--to", "xml"], appends().into());
    assert!(fs::read(&file).expect("there") == before);
}

#[test]
fn numbered_files_replace_nothing() {
    let folder = Folder::new();
    let bytes = encode(Format::TptpBinary, &sample());
    let input = folder.put("app-1.trace.json", &bytes);
    let output = folder.at("app.trace.json");
    let output = output.to_str().expect("UTF-8");
    let split = |input: &str| jtrail(&["export", input, "-o", output, "--split"]);
    let message = |name: &str| {
        let path = folder.at(name);
        let path = path.display();
        format!(
            "jtrail: {path} exists, and --split replaces no file; remove it, or choose another name\n"
        )
    };
    let done = split(&input);
    assert_eq!((done.code, done.err), (2, message("app-1.trace.json")));
    assert!(fs::read(&input).expect("there") == bytes);

    // Other numbers would be taken for parts of the new export.
    let moved = folder.at("input");
    fs::rename(&input, &moved).expect("ours");
    let moved = moved.to_str().expect("UTF-8");
    folder.put("app-3.trace.json", b"of somebody");
    folder.put("app-x.trace.json", b"of somebody");
    let done = split(moved);
    assert_eq!((done.code, done.err), (2, message("app-3.trace.json")));
    assert_eq!(
        files(&folder),
        ["app-3.trace.json", "app-x.trace.json", "input"]
    );
    fs::remove_file(folder.at("app-3.trace.json")).expect("ours");
    assert_eq!(split(moved).code, 0);
    assert_eq!(
        files(&folder),
        ["app-1.trace.json", "app-x.trace.json", "input"]
    );
}

#[test]
fn an_export_without_content_is_a_file() {
    use jtrail_model::{GcFinish, GcStart};
    let folder = Folder::new();
    let mut collection = opening();
    collection.extend([
        Event::GcStart(GcStart { time: time(2_000) }),
        Event::GcFinish(GcFinish {
            time: time(3_000),
            ..GcFinish::default()
        }),
    ]);
    collection.extend(closing(4_000));
    let empty = [opening(), closing(4_000)].concat();
    for events in [collection, empty] {
        let file = folder.put("x.trcbin", &encode(Format::TptpBinary, &events));
        for target in Target::ALL {
            for extension in target.extensions() {
                let output = folder.put(&format!("x{extension}"), b"of an earlier run");
                let done = jtrail(&["export", &file, "-o", &output]);
                assert_eq!(done.code, 0, "{output}: {}", done.err);
                let written = fs::read(&output).expect("there");
                assert_ne!(written, b"of an earlier run", "{output}");
                let name = target.name();
                let expected = match written.is_empty() {
                    true => format!("jtrail: {file}: nothing for {name}; the export is empty\n"),
                    false => String::new(),
                };
                assert!(done.err.starts_with(&expected), "{output}: {}", done.err);
                let may_be_empty = [Target::Collapsed, Target::Otlp].contains(&target);
                assert_eq!(written.is_empty(), may_be_empty, "{output}");
            }
        }
        let (port, end) = collector();
        let url = format!("http://127.0.0.1:{port}");
        let done = jtrail(&["export", &file, "--send", &url]);
        let message = format!("jtrail: {file}: no spans; nothing is sent\n");
        assert!(done.err.starts_with(&message), "{}", done.err);
        assert_eq!(done.code, 0);
        assert!(end().is_empty());
    }
}
