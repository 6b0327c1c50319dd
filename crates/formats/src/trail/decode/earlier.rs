//! Versions 1 and 2 of the format, which encode events by prediction, and equal times by one byte
//! each.
//!
//! Events of a thread repeat: after the same few events, the same event will probably follow again.
//! A table of predictions is indexed by a hash of the last events. A bit for each event says
//! whether the prediction was right. If it was wrong, a number gives the event. Decoding yields the
//! same tokens as in version 3.

use crate::trail::columns::COLUMNS;
use crate::trail::symbols::{LEAVE, Symbol, meaning};
use crate::trail::value::Bytes;

const BITS: u32 = 15;
/// Number of bits by which each event shifts the hash of the preceding ones. The hash thus covers
/// three events.
const SHIFT: u32 = 5;

/// The last events of a thread, and the symbols of the open calls that began in this segment.
#[derive(Clone, Debug, Default)]
struct History {
    before: u32,
    open: Vec<u32>,
}

impl History {
    fn push(&mut self, what: u32) {
        let mixed = what.wrapping_mul(0x9e37_79b1) >> (32 - BITS);
        self.before = (self.before << SHIFT ^ mixed) & ((1 << BITS) - 1);
    }

    fn follow(&mut self, symbol: u32, meaning: Option<Symbol>) {
        const ENTER: u8 = crate::trail::record::METHOD_ENTER;
        const LEAVE: u8 = crate::trail::record::METHOD_LEAVE;
        match meaning {
            Some(Symbol::Enter { .. } | Symbol::Record(ENTER)) => {
                self.open.push(symbol);
                self.push(symbol << 1);
            }
            None | Some(Symbol::LeaveByException | Symbol::Record(LEAVE)) => {
                let began_by = self.open.pop().unwrap_or_default();
                self.push(began_by << 1 | 1);
            }
            Some(Symbol::Record(_)) => self.push(symbol << 1),
        }
    }
}

/// Rearranges the columns of a segment to those of version 3, except for the tokens. Columns that
/// earlier versions lack become empty. Returns the columns of hits and misses.
pub(super) fn columns(columns: &mut [Vec<u8>; COLUMNS]) -> [Vec<u8>; 2] {
    let [_, symbols, runs, hits, misses, ..] = columns;
    let (symbols, runs) = (std::mem::take(symbols), std::mem::take(runs));
    let reported = [std::mem::take(hits), std::mem::take(misses)];
    let [_, _, symbols_now, runs_now, ..] = columns;
    (*symbols_now, *runs_now) = (symbols, runs);
    reported
}

/// Reads tokens up to the first malformed one. `threads` is the number of threads. Returns `None`
/// if anything is malformed. The runs must have exactly `events` events together.
pub(super) fn tokens(
    [hits, misses]: &[Vec<u8>; 2],
    runs: &[u8],
    threads: usize,
    events: u32,
    symbols: &[Symbol],
    into: &mut Vec<u32>,
) -> Option<()> {
    into.clear();
    let (mut runs, mut misses) = (Bytes(runs), Bytes(misses));
    let mut predicted = vec![LEAVE; 1 << BITS];
    let mut histories = vec![History::default(); threads];
    while into.len() < events as usize {
        let history = histories.get_mut(runs.small::<usize>()?)?;
        for _ in 0..runs.number()? {
            let at = into.len();
            if at == events as usize {
                return None;
            }
            let is_hit = hits.get(at / 8)? >> (at % 8) & 1 != 0;
            let next = &mut predicted[history.before as usize];
            if !is_hit {
                *next = misses.small()?;
            }
            let symbol = *next;
            let stands_for = meaning(symbols, symbol);
            if symbol != LEAVE && stands_for.is_none() {
                return None;
            }
            history.follow(symbol, stands_for);
            into.push(symbol);
        }
    }
    Some(())
}
