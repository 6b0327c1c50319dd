//! Finds the longest waits of a span.

use crate::index::{Index, Place};
use crate::slice::EARLIER;
use crate::trace::Trace;
use crate::waits::{Wait, Waits};
use jtrail_model::{ThreadId, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

impl Wait {
    /// Returns the length in ns; the largest number if the begin or the end is unknown.
    pub(crate) fn length(&self) -> i64 {
        self.end.0.saturating_sub(self.begin.0)
    }
}

/// Returns a key by which the longest wait is first.
pub(crate) fn by_length(wait: &Wait) -> (Reverse<i64>, Timestamp, ThreadId) {
    (Reverse(wait.length()), wait.begin, wait.thread)
}

/// The longest waits that have been found.
struct Longest<'a> {
    threads: &'a BTreeSet<ThreadId>,
    span: [Timestamp; 2],
    /// The last time of the trace: what never ends lasts up to it.
    last: Timestamp,
    max: usize,
    found: Vec<Wait>,
    /// The waits of nodes in which there are shorter ones.
    of_nodes: BTreeMap<Place, Vec<Wait>>,
}

impl Longest<'_> {
    /// Returns true if a wait is selected.
    fn is_in(&self, wait: &Wait) -> bool {
        let [from, until] = self.span;
        let overlaps = wait.begin < until && (wait.end > from || wait.begin >= from);
        overlaps && self.threads.contains(&wait.thread)
    }

    fn add(&mut self, wait: Wait) {
        if self.is_in(&wait) {
            self.found.push(wait);
        }
        if self.found.len() > 4 * self.max {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let last = self.last;
        let length = |wait: &Wait| Wait {
            end: wait.end.min(last),
            ..*wait
        };
        self.found.sort_by_key(|wait| by_length(&length(wait)));
        self.found.truncate(self.max);
    }

    /// Returns the length that a wait needs to be among the longest ones.
    fn least(&mut self) -> i64 {
        self.shorten();
        let last = self.last;
        let of_nodes = self.of_nodes.values().flatten();
        let all = self.found.iter().chain(of_nodes);
        let mut lengths: Vec<i64> = all
            .map(|wait| wait.end.min(last).0.saturating_sub(wait.begin.0))
            .collect();
        lengths.sort_unstable_by_key(|length| Reverse(*length));
        let least = self.max.checked_sub(1).and_then(|place| lengths.get(place));
        least.copied().unwrap_or(i64::MIN)
    }
}

impl Trace {
    /// Returns the longest waits of some threads that overlap a span, at most `max`, the longest
    /// one first.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn longest_waits(
        &self,
        threads: &BTreeSet<ThreadId>,
        span: [Timestamp; 2],
        max: usize,
    ) -> io::Result<Vec<Wait>> {
        let mut longest = Longest {
            threads,
            span,
            last: self.ended(self.span())[1],
            max,
            found: Vec::new(),
            of_nodes: BTreeMap::new(),
        };
        match self.index() {
            Some(index) => self.search(&index, &mut longest)?,
            None => self.waits_of(threads, span, |wait| longest.add(wait))?,
        }
        let of_nodes = std::mem::take(&mut longest.of_nodes);
        longest.found.extend(of_nodes.into_values().flatten());
        longest.shorten();
        Ok(longest.found)
    }

    /// Searches nodes, and looks closer at those in which other long waits may be.
    fn search(&self, index: &Index, longest: &mut Longest<'_>) -> io::Result<()> {
        // The waits that end in another block than they begin in are all there.
        for wait in index.crossing_waits()? {
            longest.add(wait);
        }
        let mut nodes: Vec<Place> = index.top().collect();
        // Of nodes whose waits are in, the longest one that may be left out.
        let mut rest: BTreeMap<Place, i64> = BTreeMap::new();
        loop {
            while let Some(place) = nodes.pop() {
                let [from, until] = longest.span;
                let times = index.times(place);
                if !times.is_some_and(|[first, last]| first < until && last >= from) {
                    continue;
                }
                match index.waits(place)? {
                    Some(waits) => {
                        let all = waits.all.into_iter();
                        let all = all.filter(|wait| longest.is_in(wait)).collect();
                        longest.of_nodes.insert(place, all);
                        rest.extend(waits.rest.map(|length| (place, length)));
                    }
                    None if place.0 == 0 => self.add_block(index, place, longest)?,
                    None => nodes.extend(index.below(place)),
                }
            }
            let least = longest.least();
            let next = rest.iter().max_by_key(|(_, length)| **length);
            let Some((place, _)) = next.filter(|(_, length)| **length > least) else {
                return Ok(());
            };
            let place = *place;
            rest.remove(&place);
            longest.of_nodes.remove(&place);
            if place.0 == 0 {
                self.add_block(index, place, longest)?;
            }
            nodes.extend(index.below(place));
        }
    }

    /// Adds the waits that begin and end in a block.
    fn add_block(&self, index: &Index, place: Place, longest: &mut Longest<'_>) -> io::Result<()> {
        let [first, end] = index.segments(place);
        let mut open: BTreeMap<ThreadId, Wait> = BTreeMap::new();
        for number in first..end {
            let mut waits = Waits::of(longest.threads);
            let walked = self.walk(number as usize, &mut waits)?;
            for wait in waits.found {
                let begun = open.remove(&wait.thread);
                match begun {
                    Some(begun) if wait.begin == EARLIER => {
                        let end = wait.end;
                        longest.add(Wait { end, ..begun });
                    }
                    // It began in another block.
                    None if wait.begin == EARLIER => {}
                    _ => longest.add(wait),
                }
            }
            for (thread, walked) in walked.iter().filter(|(_, walked)| walked.is_running) {
                match walked.open.last().and_then(|open| open.extra) {
                    Some(wait) => open.insert(*thread, wait),
                    None => open.remove(thread),
                };
            }
        }
        Ok(())
    }
}
