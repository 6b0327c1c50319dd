//! Begins and ends of a thread's slices, in the order of time and well nested.

use std::collections::{HashMap, VecDeque};

/// A begin, an end, or both, as in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// In ns.
    pub(super) time: i64,
    /// Number of the name; [`NO_NAME`] for an end without one.
    pub(super) name: u32,
    pub(super) kind: Kind,
    /// Length in ns, of a whole slice.
    pub(super) duration: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Begin,
    End,
    Whole,
}

/// The number of no name.
pub(super) const NO_NAME: u32 = u32::MAX;

/// A begin or an end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) time: i64,
    pub(super) name: u32,
    pub(super) ends: bool,
    /// Number of the call on its thread, from 1 on.
    pub(super) ticket: u32,
    /// Number of open calls, with this one.
    pub(super) depth: usize,
}

/// What is odd in the slices of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Oddities {
    /// Ends without an open begin.
    pub(super) ends: u64,
    /// Slices that end with the slice around them.
    pub(super) overlaps: u64,
}

/// The slices of a thread.
#[derive(Debug, Default)]
pub(super) struct Nest {
    /// All entries. After [`Self::sort`], they are in the order of time.
    entries: Vec<Entry>,
    next: usize,
    open: Vec<Open>,
    /// Number of open begins by name, of names that have some.
    begins: HashMap<u32, u32, crate::hash::Seed>,
    ready: VecDeque<Step>,
    tickets: u32,
    pub(super) odd: Oddities,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    name: u32,
    ticket: u32,
    /// Time at which the slice ends, if no end is found before; that of the slice around it at
    /// most. The largest number if nothing limits it.
    limit: i64,
    /// True if the slice is limited by its own length.
    is_whole: bool,
}

impl Nest {
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Sorts the entries. Must be called once, before [`Self::step`].
    pub(super) fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.time);
        let by_time = self.entries.chunk_by_mut(|a, b| a.time == b.time);
        for entries in by_time.filter(|entries| entries.len() > 1) {
            let are_whole =
                |a: &Entry, b: &Entry| (a.kind == Kind::Whole) == (b.kind == Kind::Whole);
            for entries in entries.chunk_by_mut(are_whole) {
                entries.sort_by_key(|entry| std::cmp::Reverse(entry.duration));
            }
        }
    }

    /// Returns the time of the first entry.
    pub(super) fn start(&self) -> Option<i64> {
        self.entries.first().map(|entry| entry.time)
    }

    /// Returns the next begin or end. Their times never decrease.
    pub(super) fn step(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Some(step);
            }
            let Some(entry) = self.entries.get(self.next).copied() else {
                // What is limited ends. What is not stays open.
                let limit = self.open.last()?.limit;
                if limit == i64::MAX {
                    return None;
                }
                self.end_innermost(limit);
                continue;
            };
            self.next += 1;
            match entry.kind {
                Kind::End => {
                    self.end_before(entry.time, false);
                    self.end(entry);
                }
                Kind::Begin | Kind::Whole => {
                    self.end_before(entry.time, true);
                    self.begin(entry);
                }
            }
        }
    }

    /// Ends the slices whose limits are below a time, or equal to it.
    fn end_before(&mut self, time: i64, or_at: bool) {
        while let Some(open) = self.open.last()
            && (open.limit < time || or_at && open.limit == time && open.limit != i64::MAX)
        {
            let limit = open.limit;
            self.odd.overlaps += u64::from(!open.is_whole);
            self.end_innermost(limit);
        }
    }

    fn begin(&mut self, entry: Entry) {
        let around = self.open.last().map_or(i64::MAX, |open| open.limit);
        let is_whole = entry.kind == Kind::Whole;
        let own = match is_whole {
            true => entry.time.saturating_add(entry.duration),
            false => i64::MAX,
        };
        self.odd.overlaps += u64::from(is_whole && own > around);
        self.tickets = self.tickets.wrapping_add(1);
        self.open.push(Open {
            name: entry.name,
            ticket: self.tickets,
            limit: own.min(around),
            is_whole,
        });
        if !is_whole {
            *self.begins.entry(entry.name).or_default() += 1;
        }
        self.ready.push_back(Step {
            time: entry.time,
            name: entry.name,
            ends: false,
            ticket: self.tickets,
            depth: self.open.len(),
        });
    }

    /// Ends the innermost begin of a name, and the slices within it.
    fn end(&mut self, entry: Entry) {
        let is_open = match entry.name {
            NO_NAME => !self.begins.is_empty(),
            name => self.begins.contains_key(&name),
        };
        if !is_open {
            self.odd.ends += 1;
            return;
        }
        while let Some(open) = self.open.last().copied() {
            let is_it = !open.is_whole && [open.name, NO_NAME].contains(&entry.name);
            self.odd.overlaps += u64::from(!is_it);
            self.end_innermost(entry.time);
            if is_it {
                break;
            }
        }
    }

    fn end_innermost(&mut self, time: i64) {
        let depth = self.open.len();
        let Some(open) = self.open.pop() else { return };
        if !open.is_whole
            && let Some(count) = self.begins.get_mut(&open.name)
        {
            *count -= 1;
            if *count == 0 {
                self.begins.remove(&open.name);
            }
        }
        self.ready.push_back(Step {
            time,
            name: open.name,
            ends: true,
            ticket: open.ticket,
            depth,
        });
    }
}
