//! The slices and pictures of any span are those that all events together give.

#[path = "brute_force/facts.rs"]
mod facts;

use jtrail_formats::Format;
use jtrail_model::*;
use jtrail_view::{
    Counts, Edge, IndexSizes, Kind, Method, MethodSum, NO_METHOD, Overview, PathSum, Rectangle,
    SHORTER, Slice, Sums, ThreadSum, Tile, Totals, Trace,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration as Time;

/// Times of the generated traces begin here, in ns since 1970.
const START: i64 = 1_700_000_000_000_000_000;
const THREADS: u64 = 3;

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Action {
    Enter(u64),
    Leave,
    Throw,
    Wait(u8),
    /// An event that neither begins nor ends anything.
    Sample,
    /// Allocates an object of a class, or so many at once.
    Alloc(u64, u64),
    /// Throws an exception of a class at a line; without a stack at line 0.
    Raise(u64, i64),
    /// Reads the CPU time, which is so much more.
    Cpu(i64),
    /// The sum of a thread's calls of a method, which has no time. It has a segment of its own.
    Sum,
    /// The trace continues in another segment.
    Flush,
}

fn actions() -> impl Strategy<Value = Vec<(u64, i64, Action)>> {
    let action = prop_oneof![
        6 => (1..6_u64).prop_map(Action::Enter),
        5 => Just(Action::Leave),
        1 => Just(Action::Throw),
        2 => (0..3_u8).prop_map(Action::Wait),
        1 => Just(Action::Sample),
        1 => (1..4_u64, 0..3_u64).prop_map(|(class, more)| Action::Alloc(class, more)),
        1 => (1..4_u64, 0..3_i64).prop_map(|(class, line)| Action::Raise(class, line)),
        1 => (0..60_i64).prop_map(Action::Cpu),
        1 => Just(Action::Sum),
        2 => Just(Action::Flush),
    ];
    proptest::collection::vec((1..=THREADS, 0..40_i64, action), 1..200)
}

/// Returns the events of the sum of a thread's calls of a method.
fn sum(thread: ThreadId) -> [Event<'static>; 2] {
    let method = MethodId(1);
    let enter = AggregatedEnter {
        thread,
        method,
        calls: 3,
        ..AggregatedEnter::default()
    };
    let leave = AggregatedLeave { thread, method };
    [Event::AggregatedEnter(enter), Event::AggregatedLeave(leave)]
}

/// A slice, as the trace was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    thread: u64,
    begin: i64,
    end: Option<i64>,
    method: Option<u64>,
    level: u32,
    kind: Kind,
}

/// A trace in the making: its events, and the slices that they mean.
#[derive(Default)]
struct Maker {
    trail: Vec<u8>,
    slices: Vec<Made>,
    /// For each thread the numbers of its open slices, with the tickets of calls.
    open: [Vec<(usize, u32)>; THREADS as usize + 1],
    tickets: [u32; THREADS as usize + 1],
    others: facts::Others,
    now: i64,
    /// The time of the last event. What never ends has ended then.
    last: i64,
}

impl Maker {
    fn run(mut self, actions: &[(u64, i64, Action)]) -> Self {
        let mut encoder = Format::Trail.encoder();
        let mut trail = Vec::new();
        encoder.begin(&mut trail);
        for thread in 1..=THREADS {
            let start = Event::ThreadStart(ThreadStart {
                thread: ThreadId(thread),
                time: Timestamp(START),
                name: format!("worker {thread}").into(),
                ..ThreadStart::default()
            });
            encoder.event(&start, &mut trail);
        }
        for (thread, passed, action) in actions {
            self.now += passed;
            match action {
                Action::Flush => encoder.flush(&mut trail),
                Action::Sum => {
                    encoder.flush(&mut trail);
                    for event in sum(ThreadId(*thread)) {
                        encoder.event(&event, &mut trail);
                    }
                    encoder.flush(&mut trail);
                }
                _ => {
                    for event in self.step(*thread, *action) {
                        self.last = self.now;
                        encoder.event(&event, &mut trail);
                    }
                }
            }
        }
        encoder.end(&mut trail);
        self.trail = trail;
        self
    }

    fn step(&mut self, thread: u64, action: Action) -> Vec<Event<'static>> {
        let (id, time) = (ThreadId(thread), Timestamp(START + self.now));
        if matches!(action, Action::Sample) {
            return vec![Event::Sample(Sample {
                thread: id,
                time,
                ..Sample::default()
            })];
        }
        if let Some(event) = self.others.event(id, time, action) {
            return vec![event];
        }
        let waits = self.open[thread as usize]
            .last()
            .map(|(slice, _)| self.slices[*slice].kind)
            .filter(|kind| !kind.is_call());
        if let Some(kind) = waits {
            self.end(thread, kind);
            return vec![match kind {
                Kind::Blocked => Event::MonitorContendedEntered(MonitorContendedEntered {
                    thread: id,
                    time,
                    ..Default::default()
                }),
                Kind::Waiting => Event::MonitorWaited(MonitorWaited {
                    thread: id,
                    time,
                    ..Default::default()
                }),
                _ => Event::ThreadUnpark(ThreadUnpark { thread: id, time }),
            }];
        }
        match action {
            Action::Enter(method) => {
                self.tickets[thread as usize] += 1;
                let ticket = self.tickets[thread as usize];
                self.begin(thread, Some(method), Kind::Call, ticket);
                vec![Event::MethodEnter(MethodEnter {
                    thread: id,
                    time,
                    method: MethodId(method),
                    class: ClassId(9),
                    ticket,
                    stack_depth: self.open[thread as usize].len() as i64,
                    ..Default::default()
                })]
            }
            Action::Leave | Action::Throw => {
                let Some((slice, ticket)) = self.open[thread as usize].last().copied() else {
                    return Vec::new();
                };
                let by_exception = matches!(action, Action::Throw);
                let method = self.slices[slice].method.expect("a call");
                self.end(
                    thread,
                    if by_exception {
                        Kind::Thrown
                    } else {
                        Kind::Call
                    },
                );
                vec![Event::MethodLeave(MethodLeave {
                    thread: id,
                    time,
                    method: MethodId(method),
                    class: ClassId(9),
                    ticket,
                    by_exception,
                    ..Default::default()
                })]
            }
            Action::Wait(0) => {
                self.begin(thread, None, Kind::Blocked, 0);
                vec![Event::MonitorContendedEnter(MonitorContendedEnter {
                    thread: id,
                    time,
                    object: ObjectId(self.slices.len() as u64),
                    owner: ThreadId(thread % THREADS + 1),
                    ..Default::default()
                })]
            }
            Action::Wait(1) => {
                self.begin(thread, None, Kind::Waiting, 0);
                vec![Event::MonitorWait(MonitorWait {
                    thread: id,
                    time,
                    ..Default::default()
                })]
            }
            Action::Wait(_) => {
                self.begin(thread, None, Kind::Parked, 0);
                vec![Event::ThreadPark(ThreadPark {
                    thread: id,
                    time,
                    ..Default::default()
                })]
            }
            Action::Sample
            | Action::Flush
            | Action::Sum
            | Action::Alloc(..)
            | Action::Raise(..)
            | Action::Cpu(_) => Vec::new(),
        }
    }

    fn begin(&mut self, thread: u64, method: Option<u64>, kind: Kind, ticket: u32) {
        let open = &mut self.open[thread as usize];
        open.push((self.slices.len(), ticket));
        self.slices.push(Made {
            thread,
            begin: self.now,
            end: None,
            method,
            level: open.len() as u32 - 1,
            kind,
        });
    }

    fn end(&mut self, thread: u64, kind: Kind) {
        if let Some((slice, _)) = self.open[thread as usize].pop() {
            self.slices[slice].end = Some(self.now);
            self.slices[slice].kind = kind;
        }
    }

    fn open(&self) -> (tempfile::NamedTempFile, Trace) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&self.trail).expect("written");
        let trace = Trace::open(file.path()).expect("read").expect("a trail");
        (file, trace)
    }

    /// Returns the slices of a thread, with the trace's numbers of methods.
    fn slices(&self, trace: &Trace, thread: u64) -> Vec<Slice> {
        let number = |id: u64| {
            let mut numbers = (0..).take_while(|number| trace.method(*number).is_some());
            numbers.find(|number| trace.method(*number) == Some(MethodId(id)))
        };
        let of_thread = self.slices.iter().filter(|s| s.thread == thread);
        let slice = |s: &Made| Slice {
            begin: Timestamp(START + s.begin),
            end: s
                .end
                .map_or(Timestamp(i64::MAX), |end| Timestamp(START + end)),
            method: s
                .method
                .map_or(NO_METHOD, |id| number(id).unwrap_or(NO_METHOD - 1)),
            level: s.level,
            kind: s.kind,
        };
        of_thread.map(slice).collect()
    }

    /// Returns the slices of a thread that overlap a span, cut to it.
    fn expected(&self, thread: u64, [from, until]: [i64; 2]) -> Vec<Line> {
        let overlaps = |s: &&Made| {
            let is_later = s.end.is_none_or(|end| end > from);
            s.thread == thread && s.begin < until && (s.begin >= from || is_later)
        };
        let cut = |s: &Made| Line {
            level: s.level,
            begin: s.begin.max(from),
            end: s.end.unwrap_or(i64::MAX).min(until),
            method: s.method,
            // How a call ends after the span does not matter.
            kind: kind(s.kind, s.end.is_some_and(|end| end <= until)),
        };
        sorted(self.slices.iter().filter(overlaps).map(cut))
    }
}

/// What calls took in a span.
#[derive(PartialEq, Debug, Default)]
struct Expected {
    paths: BTreeMap<Vec<u64>, PathSum>,
    methods: BTreeMap<u64, MethodSum>,
    /// By caller and callee.
    edges: BTreeMap<(Option<u64>, u64), MethodSum>,
    threads: BTreeMap<u64, ThreadSum>,
}

impl Maker {
    /// Returns what the calls of some threads took in a span, from the slices.
    fn sums(&self, threads: &BTreeSet<ThreadId>, [from, until]: [i64; 2]) -> Expected {
        let mut expected = Expected::default();
        for thread in threads.iter().map(|id| id.0) {
            let calls: Vec<&Made> = self
                .slices
                .iter()
                .filter(|s| s.thread == thread && s.method.is_some())
                .collect();
            let last = self.last;
            let ends = |s: &Made| s.end.unwrap_or(last);
            let time = |s: &Made| (ends(s).min(until) - s.begin.max(from)).max(0);
            for (place, call) in calls.iter().enumerate() {
                // A call is within those before it that have not ended when it begins. Of calls
                // that begin and end at one time, the level tells which is which.
                let mut path: Vec<&Made> = Vec::new();
                for level in 0..call.level {
                    let above = calls[..place].iter().rev().find(|s| s.level == level);
                    path.extend(above);
                }
                let method = call.method.expect("a call");
                let key: Vec<u64> = path
                    .iter()
                    .filter_map(|s| s.method)
                    .chain([method])
                    .collect();
                let callees: i64 = calls[place + 1..]
                    .iter()
                    .take_while(|s| s.level > call.level)
                    .filter(|s| s.level == call.level + 1)
                    .map(|s| time(s))
                    .sum();
                let begins = |s: &Made| u64::from((from..until).contains(&s.begin));
                let began = begins(call);
                let below = || {
                    let all = calls[place + 1..].iter();
                    all.take_while(|s| s.level > call.level)
                };
                let direct = below().filter(|s| s.level == call.level + 1);
                let records = [
                    began + direct.map(|s| begins(s)).sum::<u64>(),
                    began + 2 * below().map(|s| begins(s)).sum::<u64>(),
                ];
                let sum = expected.paths.entry(key).or_default();
                sum.calls += began;
                sum.self_time += time(call) - callees;
                let of_method = expected.methods.entry(method).or_default();
                of_method.calls += began;
                of_method.self_time += time(call) - callees;
                if path.iter().all(|s| s.method != Some(method)) {
                    of_method.total += time(call);
                    of_method.records[1] += records[1];
                }
                of_method.records[0] += records[0];
                let caller = path.iter().rev().find_map(|s| s.method);
                let of_edge = expected.edges.entry((caller, method)).or_default();
                of_edge.add(&MethodSum {
                    calls: began,
                    self_time: time(call) - callees,
                    total: time(call),
                    records,
                });
                let of_thread = expected.threads.entry(thread).or_default();
                of_thread.calls += began;
                of_thread.outermost += if path.is_empty() { began } else { 0 };
                of_thread.busy += if call.level == 0 { time(call) } else { 0 };
            }
        }
        expected.paths.retain(|_, sum| *sum != PathSum::default());
        expected
            .methods
            .retain(|_, sum| *sum != MethodSum::default());
        expected.edges.retain(|_, sum| *sum != MethodSum::default());
        expected
            .threads
            .retain(|_, sum| *sum != ThreadSum::default());
        expected
    }
}

/// Returns what happens in equal intervals of a span, nanosecond by nanosecond.
fn intervals(maker: &Maker, [from, until]: [i64; 2], count: usize) -> BTreeMap<u64, Vec<Counts>> {
    let of = |time: i64| ((time - from) * count as i64 / (until - from)) as usize;
    let mut all = BTreeMap::new();
    for slice in &maker.slices {
        let counts = all
            .entry(slice.thread)
            .or_insert_with(|| vec![Counts::default(); count]);
        if slice.kind.is_call() {
            if (from..until).contains(&slice.begin) {
                counts[of(slice.begin)].calls += 1;
            }
            continue;
        }
        let end = slice.end.unwrap_or(maker.last).min(until);
        for time in slice.begin.max(from)..end {
            match slice.kind {
                Kind::Blocked => counts[of(time)].blocked += 1,
                _ => counts[of(time)].waiting += 1,
            }
        }
    }
    maker.others.count([from, until], count, &mut all);
    all.retain(|_, counts| counts.iter().any(|c| *c != Counts::default()));
    all
}

fn overview(trace: &Trace, span: [i64; 2], count: usize) -> BTreeMap<u64, Vec<Counts>> {
    let span = span.map(|ns| Timestamp(START + ns));
    let mut overview = Overview::new(trace, span, count);
    overview.advance(trace, Time::MAX).expect("an overview");
    assert_eq!(overview.share(), 1.0);
    counts(&overview)
}

/// Returns what threads do, without those that do nothing.
fn counts(overview: &Overview) -> BTreeMap<u64, Vec<Counts>> {
    let threads = overview.threads();
    let mut all: BTreeMap<u64, Vec<Counts>> =
        threads.map(|(id, _)| (id.0, overview.all(&[id]))).collect();
    all.retain(|_, counts| counts.iter().any(|c| *c != Counts::default()));
    all
}

/// Returns what the trace says that calls took.
fn sums(trace: &Trace, threads: &BTreeSet<ThreadId>, span: [i64; 2]) -> Expected {
    let span = span.map(|ns| Timestamp(START + ns));
    let mut sums = Sums::new(trace, span, threads.clone());
    sums.advance(trace, Time::MAX).expect("sums");
    assert_eq!(sums.share(), 1.0);
    let id = |number: u32| trace.method(number).expect("a method").0;
    let mut found = Expected::default();
    let tree = sums.tree();
    let mut paths = vec![Vec::new()];
    for node in 1..tree.len() as u32 {
        let mut path = paths[tree.parent(node) as usize].clone();
        path.push(id(tree.frame(node)));
        paths.push(path.clone());
        found.paths.insert(path, sums.path(node));
    }
    let mut totals: Totals<Method> = Totals::new(trace, span, threads.clone());
    totals.advance(trace, Time::MAX).expect("sums");
    assert_eq!(totals.share(), 1.0);
    let methods = totals.all().iter();
    found.methods = methods.map(|(method, sum)| (id(method.0), *sum)).collect();
    let mut edges: Totals<Edge> = Totals::new(trace, span, threads.clone());
    edges.advance(trace, Time::MAX).expect("sums");
    assert_eq!(edges.share(), 1.0);
    assert_eq!(edges.threads(), totals.threads());
    let caller = |edge: &Edge| (edge.caller != NO_METHOD).then(|| id(edge.caller));
    let all = edges.all().iter();
    found.edges = all
        .map(|(edge, sum)| ((caller(edge), id(edge.callee)), *sum))
        .collect();
    found.edges.retain(|_, sum| *sum != MethodSum::default());
    let of_threads = totals.threads().iter();
    found.threads = of_threads
        .map(|(id, sum)| (id.0, ThreadSum { levels: 0, ..*sum }))
        .collect();
    found.paths.retain(|_, sum| *sum != PathSum::default());
    found.methods.retain(|_, sum| *sum != MethodSum::default());
    found.threads.retain(|_, sum| *sum != ThreadSum::default());
    found
}

/// Checks the sums of the longest paths against those of all: what a path lacks, it has as shorter
/// calls, which belong to its callers. Returns true if some are there.
fn assert_longest(
    trace: &Trace,
    threads: &BTreeSet<ThreadId>,
    span: [i64; 2],
    expected: &BTreeMap<Vec<u64>, PathSum>,
) -> bool {
    let times = span.map(|ns| Timestamp(START + ns));
    let mut sums = Sums::from_segments(trace, times, threads.clone(), 0);
    sums.advance(trace, Time::MAX).expect("sums");
    let tree = sums.tree();
    let all_time = |all: &mut dyn Iterator<Item = PathSum>| -> (u64, i64) {
        all.fold((0, 0), |(calls, time), sum| {
            (calls + sum.calls, time + sum.self_time)
        })
    };
    let nodes = 1..tree.len() as u32;
    assert_eq!(
        all_time(&mut nodes.clone().map(|node| sums.path(node))),
        all_time(&mut expected.values().copied()),
        "{span:?}"
    );
    let totals = sums.totals();
    let mut has_shorter = false;
    // By node: its path, and what may be missing there.
    let mut known = vec![(Some(Vec::new()), (0, 0))];
    for node in nodes.clone() {
        let (path, mut missing) = known[tree.parent(node) as usize].clone();
        if tree.frame(node) == SHORTER {
            has_shorter = true;
            known.push((None, missing));
            continue;
        }
        let parent = tree.parent(node);
        let rest = nodes
            .clone()
            .filter(|n| tree.parent(*n) == parent && tree.frame(*n) == SHORTER);
        for shorter in rest {
            let deeper = nodes.clone().filter(|n| tree.parent(*n) == shorter);
            let calls: u64 = deeper.map(|n| sums.path(n).calls).sum();
            missing.0 += sums.path(shorter).calls + calls;
            missing.1 += totals[shorter as usize];
        }
        let mut path: Vec<u64> = path.expect("no longer path is below shorter ones");
        path.push(trace.method(tree.frame(node)).expect("a method").0);
        let below = |other: &&Vec<u64>| other.starts_with(&path);
        let total: i64 = expected
            .keys()
            .filter(below)
            .map(|key| expected[key].self_time)
            .sum();
        let calls = expected.get(&path).map_or(0, |sum| sum.calls);
        let (found, found_calls) = (totals[node as usize], sums.path(node).calls);
        assert!(
            found <= total && total <= found + missing.1,
            "{path:?} {span:?}"
        );
        assert!(
            found_calls <= calls && calls <= found_calls + missing.0,
            "{path:?} {span:?}"
        );
        known.push((Some(path), missing));
    }
    has_shorter
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Line {
    level: u32,
    begin: i64,
    end: i64,
    method: Option<u64>,
    kind: u8,
}

fn kind(kind: Kind, has_ended: bool) -> u8 {
    match kind {
        Kind::Thrown if has_ended => 1,
        Kind::Call | Kind::Thrown => 0,
        Kind::Blocked => 2,
        Kind::Waiting => 3,
        Kind::Parked => 4,
        Kind::Missing => 5,
    }
}

fn sorted(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let mut lines: Vec<Line> = lines.collect();
    lines.sort();
    lines
}

fn found(trace: &Trace, thread: u64, [from, until]: [i64; 2]) -> (Vec<Slice>, Vec<Line>) {
    let span = [from, until].map(|ns| Timestamp(START + ns));
    let mut slices = Vec::new();
    trace
        .slices(ThreadId(thread), span, |slice| slices.push(*slice))
        .expect("slices");
    let since = |time: Timestamp| time.0.saturating_sub(START);
    let cut = |s: &Slice| Line {
        level: s.level,
        begin: since(s.begin).max(from),
        end: since(s.end).min(until),
        method: trace.method(s.method).map(|id| id.0),
        kind: kind(s.kind, since(s.end) <= until),
    };
    let lines = sorted(slices.iter().map(cut));
    (slices, lines)
}

/// Returns the rectangles of slices by the definition: each wide slice is one, and so are all
/// narrow ones of a level that begin in the same pixel of the span. What comes after the span does
/// not matter.
fn picture(slices: &[Slice], [from, until]: [i64; 2], width: u32) -> Vec<Rectangle> {
    let length = i128::from((until - from).max(1));
    let width = i128::from(width);
    let size = |s: &Slice| i128::from(s.end.0.min(START + until)) - i128::from(s.begin.0);
    let pixel =
        |s: &Slice| ((i128::from(s.begin.0) - i128::from(START + from)) * width).div_euclid(length);
    // The first time that is in a pixel or a later one.
    let begin_of = |pixel: i128| {
        let in_or_after = |ns: &i128| ns * width / length >= pixel;
        let since = (0..).find(in_or_after).expect("a time");
        Timestamp(START + from + since as i64)
    };
    let mut all = Vec::new();
    let overlaps = |s: &&Slice| s.overlaps([from, until].map(|ns| Timestamp(START + ns)));
    let mut rest: Vec<&Slice> = slices.iter().filter(overlaps).collect();
    while let Some(first) = rest.first().copied() {
        let is_narrow = |s: &Slice| size(s) * width < length;
        let group: Vec<&Slice> = match is_narrow(first) {
            false => vec![first],
            true => {
                let fits = |s: &&&Slice| {
                    is_narrow(s) && s.level == first.level && pixel(s) == pixel(first)
                };
                rest.iter().filter(fits).copied().collect()
            }
        };
        rest.retain(|s| !group.iter().any(|other| std::ptr::eq(*s, *other)));
        let (mut begin, mut end) = (first.begin, first.end);
        if is_narrow(first) {
            if first.begin.0 < START + from {
                continue;
            }
            begin = begin_of(pixel(first));
            end = begin_of(pixel(first) + 1).max(Timestamp(begin.0 + 1));
        }
        all.push(Rectangle {
            begin,
            end,
            level: first.level,
            count: group.len() as u32,
            method: longest(&group, START + until),
            kind: match group.iter().all(|s| s.kind == first.kind) {
                true => first.kind,
                false => Kind::Call,
            },
        });
    }
    all.sort_by_key(|r| (r.level, r.begin, r.end));
    all
}

/// Returns the method of the longest slice, if none of another method is nearly as long.
fn longest(slices: &[&Slice], until: i64) -> u32 {
    let size = |s: &&Slice| s.end.0.min(until) - s.begin.0;
    let longest = slices.iter().copied().max_by_key(size).expect("a slice");
    // What comes after the span is not known.
    if slices.iter().any(|s| s.end.0 > until) {
        return UNCLEAR;
    }
    let is_near = |s: &&Slice| i128::from(size(s)) * 5 / 4 >= i128::from(size(&longest));
    let is_clear = slices
        .iter()
        .filter(|s| is_near(s))
        .all(|s| s.method == longest.method);
    if is_clear { longest.method } else { UNCLEAR }
}

/// The method of rectangles in which several methods are about the longest.
const UNCLEAR: u32 = u32::MAX - 7;

/// Compares the parts of rectangles that are in a span.
fn assert_same(found: &[Rectangle], expected: &[Rectangle], span: [i64; 2], what: &str) {
    let [from, until] = span.map(|ns| Timestamp(START + ns));
    let key = |r: &Rectangle| {
        let kind = kind(r.kind, r.end < until);
        (r.level, r.begin.max(from), r.end.min(until), r.count, kind)
    };
    let sorted = |all: &[Rectangle]| {
        let mut all: Vec<_> = all.iter().map(|r| (key(r), r.method)).collect();
        all.sort();
        all.into_iter().unzip()
    };
    let (found, methods): (Vec<_>, Vec<u32>) = sorted(found);
    let (expected, expected_methods): (Vec<_>, Vec<u32>) = sorted(expected);
    assert_eq!(found, expected, "{what}");
    for (found, expected) in methods.iter().zip(&expected_methods) {
        assert!(found == expected || *expected == UNCLEAR, "{what}");
    }
}

#[test]
fn sums_of_the_longest_paths_are_bounds_of_those_of_all() {
    let mut actions = Vec::new();
    for step in 0..600_u64 {
        let method = 1 + (step * step / 7) % 5;
        let action = match (step * 31 + step / 5) % 9 {
            0..=3 => Action::Enter(method),
            4..=6 => Action::Leave,
            _ => Action::Sample,
        };
        actions.push((1 + step % THREADS, 1 + (step % 17) as i64, action));
        if step % 40 == 39 {
            actions.push((1, 1, Action::Flush));
        }
    }
    let maker = Maker::default().run(&actions);
    let (_file, trace) = maker.open();
    let threads = (1..=THREADS).map(ThreadId).collect();
    let span = [0, maker.now + 1];
    let expected = maker.sums(&threads, span);
    assert!(expected.paths.len() > 50);
    let mut has_shorter = Vec::new();
    for longest_paths in [0, 50_000, 100_000, 3_000_000] {
        let mut index = tempfile::NamedTempFile::new().expect("a file");
        let sizes = IndexSizes {
            block: 1,
            paths: 0,
            longest_paths,
            all: 30_000_000,
            ..IndexSizes::default()
        };
        let is_complete = trace.write_index(sizes, &mut index, |_| true);
        assert!(is_complete.expect("an index"));
        assert!(trace.use_index(index.path()).expect("read"));
        has_shorter.push(assert_longest(&trace, &threads, span, &expected.paths));
        assert_eq!(sums(&trace, &threads, span), expected);
    }
    assert_eq!(has_shorter, [false, true, true, false]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_span_has_its_slices(actions in actions(), spans in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 1..50_u32), 8)) {
        let maker = Maker::default().run(&actions);
        let (_file, trace) = maker.open();
        for (begin, length, width) in spans {
            let from = (begin * maker.now as f64) as i64;
            let span = [from, from + 1 + (length * length * (maker.now - from) as f64) as i64];
            let count = width as usize;
            prop_assert_eq!(overview(&trace, span, count), intervals(&maker, span, count), "{:?} {}", span, count);
            for threads in [1..=THREADS, 2..=2] {
                let threads: BTreeSet<ThreadId> = threads.map(ThreadId).collect();
                prop_assert_eq!(self::sums(&trace, &threads, span), maker.sums(&threads, span), "{:?}", span);
            }
            for thread in 1..=THREADS {
                let (slices, lines) = found(&trace, thread, span);
                prop_assert_eq!(&lines, &maker.expected(thread, span), "thread {} {:?}", thread, span);
                let all = maker.slices(&trace, thread);
                let times = span.map(|ns| Timestamp(START + ns));
                let mut tile = Tile::new(times, width);
                slices.iter().for_each(|slice| tile.add(slice));
                assert_same(&tile.rectangles(), &picture(&all, span, width), span, &format!("{span:?} {width}"));
            }
        }
    }

    #[test]
    fn pictures_from_the_index_are_those_of_all_slices(
        actions in actions(),
        tiles in proptest::collection::vec((0..12_u32, 0..12_u32, 0.0..1.0_f64), 12),
        block in 1..2000_u64,
        pictures in 1_000..3_000_000_u64,
        sums in 0..3_000_000_u64,
        longest_paths in 0..3_000_000_u64,
    ) {
        let maker = Maker::default().run(&actions);
        let (_file, trace) = maker.open();
        let mut index = tempfile::NamedTempFile::new().expect("a file");
        let sizes = IndexSizes {
            block,
            pictures,
            methods: sums,
            edges: sums,
            paths: 3_000_000 - sums,
            longest_paths,
            ..IndexSizes::default()
        };
        let is_complete = trace.write_index(sizes, &mut index, |_| true).expect("an index");
        prop_assert!(is_complete);
        prop_assert!(trace.use_index(index.path()).expect("read"));
        let origin = trace.span()[0].0;
        for (pixel, width, place) in tiles {
            let length = 1_i64 << (pixel + width);
            let from = (place * maker.now as f64) as i64 / length * length;
            let span = [origin - START + from, origin - START + from + length];
            let times = span.map(|ns| Timestamp(START + ns));
            for threads in [1..=THREADS, 2..=2] {
                let threads: BTreeSet<ThreadId> = threads.map(ThreadId).collect();
                let expected = maker.sums(&threads, span);
                assert_longest(&trace, &threads, span, &expected.paths);
                prop_assert_eq!(self::sums(&trace, &threads, span), expected, "{:?}", span);
            }
            let count = 1 << width;
            if let Some(overview) = Overview::of_index(&trace, times, count).expect("read") {
                prop_assert_eq!(counts(&overview), intervals(&maker, span, count), "{:?} {}", span, count);
            }
            for thread in 1..=THREADS {
                let slices = maker.slices(&trace, thread);
                let tile = |time| trace.tile(ThreadId(thread), times, 1 << width, time).expect("a picture");
                // What a picture lacks is read later.
                let hasty = tile(Time::ZERO);
                while trace.read_ahead() {}
                let sharp = tile(Time::ZERO);
                prop_assert!(!sharp.is_coarse() && (hasty.is_coarse() || hasty == sharp));
                let tile = tile(Time::MAX / 4);
                prop_assert_eq!(&tile, &sharp);
                assert_same(&tile.rectangles(), &picture(&slices, span, 1 << width), span, &format!("thread {thread} {span:?} {width}"));
            }
        }
    }
}
