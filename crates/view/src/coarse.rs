//! What is known of a long trail without reading its events.
//!
//! Each segment says which calls are open at its begin, and how many events its threads have had.
//! Of some segments that are spread evenly, this gives a picture in no time: calls that are longer
//! than the time between two of these segments are there, and shorter ones by chance.

use crate::overview::{Counts, Overview};
use crate::slice::{Kind, LATER, Slice};
use crate::sums::ThreadSum;
use crate::tile::Tile;
use crate::trace::Trace;
use jtrail_formats::trail::OpenCall;
use jtrail_model::{ThreadId, Timestamp};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// Number of segments up to which the trail is read while there is no index yet.
const MANY: usize = 8;
/// Maximum number of segments for a picture.
const SAMPLES: usize = 512;

/// Returns numbers below `count` so that any number of the first ones are spread evenly, at most
/// [`SAMPLES`].
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let step = count.div_ceil(SAMPLES).max(1);
    let places = count.div_ceil(step);
    let bits = places.next_power_of_two().ilog2();
    let reversed = move |n: usize| match bits {
        0 => 0,
        bits => n.reverse_bits() >> (usize::BITS - bits),
    };
    let all = (0..places.next_power_of_two()).map(reversed);
    all.filter(move |place| *place < places)
        .map(move |place| place * step)
}

/// The calls of a thread that are open at a time.
struct Sample {
    time: Timestamp,
    open: Vec<OpenCall>,
}

impl Trace {
    /// Returns true if what so many segments have is not read now, because there will be an index.
    pub(crate) fn is_estimated(&self, segments: usize) -> bool {
        segments > MANY && self.waits_for_index()
    }

    /// Draws the calls of a thread that are open at the begins of some segments. Ends early at
    /// `until`.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn draw_coarse(
        &self,
        thread: ThreadId,
        segments: &[usize],
        until: Instant,
        tile: &mut Tile,
    ) -> io::Result<()> {
        let mut samples: BTreeMap<usize, Sample> = BTreeMap::new();
        for place in spread(segments.len()) {
            // The first ones are always there.
            if samples.len() > 4 && Instant::now() >= until {
                break;
            }
            let number = segments[place];
            let starts = self.start_of(number)?;
            if let Some(start) = starts.iter().find(|start| start.thread == thread) {
                let time = self.first_time(number);
                let open = start.open.clone().unwrap_or_default();
                samples.insert(number, Sample { time, open });
            }
        }
        let mut before: &[OpenCall] = &[];
        for sample in samples.values() {
            let same = common(before, &sample.open);
            for (level, call) in before.iter().enumerate().skip(same) {
                // It has ended when the next call of the level begins, or earlier.
                let next = sample.open.get(level).map(|call| call.start);
                let end = next.unwrap_or(sample.time).min(sample.time);
                tile.add(&self.slice_of(call, level, end));
            }
            before = &sample.open;
        }
        for (level, call) in before.iter().enumerate() {
            tile.add(&self.slice_of(call, level, LATER));
        }
        tile.set_coarse();
        Ok(())
    }

    fn slice_of(&self, call: &OpenCall, level: usize, end: Timestamp) -> Slice {
        Slice {
            begin: call.start,
            end: end.max(call.start),
            method: self.number_of(call.method),
            level: level as u32,
            kind: Kind::Call,
        }
    }

    /// Returns about what each thread does: half of its events are begins of calls.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn about_threads(
        &self,
        until: Instant,
    ) -> io::Result<BTreeMap<ThreadId, ThreadSum>> {
        let mut threads: BTreeMap<ThreadId, ThreadSum> = BTreeMap::new();
        for (place, number) in spread(self.segment_count()).enumerate() {
            if place > 4 && Instant::now() >= until {
                break;
            }
            for start in self.start_of(number)?.iter() {
                let sum = threads.entry(start.thread).or_default();
                sum.calls = sum.calls.max(start.state.events() / 2);
                // Most threads call some more methods from there.
                let open = start.open.as_ref().map_or(0, Vec::len);
                sum.levels = sum.levels.max(open as u32 + 2);
            }
        }
        Ok(threads)
    }

    /// Returns about how many calls begin by interval: those between two of the segments are spread
    /// evenly.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn about_calls(
        &self,
        span: [Timestamp; 2],
        intervals: usize,
        until: Instant,
    ) -> io::Result<Overview> {
        let mut overview = Overview::unknown(span, intervals);
        let segments = self.segments_in(span);
        let mut points: BTreeMap<ThreadId, BTreeMap<Timestamp, u64>> = BTreeMap::new();
        for (place, at) in spread(segments.len()).enumerate() {
            if place > 4 && Instant::now() >= until {
                break;
            }
            let number = segments[at];
            for start in self.start_of(number)?.iter() {
                let of_thread = points.entry(start.thread).or_default();
                of_thread.insert(self.first_time(number), start.state.events());
            }
        }
        for (thread, points) in points {
            let ends = points.iter().skip(1);
            for ((from, before), (to, after)) in points.iter().zip(ends) {
                let calls = after.saturating_sub(*before) / 2;
                overview.add_evenly(
                    thread,
                    [*from, *to],
                    Counts {
                        calls,
                        ..Counts::default()
                    },
                );
            }
        }
        Ok(overview)
    }
}

/// Returns how many calls both lists begin with.
fn common(one: &[OpenCall], other: &[OpenCall]) -> usize {
    let is_same = |(one, other): &(&OpenCall, &OpenCall)| {
        (one.start, one.ticket, one.method) == (other.start, other.ticket, other.method)
    };
    one.iter().zip(other).take_while(is_same).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly() {
        for count in [0, 1, 2, 3, 7, 512, 513, 10_000] {
            let all: Vec<usize> = spread(count).collect();
            assert!(
                all.len() <= SAMPLES && all.iter().all(|n| *n < count),
                "{count}"
            );
            let mut sorted = all.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), all.len());
            assert_eq!(count == 0, all.is_empty());
            // The first eight are in eight different eighths.
            if count >= 512 {
                let mut eighths: Vec<usize> = all[..8].iter().map(|n| n * 8 / count).collect();
                eighths.sort_unstable();
                eighths.dedup();
                assert!(eighths.len() >= 7, "{count}: {eighths:?}");
            }
        }
    }
}
