use crate::collapsed::{Weight, Writer};
use crate::filter::{CallFilter, MethodFilter};
use crate::profile::Profiler;
use crate::testing::*;
use jtrail_formats::{Bounds, Encode, ShortCalls};
use jtrail_model::{Duration, Event};
use std::sync::{Arc, Mutex};

/// Returns the paths with their self times, or numbers of calls.
fn lines(weight: Weight, events: &[Event<'_>]) -> Vec<String> {
    let out = encode(Profiler::new(Writer::new(weight, true)), events);
    let text = String::from_utf8(out).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// Calls of a method by a caller, as a trace has them: with the time of all callees.
fn sum(caller: u64, method: u64, calls: i64, ns: i64) -> [Event<'static>; 4] {
    [
        begin_sum(1, caller, 0, -ns),
        begin_sum(1, method, calls, ns),
        end_sum(1, method),
        end_sum(1, caller),
    ]
}

/// A call of method 1, which calls 2 for 60 ns, with sums after the calls.
fn program(sums: &[[Event<'static>; 4]]) -> Vec<Event<'static>> {
    let mut events = vec![
        thread(1, 0, "t", "main"),
        enter(1, 0, 1, 1),
        enter(1, 10, 2, 2),
        leave(1, 70, 2, 2),
        leave(1, 100, 1, 1),
    ];
    events.extend(sums.iter().flatten().cloned());
    events
}

/// A program of 100 ns calls along a chain, and all calls but the outer ones are sums.
#[test]
fn sums_of_a_chain_continue_the_path_of_their_caller() {
    let mut events = program(&[sum(4, 5, 1, 57), sum(2, 3, 2, 59), sum(3, 4, 1, 58)]);
    // The sums are written while calls are open, which are not around them.
    let ends = events.drain(3..5).collect::<Vec<_>>();
    events.insert(3, mark("jtrail sums-above thread=1 calls=2"));
    events.extend(ends);
    let path = |last: usize| {
        let path: Vec<String> = (1..=last)
            .map(|method| format!("method-{method}"))
            .collect();
        format!("[t];{}", path.join(";"))
    };
    let expected = [(1, 40), (2, 1), (3, 1), (4, 1), (5, 57)];
    let expected = expected.map(|(last, own)| format!("{} {own}", path(last)));
    assert_eq!(lines(Weight::SelfTime, &events), expected);
    let calls = [(1, 1), (2, 1), (3, 2), (4, 1), (5, 1)];
    let calls = calls.map(|(last, calls)| format!("{} {calls}", path(last)));
    assert_eq!(lines(Weight::Calls, &events), calls);
}

#[test]
fn sums_join_calls_of_the_same_path() {
    // Of the calls of 2 by 1, one is long.
    let events = program(&[sum(1, 2, 3, 20), sum(2, 3, 5, 16)]);
    let expected = [
        "[t];method-1 20",
        "[t];method-1;method-2 64",
        "[t];method-1;method-2;method-3 16",
    ];
    assert_eq!(lines(Weight::SelfTime, &events), expected);
}

#[test]
fn sums_of_a_caller_on_several_paths_have_no_path() {
    // Method 2 is called by 1 and 5. The 10 ns are part of the 60 and 30 ns.
    let events = program(&[sum(1, 5, 1, 40), sum(5, 2, 4, 30), sum(2, 3, 6, 10)]);
    let expected = [
        "[t];(calls recorded as sums);method-2;method-3 10",
        "[t];method-1;method-2 54",
        "[t];method-1;method-5 10",
        "[t];method-1;method-5;method-2 26",
    ];
    assert_eq!(lines(Weight::SelfTime, &events), expected);
}

#[test]
fn recursive_sums_keep_their_time() {
    // Method 2 calls itself, and 3 and 4 call each other.
    let events = program(&[sum(2, 2, 9, 50), sum(3, 4, 2, 20), sum(4, 3, 1, 8)]);
    let lines = lines(Weight::SelfTime, &events);
    let of = |method: &str| -> i64 {
        let lines = lines.iter().filter_map(|line| line.rsplit_once(' '));
        let own = lines.filter(|(path, _)| path.ends_with(method));
        own.map(|(_, ns)| ns.parse::<i64>().expect("a number"))
            .sum()
    };
    // 3 lacks its outer call, and 12 of its 20 ns.
    assert_eq!((of("-1"), of("-2"), of("-3"), of("-4")), (40, 60, 0, 12));
}

#[test]
fn a_share_of_a_nanosecond_is_not_lost() {
    // Three paths of one method with 1 ns each lose 2 ns.
    let mut events = vec![thread(1, 0, "t", "main")];
    for caller in 1..4 {
        let at = caller as i64 * 10;
        events.extend([enter(1, at, caller, 1), enter(1, at, 9, 2)]);
        events.extend([leave(1, at + 1, 9, 2), leave(1, at + 1, caller, 1)]);
    }
    events.extend(sum(9, 8, 1, 2));
    let lines = lines(Weight::SelfTime, &events);
    let numbers = lines.iter().filter_map(|line| line.rsplit_once(' '));
    let total: i64 = numbers
        .map(|(_, ns)| ns.parse::<i64>().expect("a number"))
        .sum();
    assert_eq!(total, 3, "{lines:?}");
}

/// Returns the paths with their self times, of the selected calls.
fn selected(filter: CallFilter, events: &[Event<'_>]) -> Vec<String> {
    let sink = Profiler::new(Writer::new(Weight::SelfTime, true));
    let text = String::from_utf8(encode_selected(filter, sink, events)).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn sums_of_a_caller_that_is_not_selected_are_where_its_calls_are() {
    // 2 takes 60 ns, and 16 of them are calls of 3.
    let events = program(&[sum(2, 3, 5, 16)]);
    let without = |method: u64| {
        let methods: MethodFilter = Box::new(move |_, id| id.0 != method);
        selected(CallFilter::new(Duration(0), None, Some(methods)), &events)
    };
    let expected = ["[t];method-1 84", "[t];method-1;method-3 16"];
    assert_eq!(without(2), expected);
    // 1 is nowhere.
    let expected = ["[t];method-2 44", "[t];method-2;method-3 16"];
    assert_eq!(without(1), expected);
    let only: MethodFilter = Box::new(|_, id| id.0 == 3);
    let only = CallFilter::new(Duration(0), None, Some(only));
    assert_eq!(selected(only, &events), ["[t];method-3 16"]);
}

#[test]
fn sums_of_a_sum_that_is_too_short_are_taken_from_its_caller() {
    // Of 100 calls of 3, one calls 4 for 15 ns.
    let events = program(&[sum(2, 3, 100, 40), sum(3, 4, 1, 15)]);
    let long = CallFilter::new(Duration(10), None, None);
    let expected = [
        "[t];method-1 40",
        "[t];method-1;method-2 45",
        "[t];method-1;method-2;method-4 15",
    ];
    assert_eq!(selected(long, &events), expected);
}

/// The events of a trace.
struct Events(Arc<Mutex<Vec<Event<'static>>>>);

impl Encode for Events {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn event(&mut self, event: &Event<'_>, _: &mut Vec<u8>) {
        let mut events = self.0.lock().expect("one thread");
        events.push(event.clone().into_static());
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}

/// A source of numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1);
        (self.0 >> 33) % below
    }
}

/// Returns a trace of calls within a call of method 0, many of them as sums. It takes 10 µs.
fn random_trace(random: &mut Random) -> Vec<Event<'static>> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let bounds = Bounds {
        min: Duration(random.below(60) as i64),
        rate: (random.below(2) > 0).then_some(random.below(20)),
    };
    let mut encoder = ShortCalls::new(Box::new(Events(Arc::clone(&events))), bounds);
    let (mut ns, mut open, mut out) = (0, vec![(0, 1)], Vec::new());
    let methods = 2 + random.below(6);
    encoder.event(&thread(1, 0, "t", "main"), &mut out);
    encoder.event(&enter(1, 0, 0, 1), &mut out);
    for ticket in 2..300 {
        ns += random.below(30) as i64;
        let event = match random.below(8) {
            0..4 if open.len() < 12 => {
                let method = 1 + random.below(methods);
                open.push((method, ticket));
                enter(1, ns, method, ticket)
            }
            7 => alloc(1, ns, 1),
            _ if open.len() > 1 => {
                let (method, ticket) = open.pop().expect("an open call");
                leave(1, ns, method, ticket)
            }
            _ => continue,
        };
        encoder.event(&event, &mut out);
        if random.below(50) == 0 {
            encoder.flush(&mut out);
        }
    }
    for (method, ticket) in open.into_iter().rev() {
        let at = if method == 0 { 10_000 } else { ns };
        encoder.event(&leave(1, at, method, ticket), &mut out);
    }
    encoder.end(&mut out);
    let events = events.lock().expect("one thread");
    events.clone()
}

/// What is not selected becomes part of its callers, together with the time of the sums in it.
#[test]
fn a_selection_keeps_the_time_of_a_thread() {
    let mut random = Random(1);
    for round in 0..2_000 {
        let trace = random_trace(&mut random);
        let min = Duration(random.below(120) as i64);
        let depth = (random.below(2) > 0).then_some(1 + random.below(8) as usize);
        let kept = random.below(256);
        let methods: MethodFilter = Box::new(move |_, id| id.0 == 0 || kept >> id.0 & 1 > 0);
        for (what, filter) in [
            ("all", CallFilter::default()),
            ("min", CallFilter::new(min, None, None)),
            ("methods", CallFilter::new(Duration(0), None, Some(methods))),
            ("depth", CallFilter::new(Duration(0), depth, None)),
        ] {
            let sink = Profiler::new(Writer::new(Weight::SelfTime, true));
            let out = encode_selected(filter, sink, &trace);
            let text = String::from_utf8(out).expect("UTF-8");
            let numbers = text.lines().filter_map(|line| line.rsplit_once(' '));
            let own = numbers.map(|(_, ns)| ns.parse::<i64>().expect("a number"));
            assert_eq!(own.sum::<i64>(), 10_000, "{round} {what} {min:?}\n{text}");
            let names = text.lines().flat_map(|line| line.split([';', ' ']));
            let mut methods = names.filter_map(|name| name.strip_prefix("method-"));
            let is_kept = |id: &str| kept >> id.parse::<u64>().expect("an id") & 1 > 0;
            assert!(
                what != "methods" || methods.all(|id| id == "0" || is_kept(id)),
                "{round}\n{text}"
            );
        }
    }
}
