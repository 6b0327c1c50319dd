//! The words of a buffer, read in order.

use crate::record::{self, Code, Kind};
pub use crate::translate::Piece;
use serde::{Deserialize, Serialize};

/// What records are handed to.
pub trait Sink {
    /// A call of `method` begins at tick `time`.
    fn enter(&mut self, thread: u32, time: u64, method: u32);
    /// A call of `method` returns.
    fn leave(&mut self, thread: u32, time: u64, method: u32);
    /// A record of another kind, with its payload; that of [`Code::Lost`] has one more word: how
    /// much of it was told before.
    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]);

    /// There is a word that no version of jtrail writes.
    fn unreadable(&mut self) {
        debug_assert!(false, "a word that nobody writes");
    }

    /// Whether it takes no more for now. Asked behind each thing that it took.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes the first records of a run, as many as go a faster way than one by one.
    fn run(&mut self, _thread: u32, _run: Run<'_>) -> Taken {
        Taken::default()
    }
}

/// The first records of a run, which were taken.
#[derive(Clone, Copy, Default, Debug)]
pub struct Taken {
    /// How many there are.
    pub records: usize,
    /// And so many words of them.
    pub words: usize,
    /// The first word of the last one.
    pub last: u64,
}

/// For looking at the next record only: with a limit of 0 nothing is handed out.
#[derive(Debug)]
pub struct Nothing;

impl Sink for Nothing {
    fn enter(&mut self, _: u32, _: u64, _: u32) {}
    fn leave(&mut self, _: u32, _: u64, _: u32) {}
    fn coded(&mut self, _: u32, _: u64, _: Code, _: &[u64]) {}
}

/// What was found in the words beforehand, by somebody who followed them.
pub trait Ahead {
    /// The piece that begins at that position, and where the next one begins. Positions never fall.
    fn at(&mut self, position: usize) -> (Option<Piece<'_>>, Option<usize>);
}

/// Nobody followed them.
impl Ahead for Nothing {
    fn at(&mut self, _: usize) -> (Option<Piece<'_>>, Option<usize>) {
        (None, None)
    }
}

/// Words of one thread, the first of which is an enter or a leave by return.
#[derive(Clone, Copy, Debug)]
pub struct Run<'w> {
    /// The words from the first one on, up to where the next piece begins. Records of other kinds
    /// may be among them.
    pub words: &'w [u64],
    /// What somebody found in them beforehand.
    pub piece: Option<Piece<'w>>,
    /// The first one's time, as a word. Subtracted from another word, it leaves the ticks between
    /// the two in place of the time.
    pub first: u64,
    /// The most that may then be left of a word that is read.
    pub(crate) most: u64,
    pub(crate) epoch: u64,
}

impl<'w> Run<'w> {
    /// None where the first word is later than is read.
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

    /// The time of one of the words.
    pub fn time(self, word: u64) -> u64 {
        record::time(word, self.epoch)
    }

    /// Whether a word is not before the first one, and not later than is read.
    #[inline(always)]
    pub fn is_in_time(self, word: u64) -> bool {
        word.wrapping_sub(self.first) <= self.most
    }
}

/// Up to which times records are read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Enters, leaves, and marks of constructors; not earlier than [`Self::others`].
    pub calls: u64,
    /// All else.
    pub others: u64,
}

impl Limits {
    /// Nothing is that early: for a look at the next record.
    pub const NOTHING: Self = Self::all(0);

    /// All records up to that time.
    pub const fn all(limit: u64) -> Self {
        Self {
            calls: limit,
            others: limit,
        }
    }
}

/// How far the chunks of one buffer are read.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct ReadPosition {
    /// Words read of the present chunk.
    pub words: usize,
    /// The thread that the next record belongs to.
    pub running: u32,
    /// It is another one than of the record before, and no record says so: the chunk's header did.
    /// A place that was kept does not tell.
    #[serde(skip, default = "may_be_switched")]
    is_switched: bool,
    epoch: u64,
    /// Events that an earlier trace has told as lost, before there is a record of it.
    pub reported_lost: u64,
}

fn may_be_switched() -> bool {
    true
}

impl ReadPosition {
    /// A chunk is begun, by what its header says: the time, and whose records come first.
    pub fn begin(&mut self, start: u64, running: u32) {
        self.words = 0;
        self.epoch = record::epoch(start);
        self.is_switched |= self.running != running;
        self.running = running;
    }

    /// Reads records of the present chunk up to some time, or until the sink is full, and returns
    /// the time of the next one; `None` where there is none yet.
    #[inline]
    pub fn read(&mut self, words: &[u64], limits: Limits, sink: &mut impl Sink) -> Option<u64> {
        self.read_with(words, limits, &mut Nothing, sink)
    }

    /// As [`Self::read`], with what somebody found in the words beforehand.
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
            // What a virtual thread did on another carrier comes first.
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
                Some(Kind::Coded(Code::Time)) => u64::MAX, // it tells what the next one's time is
                // How far a constructor came is of no interest to other threads either.
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
                    // A record is published as a whole, so its payload is there.
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

    /// What the sink gets of a [`Code::Lost`] record: its payload, and how much of it an earlier
    /// trace has told.
    fn lost(&mut self, payload: &[u64]) -> [u64; 4] {
        let &[calls, others, open] = payload else {
            return [0; 4]; // the code has so many words
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

    /// What was read: calls begin.
    #[derive(Default)]
    struct Begun(Vec<(u32, u64)>);

    impl Sink for Begun {
        fn enter(&mut self, thread: u32, time: u64, _: u32) {
            self.0.push((thread, time));
        }
        fn leave(&mut self, _: u32, _: u64, _: u32) {}
        fn coded(&mut self, _: u32, _: u64, _: Code, _: &[u64]) {}
    }

    /// A chunk's header may say whose records follow: then the first of them waits for all that is
    /// earlier.
    #[test]
    fn another_threads_records_begin_in_the_order_of_time() {
        let call = |time| record::word(time, record::enter(0));
        let (mut place, mut begun) = (ReadPosition::default(), Begun::default());
        let ahead = |others| Limits { calls: 100, others };
        place.begin(1, 7);
        let words = [call(10), call(20)];
        for _ in 0..2 {
            assert_eq!(place.read(&words, ahead(5), &mut begun), Some(10));
            place.begin(1, 7); // as nothing of it was read
        }
        assert_eq!(begun.0, []);
        assert_eq!(place.read(&words, ahead(10), &mut begun), None);
        assert_eq!(begun.0, [(7, 10), (7, 20)]);
        // The same thread goes on in the next chunk, and calls of it may be ahead.
        place.begin(30, 7);
        assert_eq!(place.read(&[call(30)], ahead(25), &mut begun), None);
        place.begin(40, 8);
        let words = [call(40), call(50)];
        assert_eq!(place.read(&words, ahead(35), &mut begun), Some(40));
        assert_eq!(place.read(&words, ahead(40), &mut begun), None);
        assert_eq!(begun.0[2..], [(7, 30), (8, 40), (8, 50)]);
    }
}
