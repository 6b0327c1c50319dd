//! Follows calls in words, and finds pieces.

use super::{Followed, Parts, Slice};
use crate::read::Run;
use crate::record::{self, Code, Kind};
use crate::timeline::Timeline;
use crate::translate::Translator;
use crate::translate::methods::KnownMethods;
use crate::translate::runs::PIECE_STEPS;
use jtrail_model::{KeptSteps, Timestamp};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of pieces that are found at once, which bounds their memory. With more, following
/// gains nothing.
const MAX_PIECES: usize = 512;

/// Follows calls ahead of a translator, on any thread.
#[derive(Clone)]
pub struct Follower {
    known: KnownMethods,
    timeline: Timeline,
}

impl Translator {
    /// Returns a follower for this translator, or `None` if following ahead would be useless.
    pub fn follower(&self) -> Option<Follower> {
        let is_of_use = !self.is_silent && self.paused.is_none() && !self.settings.aggregate;
        is_of_use.then(|| Follower {
            known: self.known.clone(),
            timeline: self.timeline,
        })
    }
}

impl Follower {
    /// Follows the words of a chunk in `range`. `epoch` is that of the chunk's start. Replaces the
    /// results in `into`.
    pub fn follow(&self, words: &[u64], range: Range<usize>, epoch: u64, into: &mut Followed) {
        let mut position = range.start;
        let words = &words[..range.end.min(words.len())];
        let mut kept = KeptSteps::default();
        kept.steps.reserve_exact(range.len());
        into.begin(&self.known, epoch);
        while let Some(&word) = words.get(position)
            && into.pieces.len() < MAX_PIECES
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
                    into.pieces.clear(); // earlier pieces are of another epoch
                }
            }
        }
        kept.steps.shrink_to_fit();
        kept.times.shrink_to_fit();
        into.kept = Arc::new(kept);
        into.join(words);
    }

    /// Adds the piece that begins at the word `first`, if there is one. Returns its number of
    /// words.
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
        let mut span = room.tick_of_last_mark();
        room.set_times(Timestamp(time_of(0)), |tick| {
            span = span.max(tick);
            time_of(tick)
        });
        let view = room.view();
        if !view.steps.is_empty() {
            if !view.times.is_empty() && kept.times.capacity() == 0 {
                kept.times.reserve_exact(words.len() - first);
            }
            into.pieces.push(Parts {
                first: first as u32,
                words: view.taken.words as u32,
                records: view.taken.records as u32,
                last: view.taken.last,
                span,
                steps: Slice::of(view.steps.iter().copied(), &mut kept.steps),
                times: Slice::of(view.times.iter().copied(), &mut kept.times),
                open: Slice::of(view.open.iter().copied(), &mut into.open),
                starts: Slice::of(view.times_of_open(), &mut into.starts),
                ended: Slice::of(view.ended.iter().copied(), &mut into.ended),
            });
        }
        view.taken.words
    }
}
