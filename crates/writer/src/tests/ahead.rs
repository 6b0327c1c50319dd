//! Calls of one thread may stand before what other threads did earlier, as far as a trail allows, and nothing else may.

use super::*;

const THREADS: u64 = 3;
const TURNS: u64 = 2_000;
/// Ticks from one record to the next.
const STEP: u64 = 1_000;

/// What the writer makes of threads that take turns, each of which tells of something else than calls every now and then.
fn turns(ahead: u64) -> Vec<(u32, u64, Seen)> {
    let (empty, supply, _memory) = create_pool(16 * CHUNK_BYTES as u64).expect("memory");
    let (full_sender, full): (_, Receiver<Full>) = unbounded();
    let exchange = exchange(supply, full_sender, bounded(1).0, WhenFull::Block);
    let mut merge = Merge::new(empty, false);
    let buffers = (1..=THREADS).map(|thread| {
        let buffer = ThreadBuffer::new(thread, thread as u32, exchange.clone());
        let (announcement, buffer) = BufferHandle::share(buffer);
        merge.add_buffer(announcement);
        buffer.cast_const()
    });
    let buffers: Vec<_> = buffers.collect();
    for turn in 0..TURNS {
        for (at, &buffer) in (0..).zip(&buffers) {
            let now = (1 + turn * THREADS + at) * STEP;
            // SAFETY: this thread made all buffers, alone uses them, and finishes them below.
            let is_recorded = unsafe {
                match turn % 100 == at * 30 + 7 {
                    true => (*buffer).record_coded(now, Code::ThreadCpu, &[turn, 0]),
                    false if turn % 10 == 9 => {
                        (*buffer).record_coded(now, Code::LeaveByException, &[1])
                    }
                    false if turn % 2 == 0 => (*buffer).record(now, record::enter(1)),
                    false => (*buffer).record(now, record::leave(1)),
                }
            };
            assert!(is_recorded);
        }
    }
    let published = merge.published().expect("nobody hands a chunk over");
    full.try_iter().for_each(|message| merge.add_full(&message));
    merge.add_published(published);
    let mut seen = Collect::default();
    assert!(merge.run(u64::MAX, ahead, &mut seen, usize::MAX));
    for buffer in buffers {
        // SAFETY: this thread, which alone uses the buffer, does not use it any more.
        unsafe { ThreadBuffer::finish(buffer) };
    }
    seen.0
}

fn changes(seen: &[(u32, u64, Seen)]) -> usize {
    seen.windows(2)
        .filter(|pair| pair[0].0 != pair[1].0)
        .count()
}

#[test]
fn calls_are_ahead_by_so_much_at_most_and_nothing_else_is() {
    let strict = turns(0);
    assert_eq!(strict.len() as u64, THREADS * TURNS);
    assert!(strict.is_sorted_by_key(|seen| seen.1));
    for ahead in [10 * STEP, 90 * STEP] {
        let seen = turns(ahead);
        let mut sorted = seen.clone();
        sorted.sort_by_key(|seen| seen.1);
        assert_eq!(
            sorted, strict,
            "nothing is lost, and threads keep their order"
        );
        // The earliest of what is still to come.
        let mut rest = seen.iter().map(|seen| seen.1).collect::<Vec<_>>();
        for at in (1..rest.len()).rev() {
            rest[at - 1] = rest[at - 1].min(rest[at]);
        }
        for (&(_, time, what), earliest) in seen.iter().zip(rest) {
            match what {
                Seen::Coded(code, _) if code != Code::LeaveByException => {
                    assert_eq!(time, earliest, "{what:?} stands before something earlier")
                }
                _ => assert!(
                    time <= earliest + ahead,
                    "{what:?} is {} ahead",
                    time - earliest
                ),
            }
        }
        // That is what it is for.
        let runs = (ahead / STEP / THREADS) as usize;
        assert!(
            changes(&seen) * runs < changes(&strict) * 2,
            "{}",
            changes(&seen)
        );
    }
}
