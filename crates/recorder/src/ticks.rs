//! The coarse clock (`clock=tick`): a word of memory that a thread of ours changes every so often;
//! and the lines of buffers behind it, where compiled hooks find that of their thread.
//!
//! A hook that records a call without a look at the clock is Java code (`JtrailHook.java`): it
//! takes the time of the last exact stamp that its thread took, as long as the word is the one that
//! was there then. Else it calls the agent, which looks at the clock. So a stamp is exact wherever
//! the word has changed since the thread's last event, and elsewhere at most a tick old.
//!
//! Nobody needs a tick while nothing is recorded: where no stamp was taken for a while, the word
//! says that the clock is asleep. That is no word which a thread took a stamp with, so the next
//! hook calls the agent, which wakes the thread.

use crate::cache_line::CacheLine;
use crate::clock::timer_is_exact;
use crate::memory::{Zeroed, Zeros};
use crate::spool::{Memory, TABLE_BYTES};
use jtrail_guard::threads::without_signals;
use parking_lot::Mutex;
use std::io;
use std::mem::offset_of;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The word while nobody takes stamps. No reading of the clock has this value.
const ASLEEP: u64 = 1;
/// After so many ticks without a stamp, the clock falls asleep.
const IDLE_TICKS: u32 = 20;

/// Lines in [`Shared`]: one for each value of the lowest bits of the id that Java gives a thread.
pub const LINES: usize = 1 << 14;

/// What compiled hooks look at.
#[repr(C)]
struct Shared {
    /// Alone in its cache line.
    word: AtomicU64,
    apart: [u64; 7],
    lines: [CacheLine; LINES],
}

/// Offset in bytes of the first line in [`Shared`].
pub const LINES_OFFSET: usize = offset_of!(Shared, lines);

// A spool has room for it.
const _: () = assert!(cfg!(feature = "loom") || size_of::<Shared>() == TABLE_BYTES);

// SAFETY: zeros are a word of 0 and lines that nobody has, and it needs no drop.
unsafe impl Zeroed for Shared {}

/// What the agent, the writer and compiled hooks share.
pub struct Ticks {
    shared: Zeros<Shared>,
    now: fn() -> u64,
    /// Somebody took a stamp since the last tick.
    is_used: AtomicBool,
    is_over: AtomicBool,
    /// In ticks of the processor's clock.
    longest: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Ticks {
    /// The clock, which changes every `tick`, on memory of its own or of a spool. Its thread runs
    /// until [`Self::stop`].
    ///
    /// # Errors
    /// When the system has no memory or no thread for it.
    pub fn start(
        tick: Duration,
        now: fn() -> u64,
        spool: Option<&Memory>,
    ) -> io::Result<Arc<Self>> {
        let shared = match spool {
            None => Zeros::new(1)?,
            Some(memory) => memory
                .table()
                .and_then(Zeros::into_one)
                .ok_or(io::ErrorKind::ResourceBusy)?,
        };
        let ticks = Arc::new(Self::new(shared, now));
        let own = Arc::clone(&ticks);
        let thread = without_signals(|| {
            std::thread::Builder::new()
                .name("jtrail ticks".into())
                .spawn(move || jtrail_guard::guard::run_thread("the clock", || own.run(tick)))
        })?;
        *ticks.thread.lock() = Some(thread);
        Ok(ticks)
    }

    fn new(shared: Zeros<Shared>, now: fn() -> u64) -> Self {
        let ticks = Self {
            shared,
            now,
            is_used: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            longest: AtomicU64::new(0),
            thread: Mutex::new(None),
        };
        ticks.word().store(ASLEEP, Ordering::Relaxed);
        ticks
    }

    fn shared(&self) -> &Shared {
        &self.shared.all()[0]
    }

    /// Address of the word, and of all else behind it.
    pub fn address(&self) -> usize {
        ptr::from_ref(self.shared()).addr()
    }

    fn word(&self) -> &AtomicU64 {
        &self.shared().word
    }

    fn run(&self, tick: Duration) {
        timer_is_exact();
        let mut idle = 0;
        let mut last = (self.now)();
        while !self.is_over.load(Ordering::Acquire) {
            std::thread::sleep(tick);
            idle = match self.is_used.swap(false, Ordering::Relaxed) {
                true => 0,
                false => idle + 1,
            };
            if idle < IDLE_TICKS {
                let new = self.advance();
                self.longest
                    .fetch_max(new.saturating_sub(last), Ordering::Relaxed);
                last = new;
                continue;
            }
            idle = 0;
            self.word().store(ASLEEP, Ordering::SeqCst);
            std::thread::park(); // whoever changes the word wakes us, or has before
            last = self.word().load(Ordering::Relaxed); // it is a reading of the clock again
        }
        self.word().store(ASLEEP, Ordering::SeqCst);
    }

    /// The thread ends, and hooks find the clock asleep from now on.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }

    /// The longest that it took from one tick to the next while somebody took stamps.
    pub fn longest(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }

    /// For a thread that is about to take a stamp: the word that the stamp is good for. Wakes the
    /// clock. 0 when it has stopped.
    pub fn word_for_stamp(&self) -> u64 {
        if self.is_over.load(Ordering::Acquire) {
            return 0;
        }
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        let word = self.word().load(Ordering::Relaxed);
        if word != ASLEEP {
            return word;
        }
        let new = (self.now)();
        let woken = self
            .word()
            .compare_exchange(ASLEEP, new, Ordering::SeqCst, Ordering::Relaxed);
        match woken {
            Ok(_) => {
                if let Some(thread) = &*self.thread.lock() {
                    thread.thread().unpark();
                }
                new
            }
            Err(other) => other,
        }
    }

    /// A tick, also where it is not due yet: no stamp from before is good any more. The time now:
    /// all that is recorded from now on is as late at least, as far as its thread is not in the
    /// middle of recording.
    pub fn advance(&self) -> u64 {
        let new = (self.now)();
        // One that is asleep needs no tick: no stamp is good then.
        let change = |word| (word != ASLEEP).then_some(new);
        let _ = self
            .word()
            .fetch_update(Ordering::SeqCst, Ordering::Relaxed, change);
        new
    }

    /// The line that hooks of a thread look at to which Java gives this id, for a buffer that gives
    /// it back when it is dropped. None where another buffer has it.
    pub fn place(&self, id: u64) -> Option<&CacheLine> {
        let line = &self.shared().lines[id as usize % LINES];
        (id != 0 && line.take()).then_some(line)
    }

    /// From now on, no hook finds a line. Some may be in the middle of recording.
    pub fn hide_all(&self) {
        self.shared().lines.iter().for_each(CacheLine::hide);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, System};
    use std::time::Instant;

    #[test]
    fn it_ticks_while_stamps_are_taken_and_sleeps_then() {
        let ticks = Ticks::start(Duration::from_micros(50), System::now, None).expect("memory");
        let until = Instant::now() + Duration::from_secs(60);
        let first = ticks.word_for_stamp();
        assert_ne!(first, ASLEEP);
        while ticks.word_for_stamp() == first {
            assert!(Instant::now() < until, "no tick");
        }
        while ticks.word().load(Ordering::SeqCst) != ASLEEP {
            assert!(Instant::now() < until, "it does not fall asleep");
            std::thread::sleep(Duration::from_millis(1));
        }
        ticks.advance();
        assert_eq!(ticks.word().load(Ordering::SeqCst), ASLEEP);
        let second = ticks.word_for_stamp();
        assert!(second > first);
        while ticks.word_for_stamp() == second {
            assert!(Instant::now() < until, "it does not wake up");
        }
        ticks.stop();
        assert_eq!(ticks.word().load(Ordering::SeqCst), ASLEEP);
        assert_eq!(ticks.word_for_stamp(), 0);
    }

    #[test]
    fn a_place_is_for_one_buffer_at_a_time() {
        let ticks = Ticks::new(Zeros::new(1).expect("memory"), System::now);
        assert!(ticks.place(5).is_some());
        assert!(ticks.place(5).is_none());
        assert!(ticks.place(5 + LINES as u64).is_none());
        assert!(ticks.place(6).is_some());
        assert!(ticks.place(0).is_none());
    }
}
