//! What the page is answered.

use jtrail_analysis::{Analysis, Subjects};
use jtrail_formats::Format;
use jtrail_model::*;
use jtrail_view::api::{Opened, Session, Status};
use jtrail_view::{IndexSizes, Trace};
use serde_json::{Value, json};
use std::io::Write;

const START: i64 = 1_700_000_000_000_000_000;
/// A name that would end a script in a page.
const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\">";

fn time(ns: i64) -> Timestamp {
    Timestamp(START + ns)
}

fn thread(id: u64, name: &'static str) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(id),
        time: time(0),
        name: name.into(),
        group: "main".into(),
        ..ThreadStart::default()
    })
}

fn method(id: u64, name: &'static str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(9),
        name: name.into(),
        signature: "(I)V".into(),
        ..MethodDef::default()
    })
}

fn enter(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        class: ClassId(9),
        ticket,
        ..MethodEnter::default()
    })
}

fn leave(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(thread),
        time: time(ns),
        method: MethodId(method),
        class: ClassId(9),
        ticket,
        ..MethodLeave::default()
    })
}

/// A trace in which `main` calls `run`, which calls a method of a hostile name twice. In the second
/// call it is blocked on a monitor that `other` holds.
fn session() -> Session {
    let class = Event::ClassDef(ClassDef {
        class: ClassId(9),
        name: "com.acme.Shop".into(),
        ..ClassDef::default()
    });
    let blocked = Event::MonitorContendedEnter(MonitorContendedEnter {
        thread: ThreadId(1),
        time: time(600),
        object: ObjectId(77),
        owner: ThreadId(2),
        ..MonitorContendedEnter::default()
    });
    let entered = Event::MonitorContendedEntered(MonitorContendedEntered {
        thread: ThreadId(1),
        time: time(750),
        object: ObjectId(77),
        ..MonitorContendedEntered::default()
    });
    let lock = [
        Event::ClassDef(ClassDef {
            class: ClassId(10),
            name: "java.util.Vector".into(),
            ..ClassDef::default()
        }),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(77),
            time: time(120),
            class: ClassId(10),
            ..ObjectDef::default()
        }),
    ];
    let throw = Event::ExceptionThrow(ExceptionThrow {
        thread: ThreadId(2),
        time: time(650),
        class: ClassId(9),
        ..ExceptionThrow::default()
    });
    let alloc = Event::ObjectAlloc(ObjectAlloc {
        thread: ThreadId(1),
        time: time(450),
        object: ObjectId(5),
        size: 24,
        class: ClassId(9),
        ..ObjectAlloc::default()
    });
    let gc = [
        Event::GcStart(GcStart { time: time(460) }),
        Event::GcFinish(GcFinish {
            time: time(490),
            used_space: 4096,
            ..GcFinish::default()
        }),
    ];
    let events = [
        thread(1, "main"),
        thread(2, "other"),
        class,
        method(1, "run"),
        method(2, HOSTILE),
        lock[0].clone(),
        enter(1, 100, 1, 1),
        lock[1].clone(),
        enter(2, 150, 1, 1),
        enter(1, 200, 2, 2),
        leave(1, 300, 2, 2),
        alloc,
        gc[0].clone(),
        gc[1].clone(),
        enter(1, 500, 2, 3),
        blocked,
        throw,
        entered,
        leave(1, 800, 2, 3),
        leave(1, 900, 1, 1),
        leave(2, 950, 1, 1),
    ];
    opened(&events, 4)
}

/// Returns a trail of some events, with so many in each segment.
fn trail(events: &[Event<'_>], of_segment: usize) -> Vec<u8> {
    let mut encoder = Format::Trail.encoder();
    let mut trail = Vec::new();
    encoder.begin(&mut trail);
    for (place, event) in events.iter().enumerate() {
        encoder.event(event, &mut trail);
        if place % of_segment == 0 {
            encoder.flush(&mut trail);
        }
    }
    encoder.end(&mut trail);
    trail
}

/// Returns a trace of some events, with so many in each segment.
fn opened(events: &[Event<'_>], of_segment: usize) -> Session {
    opened_with(events, of_segment, false)
}

/// Like [`opened`]. If `is_indexed`, the trace has an index with all sums.
fn opened_with(events: &[Event<'_>], of_segment: usize, is_indexed: bool) -> Session {
    let trail = trail(events, of_segment);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&trail).expect("written");
    let trace = Trace::open(file.path()).expect("read").expect("a trail");
    // The segments are read from the file later.
    let (_, path) = file.keep().expect("kept");
    let index = path.with_added_extension("idx");
    if is_indexed {
        let mut bytes = Vec::new();
        let sizes = IndexSizes {
            block: 1,
            pictures: 1_000_000,
            methods: 100_000_000,
            paths: 100_000_000,
            ..IndexSizes::default()
        };
        let written = trace.write_index(sizes, &mut bytes, |_| true);
        assert!(written.expect("an index"));
        std::fs::write(&index, bytes).expect("written");
        TEMPORARY.with(|all| all.borrow_mut().0.push(index.clone()));
    }
    let opened = Opened::new("a <b>.trail".to_owned(), trace, index, |_| None);
    let session = Session::new(vec![opened.expect("no index")]);
    session.prepare(|| false).expect("prepared");
    TEMPORARY.with(|all| all.borrow_mut().0.push(path));
    session
}

#[test]
fn a_long_trace_is_checked_when_it_is_read() {
    let calls = (0..300_i64).flat_map(|call| {
        let (begin, ticket) = (1000 + 20 * call, 1 + call as u32);
        [enter(1, begin, 1, ticket), leave(1, begin + 10, 1, ticket)]
    });
    let events: Vec<Event<'_>> = [thread(1, "main"), method(1, "run")]
        .into_iter()
        .chain(calls)
        .collect();
    let mut bytes = trail(&events, 60);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&bytes).expect("written");
    let index = file.path().with_added_extension("idx");
    let opened = |max_bytes| {
        let trace = Trace::open(file.path()).expect("read").expect("a trail");
        let title = "a.trail".to_owned();
        let opened = Opened::checked_below(max_bytes, title, trace, index.clone(), |_| None);
        Session::new(vec![opened.expect("opened")])
    };
    let (checked, long) = (opened(u64::MAX), opened(0));
    // Before the damage is found, an answer may fail.
    let early = long.answer("/api/table", "trace=0&what=methods");
    assert_eq!(early.status, Status::Failed);
    for session in [&checked, &long] {
        session.prepare(|| false).expect("prepared");
    }
    let questions = [
        ("/api/traces", ""),
        ("/api/table", "trace=0&what=methods"),
        ("/api/table", "trace=0&what=tree"),
        ("/api/table", "trace=0&what=callers&method=0"),
        (
            "/api/heat",
            "trace=0&from=0&until=8000&bins=16&rows=4&value=calls",
        ),
        ("/api/find", "trace=0&text=run"),
    ];
    for (path, query) in questions {
        assert_eq!(
            ask(&long, path, query),
            ask(&checked, path, query),
            "{path}"
        );
    }
    let info = ask(&long, "/api/traces", "");
    let remarks = info["traces"][0]["remarks"].to_string();
    assert!(remarks.contains("damaged"), "{info}");
    let calls = ask(&long, "/api/table", "trace=0&what=methods")["rows"][0][1].as_u64();
    assert!(
        calls.is_some_and(|calls| (180..300).contains(&calls)),
        "{calls:?}"
    );
}

/// Files that end with the test's thread.
#[derive(Default)]
struct Files(Vec<std::path::PathBuf>);

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.0 {
            std::fs::remove_file(path).expect("ours");
        }
    }
}

thread_local! {
    static TEMPORARY: std::cell::RefCell<Files> = std::cell::RefCell::default();
}

fn ask(session: &Session, path: &str, query: &str) -> Value {
    let answer = session.answer(path, query);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, Status::Answered, "{path}?{query}: {text}");
    assert_eq!(answer.content_type, "application/json");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn traces_have_their_threads() {
    let session = session();
    let answer = ask(&session, "/api/traces", "");
    let trace = &answer["traces"][0];
    assert_eq!(trace["title"], "a <b>.trail");
    assert_eq!(trace["start"], START.to_string());
    assert_eq!(
        (&trace["duration"], &trace["calls"]),
        (&json!(951), &json!(4))
    );
    assert_eq!(
        (&trace["indexed"], &trace["missing"]),
        (&json!(1.0), &json!([]))
    );
    let threads = &trace["threads"];
    assert_eq!(threads["name"], json!(["main", "other"]));
    assert_eq!(threads["calls"], json!([3, 1]));
    assert_eq!(threads["busy"], json!([800, 800]));
    assert_eq!(threads["levels"], json!([3, 1]));
}

/// Returns the number of a method in answers.
fn number(session: &Session, text: &str) -> u64 {
    let found = ask(session, "/api/find", &format!("trace=0&text={text}"));
    found["methods"][0][0].as_u64().expect("a number")
}

#[test]
fn methods_are_found_by_a_part_of_their_names() {
    let session = session();
    let found = ask(&session, "/api/find", "trace=0&text=SHOP.ru");
    assert_eq!(
        found["methods"][0].as_array().expect("a row")[1..],
        [json!(2), json!(1600), json!(1200)]
    );
    let hostile = number(&session, "onerror");
    let names = ask(&session, "/api/methods", &format!("trace=0&ids={hostile}"));
    assert_eq!(
        names[hostile.to_string()],
        json!(["com.acme.Shop", HOSTILE, "(int)"])
    );
}

#[test]
fn tables_are_about_the_span() {
    let session = session();
    let [run, hostile] = ["run", "onerror"].map(|text| number(&session, text));
    let rows = |query: &str| ask(&session, "/api/table", query)["rows"].clone();
    let all = json!([[run, 2, 1200, 1600], [hostile, 2, 400, 400]]);
    assert_eq!(rows("trace=0&what=methods"), all);
    let part = json!([[run, 0, 250, 350], [hostile, 1, 100, 100]]);
    assert_eq!(rows("trace=0&what=methods&from=200&until=375"), part);
    assert_eq!(
        rows("trace=0&what=methods&threads=1"),
        json!([[run, 1, 800, 800]])
    );
    assert_eq!(
        rows("trace=0&what=methods&filter=IMG&sort=calls"),
        json!([[hostile, 2, 400, 400]])
    );
    let reversed = rows("trace=0&what=methods&reverse=1&limit=1");
    assert_eq!(reversed, json!([[hostile, 2, 400, 400]]));
    let callers = rows(&format!("trace=0&what=callers&method={hostile}"));
    assert_eq!(callers, json!([[run, 2, 400, 400]]));
    let callers = rows(&format!("trace=0&what=callers&method={run}"));
    assert_eq!(callers, json!([[u32::MAX, 2, 1200, 1600]]));
    let callees = rows(&format!("trace=0&what=callees&method={run}"));
    assert_eq!(callees, json!([[hostile, 2, 400, 400]]));
    assert_eq!(
        rows("trace=0&what=threads"),
        json!([[0, 3, 800], [1, 1, 800]])
    );
    assert_eq!(
        rows("trace=0&what=allocations"),
        json!([["com.acme.Shop", 1, 24]])
    );
    assert_eq!(
        rows("trace=0&what=exceptions"),
        json!([["com.acme.Shop", "", 1, 650, 650]])
    );
    // Allocations and exceptions of the selected threads; collections belong to none.
    let of_thread = |what: &str, number| rows(&format!("trace=0&what={what}&threads={number}"));
    let of_threads = |what| [0, 1].map(|number| of_thread(what, number));
    let [main, other] = of_threads("allocations");
    assert_eq!(
        (main, other),
        (json!([["com.acme.Shop", 1, 24]]), json!([]))
    );
    let [main, other] = of_threads("exceptions");
    let thrown = json!([["com.acme.Shop", "", 1, 650, 650]]);
    assert_eq!((main, other), (json!([]), thrown));
    let [main, other] = of_threads("waits");
    assert_eq!((main.as_array().map(Vec::len), other), (Some(1), json!([])));
    let [main, other] = of_threads("collections");
    assert_eq!(main, other);
    assert_eq!(main, json!([[460, 30, "unknown", "", 4096]]));
    assert_eq!(
        rows("trace=0&what=collections"),
        json!([[460, 30, "unknown", "", 4096]])
    );
    assert_eq!(rows("trace=0&what=collections&from=500"), json!([]));
    let waits = json!([[
        600,
        150,
        0,
        "blocked on a monitor",
        "java.util.Vector (object 77)",
        1,
        run
    ]]);
    assert_eq!(rows("trace=0&what=waits"), waits);
    let tree = ask(&session, "/api/table", "trace=0&what=tree");
    assert_eq!(tree["nodes"]["parent"], json!([0, 0, 1]));
    assert_eq!(tree["nodes"]["method"], json!([u32::MAX, run, hostile]));
    assert_eq!(tree["nodes"]["total"], json!([1600, 1600, 400]));
}

#[test]
fn a_call_has_its_caller_neighbours_and_waits() {
    let session = session();
    let [run, hostile] = ["run", "onerror"].map(|text| number(&session, text));
    let call = ask(&session, "/api/call", "trace=0&thread=0&time=510&level=1");
    assert_eq!(
        (&call["method"], &call["begin"], &call["end"]),
        (&json!(hostile), &json!(500), &json!(800))
    );
    assert_eq!(
        (&call["caller"]["method"], &call["caller"]["begin"]),
        (&json!(run), &json!(100))
    );
    assert_eq!(
        (&call["previous"]["begin"], &call["next"]),
        (&json!(200), &Value::Null)
    );
    let wait = &call["waits"][0];
    assert_eq!(
        (&wait["kind"], &wait["begin"], &wait["end"]),
        (&json!(2), &json!(600), &json!(750))
    );
    assert_eq!(wait["object"], "java.util.Vector (object 77)");
    assert_eq!(
        (&wait["owner"], &wait["owner_in"]["method"]),
        (&json!(1), &json!(run))
    );
}

#[test]
fn pictures_have_columns() {
    let session = session();
    let answer = session.answer("/api/tile", "trace=0&thread=0&from=0&until=1024&width=128");
    assert_eq!(answer.status, Status::Answered);
    let number = |at: usize| u32::from_le_bytes(answer.body[at..at + 4].try_into().expect("four"));
    let count = number(4) as usize;
    assert_eq!((number(0), count, number(8)), (0x4c54_544a, 4, 3));
    let begins = answer.body[16..16 + 8 * count].chunks(8);
    let begins: Vec<f64> = begins
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight")))
        .collect();
    assert_eq!(begins, [100.0, 200.0, 500.0, 600.0]);
    let lanes = ask(&session, "/api/lanes", "trace=0&from=0&until=1000&bins=4");
    assert_eq!(lanes["calls"], json!([3, 0, 1, 0]));
    assert_eq!(lanes["blocked"], json!([0, 0, 150, 0]));
    assert_eq!(lanes["allocated"], json!([0, 24, 0, 0]));
    assert_eq!(lanes["heap"], json!([null, 4096, null, null]));
    let heat = ask(
        &session,
        "/api/heat",
        "trace=0&from=0&until=1000&bins=2&value=calls",
    );
    assert_eq!(heat["values"], json!([[2, 1], [1, 0]]));
    let hostile = self::number(&session, "onerror");
    let query = format!("trace=0&method={hostile}&from=0&until=1000&bins=2");
    let found = ask(&session, "/api/occurrences", &query);
    assert_eq!(
        (&found["calls"], &found["slowest"]["begin"]),
        (&json!([1, 1]), &json!(500))
    );
}

#[test]
fn cpu_time_is_spread_between_its_readings() {
    let reading = |thread, ns, cpu| {
        Event::ThreadCpu(ThreadCpu {
            thread: ThreadId(thread),
            time: time(ns),
            cpu_time: Duration(cpu),
        })
    };
    let events = [
        thread(1, "main"),
        thread(2, "other"),
        enter(1, 0, 1, 1),
        reading(1, 100, 1000),
        reading(2, 100, 7),
        reading(1, 500, 1303),
        reading(1, 700, 1303),
        reading(2, 900, 8),
        leave(1, 999, 1, 1),
    ];
    let session = opened(&events, 1);
    let lanes = ask(&session, "/api/lanes", "trace=0&from=0&until=1000&bins=5");
    // 303 ns from 100 to 500, and 1 ns from 100 to 900.
    assert_eq!(lanes["cpu"], json!([75, 152, 76, 0, 1]));
    let heat = "trace=0&from=0&until=1000&bins=2&value=cpu";
    let heat = ask(&session, "/api/heat", heat);
    assert_eq!(heat["values"], json!([[303, 0], [0, 1]]));
    let lanes = ask(&self::session(), "/api/lanes", "trace=0&bins=5");
    assert_eq!(lanes["cpu"], json!([]));
}

#[test]
fn wrong_requests_are_errors() {
    let session = session();
    for (path, query) in [
        ("/api/nothing", "trace=0"),
        ("/api/nothing", ""),
        ("/api/tile", ""),
        ("/api/tile", "trace=1"),
        ("/api/tile", "trace=0&thread=7&width=100"),
        ("/api/tile", "trace=0&thread=x&width=100"),
        ("/api/lanes", "trace=0&bins=0"),
        ("/api/lanes", "trace=0&bins=99999999"),
        ("/api/table", "trace=0&what=everything"),
        ("/api/table", "trace=0&what=methods&sort=colour"),
        ("/api/table", "trace=0&what=methods&threads=0-4294967295"),
        ("/api/call", "trace=0&thread=0&time=50&level=0"),
        ("/api/heat", "trace=0&bins=4&value=love"),
    ] {
        let answer = session.answer(path, query);
        let expected = match path {
            "/api/nothing" | "/api/call" => Status::Missing,
            _ => Status::Wrong,
        };
        assert_eq!(answer.status, expected, "{path}?{query}");
        let error: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert!(error["error"].as_str().is_some_and(|text| !text.is_empty()));
    }
    // Spans that are empty, reversed or far away are answered.
    for span in [
        "from=5&until=5",
        "from=9&until=1",
        "from=-9223372036854775808&until=9223372036854775807",
    ] {
        for path in ["tile", "lanes", "heat", "occurrences", "table"] {
            let query = format!("trace=0&thread=0&width=64&bins=8&method=0&what=methods&{span}");
            let answer = session.answer(&format!("/api/{path}"), &query);
            assert_eq!(answer.status, Status::Answered, "{path} {span}");
        }
    }
}

#[test]
fn a_trace_that_can_not_be_read_is_no_wrong_request() {
    let events = costly();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let mut bytes = trail(&events, 3);
    file.write_all(&bytes).expect("written");
    let trace = Trace::open(file.path()).expect("read").expect("a trail");
    let index = file.path().with_added_extension("idx");
    let opened = Opened::new("damaged".to_owned(), trace, index, |_| None);
    let session = Session::new(vec![opened.expect("no index")]);
    // Damage that was there before is no error.
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xff);
    std::fs::write(file.path(), &bytes).expect("written");
    let answer = session.answer("/api/table", "trace=0&what=tree");
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, Status::Failed, "{text}");
    assert!(text.contains("error"), "{text}");
}

#[test]
fn a_thread_waits_while_it_has_other_events() {
    let park = Event::ThreadPark(ThreadPark {
        thread: ThreadId(1),
        time: time(200),
        ..ThreadPark::default()
    });
    let sample = |ns| {
        Event::Sample(Sample {
            thread: ThreadId(1),
            time: time(ns),
            ..Sample::default()
        })
    };
    let unpark = Event::ThreadUnpark(ThreadUnpark {
        thread: ThreadId(1),
        time: time(700),
    });
    let events = [
        thread(1, "main"),
        enter(1, 100, 1, 1),
        park,
        sample(300),
        sample(400),
        unpark,
        leave(1, 900, 1, 1),
    ];
    let waits = |session: &Session| {
        let table = ask(
            session,
            "/api/table",
            "trace=0&what=waits&from=0&until=1000",
        );
        let rows = table["rows"].as_array().expect("rows").clone();
        rows.iter()
            .map(|row| (row[0].clone(), row[1].clone()))
            .collect::<Vec<_>>()
    };
    let session = opened(&events, 1);
    assert_eq!(waits(&session), [(json!(200), json!(500))]);
    let lanes = ask(&session, "/api/lanes", "trace=0&from=0&until=1000&bins=10");
    assert_eq!(
        lanes["parked"],
        json!([0, 0, 100, 100, 100, 100, 100, 0, 0, 0])
    );
    let tile = session.answer("/api/tile", "trace=0&thread=0&from=0&until=1024&width=128");
    let count = u32::from_le_bytes(tile.body[4..8].try_into().expect("4 bytes")) as usize;
    let at = |place: usize| {
        let bytes = tile.body[16 + 8 * place..][..8]
            .try_into()
            .expect("8 bytes");
        f64::from_le_bytes(bytes)
    };
    let spans: Vec<_> = (0..count).map(|n| (at(n), at(n + count))).collect();
    assert_eq!(spans, [(100.0, 900.0), (200.0, 700.0)]);
    // Without the end of the wait, it lasts until the end of the trace.
    let cut = opened(&events[..5], 1);
    assert_eq!(waits(&cut), [(json!(200), json!(201))]);
}

/// A thread that calls recursively, one that waits, and one whose call never ends; recording an
/// enter or leave takes 1.5 ns.
fn costly() -> Vec<Event<'static>> {
    let cost = TraceOption {
        key: "recordOverhead".into(),
        value: "1.5".into(),
    };
    let mut events = vec![
        Event::Option(cost),
        thread(1, "main"),
        thread(2, "other"),
        thread(3, "last"),
    ];
    events.extend([1, 2, 3].map(|id| method(id, ["a", "b", "c"][id as usize - 1])));
    events.extend([
        enter(1, 100, 1, 1),
        enter(1, 110, 2, 2),
        enter(1, 120, 1, 3),
        enter(2, 121, 3, 1),
        enter(1, 122, 3, 4),
        leave(1, 123, 3, 4),
        leave(1, 140, 1, 3),
        leave(2, 141, 3, 1),
        enter(2, 142, 3, 2),
        leave(2, 143, 3, 2),
        leave(1, 160, 2, 2),
        enter(3, 161, 1, 1),
        enter(3, 165, 2, 2),
        leave(3, 166, 2, 2),
        enter(1, 170, 3, 5),
        leave(1, 190, 3, 5),
        leave(1, 200, 1, 1),
    ]);
    events
}

#[test]
fn net_times_are_those_of_the_report() {
    let events = costly();
    let mut analysis = Analysis::new(Subjects {
        levels: 16,
        ..Subjects::default()
    });
    for event in &events {
        analysis.event(event, |_, _| true);
    }
    analysis.finish();
    analysis.without_cost();
    for (of_segment, is_indexed) in [(1, false), (3, false), (100, false), (3, true), (1, true)] {
        let session = opened_with(&events, of_segment, is_indexed);
        let table = |query: &str| ask(&session, "/api/table", &format!("trace=0&{query}"));
        let name = |method: &Value| {
            let names = ask(&session, "/api/methods", &format!("trace=0&ids={method}"));
            names[method.to_string()][1].clone()
        };
        let rows = table("what=methods&net=1")["rows"].clone();
        let rows = rows.as_array().expect("rows").iter();
        let mut found: Vec<Value> = rows
            .map(|row| json!([name(&row[0]), row[1], row[2], row[3]]))
            .collect();
        let mut expected: Vec<Value> = analysis
            .calls
            .methods()
            .iter()
            .map(|sum| {
                let method = analysis.names.method(sum.method).expect("a method");
                json!([method.name, sum.calls, sum.own, sum.total])
            })
            .collect();
        for rows in [&mut found, &mut expected] {
            rows.sort_by_key(ToString::to_string);
        }
        assert_eq!(found, expected);
        let busy = analysis.calls.threads().iter();
        let mut busy: Vec<Value> = busy
            .map(|sum| json!([sum.thread.0 - 1, sum.calls, sum.busy]))
            .collect();
        let mut threads = table("what=threads&net=1&sort=thread")["rows"].clone();
        busy.sort_by_key(|row| row[0].as_u64());
        assert_eq!(threads.as_array_mut().expect("rows"), &mut busy);

        // By call path: the root's number is none.
        let nodes = table("what=tree&net=1")["nodes"].clone();
        let mut found: Vec<Value> = (1..nodes["method"].as_array().expect("nodes").len())
            .map(|at| {
                json!([
                    name(&nodes["method"][at]),
                    nodes["calls"][at],
                    nodes["self"][at],
                    nodes["total"][at]
                ])
            })
            .collect();
        let mut expected: Vec<Value> = analysis
            .calls
            .tree()
            .paths()
            .map(|path| {
                let sum = analysis.calls.path(path);
                let method = analysis.names.method(sum.method).expect("a method");
                json!([method.name, sum.calls, sum.own, sum.total])
            })
            .collect();
        for rows in [&mut found, &mut expected] {
            rows.sort_by_key(ToString::to_string);
        }
        assert_eq!(found, expected);
        // The test is about something: these times differ from those with the time of recording.
        let gross = table("what=methods")["rows"].clone();
        assert_ne!(gross, table("what=methods&net=1")["rows"]);
    }
}

#[test]
fn an_object_without_a_definition_has_its_number() {
    let park = |ns, object| {
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(1),
            time: time(ns),
            object: ObjectId(object),
            ..ThreadPark::default()
        })
    };
    let unpark = |ns| {
        Event::ThreadUnpark(ThreadUnpark {
            thread: ThreadId(1),
            time: time(ns),
        })
    };
    let alloc = Event::ObjectAlloc(ObjectAlloc {
        time: time(150),
        object: ObjectId(8),
        class: ClassId(9),
        ..ObjectAlloc::default()
    });
    let class = Event::ClassDef(ClassDef {
        class: ClassId(9),
        name: "[I".into(),
        ..ClassDef::default()
    });
    let events = [
        thread(1, "main"),
        class,
        alloc,
        park(200, 7),
        unpark(400),
        park(500, 8),
        unpark(600),
    ];
    let session = opened(&events, 1);
    let objects = |query: &str| {
        let table = ask(&session, "/api/table", query);
        assert_eq!(table["share"], 1.0);
        let rows = table["rows"].as_array().expect("rows").clone();
        rows.iter().map(|row| row[4].clone()).collect::<Vec<_>>()
    };
    assert_eq!(objects("trace=0&what=waits&until=450"), ["object 7"]);
    let both = ["object 7", "int[] (object 8)"];
    assert_eq!(objects("trace=0&what=waits"), both);
}

#[test]
fn earlier_versions_are_not_read_in_parts() {
    let file = |version: u32| {
        let name = format!("../formats/tests/trail/version-{version}.trail");
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
    };
    for (version, is_read) in [(1, false), (2, false), (3, true)] {
        let trace = Trace::open(&file(version)).expect("read");
        assert_eq!(trace.is_some(), is_read, "version {version}");
    }
}
