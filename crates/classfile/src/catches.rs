//! The exception handlers of a method, as its exception table has them.

use crate::class::Method;
use crate::reader::u2_at;

/// A place where exceptions are caught.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// Where its code begins, in bytes from the start of the method's.
    pub pc: u16,
    /// The first entry of the exception table, from 0, that leads there.
    pub entry: u16,
    /// Whether no entry that leads there names a class to catch: so compilers make `finally` and `synchronized`.
    pub takes_all: bool,
}

impl Method<'_> {
    /// Its handlers, ascending by their places. Empty without code.
    pub fn handlers(&self) -> Vec<Handler> {
        let table = self.code.as_ref().map_or(&[][..], |code| code.exceptions);
        let entries = table.chunks_exact(8).zip(0..);
        let mut handlers: Vec<Handler> = entries
            .map(|(entry, number)| Handler {
                pc: u2_at(entry, 4),
                entry: number,
                takes_all: u2_at(entry, 6) == 0,
            })
            .collect();
        handlers.sort_by_key(|handler| handler.pc); // keeps those of one place in the order of the table
        handlers.dedup_by(|later, first| {
            let is_same = later.pc == first.pc;
            first.takes_all &= later.takes_all || !is_same;
            is_same
        });
        handlers
    }
}
