//! `jtrail compare`: one trace in all formats is the same, and one event less is not.

mod common;

use common::{Folder, closing, encode, jtrail, opening, thread_start, time};
use jtrail_formats::{Format, Quantity, Says};
use jtrail_model::*;
use serde_json::Value;

const MS: i64 = 1_000_000;

fn class(id: u64, name: &'static str) -> Event<'static> {
    Event::ClassDef(ClassDef {
        class: ClassId(id),
        time: time(3_000),
        name: name.into(),
        ..ClassDef::default()
    })
}

fn method(id: u64, class: u64, name: &'static str, signature: &'static str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(class),
        name: name.into(),
        signature: signature.into(),
        ..MethodDef::default()
    })
}

fn enter(thread: u64, ns: i64, method: u64, ticket: u32, depth: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        class: ClassId(if method == 9 { 4 } else { 3 }),
        ticket,
        cpu_time: Duration(0),
        stack_depth: depth,
    })
}

fn leave(thread: u64, ns: i64, method: u64, ticket: u32, by_exception: bool) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        class: ClassId(if method == 9 { 4 } else { 3 }),
        ticket,
        cpu_time: Duration(0),
        by_exception,
    })
}

fn alloc(thread: u64, ns: i64, object: u64, class: u64, size: i64) -> Event<'static> {
    Event::ObjectAlloc(ObjectAlloc {
        thread: ThreadId(thread),
        time: time(ns),
        object: ObjectId(object),
        class: ClassId(class),
        size,
        kind: match class {
            5 => ObjectKind::INT,
            _ => ObjectKind::PLAIN,
        },
        ..ObjectAlloc::default()
    })
}

fn collection(ns: i64, dead: &[u64]) -> Vec<Event<'static>> {
    let end = time(ns + 100_000);
    let free = |object: &u64| {
        Event::ObjectFree(ObjectFree {
            time: end,
            object: ObjectId(*object),
            age: 0,
        })
    };
    let mut events = vec![
        Event::GcStart(GcStart { time: time(ns) }),
        Event::GcFinish(GcFinish {
            time: end,
            ..GcFinish::default()
        }),
    ];
    events.extend(dead.iter().map(free));
    events
}

/// Two threads of one name and `main`: recursion, a constructor, overloads, a call that an exception
/// ends, one that stays open; objects, two collections, and each kind of wait.
fn trace() -> Vec<Event<'static>> {
    let frame = || Frame {
        method: "app.Main.work(IJ)I".into(),
        line: 3,
    };
    let lock = ObjectId(23);
    let mut events = opening();
    events.extend([
        thread_start(1, 2_000, "main"),
        class(3, "app.Main"),
        class(4, "app.Node$Leaf"),
        class(5, "[I"),
        class(6, "app.Oops"),
        method(7, 3, "work", "(IJ)I"),
        method(8, 3, "work", "(I[[DLjava/lang/String;)V"),
        method(9, 4, "<init>", "(I)V"),
        enter(1, MS, 7, 1, 1),
        enter(1, 2 * MS, 8, 2, 2),
        alloc(1, 2 * MS + 1, 20, 4, 24),
        enter(1, 3 * MS, 9, 3, 3),
        leave(1, 4 * MS + 17, 9, 3, false),
        alloc(1, 4 * MS + 20, 21, 5, 400),
        enter(1, 5 * MS, 7, 4, 3),
        leave(1, 6 * MS + 5, 7, 4, true),
        leave(1, 7 * MS, 8, 2, false),
        thread_start(2, 7 * MS + 1, "worker"),
        thread_start(10, 7 * MS + 2, "worker"),
        enter(2, 8 * MS, 8, 1, 1),
        enter(10, 8 * MS + 2, 8, 1, 1),
        alloc(2, 8 * MS + 5, 22, 5, 800),
        alloc(10, 8 * MS + 6, 23, 4, 24),
        leave(2, 9 * MS, 8, 1, false),
        leave(10, 9 * MS + 1, 8, 1, false),
    ]);
    events.extend(collection(10 * MS, &[20]));
    events.extend([
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(2),
            time: time(11 * MS),
            object: lock,
            owner: ThreadId(1),
            stack: Vec::new(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(2),
            time: time(11 * MS + 7),
            object: lock,
            stack: Vec::new(),
        }),
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(10),
            time: time(11 * MS + 8),
            object: lock,
            timeout_ms: 0,
            stack: Vec::new(),
        }),
        Event::MonitorWaited(MonitorWaited {
            thread: ThreadId(10),
            time: time(11 * MS + 9),
            object: lock,
            timed_out: 0,
            stack: Vec::new(),
        }),
        alloc(1, 12 * MS, 24, 6, 32),
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            time: time(12 * MS + 1),
            object: ObjectId(24),
            class: ClassId(6),
            stack: vec![frame()],
        }),
        Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(1),
            time: time(12 * MS + 2),
            object: ObjectId(24),
            class: ClassId(6),
            frame: frame(),
        }),
    ]);
    events.extend(collection(13 * MS, &[21]));
    events.extend([
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(2),
            time: time(14 * MS),
        }),
        enter(1, 14 * MS + 1, 9, 5, 2),
    ]);
    events.extend(closing(16 * MS));
    events
}

/// Compares the files; exit code, and the result of each quantity for each file in the order of the rows.
fn compare(files: &[String], args: &[&str]) -> (u8, Vec<(String, String)>) {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let args = [&["compare", "--format", "json"], args, &files[..]].concat();
    let done = jtrail(&args);
    let json: Value = serde_json::from_str(&done.out).expect(&done.err);
    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let rows = json["comparison"].as_array().expect("rows").iter();
    let rows = rows.map(|row| (text(row, "quantity"), text(row, "result")));
    (done.code, rows.collect())
}

fn put(folder: &Folder, name: &str, format: Format, events: &[Event<'_>]) -> String {
    folder.put(
        &format!("{name}-{}", format.name()),
        &encode(format, events),
    )
}

#[test]
fn a_trace_is_the_same_in_all_formats() {
    let folder = Folder::new();
    for from in Format::ALL {
        for to in Format::ALL {
            let files = [from, to].map(|f| put(&folder, "a", f, &trace()));
            let (code, rows) = compare(&files, &[]);
            assert_eq!(
                code,
                0,
                "{} {}",
                jtrail(&["compare", &files[0], &files[1]]).out,
                from.name()
            );
            for (quantity, results) in Quantity::ALL.iter().zip(rows.chunks(2)) {
                let says = [from, to].map(|f| !matches!(f.says(*quantity), Says::Nothing(_)));
                let mut results: Vec<&str> = results.iter().map(|(_, r)| r.as_str()).collect();
                results.sort_unstable();
                let orders = [from, to] == [Format::TraceLog, Format::ProfilerJ]
                    || [to, from] == [Format::TraceLog, Format::ProfilerJ];
                let expected = match says {
                    // One has no names of threads, the other one no order of them; one counts at the
                    // end, the other one behind collections.
                    [true, true]
                        if orders && matches!(quantity, Quantity::ThreadCalls | Quantity::Live) =>
                    {
                        ["not comparable", "reference"]
                    }
                    [true, true] => ["equal", "reference"],
                    [false, false] => ["not comparable"; 2],
                    _ => ["not comparable", "reference"],
                };
                assert_eq!(results, expected, "{quantity:?} {from:?} {to:?}");
            }
        }
    }
    let all = Format::ALL.map(|f| put(&folder, "a", f, &trace()));
    let (code, rows) = compare(&all, &[]);
    assert_eq!((code, rows.len()), (0, 14 * 6));
}
