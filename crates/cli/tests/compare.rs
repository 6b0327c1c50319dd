//! `jtrail compare`: a trace is equal in all formats, and differs without one of its events.

use crate::common::{Folder, closing, encode, jtrail, opening, thread_start, time};
use jtrail_formats::{Format, Quantity, Recorded};
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

/// Returns a trace with two threads of the same name and `main`.
///
/// It contains recursion, a constructor, overloads, a call ended by an exception, and an open call.
/// There are also objects, two collections, and each kind of wait.
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

/// Compares the files. Returns the exit code, and quantity and result of each row.
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
                let recorded =
                    [from, to].map(|f| !matches!(f.recorded(*quantity), Recorded::Nothing(_)));
                let mut results: Vec<&str> = results.iter().map(|(_, r)| r.as_str()).collect();
                results.sort_unstable();
                let orders = [from, to] == [Format::TraceLog, Format::ProfilerJ]
                    || [to, from] == [Format::TraceLog, Format::ProfilerJ];
                let expected = match recorded {
                    // Such a pair can't be compared by thread if one format has no thread names and
                    // the other has no order of threads. Live objects can't be compared if one
                    // format counts them at the end and the other after collections.
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
    assert_eq!(
        (code, rows.len()),
        (0, Quantity::ALL.len() * Format::ALL.len())
    );
}

/// Returns the trace with one change that must be visible for the quantity in the two formats.
fn changed(quantity: Quantity, formats: [Format; 2]) -> Vec<Event<'static>> {
    let mut events = trace();
    let drop = |events: &mut Vec<Event<'_>>, dropped: &dyn Fn(&Event<'_>) -> bool| {
        let before = events.len();
        events.retain(|e| !dropped(e));
        assert!(events.len() < before);
    };
    let worker = ThreadId(2);
    match quantity {
        Quantity::Threads => {
            for event in &mut events {
                if let Event::ThreadStart(e) = event
                    && e.thread == worker
                {
                    e.name = "walker".into();
                }
            }
        }
        Quantity::Calls => drop(&mut events, &|e| match e {
            Event::MethodEnter(e) => (e.thread, e.ticket) == (ThreadId(1), 3),
            Event::MethodLeave(e) => (e.thread, e.ticket) == (ThreadId(1), 3),
            _ => false,
        }),
        Quantity::ThreadCalls => {
            for event in &mut events {
                match event {
                    Event::MethodEnter(e) if e.thread == worker => e.thread = ThreadId(1),
                    Event::MethodLeave(e) if e.thread == worker => e.thread = ThreadId(1),
                    _ => {}
                }
            }
        }
        Quantity::Elapsed => {
            let more = formats.map(|format| match format.recorded(quantity) {
                Recorded::RoundedCalls(ns) | Recorded::RoundedNodes(ns) => 20 * ns as i64,
                _ => 1,
            });
            let more = more[0].max(more[1]);
            let at = |e: &Event<'_>| matches!(e, Event::MethodLeave(e) if e.thread == worker);
            let after = events.iter().position(at).expect("a leave");
            for event in &mut events[after..] {
                delay(event, more);
            }
        }
        Quantity::ExceptionLeaves => {
            for event in &mut events {
                if let Event::MethodLeave(e) = event {
                    e.by_exception = false;
                }
            }
        }
        Quantity::Objects => {
            drop(
                &mut events,
                &|e| matches!(e, Event::ObjectAlloc(e) if e.object.0 == 22),
            );
        }
        Quantity::Bytes => {
            for event in &mut events {
                if let Event::ObjectAlloc(e) = event
                    && e.object.0 == 22
                {
                    e.size += 8;
                }
            }
        }
        Quantity::Frees | Quantity::Live => {
            drop(
                &mut events,
                &|e| matches!(e, Event::ObjectFree(e) if e.object.0 == 21),
            );
        }
        Quantity::Collections => {
            let late = |t: Timestamp| t >= time(13 * MS);
            drop(&mut events, &|e| match e {
                Event::GcStart(e) => late(e.time),
                Event::GcFinish(e) => late(e.time),
                _ => false,
            });
        }
        Quantity::Contended => drop(&mut events, &|e| {
            matches!(
                e,
                Event::MonitorContendedEnter(_) | Event::MonitorContendedEntered(_)
            )
        }),
        Quantity::Waits => drop(&mut events, &|e| {
            matches!(e, Event::MonitorWait(_) | Event::MonitorWaited(_))
        }),
        Quantity::Throws => drop(&mut events, &|e| matches!(e, Event::ExceptionThrow(_))),
        Quantity::Catches => drop(&mut events, &|e| matches!(e, Event::ExceptionCatch(_))),
    }
    events
}

/// Delays an event if it comes after the worker's leave.
fn delay(event: &mut Event<'_>, ns: i64) {
    let time = match event {
        Event::MethodEnter(e) => &mut e.time,
        Event::MethodLeave(e) => &mut e.time,
        Event::ObjectAlloc(e) => &mut e.time,
        Event::ObjectFree(e) => &mut e.time,
        Event::GcStart(e) => &mut e.time,
        Event::GcFinish(e) => &mut e.time,
        Event::MonitorContendedEnter(e) => &mut e.time,
        Event::MonitorContendedEntered(e) => &mut e.time,
        Event::MonitorWait(e) => &mut e.time,
        Event::MonitorWaited(e) => &mut e.time,
        Event::ExceptionThrow(e) => &mut e.time,
        Event::ExceptionCatch(e) => &mut e.time,
        Event::ThreadEnd(e) => &mut e.time,
        Event::TraceEnd(e) => &mut e.time,
        Event::AgentDestroy(e) => &mut e.time,
        other => panic!("{other:?}"),
    };
    time.0 += ns;
}

/// Checks every quantity in all pairs of formats that contain the quantity.
#[test]
fn one_event_less_is_a_difference() {
    let folder = Folder::new();
    for quantity in Quantity::ALL {
        let recorded = |f: &Format| !matches!(f.recorded(quantity), Recorded::Nothing(_));
        for here in Format::ALL.into_iter().filter(recorded) {
            for there in Format::ALL.into_iter().filter(recorded) {
                let new = put(&folder, "new", here, &changed(quantity, [here, there]));
                let old = put(&folder, "old", there, &trace());
                let (code, rows) = compare(&[old, new], &["--only", quantity.name()]);
                let results: Vec<&str> = rows.iter().map(|(_, r)| r.as_str()).collect();
                let common = !results.contains(&"not comparable");
                if common {
                    assert_eq!(code, 1, "{quantity:?} {there:?} {here:?}");
                    assert!(
                        results.contains(&"differs"),
                        "{quantity:?} {there:?} {here:?}"
                    );
                } else {
                    let both = [there, here];
                    let two = both.contains(&Format::TraceLog) && both.contains(&Format::ProfilerJ);
                    assert!(two, "{quantity:?} {there:?} {here:?}");
                }
            }
        }
    }
}

#[test]
fn the_biggest_differences_come_first() {
    let folder = Folder::new();
    let old = put(&folder, "old", Format::TptpXml, &trace());
    let new = put(
        &folder,
        "new",
        Format::Mlpd,
        &changed(Quantity::Objects, [Format::Mlpd; 2]),
    );
    let args = ["compare", "--only", "objects,bytes,waits", &old, &new];
    let done = jtrail(&[&args[..], &["--format", "tsv"]].concat());
    assert_eq!((done.code, done.err.as_str()), (1, ""));
    let expected = format!(
        "# traces\nfile\tformat\tevents\tverdict\n{old}\txml\t46\twhole\n{new}\tmlpd\t43\twhole\n\n\
         # comparison\nquantity\tfile\tresult\tkeys\tsum\tdiffering\treason\n\
         objects\t{old}\treference\t3\t5\t\t\n\
         objects\t{new}\tdiffers\t3\t4\t1\t\n\
         bytes\t{old}\treference\t3\t1280\t\t\n\
         bytes\t{new}\tdiffers\t3\t480\t1\t\n\
         waits\t{old}\treference\t1\t1\t\t\n\
         waits\t{new}\tnot comparable\t\t\t\tthe format has no field for them\n\n\
         # differences\nquantity\tfile\texpected\tfound\tkey\n\
         objects\t{new}\t2\t1\tint[]\n\
         bytes\t{new}\t1200\t400\tint[]\n"
    );
    assert_eq!(done.out, expected);
    let done = jtrail(&args);
    assert!(
        done.out.contains(" 1,200 B  400 B  int[]\n"),
        "{}",
        done.out
    );
}

#[test]
fn what_can_not_be_compared_is_a_failure() {
    let folder = Folder::new();
    let log = put(&folder, "a", Format::TraceLog, &trace());
    let binary = put(&folder, "a", Format::TptpBinary, &trace());
    let done = jtrail(&["compare", "--only", "waits", &log, &binary]);
    assert_eq!(done.code, 2, "{}", done.out);
    assert!(done.err.contains("nothing to compare"), "{}", done.err);
    let done = jtrail(&["compare", "-", &binary, "-"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("can be read only once"), "{}", done.err);
    for (args, expected) in [
        (&["compare", &binary][..], "<FILE> <FILE>..."),
        (
            &["compare", &binary, &log, "--only", "time"],
            "[possible values: threads, calls,",
        ),
    ] {
        let done = jtrail(args);
        assert_eq!(done.code, 2);
        assert!(done.err.contains(expected), "{}", done.err);
    }
}

/// A truncated trace is reported even if nothing differs.
#[test]
fn traces_that_break_off() {
    let folder = Folder::new();
    let whole = encode(Format::TptpBinary, &trace());
    let old = folder.put("old", &whole);
    // Cut within the last message.
    let new = folder.put("new", &whole[..whole.len() - 3]);
    let done = jtrail(&["compare", &old, &new]);
    assert_eq!(done.code, 3, "{}", done.out);
    assert!(done.out.contains("truncated"), "{}", done.out);
    let new = folder.put("new", &whole[..whole.len() * 9 / 10]);
    assert_eq!(jtrail(&["compare", &old, &new]).code, 1);
}

/// Quantities that a trace log declares as not recorded are not compared.
#[test]
fn what_was_not_recorded_is_not_compared() {
    let folder = Folder::new();
    let log = encode(Format::TraceLog, &trace());
    let log = String::from_utf8(log).expect("text");
    for (option, on, quantity) in [
        ("MemoryTraceEnabled", "T", "objects"),
        ("GcTraceEnabled", "T", "collections"),
        ("CollectionMethod", "Instrumentation", "calls"),
    ] {
        let off = if on == "T" { "F" } else { "Sampling" };
        let text = log.replace(
            &format!("prf cfg {option} {on}"),
            &format!("prf cfg {option} {off}"),
        );
        assert_ne!(text, log);
        let new = folder.put("new.log", text.as_bytes());
        let old = put(&folder, "old", Format::TptpXml, &trace());
        let done = jtrail(&["compare", "--only", quantity, &old, &new]);
        let expected = format!("it was not recorded ({option} is {off})");
        assert!(done.out.contains(&expected), "{}", done.out);
        assert_eq!(done.code, 2);
    }
}
