//! The exception handlers of a method, from its exception table.

use crate::class::{Class, Method};
use crate::pool::{PoolEditor, THROWABLE};
use crate::reader::u2_at;

/// An exception handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// The offset of the handler's code, in bytes from the start of the method's code.
    pub pc: u16,
    /// The number, from 0, of the first entry of the exception table with this handler.
    pub entry: u16,
    /// True if no entry with this handler names a class. Compilers create such handlers for
    /// `finally` and `synchronized`.
    pub takes_all: bool,
}

impl Method<'_> {
    /// Returns the method's handlers, by ascending pc. Empty if the method has no code.
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
        handlers.sort_by_key(|handler| handler.pc); // stable: keeps the table's order for equal pcs
        handlers.dedup_by(|later, first| {
            let is_same = later.pc == first.pc;
            first.takes_all &= later.takes_all || !is_same;
            is_same
        });
        handlers
    }
}

impl Class<'_> {
    /// Returns the class file with a second pool entry for `Throwable`. The catch types of handlers
    /// refer to the new entry; field and method references keep the old one. Returns `None` if no
    /// change is needed, or the pool is full. The class means the same as before.
    pub fn with_separate_throwable(&self) -> Option<Vec<u8>> {
        let shared: Vec<u16> = (1..self.pool.count())
            .filter(|&index| self.pool.class_name(index) == Some(THROWABLE))
            .filter(|&index| self.pool.has_members_of(index))
            .collect();
        let codes = self.methods.iter().filter_map(|m| m.code.as_ref());
        let places: Vec<usize> = codes
            .flat_map(|code| {
                let table = code.exceptions_at()..;
                table.step_by(8).zip(code.exceptions.chunks_exact(8))
            })
            .filter(|(_, entry)| shared.contains(&u2_at(entry, 6)))
            .map(|(at, _)| at + 6)
            .collect();
        if places.is_empty() {
            return None;
        }
        let mut pool = PoolEditor::new(&self.pool);
        let apart = pool.separate_throwable().ok()?.to_be_bytes();
        let mut bytes = self.bytes.to_vec();
        for at in places {
            bytes[at..at + 2].copy_from_slice(&apart);
        }
        bytes[8..10].copy_from_slice(&pool.count().to_be_bytes());
        let end = self.pool.end();
        bytes.splice(end..end, pool.added().iter().copied());
        Some(bytes)
    }
}
