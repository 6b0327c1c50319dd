//! What is missing of a trace: damaged segments, and those that were not found.
//!
//! What a thread does in a gap is not known. Calls that are open before the gap and in the list of
//! the thread's next segment go on all through it. Other calls that are open before it end, as far
//! as anyone knows, where it begins.

use crate::segment::ThreadSlices;
use crate::slice::Slice;
use jtrail_formats::trail::{SegmentReader, Segments};
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek};

/// A part of a trace that can't be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The first time that may be missing, and the first one that is there again. They are the same
    /// at the begin and at the end of the trace: how much is missing there is not known.
    pub span: [Timestamp; 2],
    /// Number of events that are missing.
    pub events: u64,
    /// The threads whose events are missing; all threads if `None`.
    pub threads: Option<BTreeSet<ThreadId>>,
    /// The first segment after the gap.
    next: u32,
}

/// The gaps of a trace, and the segments of each thread that can be read.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// In the order of the trace.
    pub(crate) all: Vec<Gap>,
    /// Segments of which nothing can be read.
    pub(crate) damaged: BTreeSet<u32>,
    /// For each thread the segments that have events of it and times, and can be read, ascending.
    pub(crate) of_threads: BTreeMap<ThreadId, Vec<u32>>,
    /// True if all segments were checked, and none is missing or damaged.
    pub(crate) is_sound: bool,
}

impl Gaps {
    /// Returns the gaps that are known without reading the segments. `times` returns the first and
    /// the last time of a segment.
    pub(crate) fn known(
        segments: &Segments,
        times: impl Fn(usize) -> Option<[Timestamp; 2]>,
    ) -> Self {
        let mut gaps = Self::default();
        for part in segments.missing().iter().filter(|part| part.events > 0) {
            let before = (0..part.next).rev().find_map(&times);
            let after = (part.next..segments.count()).find_map(&times);
            let after = after.map(|[first, _]| first);
            let from = before.map(|[_, last]| Timestamp(last.0.saturating_add(1)));
            let Some(from) = from.or(after) else {
                continue;
            };
            let until = after.map_or(from, |after| after.max(from));
            gaps.all.push(Gap {
                span: [from, until],
                events: part.events,
                threads: None,
                next: part.next as u32,
            });
        }
        for number in 0..segments.count() {
            for thread in segments.threads(number).filter(|thread| !thread.is_none()) {
                let of_thread = gaps.of_threads.entry(thread).or_default();
                // Sums of calls have no times, so a segment of theirs has no place among others.
                if times(number).is_some() {
                    of_thread.push(number as u32);
                }
            }
        }
        gaps
    }

    /// Returns all gaps. Reads all segments from `first` on, but not their events. Those before it
    /// are known to be sound.
    ///
    /// # Errors
    /// If the source fails.
    pub(crate) fn find<R: Read + Seek>(
        reader: &mut SegmentReader<R>,
        segments: &Segments,
        times: impl Fn(usize) -> Option<[Timestamp; 2]>,
        first: usize,
    ) -> io::Result<Self> {
        let mut gaps = Self::known(segments, &times);
        let mut is_sound = segments.missing().is_empty();
        let mut unknown: FxHashMap<ThreadId, BTreeSet<u32>> = FxHashMap::default();
        let mut found = Vec::new();
        for number in first..segments.count() {
            let checked = reader.check(segments, number, is_sound)?;
            let bad: Vec<ThreadId> = match &checked {
                Some(threads) => threads.clone(),
                None => segments.threads(number).collect(),
            };
            if checked.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            is_sound = false;
            for thread in &bad {
                unknown.entry(*thread).or_default().insert(number as u32);
            }
            if checked.is_none() {
                gaps.damaged.insert(number as u32);
            }
            let events = match checked {
                Some(_) => 0, // nobody knows how many events of a segment a thread has
                None => u64::from(segments.events_of(number)),
            };
            if let Some([first, last]) = times(number) {
                found.push(Gap {
                    span: [first, Timestamp(last.0.saturating_add(1))],
                    events,
                    threads: (!bad.is_empty()).then(|| bad.into_iter().collect()),
                    next: number as u32 + 1,
                });
            }
        }
        gaps.is_sound = is_sound;
        gaps.all.extend(found);
        gaps.all.sort_by_key(|gap| gap.next);
        for (thread, numbers) in unknown {
            if let Some(all) = gaps.of_threads.get_mut(&thread) {
                all.retain(|number| !numbers.contains(number));
            }
        }
        Ok(gaps)
    }

    /// Returns the time that is missing of a thread between two segments that can be read; from the
    /// start of the trace without the first one, up to its end without the second one.
    pub(crate) fn between(
        &self,
        thread: ThreadId,
        after: Option<usize>,
        before: Option<usize>,
    ) -> Option<[Timestamp; 2]> {
        let start = after.map_or(0, |after| {
            self.all.partition_point(|gap| gap.next as usize <= after)
        });
        let of_both = self.all[start..]
            .iter()
            .take_while(|gap| before.is_none_or(|before| gap.next as usize <= before))
            .filter(|gap| gap.is_of(thread));
        of_both
            .map(|gap| gap.span)
            .reduce(|[from, until], [first, last]| [from.min(first), until.max(last)])
    }

    /// Returns the times in a span that are missing of a thread, in order and without overlaps. If
    /// no segment of the thread between two gaps can be read, what it does there is not known.
    pub(crate) fn of_thread(
        &self,
        thread: ThreadId,
        [from, until]: [Timestamp; 2],
    ) -> Vec<[Timestamp; 2]> {
        let sound = self.of_threads.get(&thread);
        let sound = sound.map_or(&[][..], Vec::as_slice);
        // The times by the number of sound segments before them.
        let mut all: BTreeMap<usize, [Timestamp; 2]> = BTreeMap::new();
        for gap in self.all.iter().filter(|gap| gap.is_of(thread)) {
            let before = sound.partition_point(|number| *number < gap.next);
            let [first, last] = gap.span;
            let span = all.entry(before).or_insert(gap.span);
            *span = [span[0].min(first), span[1].max(last)];
        }
        // How long events are missing at the begin or end of a trace is not known.
        let is_in = |[first, last]: &[Timestamp; 2]| first < last && *first < until && *last > from;
        joined(all.into_values().filter(is_in))
    }
}

impl Gap {
    fn is_of(&self, thread: ThreadId) -> bool {
        let threads = self.threads.as_ref();
        threads.is_none_or(|threads| threads.contains(&thread))
    }
}

/// Joins spans that overlap or touch.
fn joined(spans: impl Iterator<Item = [Timestamp; 2]>) -> Vec<[Timestamp; 2]> {
    let mut spans: Vec<[Timestamp; 2]> = spans.collect();
    spans.sort_unstable();
    let mut all: Vec<[Timestamp; 2]> = Vec::new();
    for [from, until] in spans {
        match all.last_mut() {
            Some(last) if last[1] >= from => last[1] = last[1].max(until),
            _ => all.push([from, until]),
        }
    }
    all
}

impl ThreadSlices {
    /// Returns what is open at the end of this segment and ends, as far as anyone knows, at the
    /// begin of a gap. `next` is the thread's segment after the gap, if there is one, and `wait`
    /// the wait that is open at the end of this segment.
    pub(crate) fn ended_by(
        &self,
        wait: Option<Slice>,
        gap: [Timestamp; 2],
        next: Option<&Self>,
    ) -> Vec<Slice> {
        // The first call of each level may be one that is open at the begin.
        let mut first: FxHashMap<u32, (Timestamp, u32)> = FxHashMap::default();
        let after = next
            .into_iter()
            .flat_map(|next| next.ended.iter().chain(&next.open));
        for slice in after.filter(|slice| slice.kind.is_call()) {
            let key = (slice.begin, slice.method);
            let least = first.entry(slice.level).or_insert(key);
            *least = key.min(*least);
        }
        let goes_on = |slice: &Slice| {
            slice.kind.is_call() && first.get(&slice.level) == Some(&(slice.begin, slice.method))
        };
        let all = self.open_at_end(wait).filter(|slice| !goes_on(slice));
        all.map(|slice| Slice {
            end: gap[0].max(slice.begin),
            ..slice
        })
        .collect()
    }
}
