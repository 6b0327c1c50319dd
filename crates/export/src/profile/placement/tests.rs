use crate::collapsed::{Weight, Writer};
use crate::profile::Profiler;
use crate::testing::{begin_sum, encode, end_sum, enter, leave, mark, thread};
use jtrail_model::Event;

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
