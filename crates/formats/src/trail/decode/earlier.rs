//! Versions 1 and 2: what happens is told by what was foreseen, and a time is a byte where it
//! stands still.
//!
//! A thread's events repeat: what followed the same few events before will follow them again. A
//! table remembers it by a hash of these few; a bit says that its entry was right, and a number
//! what was there if it was not. Reading that makes the tokens that version 3 has.

use crate::trail::columns::COLUMNS;
use crate::trail::symbols::{LEAVE, Symbol, meaning};
use crate::trail::value::Bytes;

const BITS: u32 = 15;
/// By how many bits an event moves those before it: three are seen.
const SHIFT: u32 = 5;

/// The last events of a thread, and the symbols by which its open calls began in this segment.
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

/// The columns of a segment as version 3 has them, but for the tokens: empty ones stand for what
/// there was not.
pub(super) fn columns(columns: &mut [Vec<u8>; COLUMNS]) -> [Vec<u8>; 2] {
    let [_, symbols, runs, hits, misses, ..] = columns;
    let (symbols, runs) = (std::mem::take(symbols), std::mem::take(runs));
    let reported = [std::mem::take(hits), std::mem::take(misses)];
    let [_, _, symbols_now, runs_now, ..] = columns;
    (*symbols_now, *runs_now) = (symbols, runs);
    reported
}

/// Reads tokens, as far as they are as they should be; `threads` is how many there are. `None`
/// where something is not. How many events there are, the runs tell.
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
    let mut foreseen = vec![LEAVE; 1 << BITS];
    let mut histories = vec![History::default(); threads];
    while into.len() < events as usize {
        let history = histories.get_mut(runs.small::<usize>()?)?;
        for _ in 0..runs.number()? {
            let at = into.len();
            if at == events as usize {
                return None;
            }
            let is_hit = hits.get(at / 8)? >> (at % 8) & 1 != 0;
            let next = &mut foreseen[history.before as usize];
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
