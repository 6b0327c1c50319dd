//! Reads the words of a buffer in order.

use crate::record::{self, Code, Kind};
pub use crate::translate::Piece;
use serde::{Deserialize, Serialize};

/// A receiver of records.
pub trait Sink {
    /// A call of `method` begins at tick `time`.
    fn enter(&mut self, thread: u32, time: u64, method: u32);
    /// A call of `method` returns.
    fn leave(&mut self, thread: u32, time: u64, method: u32);
    /// Takes a record of another kind, with its payload. The payload of [`Code::Lost`] has a fourth
    /// word: how many of the lost events an earlier trace has reported.
    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]);

    /// Notes a word that no version of jtrail writes.
    fn unreadable(&mut self) {
        debug_assert!(false, "a word that nobody writes");
    }

    /// Returns true if the sink takes no more records for now. Called after each record or run.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes the first records of a run, as many as the sink can handle faster than one by one.
    fn run(&mut self, _thread: u32, _run: Run<'_>) -> Taken {
        Taken::default()
    }
}

/// The first records of a run, which a sink has taken.
#[derive(Clone, Copy, Default, Debug)]
pub struct Taken {
    /// Number of records.
    pub records: usize,
    /// Number of words of these records.
    pub words: usize,
    /// First word of the last record.
    pub last: u64,
}

/// A sink for finding the time of the next record. With a limit of 0, it receives no record.
#[derive(Debug)]
pub struct Nothing;

impl Sink for Nothing {
    fn enter(&mut self, _: u32, _: u64, _: u32) {}
    fn leave(&mut self, _: u32, _: u64, _: u32) {}
    fn coded(&mut self, _: u32, _: u64, _: Code, _: &[u64]) {}
}

/// Source of pieces: results that a [`Follower`](crate::Follower) found in the words beforehand.
pub trait Ahead {
    /// Returns the piece that begins at the word `position`, and the position at which the next
    /// piece begins. Successive positions never decrease.
    fn at(&mut self, position: usize) -> (Option<Piece<'_>>, Option<usize>);
}

/// Stands for the case that no words were followed beforehand.
impl Ahead for Nothing {
    fn at(&mut self, _: usize) -> (Option<Piece<'_>>, Option<usize>) {
        (None, None)
    }
}

/// Words of one thread. The first one is an enter or a leave by return.
#[derive(Clone, Copy, Debug)]
pub struct Run<'w> {
    /// Words from the first one up to the start of the next piece. Records of other kinds may be
    /// among them.
    pub words: &'w [u64],
    /// The piece that a follower found at the first word, if there is one.
    pub piece: Option<Piece<'w>>,
    /// The first word, with only its time bits set. If it is subtracted from another word, the time
    /// bits of the result hold the ticks between the two words.
    pub first: u64,
    /// Words may be read if they exceed [`Self::first`] by at most this difference.
    pub(crate) most: u64,
    /// Epoch of the words.
    pub(crate) epoch: u64,
}

impl<'w> Run<'w> {
    /// Returns the run that begins with the first of `words`. Returns `None` if that word is later
    /// than `limit`.
    pub(crate) fn new(words: &'w [u64], epoch: u64, limit: u64) -> Option<Self> {
        let first = record::stamp(*words.first()?);
        let last = record::word(record::last_tick(limit, epoch)?, record::LOW);
        Some(Self {
            words,
            piece: None,
            first,
            most: last.checked_sub(first)?,
            epoch,
        })
    }

    /// Returns the full time of one of the words.
    pub fn time(self, word: u64) -> u64 {
        record::time(word, self.epoch)
    }

    /// Returns true if a word is not earlier than the first one, and not later than the limit.
    #[inline(always)]
    pub fn is_in_time(self, word: u64) -> bool {
        word.wrapping_sub(self.first) <= self.most
    }
}

/// The times up to which records are read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limit for enters, leaves and marks of constructors; not earlier than [`Self::others`].
    pub calls: u64,
    /// Limit for all other records.
    pub others: u64,
}

impl Limits {
    /// Limits that exclude all records, for finding the time of the next record.
    pub const NOTHING: Self = Self::all(0);

    /// Returns limits that include all records up to the time `limit`.
    pub const fn all(limit: u64) -> Self {
        Self {
            calls: limit,
            others: limit,
        }
    }
}

/// Position up to which the chunks of one buffer are read.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct ReadPosition {
    /// Number of words read of the current chunk.
    pub words: usize,
    /// Number of the thread that the next record belongs to.
    pub running: u32,
    /// True if the thread has changed since the preceding record, according to a chunk's header and
    /// not to a record. A deserialised position counts as changed, because this is unknown.
    #[serde(skip, default = "may_be_switched")]
    is_switched: bool,
    epoch: u64,
    /// Number of lost events that an earlier trace has reported, and whose record is not read yet.
    pub reported_lost: u64,
}

fn may_be_switched() -> bool {
    true
}

impl ReadPosition {
    /// Begins a chunk, with the time and the thread from the chunk's header.
    pub fn begin(&mut self, start: u64, running: u32) {
        self.words = 0;
        self.epoch = record::epoch(start);
        self.is_switched |= self.running != running;
        self.running = running;
    }

    /// Reads records of the current chunk up to the limits, or until the sink is full. Returns the
    /// time of the next record, or `None` if there is none yet.
    #[inline]
    pub fn read(&mut self, words: &[u64], limits: Limits, sink: &mut impl Sink) -> Option<u64> {
        self.read_with(words, limits, &mut Nothing, sink)
    }

    /// Like [`Self::read`], with the pieces that a follower found in the words beforehand.
    #[inline]
    pub fn read_with(
        &mut self,
        words: &[u64],
        mut limits: Limits,
        ahead: &mut impl Ahead,
        sink: &mut impl Sink,
    ) -> Option<u64> {
        let mut position = self.words;
        while let Some(&word) = words.get(position) {
            if sink.is_full() {
                limits = Limits::NOTHING;
            }
            // Earlier records of this virtual thread may be in another carrier's buffer. Those
            // records come first.
            let calls = match self.is_switched {
                true => limits.others,
                false => limits.calls,
            };
            if record::is_call(word)
                && let Some(run) = Run::new(&words[position..], self.epoch, calls)
            {
                let (piece, more) = ahead.at(position);
                let words = match more {
                    Some(more) => &run.words[..run.words.len().min(more - position)],
                    None => run.words,
                };
                let taken = sink.run(
                    self.running,
                    Run {
                        words,
                        piece,
                        ..run
                    },
                );
                position += taken.words;
                if taken.words > 0 {
                    self.is_switched = false;
                    continue;
                }
            }
            let time = record::time(word, self.epoch);
            let kind = record::kind(word);
            let limit = match kind {
                Some(Kind::Coded(Code::Time)) => u64::MAX, // the next record's time depends on it
                // Marks of constructors concern their own thread only, as calls do.
                Some(
                    Kind::Enter(_)
                    | Kind::Leave(_)
                    | Kind::Coded(Code::LeaveByException | Code::SuperCall | Code::SuperReturned),
                ) => calls,
                Some(Kind::Coded(_)) | None => limits.others,
            };
            if time > limit {
                self.words = position;
                return Some(time);
            }
            self.is_switched &= kind == Some(Kind::Coded(Code::Time));
            position += 1;
            match kind {
                Some(Kind::Enter(method)) => sink.enter(self.running, time, method),
                Some(Kind::Leave(method)) => sink.leave(self.running, time, method),
                Some(Kind::Coded(code)) => {
                    // A record is published as a whole, so its payload is complete.
                    let first = words.get(position).copied().unwrap_or_default();
                    let end = code.words(first).map(|count| position + count);
                    let Some(payload) = end.and_then(|end| words.get(position..end)) else {
                        sink.unreadable();
                        continue;
                    };
                    position += payload.len();
                    match code {
                        Code::Time => self.epoch = record::epoch(first),
                        Code::Running => self.running = first as u32,
                        Code::Lost => {
                            let lost = self.lost(payload);
                            sink.coded(self.running, time, code, &lost);
                        }
                        _ => sink.coded(self.running, time, code, payload),
                    }
                }
                None => sink.unreadable(),
            }
        }
        self.words = position;
        None
    }

    /// Returns the payload of a [`Code::Lost`] record for a sink. The fourth word is the number of
    /// its lost events that an earlier trace has reported.
    fn lost(&mut self, payload: &[u64]) -> [u64; 4] {
        let &[calls, others, open] = payload else {
            return [0; 4]; // the code has three words
        };
        let all = record::lost_parts(calls).0;
        let all = all.saturating_add(others).saturating_add(open);
        let reported = all.min(self.reported_lost);
        self.reported_lost -= reported;
        [calls, others, open, reported]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the thread and time of each enter.
    #[derive(Default)]
    struct Begun(Vec<(u32, u64)>);

    impl Sink for Begun {
        fn enter(&mut self, thread: u32, time: u64, _: u32) {
            self.0.push((thread, time));
        }
        fn leave(&mut self, _: u32, _: u64, _: u32) {}
        fn coded(&mut self, _: u32, _: u64, _: Code, _: &[u64]) {}
    }

    /// A chunk's header may name another thread. Then the first record of that thread waits for all
    /// earlier records of other threads.
    #[test]
    fn another_threads_records_begin_in_the_order_of_time() {
        let call = |time| record::word(time, record::enter(0));
        let (mut place, mut begun) = (ReadPosition::default(), Begun::default());
        let ahead = |others| Limits { calls: 100, others };
        place.begin(1, 7);
        let words = [call(10), call(20)];
        for _ in 0..2 {
            assert_eq!(place.read(&words, ahead(5), &mut begun), Some(10));
            place.begin(1, 7); // no record was read
        }
        assert_eq!(begun.0, []);
        assert_eq!(place.read(&words, ahead(10), &mut begun), None);
        assert_eq!(begun.0, [(7, 10), (7, 20)]);
        // The same thread continues in the next chunk, so its calls may be ahead of other threads.
        place.begin(30, 7);
        assert_eq!(place.read(&[call(30)], ahead(25), &mut begun), None);
        place.begin(40, 8);
        let words = [call(40), call(50)];
        assert_eq!(place.read(&words, ahead(35), &mut begun), Some(40));
        assert_eq!(place.read(&words, ahead(40), &mut begun), None);
        assert_eq!(begun.0[2..], [(7, 30), (8, 40), (8, 50)]);
    }
}
