//! Recovers a sound trail from a corrupt one.
//!
//! Recovery reads the file twice. The first pass finds the segments with correct checksums,
//! wherever they are. It chooses the segments of one trace; each segment identifies its trace. The
//! second pass reads the chosen segments and writes their events to a new trail, with a new index.
//! The new trail has only events of the file, in the order of the file. The only additions are
//! notes about losses ([`jtrail_model::Lost`]), with the reason [`REASON`].

mod salvage;
mod survey;
mod window;

pub(super) use window::Window;

use super::wire::VERSION;
use jtrail_model::Event;
use salvage::Salvage;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use survey::Survey;

/// Reason for the loss of events, in the notes about losses.
pub const REASON: &str = "damaged";

/// Outcome of a recovery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// Number of events that were written, without the notes about losses.
    pub events: u64,
    /// Number of these events that were not in the file.
    pub added: u64,
    /// True if all events that were not in the file are known and were added.
    pub is_added: bool,
    /// Number of events that are known to be missing. Nobody knows how many followed the end of a
    /// truncated trace.
    pub lost: u64,
    /// Number of calls that are open at the end.
    pub open_calls: u64,
    /// True if the file has the end of a complete trace. Otherwise, the written trail is truncated,
    /// too, unless [`Self::is_added`] is true.
    pub has_end: bool,
    /// Size of the file, in bytes.
    pub size: u64,
    /// Gaps between sound segments, in the order of the file.
    pub gaps: Vec<Gap>,
    /// Sound segments that were not used, in the order of the file.
    pub others: Vec<Other>,
    /// True if the file has more gaps than the survey can keep, so that some segments were ignored.
    pub is_cut: bool,
}

impl Recovered {
    /// Returns true if the trace is complete and the file holds nothing else.
    pub fn is_complete(&self) -> bool {
        let others = self.others.iter().all(|other| other.is_repeated);
        self.lost == 0 && (self.has_end || self.is_added) && others && !self.is_cut
    }
}

/// A position in the file where something is missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gap {
    /// Range of the gap in the file, between two segments that were used. The range is empty if the
    /// bytes were removed, or if they are elsewhere in the file.
    pub bytes: Range<u64>,
    /// Number of bytes in this range that belong to no sound segment.
    pub damaged: u64,
    /// Numbers of the events in the gap, counted from 0 at the start of the trace. The range is
    /// empty if no event is missing.
    pub events: Range<u64>,
    /// Number of these events that are definitions and were recovered from copies.
    pub definitions: u64,
}

impl Gap {
    /// Returns the number of missing events.
    pub fn lost(&self) -> u64 {
        let all = self.events.end.saturating_sub(self.events.start);
        all.saturating_sub(self.definitions)
    }
}

/// Consecutive sound segments that were not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// Range of the segments in the file.
    pub bytes: Range<u64>,
    /// Number of segments.
    pub segments: u64,
    /// Number of events in the segments.
    pub events: u64,
    /// True if the segments are repeated in the file, and were used at another position. False if
    /// they belong to another trace.
    pub is_repeated: bool,
}

/// The reason why nothing was recovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The file can't be read, or the new file can't be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has no part of a trail.
    #[error("not a trail: it does not begin as one, and no part of one is in it")]
    NotATrail,
    /// The trail has a later version of the format.
    #[error("version {0} of the format: only those up to {VERSION} are known; use a later jtrail")]
    Version(u8),
    /// Segments that the first pass found are missing in the second pass.
    #[error("it changes while it is read; wait until nobody writes it any more")]
    Changed,
}

/// Events of a trace that the file does not have yet.
pub trait More {
    /// Notes that the file has this event.
    fn seen(&mut self, event: &Event<'_>);

    /// Passes the events that follow all events noted by [`Self::seen`] to `visit`.
    ///
    /// # Errors
    /// If the events can't be read, or if `visit` fails.
    fn hand_out(&mut self, visit: &mut dyn FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()>;

    /// Returns true if no further events are missing.
    fn is_known(&self) -> bool;
}

/// No further events.
impl More for () {
    fn seen(&mut self, _: &Event<'_>) {}

    fn hand_out(&mut self, _: &mut dyn FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }

    fn is_known(&self) -> bool {
        false
    }
}

/// Writes a trail with everything sound in `source` to `out`.
///
/// Memory grows with the number of gaps, up to a bound, and with the number of definitions in the
/// trace. It does not grow with the size of the file.
///
/// # Errors
/// If reading or writing fails, or if `source` is not a trail.
pub fn recover(source: impl Read + Seek, out: &mut dyn Write) -> Result<Recovered, RecoverError> {
    recover_with(source, out, &mut ())
}

/// Like [`recover`], but adds the events of `more` after those of the file. It is for a file that
/// was still being written.
///
/// # Errors
/// The same as those of [`recover`], and those of `more`.
pub fn recover_with(
    source: impl Read + Seek,
    out: &mut dyn Write,
    more: &mut dyn More,
) -> Result<Recovered, RecoverError> {
    let mut window = Window::new(source)?;
    let mut survey = Survey::of(&mut window)?;
    if let Some(version) = survey.version {
        return Err(RecoverError::Version(version));
    }
    if !survey.begins && survey.runs.is_empty() && survey.headers.is_empty() {
        return Err(RecoverError::NotATrail);
    }
    let (runs, others) = survey.chosen();
    let mut salvage = Salvage::new(&survey, out, more);
    for run in &runs {
        salvage.run(&mut window, run)?;
    }
    salvage.finish(&others)
}
