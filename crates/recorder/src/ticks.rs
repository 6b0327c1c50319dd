//! The coarse clock (`clock=tick`) and the table of cache lines.
//!
//! The clock is a word of memory that a thread of the agent updates at every tick. The cache lines
//! of the buffers follow the word in memory. Compiled hooks find the line of their thread in this
//! table.
//!
//! A hook that records a call without reading the clock is Java code (`JtrailHook.java`). It uses
//! the last exact stamp of its thread, as long as the word is the same as when that stamp was
//! taken. If the word has changed, the hook calls the agent, which reads the clock. So the first
//! stamp of a thread after a tick is exact, and later stamps are at most one tick old.
//!
//! No ticks are needed while nothing is recorded. If no stamp was taken for a while, the clock
//! falls asleep, and its word gets a value that belongs to no stamp. So the next hook calls the
//! agent, which wakes the clock's thread.

use crate::cache_line::CacheLine;
use crate::clock::make_timers_exact;
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

/// Value of the word while the clock is asleep. No reading of the clock has this value.
const ASLEEP: u64 = 1;
/// Number of ticks without a stamp after which the clock falls asleep.
const IDLE_TICKS: u32 = 20;

/// Number of cache lines in the table of [`Ticks`]: one for each value of the lowest 14 bits of a
/// Java thread id.
pub const LINES: usize = 1 << 14;

/// The memory that compiled hooks read.
#[repr(C)]
struct Shared {
    /// Current tick of the coarse clock, or [`ASLEEP`]. Alone in its cache line.
    word: AtomicU64,
    apart: [u64; 7],
    lines: [CacheLine; LINES],
}

/// Offset in bytes of the first cache line from the address of [`Ticks`].
pub const LINES_OFFSET: usize = offset_of!(Shared, lines);

// The layout of a spool has exactly this room for the table.
const _: () = assert!(cfg!(feature = "loom") || size_of::<Shared>() == TABLE_BYTES);

// SAFETY: all zeros are a word of 0 and cache lines that no buffer has taken. The type needs no
// drop.
unsafe impl Zeroed for Shared {}

/// The coarse clock, shared by the agent, the writer and compiled hooks.
pub struct Ticks {
    shared: Zeros<Shared>,
    now: fn() -> u64,
    /// True if a thread took a stamp since the last tick.
    is_used: AtomicBool,
    is_over: AtomicBool,
    /// Longest time between two ticks, in ticks of the processor's clock.
    longest: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Ticks {
    /// Starts a clock that ticks once per `tick`. The clock uses the memory of `spool` if there is
    /// one. The clock's thread runs until [`Self::stop`].
    ///
    /// # Errors
    /// When the system has no memory or no thread for the clock, or when the spool's table is in
    /// use.
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

    /// Returns the address of the clock's word. The table of cache lines follows in memory.
    pub fn address(&self) -> usize {
        ptr::from_ref(self.shared()).addr()
    }

    fn word(&self) -> &AtomicU64 {
        &self.shared().word
    }

    fn run(&self, tick: Duration) {
        make_timers_exact();
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
            std::thread::park(); // until a thread changes the word; at once if one has done so
            last = self.word().load(Ordering::Relaxed); // the word holds a time again
        }
        self.word().store(ASLEEP, Ordering::SeqCst);
    }

    /// Ends the clock's thread. From now on, hooks find the clock asleep.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }

    /// Returns the longest time between two ticks while stamps were taken, in ticks of the
    /// processor's clock.
    pub fn longest(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }

    /// Returns the clock's word, for a thread that is about to take a stamp. The stamp is valid
    /// while the word has this value. Wakes the clock if it is asleep. Returns 0 if the clock has
    /// stopped.
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

    /// Ticks at once, so that all earlier stamps become invalid. Returns the time of the tick: no
    /// later record is earlier, unless its thread was in the middle of recording.
    pub fn advance(&self) -> u64 {
        let new = (self.now)();
        // No stamp is valid while the clock is asleep, so it needs no tick.
        let change = |word| (word != ASLEEP).then_some(new);
        let _ = self
            .word()
            .fetch_update(Ordering::SeqCst, Ordering::Relaxed, change);
        new
    }

    /// Takes the cache line that hooks of the thread with the Java id `id` use. The buffer that
    /// gets the line gives it back when it is dropped. Returns `None` if another buffer has the
    /// line, or if `id` is 0.
    pub fn place(&self, id: u64) -> Option<&CacheLine> {
        let line = &self.shared().lines[id as usize % LINES];
        (id != 0 && line.take()).then_some(line)
    }

    /// Hides all cache lines: from now on, no hook finds one. Some hooks may still be in the middle
    /// of recording.
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
