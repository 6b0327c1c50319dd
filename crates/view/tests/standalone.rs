//! Stand-alone pages have what the trace has.

use jtrail_formats::Format;
use jtrail_model::*;
use jtrail_view::{Kind, Page, PageError, Selection, Slice, Trace};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;

const START: i64 = 1_700_000_000_000_000_000;
const THREADS: u64 = 3;
/// Names that would do harm if the document took them for its own text.
const HOSTILE: [&str; 5] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"},\"version\":2,\"x\":{\"'`",
    "a\u{2028}b\u{2029}c\0d\u{7f}\r\n",
    "]]>&lt;\\u003c\u{feff}",
];

fn time(ns: i64) -> Timestamp {
    Timestamp(START + ns)
}

/// Writes events as a trail, with a segment for each part, and opens it.
fn open(parts: &[Vec<Event<'static>>]) -> (tempfile::NamedTempFile, Trace) {
    let mut encoder = Format::Trail.encoder();
    let mut trail = Vec::new();
    encoder.begin(&mut trail);
    for (thread, name) in (1..=THREADS).zip(HOSTILE) {
        let start = ThreadStart {
            thread: ThreadId(thread),
            time: time(0),
            name: name.into(),
            group: HOSTILE[4].into(),
            ..ThreadStart::default()
        };
        encoder.event(&Event::ThreadStart(start), &mut trail);
    }
    let class = ClassDef {
        class: ClassId(9),
        name: HOSTILE[3].into(),
        ..ClassDef::default()
    };
    encoder.event(&Event::ClassDef(class), &mut trail);
    for (number, name) in (1..).zip(HOSTILE) {
        let method = MethodDef {
            method: MethodId(number),
            class: ClassId(9),
            name: name.into(),
            signature: "(I)V".into(),
            ..MethodDef::default()
        };
        encoder.event(&Event::MethodDef(method), &mut trail);
    }
    for part in parts {
        for event in part {
            encoder.event(event, &mut trail);
        }
        encoder.flush(&mut trail);
    }
    encoder.end(&mut trail);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&trail).expect("written");
    let trace = Trace::open(file.path()).expect("read").expect("a trail");
    (file, trace)
}

/// A step of a thread: what happens, after how many ns.
type Step = (u64, i64, u8);

/// Returns the events of steps. 0 to 4 enter a method, 5 to 8 leave one, 9 begins or ends a wait.
fn events(steps: &[Step]) -> Vec<Vec<Event<'static>>> {
    let mut parts = vec![Vec::new()];
    let mut open: [Vec<(u64, u32)>; THREADS as usize + 1] = Default::default();
    let mut is_waiting = [false; THREADS as usize + 1];
    let (mut now, mut ticket) = (0, 0);
    for (id, passed, action) in steps.iter().copied() {
        now += passed;
        let (thread, at, stack) = (ThreadId(id), time(now), &mut open[id as usize]);
        let waits = std::mem::take(&mut is_waiting[id as usize]);
        let event: Event<'static> = match action {
            10 => {
                parts.push(Vec::new());
                is_waiting[id as usize] = waits;
                continue;
            }
            _ if waits => Event::MonitorContendedEntered(MonitorContendedEntered {
                thread,
                time: at,
                object: ObjectId(7),
                ..Default::default()
            }),
            0..=4 => {
                ticket += 1;
                let method = u64::from(action) + 1;
                stack.push((method, ticket));
                Event::MethodEnter(MethodEnter {
                    thread,
                    time: at,
                    method: MethodId(method),
                    class: ClassId(9),
                    ticket,
                    ..Default::default()
                })
            }
            5..=8 => {
                let Some((method, ticket)) = stack.pop() else {
                    continue;
                };
                Event::MethodLeave(MethodLeave {
                    thread,
                    time: at,
                    method: MethodId(method),
                    class: ClassId(9),
                    ticket,
                    by_exception: action == 8,
                    ..Default::default()
                })
            }
            _ => {
                is_waiting[id as usize] = true;
                Event::MonitorContendedEnter(MonitorContendedEnter {
                    thread,
                    time: at,
                    object: ObjectId(7),
                    owner: ThreadId(id % THREADS + 1),
                    ..Default::default()
                })
            }
        };
        parts.last_mut().expect("a part").push(event);
    }
    parts
}

fn document(page: &Page) -> String {
    let mut out = Vec::new();
    page.write(&mut out).expect("written");
    String::from_utf8(out).expect("UTF-8")
}

/// Returns the data of a document, found as a browser does: its element ends at the first end tag.
fn data(document: &str) -> Value {
    let (_, rest) = document.split_once("id=\"jtrail-data\">").expect("data");
    let (json, _) = rest.split_once("</script").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

fn numbers(column: &Value) -> Vec<i64> {
    let cells = column.as_array().expect("a column").iter();
    cells.map(|cell| cell.as_i64().expect("a number")).collect()
}

/// A slice: level, begin, end, name of the method, kind.
type Line = (i64, i64, i64, String, i64);

/// Returns the slices of a thread in the data.
fn embedded(trace: &Value, thread: &str) -> Vec<Line> {
    let columns = &trace["slices"][thread];
    let [begin, length, method, level] =
        ["begin", "length", "method", "level"].map(|name| numbers(&columns[name]));
    let kind = match &columns["kind"] {
        Value::Null => vec![0; begin.len()],
        kind => numbers(kind),
    };
    let mut now = 0;
    (0..begin.len())
        .map(|at| {
            now += begin[at];
            let name = &trace["methods"][method[at].to_string()][1];
            let name = match kind[at] {
                0 | 1 => name.as_str().expect("a name").to_owned(),
                _ => String::new(),
            };
            (level[at], now, now + length[at], name, kind[at])
        })
        .collect()
}

/// Returns the slices of a thread that overlap a span, of those of the whole trace.
fn expected(trace: &Trace, thread: ThreadId, span: [Timestamp; 2]) -> Vec<Line> {
    let [first, end] = trace.span();
    let mut lines = Vec::new();
    let of_slice = |slice: &Slice| {
        if span[0] < span[1] && slice.overlaps(span) {
            let method = trace
                .method(slice.method)
                .and_then(|id| trace.names().method(id));
            let kind = match slice.kind {
                Kind::Call => 0,
                Kind::Thrown => 1,
                Kind::Blocked => 2,
                Kind::Waiting => 3,
                Kind::Parked => 4,
                Kind::Missing => panic!("only pictures have it"),
            };
            lines.push((
                i64::from(slice.level),
                slice.begin.since(first).0,
                slice.end.0.min(end.0 - 1) - first.0,
                method.map_or(String::new(), |method| method.name.clone()),
                kind,
            ));
        }
    };
    trace
        .slices(thread, trace.span(), of_slice)
        .expect("slices");
    lines
}

/// Checks that each slice lies in one of the level above, which precedes it.
fn check_nesting(lines: &[Line], from: i64) {
    let mut open: Vec<&Line> = Vec::new();
    for line in lines {
        open.retain(|other| other.0 < line.0);
        if let Some(caller) = open.iter().find(|other| other.0 + 1 == line.0) {
            assert!(
                caller.1 <= line.1 && caller.2 >= line.2,
                "{caller:?} {line:?}"
            );
        } else {
            // A caller that ends with the begin of the span is not in it.
            assert!(line.0 == 0 || line.1 <= from, "{line:?} has no caller");
        }
        open.push(line);
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((1..=THREADS, 0..30_i64, 0..=10_u8), 1..150)
}

proptest! {
    #[test]
    fn slices_are_those_of_the_trace(
        steps in steps(),
        ends in (0..2000_i64, 0..2000_i64),
        only in proptest::option::of(1..=THREADS),
    ) {
        let (_file, trace) = open(&events(&steps));
        let (_same, other) = (&_file, Trace::open(_file.path()).expect("read").expect("a trail"));
        let [first, end] = trace.span();
        let from = Timestamp(first.0 + ends.0.min(ends.1)).min(end);
        let span = [from, Timestamp(first.0 + ends.0.max(ends.1)).min(end)];
        let threads = only.map(|id| BTreeSet::from([ThreadId(id)]));
        let selection = Selection { span, threads: threads.clone() };
        let is_selected = |id: &ThreadId| threads.as_ref().is_none_or(|all| all.contains(id));
        let page = Page::new(vec![("a".to_owned(), trace, selection.clone())], 1000).expect("a page");
        let data = data(&document(&page));
        let embedded_trace = &data["traces"][0];
        let mut all = 0;
        let mut begun = 0;
        for id in other.threads().filter(is_selected) {
            let mut of_trace = expected(&other, id, span);
            let ids = embedded_trace["info"]["threads"]["id"].as_array().expect("ids");
            let number = ids.iter().position(|cell| cell == &id.to_string());
            let found = match number {
                Some(number) if !embedded_trace["slices"][number.to_string()].is_null() =>
                    embedded(embedded_trace, &number.to_string()),
                _ => Vec::new(),
            };
            check_nesting(&found, from.since(first).0);
            prop_assert!(found.windows(2).all(|two| two[0].1 <= two[1].1));
            let in_span = |line: &&Line| line.4 < 2 && (span[0]..span[1]).contains(&Timestamp(first.0 + line.1));
            begun += of_trace.iter().filter(in_span).count();
            all += of_trace.len();
            let mut sorted = found.clone();
            sorted.sort();
            of_trace.sort();
            prop_assert_eq!(sorted, of_trace);
        }
        prop_assert_eq!(page.calls() + page.waits(), all);
        prop_assert_eq!(&embedded_trace["info"]["calls"], begun);
        prop_assert_eq!(&embedded_trace["lanes"]["from"], span[0].since(first).0);
        let in_lanes: i64 = numbers(&embedded_trace["lanes"]["calls"]).iter().sum();
        prop_assert_eq!(in_lanes, begun as i64);
        let waits = embedded_trace["waits"].as_array().expect("waits");
        prop_assert_eq!(waits.len(), page.waits());
        prop_assert_eq!(&embedded_trace["tables"]["waits"]["total_rows"], page.waits());
        for wait in waits {
            prop_assert_eq!(&wait["object"], "object 7");
            prop_assert!(wait["owner"].is_u64());
        }
        if all == 0 {
            return Ok(());
        }
        // One more than fits is refused, and the proposed span fits.
        match Page::new(vec![("a".to_owned(), other, selection.clone())], all - 1) {
            Err(PageError::TooMany { trace: 0, found, max, fits }) => {
                prop_assert!(found > max && found <= all && max == all - 1);
                if let Some((shorter, slices)) = fits {
                    prop_assert!(slices <= max && shorter[0] == span[0] && shorter[1] <= span[1]);
                    let (again, threads) = (Trace::open(_file.path()).expect("read"), threads.clone());
                    let shorter = Selection { span: shorter, threads };
                    let again = vec![("a".to_owned(), again.expect("a trail"), shorter)];
                    let page = Page::new(again, max).expect("it fits");
                    prop_assert_eq!(page.calls() + page.waits(), slices);
                }
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

/// Returns the document of a trace in which each thread calls each method.
fn hostile_document() -> String {
    let steps: Vec<Step> = (1..=THREADS)
        .flat_map(|thread| (0..5).flat_map(move |method| [(thread, 9, method), (thread, 9, 5)]))
        .collect();
    let (_file, trace) = open(&events(&steps));
    let span = trace.span();
    let selection = Selection {
        span,
        threads: None,
    };
    let page = Page::new(vec![(HOSTILE[0].to_owned(), trace, selection)], 1000);
    document(&page.expect("a page"))
}

#[test]
fn names_can_not_break_out_of_the_data() {
    let document = hostile_document();
    // Those of the data and of the page itself.
    assert_eq!(document.matches("<script").count(), 2);
    assert_eq!(document.matches("</script").count(), 2);
    assert!(!document.contains("<!--"));
    let (_, rest) = document.split_once("id=\"jtrail-data\">").expect("data");
    let (json, _) = rest.split_once("</script>").expect("an end");
    assert!(!json.contains(['<', '\0', '\r', '\n']));
    let data = data(&document);
    let trace = &data["traces"][0];
    assert_eq!(trace["info"]["title"], HOSTILE[0]);
    let names = trace["methods"].as_object().expect("methods").values();
    let names: BTreeSet<&str> = names.filter_map(|name| name[1].as_str()).collect();
    assert_eq!(names, BTreeSet::from(HOSTILE));
    assert_eq!(trace["methods"]["0"][0], HOSTILE[3]);
    let threads = trace["info"]["threads"]["name"]
        .as_array()
        .expect("threads");
    assert_eq!(threads.len(), THREADS as usize);
    assert!(threads.iter().zip(HOSTILE).all(|(name, own)| name == own));
}

#[test]
fn each_of_two_traces_has_half_of_the_page() {
    let one = |number: i64| {
        let steps: Vec<Step> = (0..number).flat_map(|_| [(1, 5, 0), (1, 5, 5)]).collect();
        let (file, trace) = open(&events(&steps));
        let selection = Selection {
            span: trace.span(),
            threads: None,
        };
        (file, (format!("{number}.trail"), trace, selection))
    };
    let ((_a, a), (_b, b)) = (one(10), one(20));
    let page = Page::new(vec![a, b], 40).expect("a page");
    assert_eq!((page.calls(), page.threads()), (30, 2));
    let data = data(&document(&page));
    assert_eq!(embedded(&data["traces"][1], "0").len(), 20);
    assert_eq!(data["traces"][1]["info"]["title"], "20.trail");
    let ((_a, a), (_b, b)) = (one(10), one(20));
    let refused = Page::new(vec![a, b], 38).expect_err("too many");
    let PageError::TooMany {
        trace, max, found, ..
    } = refused
    else {
        panic!("{refused}");
    };
    assert_eq!((trace, max, found), (1, 19, 20));
}

/// A segment of a span that can't be read is an error, and no page with a gap.
#[test]
fn a_damaged_segment_is_an_error() {
    let steps: Vec<Step> = (0..400)
        .flat_map(|n| {
            [
                (1, 5, (n % 5) as u8),
                (1, 5, 5),
                (1, 0, if n % 100 == 0 { 10 } else { 5 }),
            ]
        })
        .collect();
    let (file, trace) = open(&events(&steps));
    let selection = Selection {
        span: trace.span(),
        threads: None,
    };
    let mut bytes = std::fs::read(file.path()).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8].fill(0xff);
    std::fs::write(file.path(), &bytes).expect("written");
    let made = Page::new(vec![("a".to_owned(), trace, selection)], 10_000);
    let error = made.expect_err("damage").to_string();
    assert!(error.contains("is damaged"), "{error}");
}
