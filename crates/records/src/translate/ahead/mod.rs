//! Runs of calls that a follower goes through before the translator reaches them.
//!
//! A [`Follower`] goes through words like the loop of [`super::runs`], and keeps the results in
//! *pieces*. The translator takes a piece at once. The follower joins adjacent pieces, because
//! taking a piece costs the translator more than a step. Besides, most calls that end in a piece
//! began in the preceding piece.
//!
//! A follower does not know three things: the thread's stack, the limit up to which records are
//! read, and whether its first word begins a record. So a piece is a proposal. The translator takes
//! the piece if a run begins with the piece's first word, and all words of the piece may be read.
//! Besides, the calls that end in the piece must be the thread's innermost ones. Otherwise the
//! translator follows the words itself.

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

/// Results of a follower for some words: pieces, in order.
#[derive(Default)]
pub struct Followed {
    pieces: Vec<Parts>,
    /// Joined pieces.
    joined: Vec<Parts>,
    /// Number of pieces that begin before the last requested position.
    passed: usize,
    /// Number of joined pieces that begin before the last requested position.
    joined_passed: usize,
    /// Steps of all pieces.
    kept: Arc<KeptSteps>,
    /// For all pieces: the calls that begin in a piece and are open at its end.
    open: Vec<Call>,
    /// Start times of these calls.
    starts: Vec<Timestamp>,
    /// For all pieces: the methods of the calls that end in a piece and began before it.
    ended: Vec<u32>,
    /// Epoch of the words.
    epoch: u64,
    /// The states of methods that the follower used.
    known: KnownMethods,
    room: Box<Steps>,
}

/// Positions of a piece's parts in the vectors of [`Followed`]. The type is small, because many of
/// its values are searched.
#[derive(Clone, Copy)]
struct Parts {
    /// Position of the piece's first word.
    first: u32,
    words: u32,
    records: u32,
    /// First word of the piece's last record.
    last: u64,
    /// Ticks between the piece's first word and its latest one.
    span: u64,
    steps: Slice,
    /// Empty if the clock stood still.
    times: Slice,
    open: Slice,
    /// Empty if the clock stood still.
    starts: Slice,
    ended: Slice,
}

impl Parts {
    /// Returns the position of the first word after the piece.
    fn end(&self) -> u32 {
        self.first + self.words
    }
}

/// A range of elements of a vector.
#[derive(Clone, Copy)]
struct Slice {
    first: u32,
    count: u16,
}

impl Slice {
    /// Appends elements to `all`, and returns their range.
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

/// A piece: steps that the translator can take at once.
#[derive(Clone, Copy)]
pub struct Piece<'f> {
    followed: &'f Followed,
    parts: &'f Parts,
    /// This piece joined with the following ones. Some of their words may be too late for the run.
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
    /// Returns the joined pieces if the run may take them all, otherwise the single piece. Returns
    /// `None` if not even the single piece may be taken.
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
