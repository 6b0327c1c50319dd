//! Where a probe in reach of the method's own handlers does no harm, and what the added handlers
//! cover.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::vec::IntoIter;

use crate::opcodes::*;
use crate::prologue::{AFTER, BEFORE, CALL, LOST_THIS, Prologue};
use crate::relocate::*;

/// The ranges of new pcs that a handler of ours covers.
pub(crate) type Ranges = Vec<(u16, u16)>;

/// The parts between the returns in which something can throw.
pub(crate) fn ranges(layout: &Layout, end: usize) -> Ranges {
    let (mut ranges, mut from) = (Vec::new(), 0);
    let mut add = |from: usize, to: usize, new_end: u16| {
        // The mark of a caught exception is a call, too, and so is a line probe; they may stand
        // directly in front of the return.
        let throws = |mark: &u8| mark & (THROWS | CAUGHT | LINE) != 0;
        if layout.marks[from..to].iter().any(throws) || layout.marks[to] & (CAUGHT | LINE) != 0 {
            ranges.push((layout.target(from), new_end));
        }
    };
    for &pc in layout
        .sites
        .iter()
        .filter(|&&pc| layout.marks[pc] & LEAVE != 0)
    {
        add(from, pc, layout.leave_probe(pc));
        from = pc + 1;
    }
    if from < end {
        add(from, end, layout.before(end));
    }
    ranges
}

/// The same for a constructor, and only for what is reached in one `phase`: before or behind the
/// call.
pub(crate) fn ranges_in(layout: &Layout, prologue: &Prologue, phase: u8) -> Ranges {
    let mut ranges = Vec::new();
    // The start of the range at hand, and whether something in it can throw.
    let mut open: Option<(u16, bool)> = None;
    let mut close = |open: &mut Option<(u16, bool)>, end: u16| {
        if let Some((start, true)) = open.take()
            && start < end
        {
            ranges.push((start, end));
        }
    };
    for (pc, &state) in prologue.states.iter().enumerate() {
        let mark = layout.marks[pc];
        if mark & START == 0 {
            continue;
        }
        if state & (BEFORE | AFTER | LOST_THIS) != phase {
            close(&mut open, layout.before(pc));
            continue;
        }
        // The mark behind the call belongs to what follows: `this` is initialized there.
        let start = if mark & SUPER_RETURNED != 0 {
            layout.before(pc)
        } else {
            layout.target(pc)
        };
        let (_, throws) = open.get_or_insert((start, false));
        if state & CALL != 0 {
            // The probes in front of the call are covered, the call itself must not be.
            *throws |= mark & (SUPER_CALL | LINE) != 0;
            close(&mut open, layout.instruction(pc));
            continue;
        }
        *throws |= mark & (THROWS | SUPER_RETURNED | CAUGHT | LINE) != 0;
        if mark & LEAVE != 0 {
            close(&mut open, layout.leave_probe(pc));
        }
    }
    close(&mut open, layout.body_end() as u16);
    ranges
}

/// The handlers that get a mark: those at which a hook that fails can do no harm.
pub(crate) fn caught(code: &[u8], exceptions: Exceptions<'_>) -> Vec<usize> {
    let mut handlers: Vec<usize> = exceptions.iter().map(|entry| entry.handler).collect();
    handlers.sort_unstable();
    handlers.dedup();
    let mut circles = Circles::new(exceptions.iter());
    handlers.retain(|&handler| !circles.at(handler) && !leaves_monitor(code, handler));
    handlers
}

/// Tells where a failing probe could run in circles.
///
/// A hook fails on a stack overflow only, and the exception then goes to a handler that covers the
/// probe. Were that the same one, or one that leads back to it, the two would go on for ever. Such
/// a circle has at least one step upwards or in place, so no probe is put where a handler at the
/// same or a lower pc covers it. A handler that catches everything and jumps back is no such
/// circle: it begins with a probe of its own, for its line at least, which fails as well and is not
/// covered by it.
pub(crate) struct Circles {
    /// By start.
    entries: Peekable<IntoIter<Entry>>,
    /// Handler and end of the ranges that have begun, the one with the lowest handler first.
    begun: BinaryHeap<Reverse<(usize, usize)>>,
}

impl Circles {
    pub(crate) fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort_unstable_by_key(|entry| entry.start);
        Circles {
            entries: entries.into_iter().peekable(),
            begun: BinaryHeap::new(),
        }
    }

    /// Whether a probe at `pc` is in danger; to be asked for ascending pcs.
    pub(crate) fn at(&mut self, pc: usize) -> bool {
        while let Some(entry) = self.entries.next_if(|entry| entry.start <= pc) {
            self.begun.push(Reverse((entry.handler, entry.end)));
        }
        while self
            .begun
            .peek()
            .is_some_and(|Reverse((_, end))| *end <= pc)
        {
            self.begun.pop();
        }
        self.begun
            .peek()
            .is_some_and(|Reverse((lowest, _))| *lowest <= pc)
    }
}

/// Whether a handler leaves a monitor before anything in it can throw. A compiler may have left
/// such a handler uncovered; besides, the JIT compilers give up on a call there that can end in our
/// handler with the monitor locked.
pub(crate) fn leaves_monitor(code: &[u8], handler: usize) -> bool {
    let mut pc = handler;
    while PROPERTIES[usize::from(code[pc])] & (MAY_THROW | SPECIAL) == 0 {
        match length(code, pc) {
            Some(len) if pc + len < code.len() && pc < handler + 64 => pc += len,
            _ => return false,
        }
    }
    code[pc] == MONITOREXIT
}
