use super::*;
use jtrail_model::{
    ClassDef, ClassId, MethodDef, MethodDetail, MethodEnter, MethodId, MonitorWaited, ThreadEnd,
    ThreadStart,
};

const THREADS: u64 = 4;

/// Returns the next number of a reproducible pseudo-random sequence.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 20
}

/// Returns random events of each thread: their times, and true for each event that is a call.
fn program(state: &mut u64) -> Vec<VecDeque<(i64, bool)>> {
    let thread = |_| {
        let mut now = 1_000_000;
        let calls = (0..3_000).map(|_| {
            now += match random(state) % 50 {
                0 => 50_000,
                _ => (random(state) % 200) as i64,
            };
            (now, !random(state).is_multiple_of(40))
        });
        calls.collect()
    };
    (0..THREADS).map(thread).collect()
}

fn start(thread: u64, time: i64) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(thread),
        time: Timestamp(time),
        ..ThreadStart::default()
    })
}

/// Passes `bulk` to `order`, and appends the events that are handed out to `out`.
fn feed(order: &mut InOrder, bulk: Bulk<'_>, out: &mut Vec<Event<'static>>) {
    let flow: ControlFlow<()> = order.take(bulk, |bulk| note(bulk, out));
    assert!(flow.is_continue());
}

fn note(bulk: Bulk<'_>, out: &mut Vec<Event<'static>>) -> ControlFlow<()> {
    bulk.items(|item| {
        let Item::Event { event, .. } = item else {
            panic!("a remark");
        };
        out.push(event.into_static());
        ControlFlow::Continue(())
    })
}

/// Feeds events to `order` in the order in which a trail contains them. The next events always come
/// from the thread with the earliest event. They are this event and calls that are at most
/// [`CALLS_AHEAD`] later.
fn written(threads: &mut [VecDeque<(i64, bool)>], order: &mut InOrder) -> Vec<Event<'static>> {
    let mut out = Vec::new();
    let mut calls = [0_u32; THREADS as usize];
    while let Some((first, at)) = (0..threads.len())
        .filter_map(|at| Some((threads[at].front()?.0, at)))
        .min()
    {
        let thread = ThreadId(at as u64 + 1);
        if calls[at] == 0 {
            let event = start(thread.0, first);
            feed(
                order,
                Bulk::Item(Item::Event { offset: 0, event }),
                &mut out,
            );
        }
        let mut steps = Vec::new();
        while let Some(&(time, true)) = threads[at].front()
            && time <= first + CALLS_AHEAD.0
            && steps.len() < 100
        {
            threads[at].pop_front();
            steps.push(CallStep {
                time: Timestamp(time),
                method: MethodId(1),
                class: ClassId(1),
                ticket: calls[at] + 1 + steps.len() as u32,
                ends: false,
            });
        }
        if steps.is_empty() {
            threads[at].pop_front();
            let event = Event::MonitorWaited(MonitorWaited {
                thread,
                time: Timestamp(first),
                ..MonitorWaited::default()
            });
            feed(
                order,
                Bulk::Item(Item::Event { offset: 0, event }),
                &mut out,
            );
            continue;
        }
        // A single call is fed as an event, and several calls together.
        if steps.len() == 1 {
            let event = Event::MethodEnter(MethodEnter {
                thread,
                time: steps[0].time,
                ticket: steps[0].ticket,
                stack_depth: steps[0].ticket.into(),
                method: MethodId(1),
                class: ClassId(1),
                ..MethodEnter::default()
            });
            feed(
                order,
                Bulk::Item(Item::Event { offset: 0, event }),
                &mut out,
            );
        } else {
            let calls = Calls {
                thread,
                cpu_time: jtrail_model::Duration::default(),
                ticket: calls[at],
                depth: calls[at],
                steps: &steps,
            };
            feed(order, Bulk::Calls { offset: 0, calls }, &mut out);
        }
        calls[at] += steps.len() as u32;
    }
    let flow: ControlFlow<()> = order.flush(|bulk| note(bulk, &mut out));
    assert!(flow.is_continue());
    out
}

#[test]
fn all_events_come_in_the_order_of_time_each_as_it_was() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..20 {
        let mut threads = program(&mut state);
        let made = threads.clone();
        let mut order = InOrder::default();
        let out = written(&mut threads, &mut order);
        assert!(out.is_sorted_by_key(Event::time));
        for (id, made) in (1..).zip(made) {
            let own = out.iter().filter(|e| e.thread() == Some(ThreadId(id)));
            let mut own = own.peekable();
            assert!(matches!(own.peek(), None | Some(Event::ThreadStart(_))));
            let (mut ticket, mut times) = (0, Vec::new());
            for event in own {
                match event {
                    Event::MethodEnter(call) => {
                        ticket += 1;
                        assert_eq!((call.ticket, call.stack_depth), (ticket, ticket.into()));
                        times.push((call.time.0, true));
                    }
                    Event::MonitorWaited(waited) => times.push((waited.time.0, false)),
                    event => assert!(matches!(event, Event::ThreadStart(_))),
                }
            }
            assert!(made.iter().eq(&times));
        }
        assert_eq!(order.waiting, 0);
    }
}

fn call(thread: u64, time: i64) -> Bulk<'static> {
    Bulk::Item(Item::Event {
        offset: 7,
        event: Event::MethodEnter(MethodEnter {
            thread: ThreadId(thread),
            time: Timestamp(time),
            ..MethodEnter::default()
        }),
    })
}

#[test]
fn definitions_wait_for_nothing() {
    let (mut order, mut out) = (InOrder::default(), Vec::new());
    feed(&mut order, call(1, 50_000), &mut out);
    let event = Event::ClassDef(ClassDef {
        time: Timestamp(55_000),
        ..ClassDef::default()
    });
    feed(
        &mut order,
        Bulk::Item(Item::Event { offset: 0, event }),
        &mut out,
    );
    assert!(matches!(out[..], [Event::ClassDef(_)]));
    feed(&mut order, call(2, 45_000), &mut out);
    let end = Event::ThreadEnd(ThreadEnd {
        thread: ThreadId(2),
        time: Timestamp(49_000),
    });
    feed(
        &mut order,
        Bulk::Item(Item::Event {
            offset: 0,
            event: end,
        }),
        &mut out,
    );
    assert!(matches!(
        out[1..],
        [Event::MethodEnter(_), Event::ThreadEnd(_)]
    ));
    feed(&mut order, call(3, 60_001), &mut out);
    assert_eq!(out[3].time(), Some(Timestamp(50_000)));
    assert_eq!(out.len(), 4);
}

#[test]
fn what_waits_is_bounded() {
    for threads in [7, u64::MAX] {
        let mut order = InOrder::default();
        let mut handed = 0;
        for number in 0..3 * MAX_WAITING_CALLS as u64 {
            let flow: ControlFlow<()> = order.take(call(number % threads, 1), |_| {
                handed += 1;
                ControlFlow::Continue(())
            });
            assert!(flow.is_continue() && order.waiting <= MAX_WAITING_CALLS);
            assert!(order.threads.len() <= MAX_THREADS);
        }
        assert_eq!(handed + order.waiting, 3 * MAX_WAITING_CALLS);
    }
}

#[test]
fn it_is_truncated_and_goes_on() {
    let mut order = InOrder::default();
    for time in 1..=10 {
        let flow = order.take(call(time as u64 % 3, time), |_| ControlFlow::Break(()));
        assert!(flow.is_continue(), "nothing is settled");
    }
    let mut times = Vec::new();
    while let ControlFlow::Break(Some(time)) = order.flush(|bulk| {
        let Bulk::Item(Item::Event { offset: 7, event }) = bulk else {
            panic!("a call");
        };
        ControlFlow::Break(event.time())
    }) {
        times.push(time.0);
    }
    assert!(times.iter().copied().eq(1..=10), "{times:?}");
}

/// The first call of a method may precede earlier events in the trail. The definition of the method
/// precedes this call. It must not cause other calls to be handed out too early.
#[test]
fn what_comes_with_a_call_that_is_ahead_does_not_break_the_order() {
    let call = |thread: u64, time: i64| {
        Event::MethodEnter(MethodEnter {
            thread: ThreadId(thread),
            time: Timestamp(time),
            ..MethodEnter::default()
        })
    };
    let events = [
        call(1, 0),
        call(1, 1_000),
        Event::MethodDef(MethodDef::default()),
        Event::MethodDetail(MethodDetail::default()),
        call(1, 8_000),
        call(2, 5_000),
    ];
    let (mut order, mut out) = (InOrder::default(), Vec::new());
    for event in events {
        let item = Item::Event { offset: 0, event };
        feed(&mut order, Bulk::Item(item), &mut out);
    }
    let flow: ControlFlow<()> = order.flush(|bulk| note(bulk, &mut out));
    assert!(flow.is_continue());
    let times: Vec<i64> = out.iter().filter_map(|e| Some(e.time()?.0)).collect();
    assert_eq!(times, [0, 1_000, 5_000, 8_000]);
    assert_eq!(out.len(), 6);
}
