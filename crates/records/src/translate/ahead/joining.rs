//! Joins adjacent pieces.

use super::{Followed, Parts, Slice};
use crate::record;
use crate::translate::calls::Call;
use crate::translate::runs::MAX_STEPS;
use jtrail_model::Timestamp;

/// Adjacent pieces, joined so far.
struct Joining {
    parts: Parts,
    /// The first word, with only its time bits set.
    stamp: u64,
    open: Vec<Call>,
    starts: Vec<Timestamp>,
    ended: Vec<u32>,
}

impl Followed {
    /// Joins adjacent pieces.
    pub(super) fn join(&mut self, words: &[u64]) {
        let mut first = 0;
        while first < self.pieces.len() {
            let mut next_piece = first + 1;
            let is_alone = |next: &Parts| next.first != self.pieces[first].end();
            if self.pieces.get(next_piece).is_none_or(is_alone) {
                first = next_piece;
                continue;
            }
            let mut all = Joining::new(self, words, first);
            while next_piece < self.pieces.len() && all.add(self, words, next_piece) {
                next_piece += 1;
            }
            if next_piece > first + 1 {
                self.joined.push(Parts {
                    open: Slice::of(all.open.into_iter(), &mut self.open),
                    starts: Slice::of(all.starts.into_iter(), &mut self.starts),
                    ended: Slice::of(all.ended.into_iter(), &mut self.ended),
                    ..all.parts
                });
            }
            first = next_piece;
        }
    }
}

impl Joining {
    fn new(of: &Followed, words: &[u64], first: usize) -> Self {
        let parts = of.pieces[first];
        Self {
            parts,
            stamp: record::stamp(words[parts.first as usize]),
            open: of.open[parts.open.range()].to_vec(),
            starts: of.starts[parts.starts.range()].to_vec(),
            ended: of.ended[parts.ended.range()].to_vec(),
        }
    }

    /// Adds the next piece if it continues the joined ones. Returns true if it does.
    fn add(&mut self, of: &Followed, words: &[u64], number: usize) -> bool {
        let (all, next) = (&mut self.parts, of.pieces[number]);
        let steps = usize::from(all.steps.count);
        if all.end() != next.first || steps + next.steps.range().len() > MAX_STEPS {
            return false;
        }
        let stamp = record::stamp(words[next.first as usize]);
        let Some(later) = stamp.checked_sub(self.stamp) else {
            return false;
        };
        // The clock must have stood still in both, or moved in both.
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
        all.span = all.span.max(record::tick(later) + next.span);
        all.steps.count += next.steps.count;
        all.times.count += next.times.count;
        true
    }
}
