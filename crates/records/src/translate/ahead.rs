//! Runs of calls that somebody else has followed before the translator comes to them.
//!
//! A [`Follower`] goes through words as a run does, and keeps what it finds in *pieces*, each of which is what a run would take in at once. It joins pieces in a row: to take
//! one costs the translator more than a step does, and most calls that a piece ends were begun by the piece before it. A follower knows neither the
//! thread's stack nor up to when records are read, nor whether the word that it begins with is a record's first one. So a piece is a proposal: the translator takes
//! it where a run begins with its first word, all of it may be read and its ends are those of the thread's calls. Else it does what it would do without.

use super::Translator;
use super::calls::Call;
use super::methods::KnownMethods;
use super::runs::{MOST_STEPS, PIECE_STEPS, Steps, View};
use crate::read::{Ahead, Run, Taken};
use crate::record::{self, Code, Kind};
use crate::timeline::Timeline;
use jtrail_model::{KeptRun, KeptSteps, Timestamp};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Follows calls ahead of a translator, on any thread.
#[derive(Clone)]
pub struct Follower {
    known: KnownMethods,
    timeline: Timeline,
}

/// What was found in some words: pieces, in order.
#[derive(Default)]
pub struct Followed {
    pieces: Vec<Place>,
    /// Those in a row, as one.
    joined: Vec<Place>,
    /// How many pieces, and how many of the joined ones, begin before the position that was asked for last.
    passed: usize,
    joined_passed: usize,
    /// The steps of all pieces, and their calls that are open, and that ended and began before.
    kept: Arc<KeptSteps>,
    open: Vec<Call>,
    starts: Vec<Timestamp>,
    ended: Vec<u32>,
    /// Of the words.
    epoch: u64,
    /// What was known of methods.
    known: KnownMethods,
    room: Box<Steps>,
}

/// A piece, by where it has its parts among those of all. Many of them are looked at, so it is small.
#[derive(Clone, Copy)]
struct Place {
    /// Position of its first word.
    first: u32,
    words: u32,
    records: u32,
    /// The first word of its last record.
    last: u64,
    /// The largest difference between one of its words and the first one's time.
    span: u64,
    steps: Part,
    /// None where the clock stood still.
    times: Part,
    open: Part,
    /// As the times.
    starts: Part,
    ended: Part,
}

impl Place {
    /// Position of the first word behind it.
    fn behind(&self) -> u32 {
        self.first + self.words
    }
}

/// Where some are among others.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    count: u16,
}

impl Part {
    /// Appends all of them.
    fn of<T>(more: impl Iterator<Item = T>, all: &mut Vec<T>) -> Self {
        let first = all.len();
        all.extend(more);
        Self {
            first: first as u32,
            count: (all.len() - first) as u16,
        }
    }

    #[inline]
    fn range(self) -> Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.count)
    }
}

/// Most pieces of words that are followed at once, which bounds their memory. Where there are more, following gains nothing.
const MOST_PIECES: usize = 512;

/// What a run takes in at once.
#[derive(Clone, Copy)]
pub struct Piece<'f> {
    followed: &'f Followed,
    place: &'f Place,
    /// This piece and those behind it as one; the run may not have all of that.
    joined: Option<&'f Place>,
}

impl Translator {
    /// Somebody who follows calls ahead; none where it would be of no use.
    pub fn follower(&self) -> Option<Follower> {
        let is_of_use = !self.is_silent && self.paused.is_none() && !self.settings.aggregate;
        is_of_use.then(|| Follower {
            known: self.known.clone(),
            timeline: self.timeline,
        })
    }
}

impl Follower {
    /// Follows the words of a range of a chunk's. `epoch` is that of the chunk's begin. What was found in other words is over.
    pub fn follow(&self, words: &[u64], range: Range<usize>, epoch: u64, into: &mut Followed) {
        let mut position = range.start;
        let words = &words[..range.end.min(words.len())];
        let mut kept = KeptSteps::default();
        kept.steps.reserve_exact(range.len());
        into.begin(&self.known, epoch);
        while let Some(&word) = words.get(position)
            && into.pieces.len() < MOST_PIECES
        {
            if record::is_call(word) {
                let taken = self.piece(words, position, into, &mut kept);
                position += taken.max(1);
                continue;
            }
            position += 1;
            if let Some(Kind::Coded(code)) = record::kind(word) {
                let first = words.get(position).copied().unwrap_or_default();
                position += code.words(first).unwrap_or_default();
                if code == Code::Time {
                    into.epoch = record::epoch(first);
                    into.pieces.clear(); // they are of another epoch
                }
            }
        }
        kept.steps.shrink_to_fit();
        kept.times.shrink_to_fit();
        into.kept = Arc::new(kept);
        into.join(words);
    }

    /// Adds the piece that begins there, if there is one. How many words it has.
    fn piece(
        &self,
        words: &[u64],
        first: usize,
        into: &mut Followed,
        kept: &mut KeptSteps,
    ) -> usize {
        let Some(run) = Run::new(&words[first..], into.epoch, u64::MAX) else {
            return 0;
        };
        let Some(time_of) = self.timeline.times_from(run.time(words[first])) else {
            return 0;
        };
        let room = &mut *into.room;
        room.take(run, PIECE_STEPS, &self.known);
        let span = room.span();
        room.set_times(Timestamp(time_of(0)), time_of);
        let view = room.view();
        if !view.steps.is_empty() {
            into.pieces.push(Place {
                first: first as u32,
                words: view.taken.words as u32,
                records: view.taken.records as u32,
                last: view.taken.last,
                span,
                steps: Part::of(view.steps.iter().copied(), &mut kept.steps),
                times: Part::of(view.times.iter().copied(), &mut kept.times),
                open: Part::of(view.open.iter().copied(), &mut into.open),
                starts: Part::of(view.times_of_open(), &mut into.starts),
                ended: Part::of(view.ended.iter().copied(), &mut into.ended),
            });
        }
        view.taken.words
    }
}

impl Followed {
    fn begin(&mut self, known: &KnownMethods, epoch: u64) {
        self.pieces.clear();
        self.joined.clear();
        self.joined_passed = 0;
        self.open.clear();
        self.starts.clear();
        self.ended.clear();
        (self.passed, self.epoch) = (0, epoch);
        if !self.known.is(known) {
            self.known = known.clone();
        }
    }
}

/// Pieces in a row, as one.
struct Joining {
    place: Place,
    /// The first word's time.
    stamp: u64,
    open: Vec<Call>,
    starts: Vec<Timestamp>,
    ended: Vec<u32>,
}

impl Followed {
    /// Joins pieces in a row.
    fn join(&mut self, words: &[u64]) {
        let mut first = 0;
        while first < self.pieces.len() {
            let mut behind = first + 1;
            let is_alone = |next: &Place| next.first != self.pieces[first].behind();
            if self.pieces.get(behind).is_none_or(is_alone) {
                first = behind;
                continue;
            }
            let mut all = Joining::new(self, words, first);
            while behind < self.pieces.len() && all.add(self, words, behind) {
                behind += 1;
            }
            if behind > first + 1 {
                self.joined.push(Place {
                    open: Part::of(all.open.into_iter(), &mut self.open),
                    starts: Part::of(all.starts.into_iter(), &mut self.starts),
                    ended: Part::of(all.ended.into_iter(), &mut self.ended),
                    ..all.place
                });
            }
            first = behind;
        }
    }
}

impl Joining {
    fn new(of: &Followed, words: &[u64], first: usize) -> Self {
        let place = of.pieces[first];
        Self {
            place,
            stamp: record::stamp(words[place.first as usize]),
            open: of.open[place.open.range()].to_vec(),
            starts: of.starts[place.starts.range()].to_vec(),
            ended: of.ended[place.ended.range()].to_vec(),
        }
    }

    /// Adds the next piece, if it goes on where these end; whether it does.
    fn add(&mut self, of: &Followed, words: &[u64], number: usize) -> bool {
        let (all, next) = (&mut self.place, of.pieces[number]);
        let steps = usize::from(all.steps.count);
        if all.behind() != next.first || steps + next.steps.range().len() > MOST_STEPS {
            return false;
        }
        let stamp = record::stamp(words[next.first as usize]);
        let Some(later) = stamp.checked_sub(self.stamp) else {
            return false;
        };
        // The clock stood still in both, or moved in both.
        let goes_on = match (all.times.count, next.times.count) {
            (0, 0) => later == 0,
            (0, _) | (_, 0) => false,
            _ => {
                of.kept.times[next.times.range().start] >= of.kept.times[all.times.range().end - 1]
            }
        };
        let ended = &of.ended[next.ended.range()];
        let mut innermost = self.open.iter().rev().zip(ended);
        if !goes_on || !innermost.all(|(call, method)| call.low() == *method) {
            return false;
        }
        let left = self.open.len().saturating_sub(ended.len());
        let outer = &ended[ended.len().min(self.open.len())..];
        self.ended.extend_from_slice(outer);
        self.open.truncate(left);
        self.starts.truncate(left);
        let open = of.open[next.open.range()].iter();
        self.open.extend(open.map(|call| call.later(steps as u32)));
        self.starts
            .extend_from_slice(&of.starts[next.starts.range()]);
        all.words += next.words;
        all.records += next.records;
        all.last = next.last;
        all.span = all.span.max(later.saturating_add(next.span));
        all.steps.count += next.steps.count;
        all.times.count += next.times.count;
        true
    }
}

impl<'f> Piece<'f> {
    /// What a run takes in at once, if it may have all of it.
    #[inline]
    pub(super) fn view(self, run: &Run<'_>, known: &KnownMethods) -> Option<View<'f>> {
        let Self {
            followed, joined, ..
        } = self;
        let may_have = |place: &&Place| place.span <= run.most;
        let place = joined
            .filter(may_have)
            .or(Some(self.place).filter(may_have))?;
        let is_same = followed.epoch == run.epoch && followed.known.is(known);
        is_same.then(|| View {
            taken: Taken {
                records: place.records as usize,
                words: place.words as usize,
                last: place.last,
            },
            steps: &followed.kept.steps[place.steps.range()],
            times: &followed.kept.times[place.times.range()],
            open: &followed.open[place.open.range()],
            starts: &followed.starts[place.starts.range()],
            ended: &followed.ended[place.ended.range()],
            kept: Some(KeptRun {
                among: &followed.kept,
                steps: place.steps.first as usize,
                times: (place.times.count > 0).then_some(place.times.first as usize),
            }),
        })
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place;
        let words = place.first..place.first + place.words;
        f.debug_tuple("Piece").field(&words).finish()
    }
}

impl Ahead for Followed {
    #[inline]
    fn at(&mut self, position: usize) -> (Option<Piece<'_>>, Option<usize>) {
        let is_passed = |place: &&Place| (place.first as usize) < position;
        let count = |places: &[Place]| places.iter().take_while(is_passed).count();
        self.passed += count(&self.pieces[self.passed..]);
        self.joined_passed += count(&self.joined[self.joined_passed..]);
        let followed = &*self;
        let is_here = |place: &&Place| place.first as usize == position;
        match &followed.pieces[followed.passed..] {
            [place, rest @ ..] if is_here(&place) => {
                let joined = followed.joined.get(followed.joined_passed);
                let piece = Piece {
                    followed,
                    place,
                    joined: joined.filter(is_here),
                };
                (Some(piece), first_of(rest))
            }
            rest => (None, first_of(rest)),
        }
    }
}

fn first_of(places: &[Place]) -> Option<usize> {
    places.first().map(|place| place.first as usize)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::announce::{ClassInfo, MethodInfo};
    use crate::read::Sink;
    use jtrail_classfile::SuperMarks;

    const THREAD: u32 = 1;

    /// A translator that has told of methods 1 to 4, of which 4 makes marks, and has a call of method 1 open.
    fn translator() -> Translator {
        let timeline = Timeline::new(0, 0, (1, 1));
        let mut translator = Translator::new(Translator::silent(), timeline, Settings::default());
        translator.add_class(ClassInfo::default());
        let method = |number| MethodInfo {
            number,
            marks: match number {
                4 => SuperMarks::Behind,
                _ => SuperMarks::None,
            },
            ..MethodInfo::default()
        };
        translator.add_methods(0, (1..=5).map(method).collect());
        for method in 1..=4 {
            translator.enter(THREAD, 1, method);
        }
        for method in [4, 3, 2] {
            translator.leave(THREAD, 1, method);
        }
        translator
    }

    fn enter(time: u64, method: u32) -> u64 {
        record::word(time, record::enter(method))
    }

    fn leave(time: u64, method: u32) -> u64 {
        record::word(time, record::leave(method))
    }

    /// How many words a run takes in that begins there and has no more than its first word to look at by itself.
    fn taken(
        translator: &mut Translator,
        words: &[u64],
        first: usize,
        followed: &mut Followed,
        limit: u64,
    ) -> usize {
        let run = Run::new(&words[first..], 0, limit).expect("in time");
        let (piece, _) = followed.at(first);
        let words = &run.words[..1];
        translator
            .run(
                THREAD,
                Run {
                    words,
                    piece,
                    ..run
                },
            )
            .words
    }

    fn followed(translator: &Translator, words: &[u64], from: usize) -> Followed {
        let mut followed = Followed::default();
        let follower = translator.follower().expect("it is of use");
        follower.follow(words, from..words.len(), 0, &mut followed);
        followed
    }

    #[test]
    fn a_piece_is_taken_as_a_whole() {
        let mut translator = translator();
        let mark = record::word(11, record::coded(Code::SuperReturned));
        // Two calls, one of which makes its mark, and the end of the one that is open.
        let words = [
            enter(10, 2),
            enter(10, 4),
            mark,
            4,
            leave(12, 4),
            leave(13, 2),
            leave(14, 1),
        ];
        let mut found = followed(&translator, &words, 0);
        assert_eq!(taken(&mut translator, &words, 0, &mut found, 14), 7);
        let totals = translator.totals_so_far();
        assert_eq!((totals.enters, totals.leaves, totals.repaired), (6, 6, 0));
    }

    /// Without it, a run takes in the one word that it has.
    #[test]
    fn a_piece_that_does_not_fit_is_left() {
        let words = [enter(10, 2), leave(10, 2), leave(12, 1)];
        // Not all of it may be read.
        let mut late = translator();
        let mut found = followed(&late, &words, 0);
        assert_eq!(taken(&mut late, &words, 0, &mut found, 11), 1);
        // Another call is open.
        let mut other = translator();
        let mut found = followed(&other, &words, 0);
        other.enter(THREAD, 9, 3);
        assert_eq!(taken(&mut other, &words, 0, &mut found, 12), 1);
        // The thread's time is behind its begin.
        let mut behind = translator();
        let mut found = followed(&behind, &words, 0);
        behind.enter(THREAD, 11, 3);
        behind.leave(THREAD, 11, 3);
        assert_eq!(taken(&mut behind, &words, 0, &mut found, 12), 1);
        // What is known of a method changed.
        let mut changed = translator();
        let mut found = followed(&changed, &words, 0);
        let info = MethodInfo {
            number: 2,
            marks: SuperMarks::Around,
            ..MethodInfo::default()
        };
        changed.add_methods(0, vec![info]);
        assert_eq!(taken(&mut changed, &words, 0, &mut found, 12), 1);
        // It is of another epoch, and the thread's time is that of its begin there.
        let mut earlier = translator();
        let mut found = Followed::default();
        let follower = earlier.follower().expect("it is of use");
        follower.follow(&words, 0..3, 1, &mut found);
        earlier.enter(THREAD, 1 << record::TIME_BITS | 10, 3);
        earlier.leave(THREAD, 1 << record::TIME_BITS | 10, 3);
        assert_eq!(taken(&mut earlier, &words, 0, &mut found, 12), 1);
        // And all is well.
        let mut same = translator();
        let mut found = followed(&same, &words, 0);
        same.enter(THREAD, 9, 5); // the trace is told of a method
        same.leave(THREAD, 9, 5);
        assert_eq!(taken(&mut same, &words, 0, &mut found, 12), 3);
    }

    /// Pieces in a row are one, and each of them is one if not all may be read.
    #[test]
    fn pieces_in_a_row_are_joined() {
        const DEEP: u32 = 1500;
        for moves in [0, 1] {
            // Calls of method 2 in each other, and their ends, three times over; at last, that of the call that is open.
            let mut words = Vec::new();
            let mut now = 10;
            for _ in 0..3 {
                for at in 0..2 * DEEP {
                    words.push(match at < DEEP {
                        true => enter(now, 2),
                        false => leave(now, 2),
                    });
                    now += moves;
                }
            }
            words.truncate(words.len() - 10);
            let count = words.len();
            let mut translator = translator();
            let mut found = followed(&translator, &words, 0);
            assert_eq!(found.pieces.len(), count.div_ceil(PIECE_STEPS));
            let joined: Vec<u32> = found.joined.iter().map(|place| place.words).collect();
            assert_eq!(joined, [MOST_STEPS as u32; 2]); // and one by itself
            let mut position = 0;
            if moves > 0 {
                // Up to the middle of the second piece.
                let limit = record::tick(words[PIECE_STEPS + 500]);
                let words_taken = taken(&mut translator, &words, 0, &mut found, limit);
                assert_eq!(words_taken, PIECE_STEPS);
                position = PIECE_STEPS;
            }
            for _ in 0..9 {
                if position < count {
                    position += taken(&mut translator, &words, position, &mut found, now);
                }
            }
            assert_eq!(position, count);
            let totals = translator.totals_so_far();
            let all = u64::from(3 * DEEP);
            assert_eq!((totals.enters, totals.leaves), (4 + all, 3 + all - 10));
            let open = translator.threads[&THREAD].calls.iter();
            let open: Vec<(u32, u32)> = open.map(|call| (call.method(), call.ticket())).collect();
            let mut expected = vec![(1, 1)];
            expected.extend((0..10).map(|at| (2, 5 + 2 * DEEP + at)));
            assert_eq!(open, expected);
        }
    }

    /// A clock that ticks moves between pieces, too.
    #[test]
    fn pieces_of_other_times_are_not_joined() {
        let mut translator = translator();
        let mut words = vec![enter(50, 2); PIECE_STEPS];
        words.extend_from_slice(&[enter(90, 2); 10]);
        let mut found = followed(&translator, &words, 0);
        assert_eq!((found.pieces.len(), found.joined.len()), (2, 0));
        let all = taken(&mut translator, &words, 0, &mut found, 90);
        assert_eq!(all, PIECE_STEPS);
        assert_eq!(taken(&mut translator, &words, all, &mut found, 90), 10);
        assert_eq!(translator.threads[&THREAD].last, Timestamp(90));
    }

    /// It is followed again behind what no run takes in, and behind a begin in the middle of a record.
    #[test]
    fn pieces_begin_where_runs_do() {
        let translator = translator();
        let coded = |code| record::word(11, record::coded(code));
        let words = [
            enter(10, 2),
            coded(Code::Caught),
            1 << 1,
            leave(12, 2),
            enter(13, 5), // the trace was not told of it
            enter(13, 2),
            coded(Code::Time),
            1 << record::TIME_BITS,
            enter(14, 3),
        ];
        let firsts = |from| {
            let found = followed(&translator, &words, from);
            let firsts = found.pieces.iter().map(|place| place.first);
            (firsts.collect::<Vec<_>>(), found.epoch)
        };
        // Behind the record of a time, those before it are of no use.
        assert_eq!(firsts(0), (vec![8], 1));
        let mut found = Followed::default();
        let follower = translator.follower().expect("it is of use");
        for (from, expected) in [(0, vec![0, 3, 5]), (2, vec![2, 3, 5]), (3, vec![3, 5])] {
            follower.follow(&words, from..6, 0, &mut found);
            let firsts: Vec<_> = found.pieces.iter().map(|place| place.first).collect();
            assert_eq!(firsts, expected, "{from}");
        }
        // What is asked for, in order.
        follower.follow(&words, 0..6, 0, &mut found);
        let mut at = |position| {
            let (piece, more) = found.at(position);
            (piece.map(|piece| piece.place.first), more)
        };
        assert_eq!(at(0), (Some(0), Some(3)));
        assert_eq!(at(1), (None, Some(3)));
        assert_eq!(at(3), (Some(3), Some(5)));
        assert_eq!(at(4), (None, Some(5)));
        assert_eq!(at(5), (Some(5), None));
        assert_eq!(at(6), (None, None));
    }
}
