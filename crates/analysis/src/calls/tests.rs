use super::*;
use jtrail_formats::{Bounds, Encode, ShortCalls};
use jtrail_model::{
    AggregatedLeave, CallStep, ClassId, Cost, MethodEnter, MethodLeave, Note, ThreadEnd,
};

/// Processes events written as `t1>m2@5` (thread 1 enters method 2 at time 5) and `t1<m2@9`.
/// Assigns tickets like the agent.
fn calls(script: &str) -> Calls {
    calls_in(usize::MAX, script)
}

/// Like [`calls`], but with a tree of this many levels.
fn calls_in(levels: usize, script: &str) -> Calls {
    let mut calls = Calls::new(levels);
    let mut tickets: FxHashMap<u64, u32> = FxHashMap::default();
    let mut stacks: FxHashMap<u64, Vec<(u64, u32)>> = FxHashMap::default();
    for word in script.split_whitespace() {
        let (who, time) = word.split_once('@').expect("@");
        let time = Timestamp(time.parse().expect("time"));
        let enter = who.contains('>');
        let (thread, method) = who.split_once(['>', '<']).expect("> or <");
        let number = |text: &str| text[1..].parse::<u64>().expect("number");
        let (thread, method) = (number(thread), number(method));
        let stack = stacks.entry(thread).or_default();
        let (t, m) = (ThreadId(thread), MethodId(method));
        let event = if enter {
            let ticket = tickets.entry(thread).or_insert(0);
            *ticket += 1;
            stack.push((method, *ticket));
            Event::MethodEnter(MethodEnter {
                thread: t,
                time,
                method: m,
                class: ClassId(1),
                ticket: *ticket,
                ..MethodEnter::default()
            })
        } else {
            let at = stack.iter().rposition(|(open, _)| *open == method);
            let ticket = at.map_or(u32::MAX, |at| stack[at].1);
            stack.truncate(at.unwrap_or(stack.len()));
            let leave = MethodLeave {
                thread: t,
                time,
                method: m,
                ticket,
                ..MethodLeave::default()
            };
            Event::MethodLeave(leave)
        };
        calls.event(&event, |_| true);
    }
    calls
}

/// Returns rows of method, number of calls, total time, and self time.
fn methods(calls: &Calls) -> Vec<(u64, u64, i64, i64)> {
    calls
        .methods()
        .iter()
        .map(|m| (m.method.0, m.calls, m.total, m.own))
        .collect()
}

/// Returns rows of the caller's index, method, number of calls, total time, and self time.
fn paths(calls: &Calls) -> Vec<(i64, u64, u64, i64, i64)> {
    let row = calls.tree().paths().map(|path| {
        let stat = calls.path(path);
        // Counted from 0; -1 is the root.
        let caller = i64::from(calls.tree().caller(path)) - 1;
        (caller, stat.method.0, stat.calls, stat.total, stat.own)
    });
    row.collect()
}

#[test]
fn self_time_is_without_callees() {
    let calls = calls("t1>m1@0 t1>m2@10 t1<m2@30 t1>m2@40 t1<m2@45 t1<m1@100");
    assert_eq!(methods(&calls), [(1, 1, 100, 75), (2, 2, 25, 25)]);
    assert_eq!(paths(&calls), [(-1, 1, 1, 100, 75), (0, 2, 2, 25, 25)]);
    assert_eq!(calls.threads()[0].busy, 100);
    assert_eq!(calls.count(), 3);
}

#[test]
fn what_recording_took_is_taken_off() {
    // There is one record between two successive times.
    let mut calls = calls("t1>m1@0 t1>m2@10 t1>m3@20 t1<m3@30 t1<m2@40 t1<m1@50 t1>m2@60 t1<m2@63");
    calls.without(Cost {
        clock: 0,
        record: 4_000,
    });
    assert_eq!(
        paths(&calls),
        [
            (-1, 1, 1, 50 - 5 * 4, 20 - 2 * 4),
            (0, 2, 1, 30 - 3 * 4, 20 - 2 * 4),
            (1, 3, 1, 10 - 4, 10 - 4),
            (-1, 2, 1, 0, 0)
        ]
    );
    assert_eq!(calls.threads()[0].busy, 53 - 6 * 4);
}

#[test]
fn recursion_is_not_counted_twice() {
    // m1 calls itself directly, and once more by way of m2.
    let calls = calls("t1>m1@0 t1>m1@10 t1>m2@20 t1>m1@30 t1<m1@40 t1<m2@50 t1<m1@60 t1<m1@100");
    assert_eq!(methods(&calls), [(1, 3, 100, 50 + 20 + 10), (2, 1, 30, 20)]);
    assert_eq!(
        paths(&calls),
        [
            (-1, 1, 1, 100, 50),
            (0, 1, 1, 50, 20),
            (1, 2, 1, 30, 20),
            (2, 1, 1, 10, 10)
        ]
    );
}

#[test]
fn threads_are_apart_and_their_paths_together() {
    let calls = calls("t1>m1@0 t2>m1@5 t1>m2@10 t2<m1@15 t1<m2@20 t1<m1@30");
    assert_eq!(methods(&calls), [(1, 2, 40, 30), (2, 1, 10, 10)]);
    assert_eq!(paths(&calls).len(), 2);
    let threads: Vec<_> = calls
        .threads()
        .iter()
        .map(|t| (t.thread.0, t.calls, t.busy))
        .collect();
    assert_eq!(threads, [(1, 2, 30), (2, 1, 10)]);
}

#[test]
fn open_calls_end_with_their_thread_or_the_trace() {
    let mut calls = calls("t1>m1@0 t1>m2@10 t2>m1@0");
    let end = ThreadEnd {
        thread: ThreadId(1),
        time: Timestamp(20),
    };
    calls.event(&Event::ThreadEnd(end), |_| true);
    calls.event(
        &Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(9),
            ..end
        }),
        |_| true,
    );
    calls.finish(Timestamp(50));
    assert_eq!(methods(&calls), [(1, 2, 70, 60), (2, 1, 10, 10)]);
    assert_eq!((calls.open, calls.cut, calls.unmatched), (3, 0, 0));
}

#[test]
fn a_leave_ends_what_is_open_above_it() {
    let calls = calls("t1>m1@0 t1>m2@10 t1>m3@20 t1<m1@30");
    assert_eq!(
        methods(&calls),
        [(1, 1, 30, 10), (2, 1, 20, 10), (3, 1, 10, 10)]
    );
    assert_eq!((calls.cut, calls.unmatched), (2, 0));
}

#[test]
fn a_leave_without_enter_is_passed_over() {
    let mut calls = calls("t1<m1@5 t1>m1@10 t1<m2@15 t1<m1@20");
    calls.finish(Timestamp(99));
    assert_eq!(methods(&calls), [(1, 1, 10, 10)]);
    assert_eq!((calls.cut, calls.unmatched, calls.open), (0, 2, 0));
}

#[test]
fn time_that_falls_counts_as_nothing() {
    let calls = calls("t1>m1@10 t1>m2@20 t1<m2@15 t1<m1@12");
    assert_eq!(methods(&calls), [(1, 1, 2, 2), (2, 1, 0, 0)]);
}

#[test]
fn extreme_times_do_not_overflow() {
    let script = format!(
        "t1>m1@{} t1>m2@{} t1<m2@{} t1<m1@{}",
        i64::MIN,
        i64::MIN,
        i64::MAX,
        i64::MAX
    );
    assert_eq!(
        methods(&calls(&script)),
        [(1, 1, i64::MAX, 0), (2, 1, i64::MAX, i64::MAX)]
    );
}

#[test]
fn threads_that_are_not_selected_are_excluded() {
    let mut calls = Calls::new(usize::MAX);
    for thread in [1, 2, 1] {
        let enter = MethodEnter {
            thread: ThreadId(thread),
            method: MethodId(1),
            ..MethodEnter::default()
        };
        calls.event(&Event::MethodEnter(enter), |id| id == ThreadId(2));
    }
    assert_eq!(calls.count(), 1);
}

#[test]
fn aggregated_calls_count_as_the_calls_they_stand_for() {
    let mut calls = Calls::new(usize::MAX);
    let enter = |method, base, calls| {
        Event::AggregatedEnter(AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(method),
            base_time: Duration(base),
            calls,
            ..AggregatedEnter::default()
        })
    };
    let leave = |method| {
        Event::AggregatedLeave(AggregatedLeave {
            thread: ThreadId(1),
            method: MethodId(method),
        })
    };
    let events = [
        enter(1, 10, 1),
        enter(2, 5, 7),
        enter(1, 3, 2),
        leave(1),
        leave(2),
        leave(1),
        leave(1),
    ];
    for event in events {
        calls.event(&event, |_| true);
    }
    assert_eq!(methods(&calls), [(1, 3, 18, 13), (2, 7, 8, 5)]);
    assert_eq!(
        paths(&calls),
        [(-1, 1, 1, 18, 10), (0, 2, 7, 8, 5), (1, 1, 2, 3, 3)]
    );
    assert_eq!((calls.threads()[0].busy, calls.unmatched), (18, 1));
}

fn with_cpu(calls: &mut Calls, enter: bool, method: u64, ticket: u32, time: i64, cpu: i64) {
    let (thread, method) = (ThreadId(1), MethodId(method));
    let (time, cpu_time) = (Timestamp(time), Duration(cpu));
    let event = if enter {
        Event::MethodEnter(MethodEnter {
            thread,
            time,
            method,
            ticket,
            cpu_time,
            ..MethodEnter::default()
        })
    } else {
        Event::MethodLeave(MethodLeave {
            thread,
            time,
            method,
            ticket,
            cpu_time,
            ..MethodLeave::default()
        })
    };
    calls.event(&event, |_| true);
}

/// Returns rows of method, CPU time including callees, and CPU time without callees.
fn cpu(calls: &Calls) -> Vec<(u64, i64, i64)> {
    let row = calls.methods().into_iter();
    row.map(|m| (m.method.0, m.cpu_total, m.cpu_own)).collect()
}

#[test]
fn cpu_time_is_summed_like_time() {
    let mut calls = Calls::new(usize::MAX);
    for (enter, method, ticket, cpu) in [
        (true, 1, 1, 1_000),
        (true, 2, 2, 1_100),
        (true, 2, 3, 1_150),
        (false, 2, 3, 1_250),
        (false, 2, 2, 1_300),
        (false, 1, 1, 1_350),
        // Not measured.
        (true, 3, 4, 0),
        (false, 3, 4, 0),
        // Ended by its caller's leave.
        (true, 4, 5, 2_000),
        (true, 5, 6, 2_010),
        (false, 4, 5, 2_050),
    ] {
        with_cpu(&mut calls, enter, method, ticket, 0, cpu);
    }
    assert_eq!(
        cpu(&calls),
        [
            (1, 350, 150),
            (2, 200, 200),
            (3, 0, 0),
            (4, 50, 10),
            (5, 40, 40)
        ]
    );
    let nested = calls.path(3);
    assert_eq!((nested.cpu_total, nested.cpu_own), (100, 100));
}

#[test]
fn aggregated_calls_have_bounds_and_cpu_time() {
    let mut calls = Calls::new(usize::MAX);
    for (method, own, min, max, cpu) in [(1, 100, 10, 60, 80), (2, 50, 5, 20, 40), (1, 30, 2, 9, 0)]
    {
        let enter = AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(method),
            base_time: Duration(own),
            min_time: Duration(min),
            max_time: Duration(max),
            base_cpu_time: Duration(cpu),
            calls: 4,
        };
        calls.event(&Event::AggregatedEnter(enter), |_| true);
    }
    for method in [1, 2, 1] {
        let (thread, method) = (ThreadId(1), MethodId(method));
        let leave = AggregatedLeave { thread, method };
        calls.event(&Event::AggregatedLeave(leave), |_| true);
    }
    assert_eq!(cpu(&calls), [(1, 120, 80), (2, 40, 40)]);
    let bounds: Vec<_> = calls.methods().iter().map(|m| m.bounds).collect();
    assert_eq!(bounds, [Some((2, 60)), Some((5, 20))]);
    assert_eq!(calls.path(3).bounds, Some((2, 9)));
}

/// Returns calls of five methods by three threads, nested at random, with leaves that end several
/// calls at once.
fn random_script(mut seed: u64) -> String {
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut stacks = vec![Vec::new(); 3];
    let mut script = String::new();
    for time in 0..600 {
        let thread = next(3) as usize;
        let stack: &mut Vec<u64> = &mut stacks[thread];
        let enters = stack.is_empty() || next(9) < 5;
        if enters {
            stack.push(next(5));
        }
        let word = match (enters, next(10)) {
            (true, _) => format!("t{thread}>m{}@{time} ", stack[stack.len() - 1]),
            // A leave of the innermost open call or of an outer one.
            (false, depth) => {
                let method = stack[stack.len().saturating_sub(depth.max(7) as usize - 6)];
                let at = stack.iter().rposition(|open| *open == method);
                stack.truncate(at.unwrap_or_default());
                format!("t{thread}<m{method}@{time} ")
            }
        };
        script.push_str(&word);
    }
    script
}

#[test]
fn sums_are_the_same_however_deep_the_tree_is() {
    for seed in 0..50 {
        let script = random_script(seed);
        let [mut whole, mut none, mut few] = [usize::MAX, 0, 3].map(|levels| {
            let mut calls = calls_in(levels, &script);
            calls.finish(Timestamp(1_000));
            calls
        });
        // The sums of methods, computed from those of all paths.
        let mut of_paths: FxHashMap<u64, (u64, i64, i64)> = FxHashMap::default();
        let tree = whole.tree();
        for path in tree.paths() {
            let stat = whole.path(path);
            let callers = std::iter::successors(Some(tree.caller(path)), |p| Some(tree.caller(*p)));
            let mut callers = callers.take_while(|p| *p != Tree::ROOT);
            let is_outermost = callers.all(|p| whole.path(p).method != stat.method);
            let sum = of_paths.entry(stat.method.0).or_default();
            sum.0 += stat.calls;
            sum.1 += if is_outermost { stat.total } else { 0 };
            sum.2 += stat.own;
        }
        let all = methods(&whole).into_iter();
        let all = all.map(|(id, calls, total, own)| (id, (calls, total, own)));
        assert_eq!(all.collect::<FxHashMap<_, _>>(), of_paths);

        let cost = Cost {
            clock: 0,
            record: 700,
        };
        for _ in 0..2 {
            assert_eq!(methods(&none), methods(&whole));
            assert_eq!(methods(&few), methods(&whole));
            assert_eq!(paths(&none), []);
            assert_eq!(named_paths(&few), {
                let mut paths = named_paths(&whole);
                paths.retain(|(path, _)| path.len() <= 3);
                paths
            });
            for calls in [&mut whole, &mut none, &mut few] {
                calls.without(cost);
            }
        }
    }
}

/// Returns each path as its methods, outermost first, with its sums.
fn named_paths(calls: &Calls) -> Vec<(Vec<u64>, MethodStat)> {
    let tree = calls.tree();
    let path = |path| {
        let all = std::iter::successors(Some(path), |p| Some(tree.caller(*p)));
        let all = all.take_while(|p| *p != Tree::ROOT);
        let mut named: Vec<u64> = all.map(|p| calls.path(p).method.0).collect();
        named.reverse();
        (named, calls.path(path))
    };
    tree.paths().map(path).collect()
}

/// Returns calls of five methods by one thread, in which each leave ends the innermost call.
fn nested(mut seed: u64, thread: u64) -> Vec<CallStep> {
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let (mut open, mut ticket, mut time) = (Vec::<(u64, u32)>::new(), 0, 10 * thread as i64);
    let mut steps = Vec::new();
    for _ in 0..600 {
        time += next(9) as i64 * (1 + 100 * i64::from(next(20) == 0));
        let ends = !open.is_empty() && next(9) < 5;
        let (method, ticket) = match ends {
            true => open.pop().expect("some"),
            false => {
                ticket += 1;
                open.push((next(5), ticket));
                open[open.len() - 1]
            }
        };
        steps.push(CallStep {
            time: Timestamp(time),
            method: MethodId(method),
            class: ClassId(1),
            ticket,
            ends,
        });
    }
    steps
}

fn row(thread: u64, steps: &[CallStep]) -> jtrail_model::Calls<'_> {
    jtrail_model::Calls {
        thread: ThreadId(thread),
        cpu_time: Duration(0),
        ticket: 0,
        depth: 0,
        steps,
    }
}

#[test]
fn calls_in_a_row_are_as_each_by_itself() {
    for seed in 0..20 {
        let [mut each, mut rows] = [(); 2].map(|()| Calls::new(4));
        for thread in 1..=3 {
            let steps = nested(seed, thread);
            for event in row(thread, &steps).events() {
                each.event(&event, |_| true);
            }
            for part in steps.chunks(1 + seed as usize * 7) {
                rows.calls(&row(thread, part), |_| true);
            }
        }
        for calls in [&mut each, &mut rows] {
            calls.finish(Timestamp(100_000));
        }
        assert_eq!(methods(&each), methods(&rows));
        assert_eq!(named_paths(&each), named_paths(&rows));
        assert_eq!(each.open, rows.open);
    }
}

/// An encoder that analyses its events.
struct Analysed(std::sync::Arc<std::sync::Mutex<Calls>>);

impl Encode for Analysed {
    fn begin(&mut self, _: &mut Vec<u8>) {}
    fn event(&mut self, event: &Event<'_>, _: &mut Vec<u8>) {
        let mut calls = self.0.lock().expect("one thread");
        if let Event::Custom(e) = event
            && let Some(Note::SumsAbove(e)) = Note::parse(&e.body)
        {
            calls.sums_above(e.thread, e.calls, |_| true);
        }
        calls.event(event, |_| true);
    }
    fn end(&mut self, _: &mut Vec<u8>) {}
}

#[test]
fn short_calls_that_are_sums_count_as_the_calls_they_stand_for() {
    for seed in 0..20 {
        let mut each = Calls::new(usize::MAX);
        let few = std::sync::Arc::new(std::sync::Mutex::new(Calls::new(usize::MAX)));
        let bounds = Bounds {
            min: Duration(60),
            rate: None,
        };
        let mut encoder = ShortCalls::new(Box::new(Analysed(few.clone())), bounds);
        let mut out = Vec::new();
        for thread in 1..=3 {
            let steps = nested(seed, thread);
            each.calls(&row(thread, &steps), |_| true);
            encoder.calls(&row(thread, &steps), &mut out);
        }
        encoder.end(&mut out);
        let mut few = few.lock().expect("one thread");
        assert!(few.summed() > 100, "{}", few.summed());
        for calls in [&mut each, &mut *few] {
            calls.finish(Timestamp(100_000));
        }
        let cost = Cost {
            clock: 0,
            record: 1,
        };
        for is_net in [false, true] {
            let busy = |calls: &Calls| {
                let all = calls.threads().iter().map(|t| (t.thread, t.calls, t.busy));
                all.collect::<Vec<_>>()
            };
            assert_eq!(busy(&each), busy(&few), "net: {is_net}");
            let by_method = |calls: &Calls| {
                let mut all = methods(calls);
                all.sort_unstable();
                if is_net {
                    // The cost of recording below callees of sums is unknown.
                    all.iter_mut().for_each(|(_, _, total, _)| *total = 0);
                }
                all
            };
            assert_eq!(by_method(&each), by_method(&few));
            // No path in the tree has a negative time.
            let stats = few.tree().paths().map(|path| few.path(path));
            let is_no_time = |stat: &MethodStat| stat.own < 0 || stat.total < stat.own;
            assert_eq!(stats.filter(is_no_time).count(), 0);
            each.without(cost);
            few.without(cost);
        }
    }
}
