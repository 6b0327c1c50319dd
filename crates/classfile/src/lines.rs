//! The line number tables of a method, and the positions of line probes.

use crate::Refusal;
use crate::class::Method;
use crate::handlers::Circles;
use crate::locks::Locks;
use crate::opcodes::MONITORENTER;
use crate::probes::{LineProbe, NoProbe};
use crate::reader::u2_at;
use crate::relocate::{Entry, Exceptions, LINE, Layout};

/// An entry of a `LineNumberTable`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineEntry {
    /// The pc at which the line begins.
    pub pc: u16,
    /// The source line.
    pub line: u16,
}

/// The entries of all line number tables of a method, table by table in the order of the file.
#[derive(Default)]
pub(crate) struct LineTables<'a> {
    first: &'a [u8],
    /// The tables after the first one. Compilers write only one.
    others: Vec<&'a [u8]>,
}

impl<'a> LineTables<'a> {
    /// Adds a table: four bytes per entry.
    pub(crate) fn add(&mut self, table: &'a [u8]) {
        if self.first.is_empty() {
            self.first = table;
        } else {
            self.others.push(table);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = LineEntry> {
        let tables = std::iter::once(&self.first).chain(&self.others);
        tables
            .flat_map(|table| table.chunks_exact(4))
            .map(|entry| LineEntry {
                pc: u2_at(entry, 0),
                line: u2_at(entry, 2),
            })
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        let others: usize = self.others.iter().map(|table| table.len()).sum();
        (self.first.len() + others) / 4
    }

    /// Returns the source lines at ascending `pcs`; 0 where there is none.
    ///
    /// As in the JVM, the first entry that begins at the pc gives the line. If there is none, the
    /// last entry that begins before the pc gives the line.
    pub(crate) fn lines_at(&self, pcs: impl Iterator<Item = usize>) -> Vec<u16> {
        let mut entries: Vec<LineEntry> = self.iter().collect();
        entries.sort_by_key(|entry| entry.pc);
        let (mut at, mut last) = (0, 0);
        let line = |pc: usize| {
            while entries
                .get(at)
                .is_some_and(|entry| usize::from(entry.pc) < pc)
            {
                last = entries[at].line;
                at += 1;
            }
            match entries.get(at) {
                Some(entry) if usize::from(entry.pc) == pc => entry.line,
                _ => last,
            }
        };
        pcs.map(line).collect()
    }
}

impl Method<'_> {
    /// Returns the entries of the method's line number tables, in the order of the class file. With
    /// [`Probes::lines`](crate::Probes::lines) `= first`, entry `k` of the result has the number
    /// `first + k`. There may be several entries for one line and, rarely, for one pc.
    pub fn line_entries(&self) -> impl ExactSizeIterator<Item = LineEntry> {
        let tables = self.code.as_ref().map(|code| &code.lines);
        Counted {
            left: tables.map_or(0, LineTables::len),
            entries: tables.into_iter().flat_map(LineTables::iter),
        }
    }
}

/// An iterator with a known length.
struct Counted<I> {
    entries: I,
    left: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.entries.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}

/// The maximum product of lines and exception handlers in a method with monitors. Real methods stay
/// below a hundredth of it.
const MAX_LINES_BY_HANDLERS: usize = 1 << 24;

/// The line probes of a method.
#[derive(Default)]
pub(crate) struct Lines {
    /// The outcome for each entry of the table.
    pub(crate) outcome: Vec<LineProbe>,
    /// The numbers of the probes, by ascending pc.
    pub(crate) numbers: Vec<u32>,
}

impl Lines {
    /// Decides which entries get a probe, and marks their pcs in `layout`.
    ///
    /// A probe may fail like any hook, with a stack overflow. The probe is omitted where its
    /// failure would do harm: in a range whose handler is at the same or a lower pc (see
    /// [`Circles`]), and where a monitor would stay locked (see [`Locks`]).
    pub(crate) fn place(
        tables: &LineTables<'_>,
        first: u32,
        code: &[u8],
        exceptions: Exceptions<'_>,
        layout: &mut Layout,
    ) -> Result<Self, Refusal> {
        let mut order: Vec<(LineEntry, u32)> = tables.iter().zip(0..).collect();
        // Tables are nearly always sorted. The sort is stable, so the first of several entries at a
        // pc stays the first.
        order.sort_by_key(|(entry, _)| entry.pc);
        let locks = match code.contains(&MONITORENTER) {
            true if order.len() * exceptions.len() > MAX_LINES_BY_HANDLERS => {
                return Err(Refusal::TooComplex);
            }
            true => Some(Locks::find(code, &layout.marks, exceptions)?),
            false => None,
        };
        let ranges = exceptions.iter().map(|entry| Entry {
            start: entry.start + usize::from(entry.covers_own_start()),
            ..entry
        });
        let mut circles = Circles::new(ranges);
        let mut decide = |pc: usize, number: u32| {
            if !layout.is_start(pc) {
                LineProbe::NoProbe(NoProbe::NoInstruction)
            } else if circles.at(pc) {
                LineProbe::NoProbe(NoProbe::Circle)
            } else if locks.as_ref().is_some_and(|locks| !locks.may_fail_at(pc)) {
                LineProbe::NoProbe(NoProbe::Monitor)
            } else {
                LineProbe::Own(number)
            }
        };
        let mut lines = Lines {
            outcome: vec![LineProbe::NoProbe(NoProbe::NoInstruction); order.len()],
            numbers: Vec::with_capacity(order.len()),
        };
        let mut pcs = Vec::with_capacity(order.len());
        let mut last = None;
        for (entry, k) in order {
            let outcome = match last {
                Some((pc, LineProbe::Own(number))) if pc == entry.pc => LineProbe::Shared(number),
                Some((pc, outcome)) if pc == entry.pc => outcome,
                _ => decide(entry.pc.into(), first.wrapping_add(k)),
            };
            if let LineProbe::Own(number) = outcome {
                lines.numbers.push(number);
                pcs.push(usize::from(entry.pc));
            }
            lines.outcome[k as usize] = outcome;
            last = match last {
                // All entries at a pc share the probe of the first one.
                Some((pc, _)) if pc == entry.pc => last,
                _ => Some((entry.pc, outcome)),
            };
        }
        layout.mark(pcs.into_iter(), LINE);
        Ok(lines)
    }
}
