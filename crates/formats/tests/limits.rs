//! Values beyond a format's limits are reported as lost or changed, and the written trace stays
//! sound.

use crate::common::{decode, written_by};
use jtrail_formats::Format;
use jtrail_model::*;

const NOW: i64 = 1_700_000_000_000_000_000;

/// Returns a small trace with calls at these times.
fn calls(thread: u64, times: &[i64]) -> Vec<Event<'static>> {
    let (thread, class, method) = (ThreadId(thread), ClassId(u64::MAX), MethodId(u64::MAX - 1));
    let start = Timestamp(NOW);
    let mut events = vec![
        Event::Node(Node {
            time: start,
            ..Default::default()
        }),
        ProcessCreate {
            time: start,
            pid: 1,
            ..Default::default()
        }
        .into(),
        AgentCreate {
            time: start,
            ..Default::default()
        }
        .into(),
        Event::TraceStart(TraceStart {
            time: start,
            ..Default::default()
        }),
        Event::ThreadStart(ThreadStart {
            thread,
            time: start,
            name: "main".into(),
            ..Default::default()
        }),
        Event::ClassDef(ClassDef {
            class,
            time: start,
            name: "a.B".into(),
            ..Default::default()
        }),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "run".into(),
            signature: "()V".into(),
            ..Default::default()
        }),
    ];
    for (ticket, time) in (1..).zip(times) {
        let time = Timestamp(*time);
        events.push(Event::MethodEnter(MethodEnter {
            thread,
            time,
            method,
            class,
            ticket,
            stack_depth: 1,
            ..Default::default()
        }));
        events.push(Event::MethodLeave(MethodLeave {
            thread,
            time,
            method,
            class,
            ticket,
            ..Default::default()
        }));
    }
    events
}

/// Returns the number of calls that a trace reports, singly or added up.
fn reported(events: &[String]) -> usize {
    let one = events
        .iter()
        .filter(|e| e.starts_with("MethodEnter("))
        .count();
    let sum = events.iter().filter_map(|e| {
        let (_, calls) = e.strip_prefix("AggregatedEnter(")?.split_once("calls: ")?;
        calls.split([' ', ',']).next()?.parse::<usize>().ok()
    });
    one + sum.sum::<usize>()
}

#[test]
fn times_far_away_do_not_lose_calls_silently() {
    let year = 365 * 86_400 * 1_000_000_000_i64;
    for times in [
        [NOW + 1, NOW + year, NOW + 100 * year],
        [NOW + 1, NOW - 1, NOW - 40 * year],
        [-1, 0, NOW],
        [i64::MIN, NOW, i64::MAX],
        [i64::MAX, i64::MIN, 0],
    ] {
        for format in Format::ALL {
            let mut encoder = format.encoder();
            let bytes = written_by(&mut *encoder, &calls(7, &times));
            let decoding = decode(format, &bytes);
            assert_eq!(decoding.error, None, "{format:?} {times:?}");
            let lost = encoder.dropped().iter().map(|kind| kind.count).sum::<u64>();
            let calls = reported(&decoding.events);
            assert!(
                calls == times.len() || lost > 0,
                "{format:?} {times:?}: {calls} calls, and nothing told: {decoding:#?}"
            );
        }
    }
}

#[test]
fn the_largest_ids_are_written_or_reported() {
    for thread in [
        1,
        0xffff,
        0x1_0000,
        u64::from(u32::MAX) + 1,
        1 << 48,
        u64::MAX,
    ] {
        for format in Format::ALL {
            let mut encoder = format.encoder();
            let bytes = written_by(&mut *encoder, &calls(thread, &[NOW + 1, NOW + 2]));
            let decoding = decode(format, &bytes);
            assert!(decoding.is_clean(), "{format:?} {thread}: {decoding:#?}");
            let lost = encoder.dropped().iter().map(|kind| kind.count).sum::<u64>();
            assert!(
                reported(&decoding.events) == 2 || lost > 0,
                "{format:?} {thread}: {:#?}",
                decoding.events
            );
        }
    }
}

#[test]
fn many_threads_are_all_there() {
    const THREADS: u64 = 70_000;
    let mut events = calls(1, &[NOW + 1]);
    for thread in 2..=THREADS {
        let (thread, time) = (ThreadId(thread), Timestamp(NOW + 2));
        events.push(Event::ThreadStart(ThreadStart {
            thread,
            time,
            name: format!("t{thread}").into(),
            ..Default::default()
        }));
        let (method, class) = (MethodId(u64::MAX - 1), ClassId(u64::MAX));
        events.push(Event::MethodEnter(MethodEnter {
            thread,
            time,
            method,
            class,
            ticket: 1,
            stack_depth: 1,
            ..Default::default()
        }));
    }
    for format in Format::ALL {
        let bytes = written_by(&mut *format.encoder(), &events);
        let decoding = decode(format, &bytes);
        assert_eq!(decoding.error, None, "{format:?}");
        assert_eq!(reported(&decoding.events) as u64, THREADS, "{format:?}");
    }
}
