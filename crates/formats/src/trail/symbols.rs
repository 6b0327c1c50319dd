//! What happens next, as a small number, and how it is foreseen.
//!
//! A thread's events repeat: what followed the same few events before will follow them again. A table remembers it by a
//! hash of these few; writer and reader keep the same table.

/// The last call ends.
pub(super) const LEAVE: u16 = 0;
/// Most symbols of a segment.
pub(super) const MOST_SYMBOLS: usize = 60_000;

const BITS: u32 = 15;
/// By how many bits an event moves those before it: three are seen.
const SHIFT: u32 = 5;

/// The last events of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History(u32);

impl History {
    /// A call of that symbol began, or an event of another kind happened.
    #[inline]
    pub(super) fn enter(&mut self, symbol: u16) {
        self.push(u32::from(symbol) << 1);
    }

    /// A call of that symbol ended.
    #[inline]
    pub(super) fn leave(&mut self, symbol: u16) {
        self.push(u32::from(symbol) << 1 | 1);
    }

    /// A call begins, of that symbol, or ends, that began with it.
    #[inline(always)]
    pub(super) fn call(&mut self, symbol: u16, ends: bool) {
        self.push(u32::from(symbol) << 1 | u32::from(ends));
    }

    /// What followed it last.
    #[inline(always)]
    pub(super) fn followed(self, all: &mut Followers) -> &mut u16 {
        &mut all[self.0 as usize % (1 << BITS)]
    }

    #[inline(always)]
    fn push(&mut self, what: u32) {
        let mixed = what.wrapping_mul(0x9e37_79b1) >> (32 - BITS);
        self.0 = (self.0 << SHIFT ^ mixed) & ((1 << BITS) - 1);
    }
}

/// By history, what followed it.
pub(super) type Followers = [u16; 1 << BITS];

/// What followed what.
pub(super) struct Foresight(Box<Followers>);

impl Default for Foresight {
    fn default() -> Self {
        Self(Box::new([LEAVE; 1 << BITS]))
    }
}

impl Foresight {
    pub(super) fn clear(&mut self) {
        self.0.fill(LEAVE);
    }

    /// What follows, as far as it is known. Whoever learns better, writes it there.
    #[inline]
    pub(super) fn of(&mut self, history: History) -> &mut u16 {
        history.followed(self.all())
    }

    /// What followed each history: for loops, which have it at hand so.
    #[inline(always)]
    pub(super) fn all(&mut self) -> &mut Followers {
        &mut self.0
    }
}

/// What a symbol stands for, by those of the segment in their order; none for [`LEAVE`], and where there is no such symbol.
#[inline(always)]
pub(super) fn meaning(symbols: &[Symbol], symbol: u16) -> Option<Symbol> {
    let at = usize::from(symbol).wrapping_sub(1);
    symbols.get(at).copied()
}

/// What a symbol other than [`LEAVE`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// A call of that method of that class begins.
    Enter { method: u64, class: u64 },
    /// The last call ends by an exception.
    LeaveByException,
    /// A record of that code.
    Record(u8),
}
