//! Decides where a failing probe would do harm because of the method's own handlers, and which
//! ranges the added handlers cover.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::vec::IntoIter;

use crate::opcodes::*;
use crate::prologue::{AFTER, BEFORE, CALL, LOST_THIS, Prologue};
use crate::relocate::*;

/// The ranges of new pcs that an added handler covers.
pub(crate) type Ranges = Vec<(u16, u16)>;

/// Divides the code at its returns. Keeps the ranges in which some code can throw.
pub(crate) fn ranges(layout: &Layout, end: usize) -> Ranges {
    let (mut ranges, mut from) = (Vec::new(), 0);
    let mut add = |from: usize, to: usize, new_end: u16| {
        // `caught` and `line` probes are calls, which can throw, too. They may directly precede the
        // return.
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

/// Like [`ranges`], but for a constructor, and only for the code reached in one `phase`: before or
/// after the call of `this()` or `super()`.
pub(crate) fn ranges_in(layout: &Layout, prologue: &Prologue, phase: u8) -> Ranges {
    let mut ranges = Vec::new();
    // The start of the current range, and whether code in it can throw.
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
        // The `super_returned` probe belongs to the code after the call: `this` is initialised
        // there.
        let start = if mark & SUPER_RETURNED != 0 {
            layout.before(pc)
        } else {
            layout.target(pc)
        };
        let (_, throws) = open.get_or_insert((start, false));
        if state & CALL != 0 {
            // The probes before the call are covered, but the call itself must not be.
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

/// Returns the handlers that get a `caught` probe: those at which a failing hook does no harm.
pub(crate) fn caught(code: &[u8], exceptions: Exceptions<'_>) -> Vec<usize> {
    let mut handlers: Vec<usize> = exceptions.iter().map(|entry| entry.handler).collect();
    handlers.sort_unstable();
    handlers.dedup();
    let mut circles = Circles::new(exceptions.iter());
    handlers.retain(|&handler| !circles.at(handler) && !leaves_monitor(code, handler));
    handlers
}

/// Finds the pcs at which a failing probe could cause an endless loop.
///
/// A hook fails only by a stack overflow, and the exception goes to a handler that covers the
/// probe. If this is the handler at which the probe stands, or a handler that leads back to the
/// probe, the method loops forever. Such a loop has at least one step to the same or a lower pc. So
/// no probe is inserted at a pc that a handler at the same or a lower pc covers.
///
/// A catch-all handler that jumps back causes no such loop. It begins with a probe of its own, at
/// least a line probe, which it does not cover. This probe fails as well, and its exception ends
/// the loop.
pub(crate) struct Circles {
    /// The exception table, sorted by start.
    entries: Peekable<IntoIter<Entry>>,
    /// Handler and end of the ranges that have begun, ordered by handler, the lowest first.
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

    /// Returns true if a failing probe at `pc` could cause an endless loop. Calls must have
    /// ascending pcs.
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

/// Returns true if a handler exits a monitor before any instruction in it can throw.
///
/// A failing probe at such a handler could leave the monitor locked, because no range may cover the
/// handler. Besides, the JIT compilers give up on a method in which a call there can reach an added
/// handler with the monitor still locked.
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
