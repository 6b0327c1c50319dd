//! Truncated and damaged trails: everything that is sound is shown as the whole trace has it, and
//! the rest as missing.

use jtrail_formats::Format;
use jtrail_formats::trail::Ending;
use jtrail_model::*;
use jtrail_view::api::{Opened, Session, Status};
use jtrail_view::{
    Gap, Kind, Method, MethodSum, NO_METHOD, Overview, Rectangle, Slice, Sums, ThreadSum, Tile,
    Totals, Trace,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration as Time;
use tempfile::NamedTempFile;

/// Times of the generated traces begin here, in ns since 1970.
const START: i64 = 1_700_000_000_000_000_000;
const THREADS: u64 = 3;
/// A time that nobody knows.
const UNKNOWN: i64 = i64::MIN;
const HEADER: usize = 56;
const EVENTS: u8 = 2;

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Action {
    Enter(u64),
    Leave,
    Wait,
    /// An event that neither begins nor ends anything.
    Sample,
    /// The trace continues in another segment.
    Flush,
}

fn actions() -> impl Strategy<Value = Vec<(u64, i64, Action)>> {
    let action = prop_oneof![
        6 => (1..6_u64).prop_map(Action::Enter),
        5 => Just(Action::Leave),
        2 => Just(Action::Wait),
        1 => Just(Action::Sample),
        3 => Just(Action::Flush),
    ];
    proptest::collection::vec((1..=THREADS, 1..40_i64, action), 1..200)
}

/// A call or a park, as the trace was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    thread: u64,
    begin: i64,
    end: Option<i64>,
    method: Option<u64>,
    level: u32,
}

/// A trace in the making.
#[derive(Default)]
struct Maker {
    trail: Vec<u8>,
    slices: Vec<Made>,
    /// For each thread the numbers of its open slices, with the tickets of calls.
    open: [Vec<(usize, u32)>; THREADS as usize + 1],
    tickets: [u32; THREADS as usize + 1],
    /// Times of all events by thread.
    events: BTreeMap<u64, Vec<i64>>,
    now: i64,
}

impl Maker {
    fn run(mut self, actions: &[(u64, i64, Action)]) -> Self {
        let mut encoder = Format::Trail.encoder();
        let mut trail = Vec::new();
        encoder.begin(&mut trail);
        for method in 1..6 {
            let definition = Event::MethodDef(MethodDef {
                method: MethodId(method),
                class: ClassId(9),
                name: format!("method{method}").into(),
                signature: "()V".into(),
                ..MethodDef::default()
            });
            encoder.event(&definition, &mut trail);
        }
        for (thread, passed, action) in actions {
            self.now += passed;
            match action {
                Action::Flush => encoder.flush(&mut trail),
                _ => {
                    if let Some(event) = self.step(*thread, *action) {
                        self.events.entry(*thread).or_default().push(self.now);
                        encoder.event(&event, &mut trail);
                    }
                }
            }
        }
        encoder.end(&mut trail);
        self.trail = trail;
        self
    }

    fn step(&mut self, thread: u64, action: Action) -> Option<Event<'static>> {
        let (id, time) = (ThreadId(thread), Timestamp(START + self.now));
        let open = &mut self.open[thread as usize];
        if matches!(action, Action::Sample) {
            return Some(Event::Sample(Sample {
                thread: id,
                time,
                ..Sample::default()
            }));
        }
        let (class, level) = (ClassId(9), open.len() as u32);
        if let Some((last, _)) = open.last().copied()
            && self.slices[last].method.is_none()
        {
            open.pop();
            self.slices[last].end = Some(self.now);
            return Some(Event::ThreadUnpark(ThreadUnpark { thread: id, time }));
        }
        let mut begin = |method, ticket| {
            open.push((self.slices.len(), ticket));
            self.slices.push(Made {
                thread,
                begin: self.now,
                end: None,
                method,
                level,
            });
        };
        match action {
            Action::Enter(method) => {
                self.tickets[thread as usize] += 1;
                let ticket = self.tickets[thread as usize];
                begin(Some(method), ticket);
                Some(Event::MethodEnter(MethodEnter {
                    thread: id,
                    time,
                    method: MethodId(method),
                    class,
                    ticket,
                    stack_depth: i64::from(level) + 1,
                    ..Default::default()
                }))
            }
            Action::Wait => {
                begin(None, 0);
                Some(Event::ThreadPark(ThreadPark {
                    thread: id,
                    time,
                    ..Default::default()
                }))
            }
            _ => {
                let (slice, ticket) = open.pop()?;
                self.slices[slice].end = Some(self.now);
                Some(Event::MethodLeave(MethodLeave {
                    thread: id,
                    time,
                    method: MethodId(self.slices[slice].method?),
                    class,
                    ticket,
                    ..Default::default()
                }))
            }
        }
    }

    /// Returns the parts of a thread's slices that can be known if some times are missing.
    fn known(&self, trace: &Trace, thread: u64, gaps: &[[i64; 2]]) -> Vec<Slice> {
        let number = |id: u64| {
            let mut numbers = (0..).take_while(|number| trace.method(*number).is_some());
            numbers.find(|number| trace.method(*number) == Some(MethodId(id)))
        };
        let events = self.events.get(&thread).map_or(&[][..], Vec::as_slice);
        // True if the thread has events after a gap, which tell what is open there.
        let goes_on = |gap: &[i64; 2]| events.iter().any(|time| *time >= gap[1]);
        let mut all = Vec::new();
        for made in self.slices.iter().filter(|made| made.thread == thread) {
            let is_call = made.method.is_some();
            let is_open_at = |time: i64| made.end.is_none_or(|end| end >= time);
            // A wait that goes on has no event, so it takes its end to know of it, and nothing
            // may be missing before.
            let ends_after = |gap: &[i64; 2]| {
                let mut later = gaps.iter().filter(|later| later[0] >= gap[1]);
                let next = later.next().map_or(i64::MAX, |later| later[0]);
                made.end.is_some_and(|end| end < next)
            };
            let is_known_after =
                |gap: &[i64; 2]| goes_on(gap) && is_open_at(gap[1]) && (is_call || ends_after(gap));
            let mut begin = Some(made.begin);
            for gap in gaps
                .iter()
                .filter(|gap| is_open_at(gap[0]) && gap[1] > made.begin)
            {
                let known = is_known_after(gap);
                if made.begin >= gap[0] {
                    // It begins in the gap.
                    begin = match (known, is_call) {
                        (false, _) => None,
                        (true, true) => Some(made.begin),
                        // How long the first events are missing is not known.
                        (true, false) if gap[0] == UNKNOWN => Some(UNKNOWN),
                        (true, false) => Some(gap[1]),
                    };
                } else if !(known && is_call) {
                    if let Some(begin) = begin {
                        all.push((made, begin, Some(gap[0])));
                    }
                    begin = known.then_some(gap[1]);
                }
                if !known {
                    break;
                }
            }
            all.extend(begin.map(|begin| (made, begin, made.end)));
        }
        let slices = all.into_iter().map(|(made, begin, end)| Slice {
            begin: match begin {
                UNKNOWN => Timestamp(UNKNOWN),
                known => Timestamp(START + known),
            },
            end: end.map_or(Timestamp(i64::MAX), |end| Timestamp(START + end)),
            method: match made.method {
                Some(id) => number(id).unwrap_or(NO_METHOD - 1),
                None => NO_METHOD,
            },
            level: made.level,
            kind: if made.method.is_some() {
                Kind::Call
            } else {
                Kind::Parked
            },
        });
        slices.collect()
    }
}

/// Returns the segments of a trail of a kind: their positions.
fn segments(trail: &[u8], kind: u8) -> Vec<[usize; 2]> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(header) = trail.get(at..at + HEADER) {
        let length = u32::from_le_bytes(header[12..16].try_into().expect("four"));
        let end = at + HEADER + length as usize;
        let events = u32::from_le_bytes(header[20..24].try_into().expect("four"));
        if header[5] == kind && events > 0 {
            all.push([at, end]);
        }
        at = end;
    }
    all
}

fn open(bytes: &[u8]) -> (NamedTempFile, Trace) {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let mut trace = Trace::open(file.path()).expect("read").expect("a trail");
    trace.verify().expect("read");
    (file, trace)
}

/// What happens in a span on a thread: calls by method, the thread, and intervals.
#[derive(PartialEq, Debug, Default)]
struct Figures {
    methods: BTreeMap<u64, MethodSum>,
    paths: [i64; 2],
    thread: ThreadSum,
    parked: u64,
    calls: u64,
}

impl Figures {
    /// Returns the figures of a thread in parts of time.
    fn of(trace: &Trace, thread: u64, parts: &[[i64; 2]]) -> Self {
        let mut all = Self::default();
        for part in parts.iter().filter(|part| part[0] < part[1]) {
            let span = part.map(|ns| Timestamp(START + ns));
            let threads = BTreeSet::from([ThreadId(thread)]);
            let mut totals: Totals<Method> = Totals::new(trace, span, threads.clone());
            totals.advance(trace, Time::MAX).expect("sums");
            assert_eq!(totals.share(), 1.0);
            for (method, sum) in totals.all() {
                let of_method = all
                    .methods
                    .entry(trace.method(method.0).expect("a method").0);
                let of_method = of_method.or_default();
                of_method.calls += sum.calls;
                of_method.self_time += sum.self_time;
                of_method.total += sum.total;
            }
            for sum in totals.threads().values() {
                all.thread.calls += sum.calls;
                all.thread.busy += sum.busy;
            }
            let mut sums = Sums::new(trace, span, threads);
            sums.advance(trace, Time::MAX).expect("sums");
            for node in 1..sums.tree().len() as u32 {
                all.paths[0] += sums.path(node).calls as i64;
                all.paths[1] += sums.path(node).self_time;
            }
            let mut overview = Overview::new(trace, span, 1);
            overview.advance(trace, Time::MAX).expect("an overview");
            let counts = overview.all(&[ThreadId(thread)])[0];
            all.parked += counts.waiting;
            all.calls += counts.calls;
        }
        all.methods.retain(|_, sum| *sum != MethodSum::default());
        all
    }
}

/// Returns the parts of a span that are not missing. What follows a gap is not known if `goes_on`
/// is false for the gap.
fn parts(span: [i64; 2], gaps: &[[i64; 2]], goes_on: impl Fn(&[i64; 2]) -> bool) -> Vec<[i64; 2]> {
    let [mut from, until] = span;
    let mut parts = Vec::new();
    for gap in gaps {
        parts.push([from, gap[0].min(until)]);
        from = from.max(gap[1]);
        if !goes_on(gap) {
            return parts;
        }
    }
    parts.push([from, until]);
    parts
}

/// Tests that each part of a damaged trace is that of the sound one. Returns the number of gaps.
fn assert_sound_parts(maker: &Maker, bytes: &[u8], spans: &[(f64, f64, u32)]) -> usize {
    let (_sound_file, sound) = open(&maker.trail);
    let (_file, trace) = open(bytes);
    let all = [Timestamp(i64::MIN), Timestamp(i64::MAX)];
    let start = trace.span()[0].0 - START;
    for (begin, length, width) in spans {
        let from = (start as f64 + begin * (maker.now - start) as f64) as i64;
        let span = [
            from,
            from + 1 + (length * length * (maker.now - from) as f64) as i64,
        ];
        let times = span.map(|ns| Timestamp(START + ns));
        for thread in 1..=THREADS {
            let id = ThreadId(thread);
            let gaps = trace.missing(id, all);
            let gaps: Vec<[i64; 2]> = gaps
                .iter()
                .map(|gap| gap.map(|time| time.0 - START))
                .collect();
            let what = format!("thread {thread} {span:?} missing {gaps:?}");
            let tile = trace.tile(id, times, *width, Time::MAX).expect("a picture");
            let is_missing = |r: &Rectangle| r.kind == Kind::Missing;
            let (missing, found): (Vec<_>, Vec<_>) =
                tile.rectangles().into_iter().partition(is_missing);
            let missing: Vec<_> = missing.iter().map(|r| [r.begin, r.end]).collect();
            assert_eq!(missing, trace.missing(id, times), "{what}");
            let mut expected = Tile::new(times, *width);
            // Nobody knows of times before the first event that can be read.
            let is_first = |gap: &&Gap| gap.span == [trace.span()[0]; 2];
            let first = trace.gaps().iter().find(is_first).map(|_| [UNKNOWN, start]);
            let all: Vec<[i64; 2]> = first.into_iter().chain(gaps.iter().copied()).collect();
            let known = maker.known(&trace, thread, &all);
            let waits = trace.waits(id, times).expect("waits");
            let waits: Vec<_> = waits.iter().map(|wait| (wait.begin, wait.end)).collect();
            let is_wait = |slice: &&Slice| !slice.kind.is_call() && slice.overlaps(times);
            let known_waits = known.iter().filter(is_wait);
            let known_waits: Vec<_> = known_waits.map(|wait| (wait.begin, wait.end)).collect();
            assert_eq!(waits, known_waits, "{what}");
            known.iter().for_each(|slice| expected.add(slice));
            let key = |r: &Rectangle| {
                // Of several slices, the method is that of a long one.
                let method = (r.count == 1).then_some(r.method);
                let end = r.end.min(times[1]);
                (r.level, r.begin, end, r.count, r.kind as u8, method)
            };
            let mut found: Vec<_> = found.iter().map(key).collect();
            let mut expected: Vec<_> = expected.rectangles().iter().map(key).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{what}");
            let events = maker.events.get(&thread).map_or(&[][..], Vec::as_slice);
            let goes_on = |gap: &[i64; 2]| events.iter().any(|time| *time >= gap[1]);
            let parts = parts(span, &all, goes_on);
            let found = Figures::of(&trace, thread, &[span]);
            let mut expected = Figures::of(&sound, thread, &parts);
            // A wait that goes on after a gap has no event there, so only its end tells of it.
            let last = trace.span()[1].0 - 1;
            let waits = known.iter().filter(|slice| !slice.kind.is_call());
            let parked = waits.map(|wait| {
                let end = wait.end.0.min(last).min(times[1].0);
                (end - wait.begin.0.max(times[0].0)).max(0) as u64
            });
            expected.parked = parked.sum();
            assert_eq!(found, expected, "{what}");
        }
    }
    trace.gaps().len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn damaged_segments_take_only_their_times(
        actions in actions(),
        damaged in proptest::collection::vec((0.0..1.0_f64, any::<bool>()), 1..4),
        has_end in any::<bool>(),
        spans in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 1..50_u32), 4),
    ) {
        let maker = Maker::default().run(&actions);
        let segments = segments(&maker.trail, EVENTS);
        let mut bad = maker.trail.clone();
        let mut count = 0;
        for (place, is_header) in damaged {
            // The first segment remains, so that the file is a trail, and so does the last one:
            // nobody knows what followed.
            let place = 1 + (place * segments.len() as f64) as usize;
            if place + 1 < segments.len() {
                let [begin, end] = segments[place];
                bad[if is_header { begin + 9 } else { end - 1 }] ^= 0x55;
                count += 1;
            }
        }
        if !has_end {
            bad.truncate(bad.len() - 1);
        }
        let gaps = assert_sound_parts(&maker, &bad, &spans);
        prop_assert!(count > 1 || (gaps > 0) == (count > 0), "{} {}", gaps, count);
    }

    #[test]
    fn a_truncated_trail_is_one_that_ended_there(
        actions in actions(),
        end in 0.0..1.0_f64,
        spans in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 1..50_u32), 4),
    ) {
        let maker = Maker::default().run(&actions);
        let segments = segments(&maker.trail, EVENTS);
        let end = (end * maker.trail.len() as f64) as usize;
        let complete = segments.iter().filter(|segment| segment[1] <= end).count();
        let mut file = NamedTempFile::new().expect("a file");
        file.write_all(&maker.trail[..end]).expect("written");
        let trace = Trace::open(file.path()).expect("read");
        prop_assert_eq!(trace.is_some(), complete > 0);
        let Some(trace) = trace else {
            return Ok(());
        };
        prop_assert_eq!(trace.ending(), Ending::Missing);
        prop_assert!(trace.gaps().is_empty() && !trace.is_complete());
        // The actions of the complete segments.
        let mut flushes = 0;
        let mut has_events = true; // the definitions
        let mut kept = Vec::new();
        let mut probe = Maker::default();
        for (thread, passed, action) in &actions {
            if flushes == complete {
                break;
            }
            kept.push((*thread, *passed, *action));
            probe.now += passed;
            match action {
                Action::Flush => {
                    flushes += usize::from(has_events);
                    has_events = false;
                }
                _ => has_events |= probe.step(*thread, *action).is_some(),
            }
        }
        let shorter = Maker::default().run(&kept);
        prop_assert_eq!(assert_sound_parts(&shorter, &maker.trail[..end], &spans), 0);
    }
}

/// A trace of some segments, of which one is damaged.
fn damaged_session() -> (NamedTempFile, Session) {
    let mut actions = Vec::new();
    for round in 0..6 {
        actions.push((1, 10, Action::Enter(1)));
        actions.push((2, 10, Action::Enter(2)));
        actions.push((1, 10, Action::Leave));
        if round % 2 == 0 {
            actions.push((2, 10, Action::Leave));
        }
        actions.push((1, 10, Action::Flush));
    }
    let maker = Maker::default().run(&actions);
    let mut bad = maker.trail.clone();
    let [_, end] = segments(&bad, EVENTS)[3];
    bad[end - 1] ^= 1;
    bad.truncate(bad.len() - 1);
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(&bad).expect("written");
    let trace = Trace::open(file.path()).expect("read").expect("a trail");
    let opened = Opened::new("t".to_owned(), trace, PathBuf::new(), |_| None).expect("opened");
    (file, Session::new(vec![opened]))
}

fn ask(session: &Session, path: &str, query: &str) -> Value {
    let answer = session.answer(path, query);
    assert!(
        answer.status == Status::Answered,
        "{path} {query}: {:?}",
        String::from_utf8_lossy(&answer.body)
    );
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[test]
fn answers_say_what_is_missing() {
    let (_file, session) = damaged_session();
    session.prepare(|| false).expect("prepared");
    let traces = ask(&session, "/api/traces", "");
    let trace = &traces["traces"][0];
    let missing = trace["missing"].as_array().expect("a list");
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0]["events"], 3);
    let [from, until] = ["from", "until"].map(|key| missing[0][key].as_i64().expect("a time"));
    assert!(from < until);
    let remarks = trace["remarks"].to_string();
    assert!(
        remarks.contains("has no end") && remarks.contains("1 place"),
        "{remarks}"
    );
    let lanes = ask(&session, "/api/lanes", "trace=0&bins=8");
    assert_eq!(lanes["missing"], serde_json::json!([[from, until]]));
    for what in [
        "methods",
        "tree",
        "threads",
        "waits",
        "allocations",
        "collections",
    ] {
        let table = ask(&session, "/api/table", &format!("trace=0&what={what}"));
        assert_eq!(table["share"], 1.0, "{what}");
    }
    let tile = session.answer("/api/tile", "trace=0&thread=0&from=0&until=1024&width=64");
    assert_eq!(tile.status, Status::Answered);
    let word = |at: usize| u32::from_le_bytes(tile.body[at..at + 4].try_into().expect("four"));
    let count = word(4) as usize;
    let kinds = &tile.body[tile.body.len() - count.next_multiple_of(8)..][..count];
    assert_eq!(kinds.iter().filter(|kind| **kind == 5).count(), 1);
    let heat = "trace=0&bins=8&value=calls";
    ask(&session, "/api/heat", heat);
    ask(&session, "/api/occurrences", "trace=0&bins=8&method=0");
}
