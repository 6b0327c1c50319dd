//! Kinds and counts of a decoder's remarks.

use super::Kinds;
use crate::{Remark, Severity};

/// Maximum number of different remarks with a name. Further ones are counted together.
const MAX_NAMED: usize = 100;
/// Maximum number of characters of a name in a message.
const MAX_NAME_CHARS: usize = 80;

/// A kind of things that a decoder remarks on. At the end of the trace, the decoder makes one
/// remark for each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemarkKind {
    /// The records that can contain a thing of this kind, in the words of the format's
    /// specification.
    pub records: &'static str,
    /// The kind in words. `{}` stands for a name from the trace.
    pub what: &'static str,
    /// [`Severity::Fault`] if the trace is wrong there.
    pub severity: Severity,
    /// True if the decoder skips the thing, because no event holds it or because it is corrupt.
    pub is_skipped: bool,
}

/// Returns the row of a kind that is skipped because no event holds it.
pub(crate) const fn skipped(records: &'static str, what: &'static str) -> RemarkKind {
    RemarkKind {
        records,
        what,
        severity: Severity::Info,
        is_skipped: true,
    }
}

/// Returns the row of a kind that is unusual, but read.
pub(crate) const fn odd(records: &'static str, what: &'static str) -> RemarkKind {
    RemarkKind {
        records,
        what,
        severity: Severity::Info,
        is_skipped: false,
    }
}

/// Returns the row of a kind that is skipped because it is corrupt.
pub(crate) const fn corrupt(records: &'static str, what: &'static str) -> RemarkKind {
    RemarkKind {
        records,
        what,
        severity: Severity::Fault,
        is_skipped: true,
    }
}

/// Returns the row of a kind that is corrupt, but read as far as possible.
pub(crate) const fn fault(records: &'static str, what: &'static str) -> RemarkKind {
    RemarkKind {
        records,
        what,
        severity: Severity::Fault,
        is_skipped: false,
    }
}

/// A position in a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Position {
    /// In bytes from the start of the trace.
    pub(crate) offset: u64,
    /// Line number; 0 in formats without lines.
    pub(crate) line: u64,
}

impl From<u64> for Position {
    fn from(offset: u64) -> Self {
        Self { offset, line: 0 }
    }
}

/// How often something occurred, and the position of its first occurrence.
#[derive(Clone, Copy, Debug, Default)]
struct Occurrences {
    count: u64,
    first: Position,
}

impl Occurrences {
    fn add(&mut self, at: Position, count: u64) {
        self.first = match self.count {
            0 => at,
            _ => self.first.min(at),
        };
        self.count = self.count.saturating_add(count);
    }
}

/// Occurrences of one kind, in one kind of records, and with one name.
#[derive(Clone, Debug)]
struct Named<K> {
    kind: K,
    record: Box<str>,
    name: Box<str>,
    occurrences: Occurrences,
}

/// Counts what a decoder remarks on, by the kinds of `K`.
#[derive(Clone, Debug)]
pub(crate) struct RemarkTally<K: Kinds<Row = RemarkKind>> {
    plain: K::PerKind<Occurrences>,
    named: Vec<Named<K>>,
    /// Occurrences that were added when `named` was full.
    further: Occurrences,
    further_severity: Severity,
}

impl<K: Kinds<Row = RemarkKind>> Default for RemarkTally<K> {
    fn default() -> Self {
        Self {
            plain: K::per_kind(Occurrences::default()),
            named: Vec::new(),
            further: Occurrences::default(),
            further_severity: Severity::Info,
        }
    }
}

impl<K: Kinds<Row = RemarkKind>> RemarkTally<K> {
    /// Counts one thing of a kind, without a record and a name.
    #[cold]
    pub(crate) fn add(&mut self, kind: K, at: impl Into<Position>) {
        self.add_many(kind, at, 1);
    }

    /// If `found` is true, counts one thing of a kind.
    #[inline]
    pub(crate) fn add_if(&mut self, found: bool, kind: K, at: impl Into<Position>) {
        if found {
            self.add(kind, at);
        }
    }

    /// Counts `count` things that begin at one position.
    pub(crate) fn add_many(&mut self, kind: K, at: impl Into<Position>, count: u64) {
        if count > 0 {
            self.plain.as_mut()[kind.index()].add(at.into(), count);
        }
    }

    /// Counts `count` things in records called `record`. `name` replaces `{}` in the kind's words.
    /// Both texts may come from the trace, and both may be empty.
    #[cold]
    pub(crate) fn add_named(
        &mut self,
        kind: K,
        (record, name): (&str, &str),
        at: impl Into<Position>,
        count: u64,
    ) {
        if count == 0 {
            return;
        }
        let (record, name, at) = (short(record), short(name), at.into());
        let is_same =
            |n: &&mut Named<K>| n.kind == kind && *n.name == *name && *n.record == *record;
        if let Some(named) = self.named.iter_mut().find(is_same) {
            named.occurrences.add(at, count);
        } else if self.named.len() < MAX_NAMED {
            let mut occurrences = Occurrences::default();
            occurrences.add(at, count);
            self.named.push(Named {
                kind,
                record: record.into(),
                name: name.into(),
                occurrences,
            });
        } else {
            self.further.add(at, count);
            self.further_severity = self.further_severity.max(kind.row().severity);
        }
    }

    /// True if a fault was counted.
    pub(crate) fn has_faults(&self) -> bool {
        let plain = K::ROWS.iter().zip(self.plain.as_ref());
        let mut faults = plain
            .filter(|(_, occurrences)| occurrences.count > 0)
            .map(|(row, _)| row.severity)
            .chain(self.named.iter().map(|named| named.kind.row().severity))
            .chain([self.further_severity]);
        faults.any(|severity| severity > Severity::Info)
    }

    /// Adds the counts of another tally.
    pub(crate) fn append(&mut self, other: Self) {
        let plain = self.plain.as_mut().iter_mut().zip(other.plain.as_ref());
        for (sum, more) in plain.filter(|(_, more)| more.count > 0) {
            sum.add(more.first, more.count);
        }
        for named in other.named {
            let Occurrences { count, first } = named.occurrences;
            self.add_named(named.kind, (&named.record, &named.name), first, count);
        }
        if other.further.count > 0 {
            self.further.add(other.further.first, other.further.count);
            self.further_severity = self.further_severity.max(other.further_severity);
        }
    }

    /// Removes and returns a remark, or `None` if none is left. Remarks are returned in the order
    /// of their first occurrences. Remarks at one position are returned in the order of the table.
    pub(crate) fn pop(&mut self) -> Option<Remark> {
        let plain = self.plain.as_ref().iter().enumerate();
        let plain = plain
            .filter(|(_, occurrences)| occurrences.count > 0)
            .map(|(row, occurrences)| (occurrences.first, row, None));
        let named = self.named.iter().enumerate();
        let named = named.map(|(i, n)| (n.occurrences.first, n.kind.index(), Some(i)));
        let Some((_, row, named)) = plain.chain(named).min() else {
            return self.pop_further();
        };
        let kind = &K::ROWS[row];
        Some(match named {
            Some(i) => {
                let named = self.named.remove(i);
                kind.remark((&named.record, &named.name), named.occurrences)
            }
            None => kind.remark(("", ""), std::mem::take(&mut self.plain.as_mut()[row])),
        })
    }

    fn pop_further(&mut self) -> Option<Remark> {
        let Occurrences { count, first } = std::mem::take(&mut self.further);
        (count > 0).then(|| Remark {
            offset: first.offset,
            severity: self.further_severity,
            message: format!("things of further kinds ({count})"),
        })
    }
}

impl RemarkKind {
    /// Returns a remark such as `skipped: thr crt: ids (3, first in line 5)`.
    fn remark(&self, (record, name): (&str, &str), occurrences: Occurrences) -> Remark {
        let Occurrences { count, first } = occurrences;
        let skipped = if self.is_skipped { "skipped: " } else { "" };
        let words = self.words(record, name);
        let message = match first.line {
            0 => format!("{skipped}{words} ({count})"),
            line => format!("{skipped}{words} ({count}, first in line {line})"),
        };
        Remark {
            offset: first.offset,
            severity: self.severity,
            message,
        }
    }

    /// Returns the kind in words, with the record and the name inserted: `thr crt: ids`.
    pub(crate) fn words(&self, record: &str, name: &str) -> String {
        let what = self.what.replacen("{}", name, 1);
        match record {
            "" => what,
            record => format!("{record}: {what}"),
        }
    }
}

/// Returns the start of a name, short enough for a message.
pub(crate) fn short(name: &str) -> &str {
    name.char_indices()
        .nth(MAX_NAME_CHARS)
        .map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::kinds;

    kinds! {
        enum Remarked: RemarkKind {
            Text = odd("all", "texts not in UTF-8"),
            Element = skipped("all", "unknown element {}"),
            Attribute = skipped("all", "unknown attribute {}"),
            Ends = corrupt("end", "ends without a begin"),
            Times = fault("all", "times that fall"),
        }
    }

    fn remarks(mut tally: RemarkTally<Remarked>) -> Vec<(u64, Severity, String)> {
        let pop = || tally.pop().map(|r| (r.offset, r.severity, r.message));
        std::iter::from_fn(pop).collect()
    }

    #[test]
    fn remarks_come_in_the_order_of_their_first_places() {
        let mut tally = RemarkTally::default();
        tally.add(Remarked::Times, 7);
        tally.add_if(false, Remarked::Text, 0);
        tally.add_named(Remarked::Attribute, ("thread", "cpu"), 5, 1);
        tally.add_named(Remarked::Element, ("", "new"), 5, 2);
        tally.add_many(Remarked::Text, 9, 3);
        tally.add_if(true, Remarked::Text, 5);
        let line = Position { offset: 6, line: 2 };
        tally.add_named(Remarked::Ends, ("thr dst", ""), line, 1);
        tally.add_many(Remarked::Ends, 0, 0);
        let expected = [
            (5, Severity::Info, "texts not in UTF-8 (4)"),
            (5, Severity::Info, "skipped: unknown element new (2)"),
            (
                5,
                Severity::Info,
                "skipped: thread: unknown attribute cpu (1)",
            ),
            (
                6,
                Severity::Fault,
                "skipped: thr dst: ends without a begin (1, first in line 2)",
            ),
            (7, Severity::Fault, "times that fall (1)"),
        ];
        let expected = expected.map(|(offset, severity, text)| (offset, severity, text.into()));
        assert_eq!(remarks(tally), expected);
    }

    #[test]
    fn names_without_number_take_little_memory() {
        let mut tally = RemarkTally::default();
        for i in 0..10_000_u64 {
            let element = format!("{}{i}", if i < 50 { "" } else { "e" });
            tally.add_named(Remarked::Element, ("", &element), i, 1);
            let attribute = "n".repeat(i as usize % 200);
            tally.add_named(Remarked::Attribute, ("x", &attribute), i, 1);
        }
        assert_eq!(tally.named.len(), MAX_NAMED);
        let longest = tally.named.iter().map(|named| named.name.len()).max();
        assert!(longest <= Some(MAX_NAME_CHARS), "{longest:?}");
        let remarks = remarks(tally);
        assert_eq!(remarks.len(), MAX_NAMED + 1);
        assert_eq!(remarks[0].2, "skipped: unknown element 0 (1)");
        assert!(remarks[MAX_NAMED].2.starts_with("things of further kinds"));
    }

    #[test]
    fn remarks_without_number_take_little_memory() {
        let mut tally = RemarkTally::default();
        for i in 0..1000_u64 {
            tally.add_named(Remarked::Element, ("", &i.to_string()), i, 1);
            tally.add_named(Remarked::Element, ("", "7"), i, 1);
        }
        tally.add_named(Remarked::Ends, ("", ""), 1000, 1);
        let remarks = remarks(tally);
        assert_eq!(remarks.len(), MAX_NAMED + 1);
        let seven = (
            0,
            Severity::Info,
            "skipped: unknown element 7 (1001)".into(),
        );
        assert!(remarks.contains(&seven), "{remarks:?}");
        let last = (100, Severity::Fault, "things of further kinds (901)".into());
        assert_eq!(remarks.last(), Some(&last));
    }

    #[test]
    fn a_tally_takes_what_another_counted() {
        let (mut tally, mut other) = (RemarkTally::default(), RemarkTally::default());
        tally.add(Remarked::Text, 5);
        tally.add_named(Remarked::Element, ("", "a"), 1, 1);
        assert!(!tally.has_faults());
        other.add_many(Remarked::Text, 3, 2);
        other.add_named(Remarked::Element, ("", "a"), 9, 4);
        other.add_named(Remarked::Ends, ("", ""), 2, 1);
        assert!(other.has_faults());
        tally.append(other);
        assert!(tally.has_faults());
        let expected = [
            (1, Severity::Info, "skipped: unknown element a (5)"),
            (2, Severity::Fault, "skipped: ends without a begin (1)"),
            (3, Severity::Info, "texts not in UTF-8 (3)"),
        ];
        let expected = expected.map(|(offset, severity, text)| (offset, severity, text.into()));
        assert_eq!(remarks(tally), expected);
    }
}
