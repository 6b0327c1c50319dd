//! A trail that is still being written.
//!
//! What is known of the segments that were there before stays valid, so that only new segments are
//! read. A damaged trail is an exception: segments may get other numbers when an index arrives,
//! which lists those that were not found. So it is opened again.

use crate::opening::{read_names, times};
use crate::trace::{Trace, after_last};
use jtrail_formats::trail::Ending;
use jtrail_model::Timestamp;
use std::fs::File;
use std::io;

/// How a trail has grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// There is nothing new.
    None,
    /// There are new segments, or there is the end of the trail.
    Segments {
        /// Number of the first new segment.
        first: usize,
        /// What is before this time is as it was: new events are at this time or later.
        from: Timestamp,
    },
    /// Nothing that was known of the trail may be valid any more, but the numbers of methods.
    All,
}

impl Trace {
    /// Looks for segments that were appended since the last look, and reads their definitions.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn grow(&mut self) -> io::Result<Growth> {
        if self.ending() != Ending::Missing {
            return Ok(Growth::None);
        }
        let (count, span) = (self.segments.count(), self.span);
        if !self.segments.grow(File::open(&self.path)?)? {
            return Ok(Growth::None);
        }
        if !self.is_sound() {
            return self.reopen();
        }
        let first = count;
        self.has_all_names &= read_names(&self.path, &mut self.segments, first, &mut self.names)?;
        let mut from = span[1];
        let mut all = (first > 0).then(|| [span[0], Timestamp(span[1].0.saturating_sub(1))]);
        for number in first..self.segments.count() {
            let Some([begin, end]) = times(&self.path, &self.segments, number)? else {
                // It may have events of any time.
                from = Timestamp(i64::MIN);
                continue;
            };
            from = from.min(begin);
            let [first, last] = all.unwrap_or([begin, end]);
            all = Some([first.min(begin), last.max(end)]);
        }
        self.span = all.map_or_else(Default::default, after_last);
        self.check(first)?;
        if !self.is_sound() {
            return self.reopen();
        }
        // The page counts times from the first one.
        Ok(match self.span[0] == span[0] {
            true => Growth::Segments { first, from },
            false => Growth::All,
        })
    }

    /// Opens the trail again. Methods keep their numbers.
    fn reopen(&mut self) -> io::Result<Growth> {
        if let Some(mut new) = Self::open(&self.path)? {
            new.verify()?;
            new.methods = std::mem::take(&mut self.methods);
            *self = new;
        }
        Ok(Growth::All)
    }

    /// Returns true if all segments were checked, and nothing is missing or damaged.
    pub(crate) fn is_sound(&self) -> bool {
        self.gaps.is_sound && self.has_all_names
    }
}
