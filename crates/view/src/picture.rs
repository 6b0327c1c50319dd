//! Pictures of long spans, which the index makes quick.

use crate::finer;
use crate::index::{Index, Place};
use crate::slice::LATER;
use crate::tile::Tile;
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use std::cmp::Reverse;
use std::io;
use std::time::{Duration, Instant};

/// Number of segments up to which a picture needs no index.
const FEW: usize = 2;
/// About what it takes to read a block.
const OF_BLOCK: Duration = Duration::from_millis(30);

impl Trace {
    /// Returns the picture of a thread's slices in a span, of so many pixels. It may be coarse if
    /// `time` is over, and while an index is being made. Then [`Self::read_ahead`] reads what is
    /// missing.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn tile(
        &self,
        thread: ThreadId,
        span: [Timestamp; 2],
        width: u32,
        time: Duration,
    ) -> io::Result<Tile> {
        let mut tile = Tile::new(span, width);
        let segments = self.segments_of(thread, span);
        let power = tile.power(self.span()[0]);
        if let (Some(index), Some(power)) = (self.index(), power)
            && segments.len() > FEW
        {
            let picture = Picture {
                trace: self,
                index: &index,
                thread,
                span,
                power,
                until: Instant::now().checked_add(time),
            };
            picture.draw(&mut tile)?;
        } else if self.is_estimated(segments.len()) {
            self.draw_coarse(thread, &segments, Instant::now() + time, &mut tile)?;
        } else {
            self.slices(thread, span, |slice| tile.add(slice))?;
        }
        for missing in self.missing(thread, span) {
            tile.add_missing(missing);
        }
        Ok(tile)
    }
}

/// A picture that is made from the index.
struct Picture<'t> {
    trace: &'t Trace,
    index: &'t Index,
    thread: ThreadId,
    span: [Timestamp; 2],
    /// Pixels are 2^`power` ns wide.
    power: u8,
    /// What takes longer is left coarse; nothing if `None`.
    until: Option<Instant>,
}

impl Picture<'_> {
    fn draw(&self, tile: &mut Tile) -> io::Result<()> {
        let mut blocks = Vec::new();
        let mut nodes: Vec<Place> = self.index.top().collect();
        nodes.reverse();
        // The segment after all nodes that have a part of the span.
        let mut end = None;
        while let Some(place) = nodes.pop() {
            if !self.is_in_span(place) {
                continue;
            }
            let bins = self.index.bins(place);
            if bins.power <= self.power
                && let Some(detail) = self.index.detail(place, self.thread)?
            {
                tile.add_detail(&detail, bins);
            } else if place.0 == 0 {
                blocks.push(place);
            } else {
                nodes.extend(self.index.below(place).rev());
                continue;
            }
            end = Some(self.index.segments(place)[1]);
        }
        self.draw_across(end, tile)?;
        self.draw_blocks(&blocks, tile)
    }

    fn is_in_span(&self, place: Place) -> bool {
        let [from, until] = self.span;
        let times = self.index.times(place);
        times.is_some_and(|[first, last]| first < until && last >= from)
    }

    /// Draws what does not end in the nodes up to a segment, and waits that begin in other blocks.
    fn draw_across(&self, end: Option<u32>, tile: &mut Tile) -> io::Result<()> {
        let next = match end {
            Some(end) => self.trace.next_segment(self.thread, end as usize),
            // The thread has no events in the span.
            None => self.trace.segment_after(self.thread, self.span[1]),
        };
        for slice in self.index.across(self.thread) {
            if slice.end != LATER || next.is_none() || !slice.kind.is_call() {
                tile.add(slice);
            }
        }
        // The next segment lists the calls that are open up to its begin.
        if let Some(next) = next {
            let open = self.trace.open_at(next, self.thread)?;
            open.iter().for_each(|slice| tile.add(slice));
        }
        Ok(())
    }

    /// Draws blocks whose bins are wider than pixels, as far as they were read or there is time for
    /// it. The others are read later, from the middle of the span on.
    fn draw_blocks(&self, blocks: &[Place], tile: &mut Tile) -> io::Result<()> {
        let mut later = Vec::new();
        for place in blocks {
            let step = finer::step(self.index, *place, self.power);
            let blocks = &self.trace.finer;
            let finer = match blocks.get(step) {
                Some(finer) => Some(finer),
                None if self.has_time() || blocks.has_failed(step) => {
                    Some(blocks.read(self.trace, self.index, step)?)
                }
                None => {
                    later.push(step);
                    let coarser = (0..step.1).rev().map(|number| (*place, number));
                    coarser.filter_map(|step| blocks.get(step)).next()
                }
            };
            let finer = finer.and_then(|finer| Some((finer.detail(self.thread)?, finer.bins())));
            if let Some((detail, bins)) = finer {
                tile.add_detail(&detail, bins);
            } else if let Some(detail) = self.index.detail(*place, self.thread)? {
                tile.add_detail(&detail, self.index.bins(*place));
            }
        }
        if !later.is_empty() {
            tile.set_coarse();
            let middle = later.len() / 2;
            let mut places: Vec<usize> = (0..later.len()).collect();
            places.sort_by_key(|place| Reverse(place.abs_diff(middle)));
            let later = places.into_iter().map(|place| later[place]);
            self.trace.finer.ask(later);
        }
        Ok(())
    }

    /// Returns true if a block can be read before the time is over.
    fn has_time(&self) -> bool {
        self.until
            .is_none_or(|until| Instant::now() + OF_BLOCK < until)
    }
}
