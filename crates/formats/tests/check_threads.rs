//! The checker: the rules for the events of one thread, except those for calls.

use crate::common::check::*;
use jtrail_formats::{Rule, Severity};
use jtrail_model::*;

#[test]
fn waits_pair_up() {
    let rule = Rule::Monitors;
    let with_objects = |events: Vec<Event<'static>>| {
        let objects = vec![object(5), object(6)];
        objects.into_iter().chain(events).collect::<Vec<_>>()
    };
    sound(with_objects(vec![wait(5), waited(5), wait(6), waited(6)]));
    sound(vec![wait(0), waited(0)]);
    sound(with_objects(vec![wait(0), waited(5), wait(6), waited(0)]));
    // Most programs end while threads wait.
    sound(with_objects(vec![wait(5)]));
    let text = "thread 1: the wait on object 6 ends, begun was that on 5";
    fault(with_objects(vec![wait(5), waited(6)]), rule, 3, text);
    for (events, at, text) in [
        (
            vec![waited(5)],
            2,
            "thread 1: the wait on object 5 ends, begun before the trace",
        ),
        // The second end belongs to a wait of the JVM itself.
        (
            vec![wait(5), waited(5), waited(5)],
            4,
            "thread 1: the wait on object 5 ends, and did not begin",
        ),
        // The first wait failed, because the thread did not own the monitor.
        (
            vec![wait(5), wait(5), waited(5)],
            3,
            "thread 1: the wait on object 5 begins, that on 5 did not end",
        ),
        (
            vec![wait(5), thread_end(1)],
            3,
            "thread 1 ends while waiting on object 5",
        ),
    ] {
        broken(with_objects(events), rule, Severity::Info, at, text);
    }
}

fn block(object: u64, owner: u64) -> Event<'static> {
    Event::MonitorContendedEnter(MonitorContendedEnter {
        thread: ThreadId(1),
        object: ObjectId(object),
        owner: ThreadId(owner),
        ..Default::default()
    })
}

fn unblock(object: u64) -> Event<'static> {
    Event::MonitorContendedEntered(MonitorContendedEntered {
        thread: ThreadId(1),
        object: ObjectId(object),
        ..Default::default()
    })
}

#[test]
fn blocks_pair_up() {
    let rule = Rule::Monitors;
    // A thread may also block inside a wait.
    sound(vec![
        object(6),
        wait(6),
        block(0, 1),
        unblock(0),
        waited(6),
        block(6, 0),
    ]);
    let text = "thread 1: the block on object 0 ends, and did not begin";
    fault(vec![block(0, 0), unblock(0), unblock(0)], rule, 2, text);
    let text = "thread 1: the block on object 0 begins, that on 0 did not end";
    fault(vec![block(0, 0), block(0, 0)], rule, 1, text);
    let text = "thread 1 ends while blocked on object 0";
    fault(vec![block(0, 0), thread_end(1)], rule, 1, text);
    // After lost events, begins and ends need not match, so the finding is only an info.
    broken(
        vec![block(0, 0), lost(), block(0, 0)],
        rule,
        Severity::Info,
        2,
        "thread 1: the block on object 0 begins, that on 0 did not end",
    );
    let text = "thread 9 was not defined";
    fault(vec![block(0, 9)], Rule::Definitions, 0, text);
}

#[test]
fn parks_pair_up() {
    let rule = Rule::Parks;
    sound(vec![
        object(5),
        park(5),
        unpark(),
        park(0),
        unpark(),
        park(0),
    ]);
    let text = "thread 1: the park on object 0 begins, that on 0 did not end";
    fault(vec![park(0), park(0)], rule, 1, text);
    let text = "thread 1: the park ends, and did not begin";
    fault(vec![park(0), unpark(), unpark()], rule, 2, text);
    let text = "thread 1: the park ends, begun before the trace";
    broken(vec![unpark()], rule, Severity::Info, 0, text);
    let text = "thread 1 ends while parked on object 0";
    fault(vec![park(0), thread_end(1)], rule, 1, text);
}

#[test]
fn threads_that_were_not_defined_take_part_in_nothing() {
    let none = ThreadId::NONE;
    let wait = || {
        Event::MonitorWait(MonitorWait {
            thread: none,
            ..Default::default()
        })
    };
    let throw = Event::ExceptionThrow(ExceptionThrow {
        thread: none,
        class: ClassId(2),
        stack: vec![frame()],
        ..Default::default()
    });
    let park = Event::ThreadPark(ThreadPark::default());
    sound(vec![wait(), wait(), park.clone(), park, throw]);
}

fn mount(carrier: u64) -> Event<'static> {
    Event::ThreadMount(ThreadMount {
        thread: ThreadId(1),
        carrier: ThreadId(carrier),
        ..Default::default()
    })
}

fn unmount(carrier: u64) -> Event<'static> {
    Event::ThreadUnmount(ThreadUnmount {
        thread: ThreadId(1),
        carrier: ThreadId(carrier),
        ..Default::default()
    })
}

#[test]
fn virtual_threads_take_and_leave_carriers_in_turn() {
    let rule = Rule::Mounts;
    let carrier = thread_start(9);
    let turns = vec![
        carrier,
        mount(9),
        unmount(9),
        mount(0),
        unmount(0),
        mount(9),
    ];
    sound(turns.clone());
    sound(turns.into_iter().chain([thread_end(1)]).collect());
    let text = "thread 1 takes a carrier twice in turn";
    fault(vec![mount(0), mount(0)], rule, 1, text);
    let text = "thread 1 leaves a carrier twice in turn";
    fault(vec![mount(0), unmount(0), unmount(0)], rule, 2, text);
    let text = "thread 1 leaves a carrier that it took before the trace";
    broken(vec![unmount(0)], rule, Severity::Info, 0, text);
    let text = "thread 8 was not defined";
    fault(vec![mount(8)], Rule::Definitions, 0, text);
}

fn cpu(time: i64, cpu_time: i64) -> Event<'static> {
    Event::ThreadCpu(ThreadCpu {
        thread: ThreadId(1),
        time: Timestamp(time),
        cpu_time: Duration(cpu_time),
    })
}

#[test]
fn cpu_time_never_falls() {
    let rule = Rule::Cpu;
    sound(vec![cpu(0, 0), cpu(1, 7), cpu(2, 7), cpu(3, 8)]);
    let text = "thread 1: CPU time falls from 0.000000007 to 0.000000006";
    fault(vec![cpu(0, 7), cpu(1, 6)], rule, 1, text);
    let call = |ticket, cpu_time| {
        Event::MethodEnter(MethodEnter {
            thread: ThreadId(1),
            method: MethodId(3),
            class: ClassId(2),
            ticket,
            cpu_time: Duration(cpu_time),
            stack_depth: i64::from(ticket),
            ..Default::default()
        })
    };
    // A CPU time of 0 means that it was not measured.
    sound(vec![call(1, 7), call(2, 0), call(3, 7), leave(3, 3)]);
    let events = vec![call(1, 7), call(2, 0), call(3, 6)];
    fault(events.clone(), rule, 2, text);
    let found = check(&trace_by("other", events));
    assert_eq!((found.faults(), found.infos()), (0, 1));
}

#[test]
fn what_is_reported_of_a_thread_is_reported_of_a_live_one() {
    let name = |thread| {
        Event::ThreadName(ThreadName {
            thread: ThreadId(thread),
            ..Default::default()
        })
    };
    sound(vec![name(1), sample(1), cpu(0, 1)]);
    for event in [name(9), sample(9)] {
        let text = "thread 9 was not defined";
        fault(vec![event], Rule::Definitions, 0, text);
    }
    for event in [name(0), sample(0)] {
        let text = "thread 0 was not defined";
        fault(vec![event], Rule::Definitions, 0, text);
    }
    let late = [
        name(1),
        sample(1),
        cpu(0, 1),
        park(0),
        mount(0),
        throw(0, 0),
    ];
    for event in late {
        let text = "thread 1 has ended already";
        fault(vec![thread_end(1), event], Rule::ThreadEnd, 1, text);
    }
    let text = "thread 1: time falls from 0.000000005 to 0.000000000";
    for event in [sample(1), wait(0), park(0), throw(0, 0), cpu(0, 1)] {
        fault(vec![enter_at(3, 1, 1, 5), event], Rule::Time, 1, text);
    }
}

#[test]
fn exceptions_have_a_class_and_a_place() {
    sound(vec![
        object(5),
        throw(5, 0),
        catch(5),
        throw(0, 0),
        catch(0),
    ]);
    let nowhere = Event::ExceptionThrow(ExceptionThrow {
        thread: ThreadId(1),
        class: ClassId(2),
        ..Default::default()
    });
    let text = "thread 1: an exception is thrown nowhere";
    fault(vec![nowhere], Rule::Exceptions, 0, text);
    let nowhere = Event::ExceptionCatch(ExceptionCatch {
        thread: ThreadId(1),
        class: ClassId(2),
        ..Default::default()
    });
    let text = "thread 1: an exception is caught nowhere";
    fault(vec![nowhere], Rule::Exceptions, 0, text);
    for class in [0, 9] {
        let text = format!("class {class} was not defined");
        let thrown = Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            class: ClassId(class),
            stack: vec![frame()],
            ..Default::default()
        });
        let caught = Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(1),
            class: ClassId(class),
            frame: frame(),
            ..Default::default()
        });
        fault(vec![thrown], Rule::Definitions, 0, &text);
        fault(vec![caught], Rule::Definitions, 0, &text);
    }
}
