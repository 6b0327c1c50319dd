//! Trails that grow while they are open: the answers are those about the same part of the trail
//! that is opened anew.

use jtrail_formats::Format;
use jtrail_model::*;
use jtrail_view::api::{Opened, Session, Status};
use jtrail_view::{NO_METHOD, Trace};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

const START: i64 = 1_700_000_000_000_000_000;
const THREADS: u64 = 5;
const METHODS: u64 = 6;

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Action {
    Enter(u64),
    Leave,
    /// A park or its end, or another wait.
    Wait(bool),
    Allocate(i64),
    Throw,
    Cpu(i64),
    Collect(i64),
    /// The trace continues in another segment.
    Flush,
}

fn actions() -> impl Strategy<Value = Vec<(u64, i64, Action)>> {
    let action = prop_oneof![
        8 => (1..=METHODS).prop_map(Action::Enter),
        7 => Just(Action::Leave),
        3 => any::<bool>().prop_map(Action::Wait),
        1 => (1..500_i64).prop_map(Action::Allocate),
        1 => Just(Action::Throw),
        1 => (1..30_i64).prop_map(Action::Cpu),
        1 => (1..900_i64).prop_map(Action::Collect),
        4 => Just(Action::Flush),
    ];
    proptest::collection::vec((1..=THREADS, 0..40_i64, action), 1..160)
}

/// Open calls with their tickets, and whether the wait that is open is a park.
type OpenOfThread = (Vec<(u64, u32)>, Option<bool>);

/// An encoder with the state of its threads.
#[derive(Default)]
struct Maker {
    now: i64,
    known: BTreeSet<u64>,
    open: BTreeMap<u64, OpenOfThread>,
    ticket: u32,
}

impl Maker {
    fn trail(actions: &[(u64, i64, Action)]) -> Vec<u8> {
        let mut maker = Self::default();
        let mut encoder = Format::Trail.encoder();
        let mut trail = Vec::new();
        encoder.begin(&mut trail);
        for (thread, passed, action) in actions {
            maker.now += passed;
            if let Action::Flush = action {
                encoder.flush(&mut trail);
            }
            for event in maker.step(*thread, *action) {
                encoder.event(&event, &mut trail);
            }
        }
        encoder.end(&mut trail);
        trail
    }

    fn step(&mut self, number: u64, action: Action) -> Vec<Event<'static>> {
        let (thread, time) = (ThreadId(number), Timestamp(START + self.now));
        let class = ClassId(9);
        let mut events = Vec::new();
        if self.known.insert(number) {
            events.push(Event::ThreadStart(ThreadStart {
                thread,
                time,
                name: format!("thread {number}").into(),
                ..Default::default()
            }));
        }
        let (calls, wait) = self.open.entry(number).or_default();
        match action {
            Action::Enter(method) if wait.is_none() => {
                if self.known.insert(1000 + method) {
                    events.push(Event::MethodDef(MethodDef {
                        method: MethodId(method),
                        class,
                        name: format!("method{method}").into(),
                        signature: "()V".into(),
                        ..Default::default()
                    }));
                }
                self.ticket += 1;
                calls.push((method, self.ticket));
                events.push(Event::MethodEnter(MethodEnter {
                    thread,
                    time,
                    method: MethodId(method),
                    class,
                    ticket: self.ticket,
                    stack_depth: calls.len() as i64,
                    ..Default::default()
                }));
            }
            Action::Leave if wait.is_none() => {
                events.extend(calls.pop().map(|(method, ticket)| {
                    Event::MethodLeave(MethodLeave {
                        thread,
                        time,
                        method: MethodId(method),
                        class,
                        ticket,
                        by_exception: ticket % 5 == 0,
                        ..Default::default()
                    })
                }));
            }
            Action::Wait(is_park) => {
                let object = ObjectId(7);
                events.push(match wait.take() {
                    Some(true) => Event::ThreadUnpark(ThreadUnpark { thread, time }),
                    Some(false) => Event::MonitorWaited(MonitorWaited {
                        thread,
                        time,
                        object,
                        ..Default::default()
                    }),
                    None => {
                        *wait = Some(is_park);
                        match is_park {
                            true => Event::ThreadPark(ThreadPark {
                                thread,
                                time,
                                ..Default::default()
                            }),
                            false => Event::MonitorWait(MonitorWait {
                                thread,
                                time,
                                object,
                                ..Default::default()
                            }),
                        }
                    }
                });
            }
            Action::Allocate(size) => events.push(Event::ObjectAlloc(ObjectAlloc {
                thread,
                time,
                class,
                object: ObjectId(100 + self.now as u64),
                size,
                ..Default::default()
            })),
            Action::Throw => events.push(Event::ExceptionThrow(ExceptionThrow {
                thread,
                time,
                class,
                ..Default::default()
            })),
            Action::Cpu(more) => events.push(Event::ThreadCpu(ThreadCpu {
                thread,
                time,
                cpu_time: jtrail_model::Duration(self.now + more),
            })),
            Action::Collect(used_space) => {
                events.push(Event::GcStart(GcStart { time }));
                events.push(Event::GcFinish(GcFinish {
                    time,
                    used_space,
                    ..Default::default()
                }));
            }
            _ => {}
        }
        events
    }
}

fn open(path: &Path, is_followed: bool) -> Option<Session> {
    let trace = Trace::open(path).expect("read")?;
    let opened = Opened::new("t".to_owned(), trace, PathBuf::new(), |_| None).expect("opened");
    Some(Session::new(vec![match is_followed {
        true => opened.followed(|_| true, Duration::ZERO),
        false => opened,
    }]))
}

/// Answers in which threads and methods have names instead of numbers.
struct Asked<'s> {
    session: &'s Session,
    threads: Vec<Value>,
}

impl<'s> Asked<'s> {
    fn new(session: &'s Session) -> (Self, Value) {
        let mut traces = json(session, "/api/traces", "");
        let mut trace = traces["traces"][0].take();
        for key in ["live", "growing", "remarks", "indexed"] {
            trace[key] = Value::Null;
        }
        let columns = trace["threads"].take();
        let threads = columns["id"].as_array().expect("ids").clone();
        let asked = Self { session, threads };
        let mut by_id = BTreeMap::new();
        for (place, id) in asked.threads.iter().enumerate() {
            let columns = columns.as_object().expect("columns").iter();
            let of_thread: BTreeMap<_, _> = columns.map(|(k, v)| (k, v[place].clone())).collect();
            // Threads of a segment that turned out to be damaged keep their numbers.
            if json!(of_thread)["start"] != -1 {
                by_id.insert(id.to_string(), json!(of_thread));
            }
        }
        trace["threads"] = json!(by_id);
        (asked, trace)
    }

    fn number(&self, thread: u64) -> Option<usize> {
        let id = json!(thread.to_string());
        self.threads.iter().position(|other| *other == id)
    }

    fn thread(&self, number: &Value) -> Value {
        number
            .as_u64()
            .map_or(Value::Null, |number| self.threads[number as usize].clone())
    }

    fn method(&self, number: u64) -> Value {
        if number >= u64::from(NO_METHOD) - 1 {
            return json!(number);
        }
        let query = format!("trace=0&ids={number}");
        json(self.session, "/api/methods", &query)[number.to_string()][1].take()
    }

    fn method_number(&self, name: &str) -> Option<u64> {
        (0..METHODS).find(|number| self.method(*number) == name)
    }

    fn table(&self, query: &str) -> Value {
        let table = json(self.session, "/api/table", query);
        if table.is_null() {
            return table;
        }
        let columns = table["columns"].as_array().expect("columns");
        let kinds: Vec<_> = columns
            .iter()
            .map(|column| column["kind"].clone())
            .collect();
        let named = |row: &Value| {
            let cells = row.as_array().expect("cells").iter().zip(&kinds);
            let cells = cells.map(|(cell, kind)| match kind.as_str() {
                Some("thread") => self.thread(cell),
                Some("method") if !cell.is_null() => self.method(cell.as_u64().expect("a number")),
                _ => cell.clone(),
            });
            json!(cells.collect::<Vec<_>>()).to_string()
        };
        let rows = table["rows"].as_array().expect("rows").iter();
        // A thread that does nothing in a span may be listed or not.
        let is_idle = |row: &&Value| query.contains("what=threads") && row[1] == 0 && row[2] == 0;
        let rows: BTreeSet<String> = rows.filter(|row| !is_idle(row)).map(named).collect();
        json!([table["share"], rows])
    }

    fn tree(&self, query: &str) -> Value {
        let tree = json(self.session, "/api/table", query);
        if tree.is_null() {
            return tree;
        }
        let nodes = &tree["nodes"];
        let mut paths: Vec<String> = Vec::new();
        let mut all = BTreeMap::new();
        for (place, method) in nodes["method"]
            .as_array()
            .expect("nodes")
            .iter()
            .enumerate()
        {
            let parent = nodes["parent"][place].as_u64().expect("a node") as usize;
            let before = paths.get(parent).cloned().unwrap_or_default();
            let path = format!(
                "{before}/{}",
                self.method(method.as_u64().expect("a number"))
            );
            let figures = ["calls", "self", "total"].map(|key| nodes[key][place].clone());
            if place == 0 || figures != [json!(0), json!(0), json!(0)] {
                all.insert(path.clone(), figures);
            }
            paths.push(path);
        }
        json!([tree["share"], all])
    }

    fn heat(&self, query: &str) -> Value {
        let heat = json(self.session, "/api/heat", query);
        if heat.is_null() {
            return heat;
        }
        let rows = heat["rows"].as_array().expect("rows").iter();
        let rows = rows.zip(heat["values"].as_array().expect("values"));
        let named = |(row, values): (&Value, &Value)| {
            let threads = row["threads"].as_array().expect("threads").iter();
            let threads: Vec<_> = threads.map(|number| self.thread(number)).collect();
            json!([row["label"], threads, values]).to_string()
        };
        let rows: BTreeSet<String> = rows.map(named).collect();
        json!([heat["share"], heat["max"], rows])
    }

    fn tile(&self, thread: u64, span: &str) -> Value {
        let Some(number) = self.number(thread) else {
            return Value::Null;
        };
        let query = format!("trace=0&thread={number}&{span}&width=64");
        let answer = self.session.answer("/api/tile", &query);
        if answer.status == Status::Failed {
            return Value::Null;
        }
        let bytes = answer.body;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let double = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let count = word(4) as usize;
        let methods = 16 + 16 * count;
        let counts = methods + (4 * count).next_multiple_of(8);
        let levels = counts + (4 * count).next_multiple_of(8);
        let kinds = levels + (2 * count).next_multiple_of(8);
        let boxes: BTreeSet<String> = (0..count)
            .map(|at| {
                json!([
                    [double(16 + 8 * at), double(16 + 8 * (count + at))],
                    self.method(word(methods + 4 * at).into()),
                    word(counts + 4 * at),
                    [bytes[levels + 2 * at], bytes[kinds + at]],
                ])
                .to_string()
            })
            .collect();
        json!([word(8), word(12), boxes])
    }

    fn occurrences(&self, method: &str, span: &str) -> Value {
        let Some(number) = self.method_number(method) else {
            return Value::Null;
        };
        let query = format!("trace=0&method={number}&{span}&bins=16");
        let mut found = json(self.session, "/api/occurrences", &query);
        if found.is_null() {
            return found;
        }
        found["slowest"]["thread"] = self.thread(&found["slowest"]["thread"]);
        found["slowest"]["method"] = Value::Null;
        found
    }

    /// Asks everything about some spans.
    fn all(&self, spans: &[String]) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for span in spans {
            for what in [
                "methods",
                "threads",
                "waits",
                "allocations",
                "exceptions",
                "collections",
            ] {
                let query = format!("trace=0&what={what}&{span}&limit=100000");
                all.insert(query.clone(), self.table(&query));
                if let Some(thread) = self.number(2) {
                    let selected = format!("{query}&threads={thread}");
                    all.insert(format!("{query} of a thread"), self.table(&selected));
                }
            }
            let query = format!("trace=0&what=tree&{span}&limit=100000");
            all.insert(query.clone(), self.tree(&query));
            for value in ["calls", "allocated", "cpu"] {
                let query = format!("trace=0&{span}&bins=16&value={value}");
                all.insert(query.clone(), self.heat(&query));
            }
            let query = format!("trace=0&{span}&bins=16");
            all.insert(query.clone(), json(self.session, "/api/lanes", &query));
            let method = "method1";
            all.insert(format!("{method} {span}"), self.occurrences(method, span));
            for thread in 1..=THREADS {
                all.insert(format!("tile {thread} {span}"), self.tile(thread, span));
            }
        }
        all
    }
}

/// Returns an answer; null if damage that a check of the segments does not find makes it fail.
fn json(session: &Session, path: &str, query: &str) -> Value {
    let answer = session.answer(path, query);
    if answer.status == Status::Failed {
        return Value::Null;
    }
    assert_eq!(
        answer.status,
        Status::Answered,
        "{path} {query}: {}",
        String::from_utf8_lossy(&answer.body)
    );
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// Writes a trail in pieces, and compares the answers of the session that follows it with those of
/// sessions that are opened anew. Returns how often the followed trace has changed.
fn assert_followed(trail: &[u8], is_damaged: bool, cuts: &[usize], spans: &[String]) -> usize {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % trail.len()).collect();
    cuts.push(trail.len());
    cuts.sort_unstable();
    let mut file = NamedTempFile::new().expect("a file");
    let (mut written, mut session, mut changes, mut last) = (0, None, 0, Value::Null);
    let mut threads: Vec<Value> = Vec::new();
    for cut in cuts {
        file.write_all(&trail[written..cut]).expect("written");
        written = cut;
        session = session.or_else(|| open(file.path(), true));
        let Some(followed) = &session else {
            assert!(open(file.path(), false).is_none());
            continue;
        };
        let anew = open(file.path(), false).expect("a trail");
        // A damaged trail is looked at more seldom, as it is read as a whole.
        let known = |session| {
            let info = json(session, "/api/traces", "")["traces"][0].take();
            [info["duration"].clone(), info["missing"].clone()]
        };
        for _ in 0..400 {
            if known(followed) == known(&anew) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let is_prepared = followed.prepare(|| false).is_ok();
        assert_eq!(is_prepared, anew.prepare(|| false).is_ok());
        let ((followed, trace), (anew, expected)) = (Asked::new(followed), Asked::new(&anew));
        assert_eq!(trace, expected, "after {cut} bytes");
        // Threads keep their numbers.
        assert!(followed.threads.starts_with(&threads));
        threads.clone_from(&followed.threads);
        changes += usize::from(last != trace);
        last = trace;
        // Undamaged trails have all answers.
        assert!(is_prepared || is_damaged);
        let (found, expected) = (followed.all(spans), anew.all(spans));
        for (query, expected) in expected {
            assert!(
                is_damaged
                    || !expected.is_null()
                    || query.starts_with("tile")
                    || query.starts_with("method")
            );
            assert_eq!(found[&query], expected, "{query} after {cut} bytes");
        }
    }
    changes
}

/// Returns spans in the form of queries: all, and some that begin and end anywhere.
fn spans(all: &[(i64, i64)]) -> Vec<String> {
    let some = all.iter();
    let some = some.map(|(from, length)| format!("from={from}&until={}", from + length));
    some.chain(["from=0&until=9000000000000000".to_owned()])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 30,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_trail_that_grows_is_as_one_that_is_opened_anew(
        actions in actions(),
        cuts in proptest::collection::vec(any::<usize>(), 1..6),
        some in proptest::collection::vec((0..2000_i64, 1..2000_i64), 2),
    ) {
        let trail = Maker::trail(&actions);
        assert_followed(&trail, false, &cuts, &spans(&some));
    }

    #[test]
    fn a_damaged_trail_that_grows_is_as_one_that_is_opened_anew(
        actions in actions(),
        cuts in proptest::collection::vec(any::<usize>(), 1..6),
        some in proptest::collection::vec((0..2000_i64, 1..2000_i64), 2),
        bad in any::<usize>(),
    ) {
        let mut trail = Maker::trail(&actions);
        let place = 4 + bad % (trail.len() - 4);
        trail[place] ^= 1;
        assert_followed(&trail, true, &cuts, &spans(&some));
    }
}
