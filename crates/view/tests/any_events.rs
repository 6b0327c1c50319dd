//! The viewer has an answer about any trail, whatever the numbers and times in its events are.

#[path = "../../formats/tests/common/random.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "this file needs only whole traces"
)]
mod random;

use jtrail_formats::Format;
use jtrail_model::*;
use jtrail_view::api::{Opened, Session, Status};
use jtrail_view::{IndexSizes, Page, PageError, Selection, Trace};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;

/// What the page asks about a span, without the span.
const ABOUT_SPANS: &[(&str, &str)] = &[
    ("/api/tile", "thread=0&width=64"),
    ("/api/tile", "thread=1&width=1"),
    ("/api/lanes", "bins=7"),
    ("/api/heat", "bins=7&value=calls"),
    ("/api/heat", "bins=3&value=cpu"),
    ("/api/occurrences", "method=0&bins=5"),
    ("/api/call", "thread=0&time=0&level=0"),
    ("/api/table", "what=methods"),
    ("/api/table", "what=methods&net=1"),
    ("/api/table", "what=threads"),
    ("/api/table", "what=tree"),
    ("/api/table", "what=tree&net=1&threads=0"),
    ("/api/table", "what=allocations"),
    ("/api/table", "what=exceptions"),
    ("/api/table", "what=collections"),
    ("/api/table", "what=waits"),
];

const SPANS: &[&str] = &[
    "",
    "&from=0&until=1000",
    "&from=-9223372036854775808&until=9223372036854775807",
    "&from=9223372036854775807&until=9223372036854775807",
    "&from=-9223372036854775808&until=-9223372036854775807",
    "&from=5&until=5",
];

/// Returns a trail of the events, with so many in each segment.
fn trail(events: &[Event<'_>], of_segment: usize) -> Vec<u8> {
    let mut encoder = Format::Trail.encoder();
    let mut trail = Vec::new();
    encoder.begin(&mut trail);
    for events in events.chunks(of_segment) {
        for event in events {
            encoder.event(event, &mut trail);
        }
        encoder.flush(&mut trail);
    }
    encoder.end(&mut trail);
    trail
}

/// Asks about the trail in this file, first without an index and then with one, whose blocks have
/// at least so many bytes of the trail.
fn ask(trail: &Path, block: u64) -> Result<(), TestCaseError> {
    let index = trail.with_added_extension("idx");
    for is_indexed in [false, true] {
        let Some(trace) = Trace::open(trail).expect("can be read") else {
            return Ok(());
        };
        if is_indexed {
            let sizes = IndexSizes {
                block,
                pictures: 1_000_000,
                ..IndexSizes::default()
            };
            let mut bytes = Vec::new();
            trace
                .write_index(sizes, &mut bytes, |_| true)
                .expect("an index");
            std::fs::write(&index, bytes).expect("written");
        }
        let opened = Opened::new("x.trail".to_owned(), trace, index.clone(), |_| None);
        let session = Session::new(vec![opened.expect("opened")]);
        session.prepare(|| false).expect("prepared");
        answers(&session)?;
        while session.read_ahead() {}
        page(trail);
    }
    std::fs::remove_file(&index).expect("ours");
    Ok(())
}

/// Writes a page with a few slices of the trail.
fn page(trail: &Path) {
    let trace = Trace::open(trail).expect("can be read").expect("a trail");
    let (span, threads) = (trace.span(), None);
    let page = Page::new(vec![(String::new(), trace, Selection { span, threads })], 5);
    match page {
        Ok(page) => page.write(&mut std::io::sink()).expect("written"),
        Err(error) => assert!(matches!(error, PageError::TooMany { .. }), "{error}"),
    }
}

fn answers(session: &Session) -> Result<(), TestCaseError> {
    let of_spans = ABOUT_SPANS.iter().flat_map(|(path, query)| {
        SPANS
            .iter()
            .map(move |span| (*path, format!("trace=0&{query}{span}")))
    });
    let others = [
        ("/api/traces", ""),
        ("/api/find", "trace=0&text=a"),
        ("/api/methods", "trace=0&ids=0-3"),
    ];
    let others = others.map(|(path, query)| (path, query.to_owned()));
    for (path, query) in of_spans.chain(others) {
        let answer = session.answer(path, &query);
        prop_assert!(
            answer.status != Status::Failed,
            "{path}?{query}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_events_can_be_viewed(
        events in random::trace(),
        of_segment in 1..8_usize,
        block in prop_oneof![Just(1), Just(1 << 20)],
    ) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&trail(&events, of_segment)).expect("written");
        ask(file.path(), block)?;
    }
}

/// Bins of a segment are as long as its times are apart. A wait and CPU time that last from one
/// segment to another, centuries later, have few bins nevertheless.
#[test]
fn centuries_between_segments_take_little_memory() {
    let (thread, object) = (ThreadId(1), ObjectId(0));
    let park = |time, object| {
        Event::ThreadPark(ThreadPark {
            thread,
            time,
            object,
            stack: vec![],
        })
    };
    let unpark = |time| Event::ThreadUnpark(ThreadUnpark { thread, time });
    let cpu = |time, ns| {
        Event::ThreadCpu(ThreadCpu {
            thread,
            time,
            cpu_time: Duration(ns),
        })
    };
    let [first, last] = [1, i64::MAX - 1].map(Timestamp);
    let events = [
        [cpu(first, 0), park(first, object)],
        [unpark(last), cpu(last, i64::MAX)],
        // The second wait has no begin.
        [park(last, object), unpark(last)],
        [unpark(last), unpark(last)],
    ];
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&trail(events.as_flattened(), 2))
        .expect("written");
    ask(file.path(), 1 << 20).expect("answers");
}
