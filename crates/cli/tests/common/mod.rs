//! Traces for the tests, and the command line in process.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod rich;
#[cfg(unix)]
pub(crate) mod terminal;

use jtrail_formats::Format;
use jtrail_model::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Formats that can store every event.
pub(crate) const LOSSLESS: [Format; 2] = [Format::TptpXml, Format::TptpBinary];

/// Start time of the sample trace, in ns.
pub(crate) const START: i64 = 1_700_000_000_000_000_000;

/// Result of a command line.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command line in process.
pub(crate) fn jtrail(args: &[&str]) -> Done {
    let args = ["jtrail"].iter().chain(args).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = jtrail_cli::main_with(args, &mut out, &mut err);
    let code = (0..=u8::MAX)
        .find(|code| ExitCode::from(*code) == exit)
        .expect("a code");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Done {
        code,
        out: text(out),
        err: text(err),
    }
}

pub(crate) fn time(ns: i64) -> Timestamp {
    Timestamp(START + ns)
}

pub(crate) fn enter(thread: u64, ns: i64, method: u64, ticket: u32, depth: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        class: ClassId(3),
        ticket,
        cpu_time: Duration(0),
        stack_depth: depth,
    })
}

pub(crate) fn leave(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        class: ClassId(3),
        ticket,
        cpu_time: Duration(0),
        by_exception: false,
    })
}

pub(crate) fn thread_start(id: u64, ns: i64, name: &'static str) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(id),
        time: time(ns),
        group: "main".into(),
        parent_group: "system".into(),
        object: ObjectId(0),
        name: name.into(),
    })
}

pub(crate) fn method_def(id: u64, name: &'static str, signature: &'static str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(3),
        name: name.into(),
        signature: signature.into(),
        start_line: 10,
        end_line: 12,
    })
}

pub(crate) fn note(note: &Note<'_>) -> Event<'static> {
    Event::Custom(Custom {
        body: note.to_string().into(),
    })
}

/// Returns the events that open every trace.
pub(crate) fn opening() -> Vec<Event<'static>> {
    vec![
        Event::Node(Node {
            node_id: "n1".into(),
            hostname: "host".into(),
            ip_address: "127.0.0.1".into(),
            timezone: 0,
            time: time(0),
        }),
        ProcessCreate {
            process_id: "p1".into(),
            pid: 4711,
            node_id: "n1".into(),
            time: time(0),
            ..ProcessCreate::default()
        }
        .into(),
        AgentCreate {
            agent_id: "a1".into(),
            process_id: "p1".into(),
            name: "jtrail".into(),
            agent_type: "Profiler".into(),
            time: time(0),
            parameters: "format=binary".into(),
            version: "0.1.0".into(),
        }
        .into(),
        Event::TraceStart(TraceStart {
            trace_id: "t1".into(),
            agent_id: "a1".into(),
            time: time(1_000),
        }),
    ]
}

/// Returns the events at the end of a complete trace.
pub(crate) fn closing(ns: i64) -> Vec<Event<'static>> {
    vec![
        Event::TraceEnd(TraceEnd {
            trace_id: "".into(),
            time: time(ns),
        }),
        Event::AgentDestroy(AgentDestroy {
            agent_id: "a1".into(),
            time: time(ns),
        }),
    ]
}

/// Returns a sound trace with two threads, recursion, collections, gaps and a method that is not
/// instrumented.
///
/// `main` runs from 1 ms to 11 ms: `fib` three levels deep (2–6 ms), then `run` (7–8 ms). `worker`
/// has one `run` from 5 to 9 ms, and a second one that stays open.
pub(crate) fn sample() -> Vec<Event<'static>> {
    const MS: i64 = 1_000_000;
    let mut events = opening();
    events.extend([
        thread_start(1, 2_000, "main"),
        Event::ClassDef(ClassDef {
            class: ClassId(3),
            thread: ThreadId(0),
            time: time(3_000),
            name: "com.acme.Main".into(),
            source_name: "Main.java".into(),
            object: ObjectId(0),
        }),
        method_def(4, "main", "([Ljava/lang/String;)V"),
        method_def(5, "fib", "(I)J"),
        method_def(6, "run", "()V"),
        enter(1, MS, 4, 1, 1),
        enter(1, 2 * MS, 5, 2, 2),
        enter(1, 3 * MS, 5, 3, 3),
        enter(1, 4 * MS, 5, 4, 4),
        leave(1, 5 * MS, 5, 4),
        leave(1, 5 * MS + 500_000, 5, 3),
        leave(1, 6 * MS, 5, 2),
        Event::GcStart(GcStart { time: time(6 * MS) }),
        Event::GcFinish(GcFinish {
            time: time(6 * MS + 250_000),
            ..GcFinish::default()
        }),
        thread_start(2, 4 * MS, "worker 1"),
        enter(2, 5 * MS, 6, 1, 1),
        leave(2, 9 * MS, 6, 1),
        enter(2, 10 * MS, 6, 2, 1),
        enter(1, 7 * MS, 6, 5, 2),
        leave(1, 8 * MS, 6, 5),
        leave(1, 11 * MS, 4, 1),
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(1),
            time: time(11 * MS),
        }),
        note(&Note::Uninstrumented(Uninstrumented {
            class: "com.acme.Big".into(),
            method: "all()V".into(),
            reason: "code would pass 65535 bytes".into(),
        })),
        note(&Note::Totals(Totals {
            enters: 7,
            leaves: 6,
            open: 1,
            classes: 1,
            methods: 3,
            uninstrumented: 1,
            ..Totals::default()
        })),
    ]);
    events.extend(closing(12 * MS));
    events
}

/// Sorts events by time, like in a trail. Events without a time stay after their predecessor.
pub(crate) fn in_time(events: Vec<Event<'static>>) -> Vec<Event<'static>> {
    let mut last = time(0);
    let timed = events.into_iter().map(|event| {
        last = event.time().unwrap_or(last);
        (last, event)
    });
    let mut timed: Vec<_> = timed.collect();
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, event)| event).collect()
}

pub(crate) fn encode(format: Format, events: &[Event<'_>]) -> Vec<u8> {
    let mut encoder = format.encoder();
    let mut bytes = Vec::new();
    encoder.begin(&mut bytes);
    for event in events {
        encoder.event(event, &mut bytes);
    }
    encoder.end(&mut bytes);
    bytes
}

/// Temporary folder for traces.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.at(name);
        std::fs::write(&path, bytes).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Writes the sample as `sample.trcbin` or `sample.trcxml`, and returns the path.
    pub(crate) fn sample(&self, format: Format) -> String {
        self.put(
            &format!("sample.{}", format.extension()),
            &encode(format, &sample()),
        )
    }
}

/// Writes the events as `x` with the format's extension, and returns the path.
pub(crate) fn file(folder: &Folder, format: Format, events: &[Event<'_>]) -> String {
    folder.put(
        &format!("x.{}", format.extension()),
        &encode(format, events),
    )
}

/// Returns the rows of one table of `report`, as TSV without heading.
pub(crate) fn rows(file: &str, args: &[&str], table: &str) -> Vec<String> {
    let args = [&["report", file, "--format", "tsv"], args].concat();
    let done = jtrail(&args);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
    let head = format!("# {table}");
    let mut lines = done.out.lines().skip_while(|l| *l != head);
    assert!(lines.next().is_some(), "no table {table}:\n{}", done.out);
    let rows = lines.skip(1).take_while(|l| !l.is_empty());
    rows.map(str::to_owned).collect()
}
