//! Calls of one thread may precede earlier events of other threads, as far as a trail allows. Other
//! events may not.

use super::*;
use crate::helpers::Pool;
use jtrail_formats::{Format, Helpers};
use std::thread::sleep;
use std::time::{Duration, Instant};

const THREADS: u64 = 3;
const TURNS: u64 = 2_000;
/// Number of ticks from one record to the next.
const STEP: u64 = 1_000;

/// Returns the records of threads that take turns. Each thread occasionally records something other
/// than a call.
fn turns(ahead: u64) -> Vec<(u32, u64, Handed)> {
    let (empty, supply, _memory) = create_pool(16 * CHUNK_BYTES as u64).expect("memory");
    let (full_sender, full): (_, Receiver<Full>) = unbounded();
    let exchange = exchange(supply, full_sender, bounded(1).0, WhenFull::Block);
    let mut merge = Merge::new(empty, false);
    let buffers = (1..=THREADS).map(|thread| {
        let buffer = ThreadBuffer::new(thread, thread as u32, exchange.clone());
        let (definition, buffer) = BufferHandle::share(buffer);
        merge.add_buffer(definition);
        buffer.cast_const()
    });
    let buffers: Vec<_> = buffers.collect();
    for turn in 0..TURNS {
        for (at, &buffer) in (0..).zip(&buffers) {
            let now = (1 + turn * THREADS + at) * STEP;
            // SAFETY: this thread created all buffers, is the only one that uses them, and finishes
            // them below.
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
        // SAFETY: only this thread uses the buffer, and it does not use it afterwards.
        unsafe { ThreadBuffer::finish(buffer) };
    }
    seen.0
}

fn changes(seen: &[(u32, u64, Handed)]) -> usize {
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
        // For each record, the earliest time of that record and all following ones.
        let mut rest = seen.iter().map(|seen| seen.1).collect::<Vec<_>>();
        for at in (1..rest.len()).rev() {
            rest[at - 1] = rest[at - 1].min(rest[at]);
        }
        for (&(_, time, what), earliest) in seen.iter().zip(rest) {
            match what {
                Handed::Coded(code, _) if code != Code::LeaveByException => {
                    assert_eq!(time, earliest, "{what:?} stands before something earlier")
                }
                _ => assert!(
                    time <= earliest + ahead,
                    "{what:?} is {} ahead",
                    time - earliest
                ),
            }
        }
        // The purpose of `ahead` is that the merge switches between threads less often.
        let runs = (ahead / STEP / THREADS) as usize;
        assert!(
            changes(&seen) * runs < changes(&strict) * 2,
            "{}",
            changes(&seen)
        );
    }
}

/// Calls of a thread in some full chunks, and a pool whose only thread is busy.
struct Busy {
    merge: Merge,
    full: Vec<Full>,
    translator: Translator,
    helpers: Arc<Pool>,
    /// A message lets the pool's thread continue.
    go_on: Sender<()>,
    buffer: *const ThreadBuffer,
}

impl Busy {
    /// Runs `test` with one thread in the pool.
    fn run(test: impl FnOnce(&mut Self)) {
        let (empty, supply, _memory) = create_pool(8 * CHUNK_BYTES as u64).expect("memory");
        let (full_sender, full): (_, Receiver<Full>) = unbounded();
        let exchange = exchange(supply, full_sender, bounded(1).0, WhenFull::Block);
        let mut merge = Merge::new(empty, false);
        let (definition, buffer) = BufferHandle::share(ThreadBuffer::new(1, 1, exchange));
        merge.add_buffer(definition);
        let mut now = 1;
        while full.len() < 4 {
            for low in [record::enter(1), record::leave(1)] {
                now += 1;
                // SAFETY: this thread created the buffer, is the only one that uses it, and
                // finishes it below.
                assert!(unsafe { (*buffer).record(now, low) });
            }
        }
        let timeline = Timeline::new(0, 0, (1, 1));
        let settings = Settings::default();
        let mut translator = Translator::new(Format::Trail.encoder(), timeline, settings);
        translator.add_class(ClassInfo::default());
        let info = |number| MethodInfo {
            number,
            ..MethodInfo::default()
        };
        translator.add_methods(0, (0..2).map(info).collect());
        let helpers = Arc::<Pool>::default();
        helpers.start(Some(1));
        let (go_on, may_go_on) = unbounded::<()>();
        let (begins, begun) = unbounded();
        helpers.give(Box::new(move || {
            begins.send(()).expect("the test waits");
            may_go_on.recv().expect("the test goes on");
        }));
        begun.recv().expect("it begins");
        let mut busy = Self {
            merge,
            full: full.try_iter().collect(),
            translator,
            helpers,
            go_on,
            buffer: buffer.cast_const(),
        };
        test(&mut busy);
        // SAFETY: this thread created the buffer, and does not use it afterwards.
        unsafe { ThreadBuffer::finish(busy.buffer) };
        full.try_iter().for_each(|full| busy.merge.add_full(&full));
        busy.merge.discard();
    }

    /// Hands the next chunk over, which asks a helper to follow it.
    fn add_chunk(&mut self) {
        self.merge
            .follow_by(self.translator.follower(), &self.helpers);
        let full = self.full.remove(0);
        self.merge.add_full(&full);
    }

    fn wait_until_some_are_followed(&self) {
        let begin = Instant::now();
        while self.merge.followed() == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "never followed");
            sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn what_is_to_be_packed_comes_before_what_is_to_be_followed() {
    Busy::run(|busy| {
        busy.add_chunk();
        let (packs, packing) = unbounded();
        let (ends, may_end) = unbounded::<()>();
        busy.helpers.give(Box::new(move || {
            packs.send(()).expect("the test waits");
            may_end.recv().expect("the test goes on");
        }));
        busy.go_on.send(()).expect("the thread waits");
        packing.recv().expect("it is packed");
        assert_eq!(busy.merge.followed(), 0);
        ends.send(()).expect("it waits");
        busy.add_chunk();
        busy.wait_until_some_are_followed();
    });
}
