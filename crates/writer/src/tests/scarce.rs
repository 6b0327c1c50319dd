//! The writer is held up, for instance by a client that reads nothing, and threads must continue.

use super::{Drains, Handed, calls, run_with};
use jtrail_recorder::buffer::WhenFull;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::clock::{Clock, System};
use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Virtual threads start, change carriers, make calls and end; there is not nearly enough room for
/// all records. No thread waits. All records that can't be dropped are there, and the dropped ones
/// are counted where they are missing.
#[test]
fn calls_take_no_room_from_what_may_not_be_left_out() {
    const CARRIERS: u32 = 2;
    const THREADS: u32 = 10_000;
    const TURNS: u32 = 3;
    let first = |carrier: u32| 10 + carrier * THREADS;
    let (report, reported) = channel();
    std::thread::spawn(move || {
        let seen = run_with(
            CARRIERS,
            1,
            WhenFull::Drop,
            Drains::Afterwards,
            0,
            move |carrier, buffer| {
                // SAFETY: each test thread records into its own buffer.
                let coded = |code, thread: u32| unsafe {
                    assert!(buffer.record_coded(System::now(), code, &[thread.into()]));
                };
                // SAFETY: each test thread records into its own buffer.
                let on = |thread| unsafe { buffer.switch_to(System::now(), thread) };
                for thread in first(carrier)..first(carrier) + THREADS {
                    on(Some(thread));
                    coded(Code::ThreadStart, thread);
                    for _ in 0..TURNS {
                        calls(buffer, System::now, 2);
                        on(None);
                        on(Some(thread));
                    }
                    coded(Code::ThreadEnd, thread);
                    on(None);
                }
            },
        );
        let _ = report.send(seen); // fails if the test has timed out
    });
    let seen = reported.recv_timeout(Duration::from_secs(60));
    let seen = seen.expect("no thread waits for the writer");
    let mut threads: HashMap<u32, (Vec<Code>, u64)> = HashMap::new();
    let mut is_lost = false;
    for (thread, _, what) in &seen {
        let (steps, events) = threads.entry(*thread).or_default();
        match what {
            Handed::Enter(_) | Handed::Leave(_) => *events += 1,
            Handed::Coded(Code::Lost, payload) => {
                *events += record::lost_parts(*payload).0;
                is_lost = true;
            }
            Handed::Coded(code, _) => steps.push(*code),
        }
        // Calls, and counts of missing calls, never follow the thread's end.
        assert!(!steps.contains(&Code::ThreadEnd) || steps.len() == 2);
    }
    assert!(is_lost);
    for thread in (1..=CARRIERS).flat_map(|carrier| first(carrier)..first(carrier) + THREADS) {
        let (steps, events) = &threads[&thread];
        assert_eq!(*steps, [Code::ThreadStart, Code::ThreadEnd], "{thread}");
        assert_eq!(*events, u64::from(TURNS) * 2 * 10, "{thread}");
    }
}
