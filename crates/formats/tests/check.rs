//! The checker: a sound trace passes, and each broken rule is reported at the right event.

use crate::common::check::*;
use crate::common::every_event;
use jtrail_formats::{Checker, MAX_FINDINGS, Rule};
use jtrail_model::*;

#[test]
fn a_trace_with_everything_is_sound_but_for_the_mixture() {
    let found = check(&every_event());
    assert_eq!(found.findings.len(), 1, "{:#?}", found.findings);
    assert_eq!(found.findings[0].rule, Rule::Aggregated);
    assert_eq!(
        found.findings[0].message,
        "calls and aggregated calls stand in one trace"
    );
    let counts = found.counts;
    assert_eq!(counts.events, every_event().len() as u64);
    assert_eq!((counts.threads, counts.classes, counts.methods), (2, 1, 2));
    assert_eq!(
        (counts.enters, counts.leaves, counts.open_calls, counts.lost),
        (1, 1, 0, 0)
    );
    assert_eq!(counts.kinds.len(), 55);
    assert!(counts.kinds.contains(&("ThreadStart", 2)));
}

#[test]
fn calls_nest() {
    let found = sound(vec![
        enter_at(3, 1, 1, 5),
        enter_at(4, 2, 2, 5),
        leave_at(4, 2, 6),
        enter_at(4, 3, 2, 6),
        leave_at(4, 3, 9),
        leave_at(3, 1, 9),
        thread_end(1),
    ]);
    assert_eq!((found.counts.enters, found.counts.leaves), (3, 3));
    // Calls that are open at the end are allowed, and counted.
    let found = sound(vec![enter(3, 1, 1), enter(4, 2, 2)]);
    assert_eq!(found.counts.open_calls, 2);
}

#[test]
fn leaves_without_their_call_are_found() {
    let rule = Rule::Calls;
    let text = "thread 1: the leave of method 3, ticket 1, has no open call";
    fault(vec![leave(3, 1)], rule, 0, text);
    fault(
        vec![enter(3, 1, 1), leave(3, 1), leave(3, 1)],
        rule,
        2,
        text,
    );
    let text = "thread 1: the leave of method 4, ticket 2, has no open call";
    fault(
        vec![enter(3, 1, 1), leave(4, 2), leave(3, 1)],
        rule,
        1,
        text,
    );
    let text = "thread 1: the leave of method 3, ticket 1, skips 1 open calls";
    fault(
        vec![enter(3, 1, 1), enter(4, 2, 2), leave(3, 1)],
        rule,
        2,
        text,
    );
    let text = "thread 1: the call with ticket 1 entered method 3 and leaves 4";
    fault(vec![enter(3, 1, 1), leave(4, 1)], rule, 1, text);
}

#[test]
fn after_a_gap_calls_need_not_fit() {
    let events = vec![
        enter(3, 1, 1),
        lost(),
        leave(4, 7),
        enter(3, 9, 4),
        thread_end(1),
    ];
    let found = check(&trace_by("jtrail", events));
    assert_eq!(found.faults(), 0, "{:#?}", found.findings);
    assert_eq!(found.infos(), 2);
    assert_eq!((found.counts.lost, found.counts.open_calls), (5, 2));
}

#[test]
fn a_thread_ends_once_and_with_all_calls_left() {
    let rule = Rule::ThreadEnd;
    let text = "thread 1 ends with 1 calls open";
    fault(vec![enter(3, 1, 1), thread_end(1)], rule, 1, text);
    let text = "thread 1 has ended already";
    fault(vec![thread_end(1), thread_end(1)], rule, 1, text);
    fault(vec![thread_end(1), wait(0)], rule, 1, text);
}

#[test]
fn tickets_rise() {
    let text = "thread 1: ticket 1 follows 1: tickets must rise";
    fault(
        vec![enter(3, 1, 1), leave(3, 1), enter(3, 1, 1), leave(3, 1)],
        Rule::Tickets,
        2,
        text,
    );
    sound(vec![
        enter(3, 7, 1),
        leave(3, 7),
        enter(3, 90, 1),
        leave(3, 90),
    ]);
    sound(vec![
        enter(3, u32::MAX, 1),
        leave(3, u32::MAX),
        enter(3, 1, 1),
        leave(3, 1),
    ]);
}

#[test]
fn calls_are_deeper_than_their_callers() {
    let rule = Rule::Depth;
    let text = "thread 1: a call at depth 1 is not deeper than its caller at 1";
    fault(vec![enter(3, 1, 1), enter(4, 2, 1)], rule, 1, text);
    let text = "thread 1: a call at depth 0 is not deeper than its caller at 0";
    fault(vec![enter(3, 1, 0)], rule, 0, text);
    let text = "thread 1: a call at depth 3, with 1 calls open";
    fault(vec![enter(3, 1, 1), enter(4, 2, 3)], rule, 1, text);
    // Other agents count stack frames that are not in the trace.
    let events = vec![enter(3, 1, 4), enter(4, 2, 7)];
    assert_eq!(check(&trace_by("other", events)).findings, []);
}

#[test]
fn time_never_falls_along_a_thread() {
    let text = "thread 1: time falls from 0.000000005 to 0.000000004";
    let events = vec![enter_at(3, 1, 1, 5), leave_at(3, 1, 4)];
    fault(events.clone(), Rule::Time, 1, text);
    let found = check(&trace_by("other", events));
    assert_eq!((found.faults(), found.infos()), (0, 1));
}

#[test]
fn definitions_come_before_use_and_once() {
    let rule = Rule::Definitions;
    fault(vec![thread_end(9)], rule, 0, "thread 9 was not defined");
    fault(
        vec![enter(9, 1, 1), leave(9, 1)],
        rule,
        0,
        "method 9 was not defined",
    );
    let method = MethodDef {
        method: MethodId(9),
        class: ClassId(8),
        ..Default::default()
    };
    fault(
        vec![Event::MethodDef(method)],
        rule,
        0,
        "class 8 was not defined",
    );
    let class = Event::MethodEnter(MethodEnter {
        thread: ThreadId(1),
        method: MethodId(3),
        class: ClassId(7),
        ticket: 1,
        stack_depth: 1,
        ..Default::default()
    });
    fault(
        vec![class],
        rule,
        0,
        "method 3 is of class 2, not of class 7",
    );

    let rule = Rule::Ids;
    fault(vec![thread_start(1)], rule, 0, "thread 1 is defined again");
    fault(vec![method_def(3)], rule, 0, "method 3 is defined again");
    fault(
        vec![method_def(0)],
        rule,
        0,
        "a method is defined with id 0, which means none",
    );
}

#[test]
fn aggregated_trees_are_whole() {
    let rule = Rule::Aggregated;
    sound(vec![
        tree_enter(2),
        tree_enter(1),
        tree_leave(3),
        tree_leave(3),
        thread_end(1),
    ]);
    fault(
        vec![tree_leave(3)],
        rule,
        0,
        "thread 1: the end of method 3 without its begin",
    );
    let text = "thread 1: the end of method 4 inside of method 3";
    fault(vec![tree_enter(1), tree_leave(4)], rule, 1, text);
    fault(
        vec![tree_enter(0), tree_leave(3)],
        rule,
        0,
        "thread 1: method 3 with 0 calls",
    );
    // If short calls are summed, a caller's part of a sum may count 0 calls.
    let note = Note::ShortCalls(ShortCallsNote::default()).to_string();
    let short = || {
        Event::Custom(Custom {
            body: note.clone().into(),
        })
    };
    sound(vec![short(), tree_enter(0), tree_leave(3)]);
    fault(
        vec![short(), tree_enter(-1), tree_leave(3)],
        rule,
        1,
        "thread 1: method 3 with -1 calls",
    );
    fault(
        vec![tree_enter(1)],
        rule,
        2,
        "1 aggregated calls do not end",
    );
    let text = "thread 1 ends inside of 1 aggregated calls";
    fault(vec![tree_enter(1), thread_end(1)], rule, 1, text);
    let text = "calls and aggregated calls stand in one trace";
    fault(
        vec![enter(3, 1, 1), tree_enter(1), tree_leave(3)],
        rule,
        1,
        text,
    );
    fault(
        vec![tree_enter(1), tree_leave(3), enter(3, 1, 1)],
        rule,
        2,
        text,
    );
}

#[test]
fn opening_and_closing_are_in_order() {
    let whole = trace_by("jtrail", vec![]);
    let found = |events: &[Event<'_>]| {
        let found = check(events);
        let of_order = found.findings.into_iter().filter(|f| f.rule == Rule::Order);
        of_order.map(|f| (f.offset, f.message)).collect::<Vec<_>>()
    };
    assert_eq!(found(&whole), []);
    let without = |at: usize| {
        let mut events = whole.clone();
        events.remove(at);
        found(&events)
    };
    assert_eq!(without(0), [(3, "the trace opens without node".into())]);
    assert_eq!(
        without(3),
        [(3, "the trace opens without trace start".into())]
    );
    assert_eq!(
        without(8),
        [
            (8, "the agent ends, and the trace did not".into()),
            (8, "the trace does not say that collection ended".into())
        ]
    );
    assert_eq!(without(9), []);
    let with = |at: usize, event: Event<'static>| {
        let mut events = whole.clone();
        events.insert(at, event);
        found(&events)
    };
    let option = || Event::Option(TraceOption::default());
    let filter = || Filter::default().into();
    assert_eq!(with(4, option()), []);
    assert_eq!(with(4, filter()), []);
    assert_eq!(with(5, option()), [(5, "options after events".into())]);
    assert_eq!(
        with(2, filter()),
        [
            (2, "the trace opens without agent".into()),
            (3, "agent after filters".into()),
            (4, "trace start after filters".into())
        ]
    );
    assert_eq!(
        with(4, Event::Node(Node::default())),
        [(4, "node is repeated".into())]
    );
    assert_eq!(
        with(9, thread_start(9)),
        [(9, "events after trace end".into())]
    );
    assert_eq!(
        with(10, thread_start(9)),
        [(10, "events after agent end".into())]
    );
    assert_eq!(check(&[]).findings, []);
}

#[test]
fn totals_are_those_of_the_trace() {
    let totals = |totals| note(&Note::Totals(totals));
    let events = vec![
        enter(3, 1, 1),
        enter(4, 2, 2),
        leave(4, 2),
        object(1),
        alloc(2),
        alloc(3),
        wait(2),
        waited(2),
        wait(2),
        park(0),
        unpark(),
        park(0),
        throw(1, 0),
        catch(1),
        sample(1),
        samples_in_a_row(1, 4),
        free(3),
    ];
    let right = Totals {
        enters: 2,
        leaves: 1,
        open: 1,
        objects: 2,
        frees: 1,
        monitors: 3,
        parks: 3,
        throws: 1,
        catches: 1,
        samples: 5,
        ..Totals::default()
    };
    let with = |event| events.iter().cloned().chain([event]).collect::<Vec<_>>();
    sound(with(totals(right)));
    let rule = Rule::Totals;
    type Count = fn(&mut Totals) -> &mut u64;
    let wrong: [(Count, &str); 11] = [
        (|t| &mut t.enters, "9 enters, the trace has 2"),
        (|t| &mut t.leaves, "9 leaves, the trace has 1"),
        (|t| &mut t.lost, "9 lost events, the trace has 0"),
        (|t| &mut t.open, "9 open calls, the trace has 1"),
        (|t| &mut t.objects, "9 objects, the trace has 2"),
        (|t| &mut t.frees, "9 frees, the trace has 1"),
        (|t| &mut t.monitors, "9 monitor events, the trace has 3"),
        (|t| &mut t.parks, "9 parks and unparks, the trace has 3"),
        (|t| &mut t.throws, "9 throws, the trace has 1"),
        (|t| &mut t.catches, "9 catches, the trace has 1"),
        (|t| &mut t.samples, "9 samples, the trace has 5"),
    ];
    for (count, text) in wrong {
        let mut reported = right;
        *count(&mut reported) = 9;
        let text = format!("the agent counted {text}");
        // Wrong totals are reported at the end of the trace.
        fault(with(totals(reported)), rule, events.len() + 2, &text);
    }
    fault(
        vec![totals(Totals::default()), totals(Totals::default())],
        rule,
        1,
        "the agent's totals are repeated",
    );
}

#[test]
fn findings_without_number_take_little_memory() {
    let mut checker = Checker::default();
    for id in 0..100_000_u64 {
        // Sparse ids must not make the checker allocate a table as large as the largest id.
        checker.event(id, &thread_end(id << 40));
        checker.event(id, &method_def(u64::MAX - id));
    }
    let found = checker.finish();
    assert_eq!(found.findings.len(), MAX_FINDINGS);
    assert_eq!(found.totals[&Rule::Definitions].faults, 200_000);
    assert_eq!(found.counts.methods, 100_000);
}

#[test]
fn classes_are_unloaded_once() {
    let unload = |class| {
        Event::ClassUnload(ClassUnload {
            class: ClassId(class),
            time: Timestamp(0),
        })
    };
    // Compiled code may be discarded later than its class is unloaded.
    sound(vec![compile(3, 64), unload(2), uncompile(3, 64)]);
    let text = "class 2 was unloaded already";
    fault(vec![unload(2), unload(2)], Rule::Unloads, 1, text);
    let text = "class 9 was not defined";
    fault(vec![unload(9)], Rule::Definitions, 0, text);
    for event in [
        ClassDetail {
            class: ClassId(9),
            ..Default::default()
        }
        .into(),
        Event::ClassRedefine(ClassRedefine {
            class: ClassId(9),
            ..Default::default()
        }),
    ] {
        fault(vec![event], Rule::Definitions, 0, text);
    }
}

#[test]
fn class_initialisations_nest_along_a_thread() {
    let begin = |class| {
        Event::ClassInitStart(ClassInitStart {
            thread: ThreadId(1),
            class: ClassId(class),
            ..Default::default()
        })
    };
    let end = |class| {
        Event::ClassInitEnd(ClassInitEnd {
            thread: ThreadId(1),
            class: ClassId(class),
            ..Default::default()
        })
    };
    let other = || {
        Event::ClassDef(ClassDef {
            class: ClassId(5),
            ..Default::default()
        })
    };
    sound(vec![other(), begin(2), begin(5), end(5), end(2)]);
    sound(vec![begin(2)]);
    let rule = Rule::Initialisations;
    let text = "thread 1: the initialisation of class 2 ends, and did not begin";
    fault(vec![end(2)], rule, 0, text);
    let text = "thread 1: class 2 is initialised, and 1 in it are not";
    fault(vec![other(), begin(2), begin(5), end(2)], rule, 3, text);
    let text = "class 9 was not defined";
    fault(vec![begin(9)], Rule::Definitions, 0, text);
}

fn compile(method: u64, address: u64) -> Event<'static> {
    Event::MethodCompile(MethodCompile {
        method: MethodId(method),
        address,
        ..Default::default()
    })
}

fn uncompile(method: u64, address: u64) -> Event<'static> {
    Event::MethodUncompile(MethodUncompile {
        method: MethodId(method),
        address,
        ..Default::default()
    })
}

#[test]
fn code_is_thrown_away_that_was_there() {
    let rule = Rule::Code;
    sound(vec![compile(3, 64), compile(3, 128), uncompile(3, 128)]);
    // New code may take an address before the JVM reports that the old code there is unloaded.
    sound(vec![
        compile(3, 64),
        compile(4, 64),
        uncompile(3, 64),
        uncompile(4, 64),
    ]);
    let text = "method 3 has no compiled code at address 0x40";
    fault(vec![uncompile(3, 64)], rule, 0, text);
    fault(vec![compile(4, 64), uncompile(3, 64)], rule, 1, text);
    fault(vec![compile(3, 128), uncompile(3, 64)], rule, 1, text);
    let events = vec![compile(3, 64), uncompile(3, 64), uncompile(3, 64)];
    fault(events, rule, 2, text);
    let text = "method 9 was not defined";
    fault(vec![compile(9, 64)], Rule::Definitions, 0, text);
}

#[test]
fn lines_ascend() {
    let lines = |method, lines: &[u32]| {
        let lines = lines.iter().map(|&line| LineCount { line, count: 1 });
        vec![Event::LineCounts(LineCounts {
            method: MethodId(method),
            lines: lines.collect(),
            ..Default::default()
        })]
    };
    sound(lines(3, &[]));
    sound(lines(3, &[1, 2, 9]));
    let text = "method 3: line 2 follows 2: lines must ascend";
    fault(lines(3, &[1, 2, 2]), Rule::Lines, 0, text);
    let text = "method 3: line 1 follows 2: lines must ascend";
    fault(lines(3, &[2, 1]), Rule::Lines, 0, text);
    let text = "method 9 was not defined";
    fault(lines(9, &[1]), Rule::Definitions, 0, text);
}
