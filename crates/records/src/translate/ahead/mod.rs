//! Runs of calls that somebody else has followed before the translator comes to them.
//!
//! A [`Follower`] goes through words as a run does, and keeps what it finds in *pieces*, each of
//! which is what a run would take in at once. It joins pieces in a row: to take one costs the
//! translator more than a step does, and most calls that a piece ends were begun by the piece
//! before it. A follower knows neither the thread's stack nor up to when records are read, nor
//! whether the word that it begins with is a record's first one. So a piece is a proposal: the
//! translator takes it where a run begins with its first word, all of it may be read and its ends
//! are those of the thread's calls. Else it does what it would do without.

mod follower;
mod joining;
#[cfg(test)]
mod tests;

use super::calls::Call;
use super::methods::KnownMethods;
use super::runs::{Steps, View};
use crate::read::{Ahead, Run, Taken};
use crate::record;
pub use follower::Follower;
use jtrail_model::{KeptRun, KeptSteps, Timestamp};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What was found in some words: pieces, in order.
#[derive(Default)]
pub struct Followed {
    pieces: Vec<Parts>,
    /// Those in a row, as one.
    joined: Vec<Parts>,
    /// How many pieces, and how many of the joined ones, begin before the position that was asked
    /// for last.
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

/// Where a piece has its parts among those of all. Many of them are looked at, so it is small.
#[derive(Clone, Copy)]
struct Parts {
    /// Position of its first word.
    first: u32,
    words: u32,
    records: u32,
    /// The first word of its last record.
    last: u64,
    /// How many ticks the latest of its words is behind the first one.
    span: u64,
    steps: Slice,
    /// None where the clock stood still.
    times: Slice,
    open: Slice,
    /// As the times.
    starts: Slice,
    ended: Slice,
}

impl Parts {
    /// Position of the first word behind it.
    fn end(&self) -> u32 {
        self.first + self.words
    }
}

/// Some that are in a row among others.
#[derive(Clone, Copy)]
struct Slice {
    first: u32,
    count: u16,
}

impl Slice {
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

/// What a run takes in at once.
#[derive(Clone, Copy)]
pub struct Piece<'f> {
    followed: &'f Followed,
    parts: &'f Parts,
    /// This piece and those behind it as one; the run may not have all of that.
    joined: Option<&'f Parts>,
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

impl<'f> Piece<'f> {
    /// What a run takes in at once, if it may have all of it.
    #[inline]
    pub(super) fn view(self, run: &Run<'_>, known: &KnownMethods) -> Option<View<'f>> {
        let Self {
            followed, joined, ..
        } = self;
        let may_have = |parts: &&Parts| parts.span <= record::tick(run.most);
        let parts = joined
            .filter(may_have)
            .or(Some(self.parts).filter(may_have))?;
        let is_same = followed.epoch == run.epoch && followed.known.is(known);
        is_same.then(|| View {
            taken: Taken {
                records: parts.records as usize,
                words: parts.words as usize,
                last: parts.last,
            },
            steps: &followed.kept.steps[parts.steps.range()],
            times: &followed.kept.times[parts.times.range()],
            open: &followed.open[parts.open.range()],
            starts: &followed.starts[parts.starts.range()],
            ended: &followed.ended[parts.ended.range()],
            kept: Some(KeptRun {
                among: &followed.kept,
                steps: parts.steps.first as usize,
                times: (parts.times.count > 0).then_some(parts.times.first as usize),
            }),
        })
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts;
        let words = parts.first..parts.first + parts.words;
        f.debug_tuple("Piece").field(&words).finish()
    }
}

impl Ahead for Followed {
    #[inline]
    fn at(&mut self, position: usize) -> (Option<Piece<'_>>, Option<usize>) {
        let is_passed = |parts: &&Parts| (parts.first as usize) < position;
        let count = |places: &[Parts]| places.iter().take_while(is_passed).count();
        self.passed += count(&self.pieces[self.passed..]);
        self.joined_passed += count(&self.joined[self.joined_passed..]);
        let followed = &*self;
        let is_here = |parts: &&Parts| parts.first as usize == position;
        match &followed.pieces[followed.passed..] {
            [parts, rest @ ..] if is_here(&parts) => {
                let joined = followed.joined.get(followed.joined_passed);
                let piece = Piece {
                    followed,
                    parts,
                    joined: joined.filter(is_here),
                };
                (Some(piece), first_of(rest))
            }
            rest => (None, first_of(rest)),
        }
    }
}

fn first_of(places: &[Parts]) -> Option<usize> {
    places.first().map(|parts| parts.first as usize)
}
