use super::base::BaseEncoder;
use super::write::{HASHES, STYLE, Writer, base64, script};
use crate::filter::CallFilter;
use crate::profile::Profiler;
use crate::testing::*;
use jtrail_formats::Encode;
use jtrail_model::*;
use reader::{Data, between, read};
use sha2::{Digest, Sha256};
use std::sync::Arc;

mod reader;

fn writer() -> Writer {
    Writer::new("a.trail".to_owned(), None)
}

fn page(writer: Writer, events: &[Event<'_>]) -> String {
    String::from_utf8(encode(Profiler::new(writer), events)).expect("UTF-8")
}

fn data(events: &[Event<'_>]) -> Data {
    read(&page(writer(), events))
}

/// Returns the data of a comparison.
fn compared(events: &[Event<'_>], base: &[Event<'_>]) -> Data {
    let mut encoder = BaseEncoder::new("b.trail".to_owned(), CallFilter::default());
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for event in base {
        encoder.event(event, &mut out);
    }
    encoder.end(&mut out);
    assert_eq!(out, b"");
    let base = Some(encoder.finish());
    let writer = Writer::new("a.trail".to_owned(), base.map(Arc::new));
    read(&page(writer, events))
}

/// Returns the program with two threads named `pool`, one of them recursive, and an idle thread.
fn pools() -> Vec<Event<'static>> {
    let mut events = program("pool");
    events.extend([
        thread(3, 0, "pool", "main"),
        thread(4, 0, "idle", "main"),
        enter(3, 60, 1, 1),
        enter(3, 62, 1, 2),
        leave(3, 65, 1, 2),
        leave(3, 70, 1, 1),
    ]);
    events
}

#[test]
fn paths_have_the_sums_of_their_calls() {
    let data = data(&pools());
    let expected = [
        "[main] [0, 0, 0, 1, 16, 0, 0]",
        "[main];a.B.outer(I)V [1, 20, 0, 0, 0, 0, 0]",
        "[main];a.B.outer(I)V;a.B.inner(I)V [1, 10, 0, 1, 48, 0, 0]",
        "[pool] [0, 0, 0, 0, 0, 0, 0]",
        "[pool];a.B.outer(I)V [2, 14, 0, 0, 0, 0, 0]",
        "[pool];a.B.outer(I)V;a.B.outer(I)V [1, 3, 0, 0, 0, 0, 0]",
    ];
    assert_eq!(data.lines(), expected);
    assert_eq!(data.threads, ["main 1", "pool 2"]);
    assert_eq!(data.left_out, 0);
    let trace = &data.traces[0];
    assert_eq!(trace.title, "a.trail");
    assert_eq!((trace.start, trace.duration), (START + 10, 60));
    assert_eq!(trace.threads, 3);
    assert_eq!(trace.marks, [""; 0]);
}

#[test]
fn waits_and_cpu_times_are_weights() {
    let with_cpu = |mut event: Event<'static>, cpu| {
        match &mut event {
            Event::MethodEnter(e) => e.cpu_time = Duration(cpu),
            Event::MethodLeave(e) => e.cpu_time = Duration(cpu),
            _ => unreachable!("a call"),
        }
        event
    };
    let events = [
        thread(1, 0, "main", "main"),
        with_cpu(enter(1, 10, 1, 1), 100),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(1),
            time: time(12),
            ..MonitorContendedEnter::default()
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(1),
            time: time(17),
            ..MonitorContendedEntered::default()
        }),
        park(1, 20),
        unpark(1, 29),
        with_cpu(leave(1, 40, 1, 1), 107),
    ];
    let expected = [
        "[main] [0, 0, 0, 0, 0, 0, 0]",
        "[main];method-1 [1, 30, 7, 0, 0, 5, 9]",
    ];
    assert_eq!(data(&events).lines(), expected);
}

#[test]
fn a_comparison_has_the_paths_of_both_traces() {
    // The ids differ from those of the other trace, the names don't.
    let base = [
        thread(7, 0, "main", "main"),
        class(1, "a.B"),
        method(5, "outer"),
        method(6, "former"),
        enter(7, 100, 5, 1),
        enter(7, 101, 6, 2),
        leave(7, 103, 6, 2),
        leave(7, 110, 5, 1),
        mark("a mark"),
    ];
    let data = compared(&program("pool")[..11], &base);
    let expected = [
        "[main] [0, 0, 0, 1, 16, 0, 0] [0, 0, 0, 0, 0, 0, 0]",
        "[main];a.B.outer(I)V [1, 20, 0, 0, 0, 0, 0] [1, 8, 0, 0, 0, 0, 0]",
        "[main];a.B.outer(I)V;a.B.inner(I)V [1, 10, 0, 1, 48, 0, 0] [0, 0, 0, 0, 0, 0, 0]",
        "[main];a.B.outer(I)V;a.B.former(I)V [0, 0, 0, 0, 0, 0, 0] [1, 2, 0, 0, 0, 0, 0]",
    ];
    assert_eq!(data.lines(), expected);
    assert_eq!(data.threads, ["main 1 1"]);
    let [new, base] = &data.traces[..] else {
        panic!("two traces")
    };
    assert_eq!((&*new.title, new.duration), ("a.trail", 30));
    assert_eq!((&*base.title, base.duration), ("b.trail", 10));
    assert_eq!(base.marks, ["a mark"]);
}

#[test]
fn the_base_may_be_empty() {
    let data = compared(&program("pool")[..11], &[]);
    assert_eq!(data.traces.len(), 2);
    assert_eq!(data.paths.len(), 3);
    let is_new = |path: &reader::Path| path.weights[1] == [0; 7];
    assert!(data.paths.iter().all(is_new));
}

#[test]
fn a_trace_may_be_empty() {
    let data = data(&[]);
    assert_eq!(data.lines(), [""; 0]);
    assert_eq!(data.traces[0].title, "a.trail");
}

#[test]
fn sums_without_a_path_are_below_a_frame_of_their_own() {
    let events = [
        thread(1, 0, "main", "main"),
        enter(1, 0, 1, 1),
        enter(1, 10, 2, 2),
        leave(1, 30, 2, 2),
        leave(1, 50, 1, 1),
        enter(1, 50, 2, 3),
        leave(1, 52, 2, 3),
        begin_sum(1, 2, 0, -6),
        begin_sum(1, 3, 4, 6),
        end_sum(1, 3),
        end_sum(1, 2),
    ];
    let expected = [
        "[main] [0, 0, 0, 0, 0, 0, 0]",
        "[main];method-1 [1, 30, 0, 0, 0, 0, 0]",
        "[main];method-1;method-2 [1, 15, 0, 0, 0, 0, 0]",
        "[main];method-2 [1, 1, 0, 0, 0, 0, 0]",
        "[main];SUMS [0, 0, 0, 0, 0, 0, 0]",
        "[main];SUMS;method-2 [0, 0, 0, 0, 0, 0, 0]",
        "[main];SUMS;method-2;method-3 [4, 6, 0, 0, 0, 0, 0]",
    ];
    assert_eq!(data(&events).lines(), expected);
}

/// A method calls 30 others, which take 1, 2, 3 … ns, and each of those calls another one.
fn many() -> Vec<Event<'static>> {
    let mut events = vec![thread(1, 0, "main", "main"), enter(1, 0, 1, 1)];
    let mut at = 0;
    for n in 1..=30 {
        events.push(enter(1, at, 100 + n, 2));
        events.push(enter(1, at, 200 + n, 3));
        at += n as i64;
        events.push(leave(1, at, 200 + n, 3));
        events.push(leave(1, at, 100 + n, 2));
    }
    events.push(leave(1, at, 1, 1));
    events
}

#[test]
fn the_smallest_paths_are_left_out_and_their_sums_are_kept() {
    let data = read(&page(writer().with_limits(6, usize::MAX), &many()));
    // All paths but the thread and method-1 have one call, so that time decides.
    let expected = [
        "[main] [0, 0, 0, 0, 0, 0, 0]",
        "[main];method-1 [1, 0, 0, 0, 0, 0, 0]",
        "[main];method-1;LEFT OUT [56, 406, 0, 0, 0, 0, 0]",
        "[main];method-1;method-129 [1, 0, 0, 0, 0, 0, 0]",
        "[main];method-1;method-129;method-229 [1, 29, 0, 0, 0, 0, 0]",
        "[main];method-1;method-130 [1, 0, 0, 0, 0, 0, 0]",
        "[main];method-1;method-130;method-230 [1, 30, 0, 0, 0, 0, 0]",
    ];
    assert_eq!(data.lines(), expected);
    assert_eq!(data.left_out, 56);
}

#[test]
fn a_page_is_no_larger_than_its_limit() {
    let whole = page(writer(), &many());
    let limit = whole.len() - 100;
    let page = page(writer().with_limits(usize::MAX, limit), &many());
    assert!(page.len() <= limit, "{} > {limit}", page.len());
    let (data, whole) = (read(&page), read(&whole));
    assert!(data.left_out > 0 && data.paths.len() > 20, "{data:?}");
    let sums = |data: &Data| {
        let sum = |at: usize| data.paths.iter().map(|p| p.weights[0][at]).sum::<i64>();
        (sum(0), sum(1))
    };
    assert_eq!(sums(&data), sums(&whole));
    assert_eq!(sums(&data), (61, 465));
}

#[test]
fn hostile_names_are_data() {
    let long = "x".repeat(65_535);
    let names = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "\"'`\\;&amp;${x}@SCRIPT@",
        "\0\u{1}\r\n\t\u{7f}\u{2028}\u{2029}\u{202e}\u{feff}",
        "🔥 ünïcødé",
        &long,
    ];
    let mut events = Vec::new();
    for (id, name) in (1..).zip(names) {
        events.push(Event::ThreadStart(ThreadStart {
            thread: ThreadId(id),
            time: time(0),
            name: name.to_owned().into(),
            ..ThreadStart::default()
        }));
        events.push(Event::ClassDef(ClassDef {
            class: ClassId(id),
            name: name.to_owned().into(),
            ..ClassDef::default()
        }));
        events.push(Event::MethodDef(MethodDef {
            method: MethodId(id),
            class: ClassId(id),
            name: name.to_owned().into(),
            signature: name.to_owned().into(),
            ..MethodDef::default()
        }));
        events.push(enter(id, 10, id, 1));
        events.push(leave(id, 20, id, 1));
        events.push(mark(name));
    }
    let hostile = page(writer(), &events);
    let data = read(&hostile);
    for (path, name) in data.paths.chunks(2).zip(names) {
        let method = format!("{name}.{name}{name}");
        assert_eq!(path[0].frames, [format!("[{name}]")]);
        assert_eq!(path[1].frames, [format!("[{name}]"), method]);
    }
    assert_eq!(data.traces[0].marks, names);
    // Nothing but the data differs from another page.
    let rest = |page: &str| {
        let packed = between(page, "id=\"profile\">", "<").to_owned();
        page.replace(&packed, "")
    };
    assert_eq!(rest(&hostile), rest(&page(writer(), &[])));
}

#[test]
fn the_policy_allows_the_script_and_the_style_of_the_page_alone() {
    let page = page(writer(), &pools());
    let hash = |text: &str| base64(&Sha256::digest(text));
    let hashes = [hash(&script()), hash(STYLE)];
    if std::env::var_os("JTRAIL_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/flame/page.sha256");
        std::fs::write(path, hashes.join("\n") + "\n").expect("written");
        return;
    }
    assert_eq!(
        HASHES.lines().collect::<Vec<_>>(),
        hashes,
        "after a change of the page: JTRAIL_BLESS=1 cargo test -p jtrail-export policy"
    );
    assert_eq!(between(&page, "<script>", "</script>"), script());
    assert_eq!(between(&page, "<style>", "</style>"), STYLE);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let [script, style] = hashes;
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; \
             base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
        )
    );
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("http:") && !page.contains("https:"));
}
