//! Makes a sound trail of what is sound in a damaged one.
//!
//! The file is looked through twice. The first look finds the segments whose checksums are right,
//! wherever they are, and chooses those of one trace: they say of which they are. The second reads
//! these and writes what they hold anew, with an index of its own. Each event that is written was
//! in the file, in the order in which it was there; what is missing is one event more, the note
//! that tells of a loss ([`jtrail_model::Lost`]), with [`REASON`].

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

/// Why events are lost, in the notes that tell of it.
pub const REASON: &str = "damaged";

/// What was made of a trail.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// Events that were written, without the notes that tell of losses.
    pub events: u64,
    /// How many of them were not in the file.
    pub added: u64,
    /// It is known what was not in the file: nothing of it is missing.
    pub is_added: bool,
    /// Events that are known to be missing. How many followed where a trace is truncated, nobody
    /// knows.
    pub lost: u64,
    /// Calls that are open at the end.
    pub open_calls: u64,
    /// The file says that the trace is whole, and that it ends there. If it does not, the written
    /// one is truncated as well.
    pub has_end: bool,
    /// Bytes of the file.
    pub size: u64,
    /// Where something is missing, in the order of the file.
    pub gaps: Vec<Gap>,
    /// Sound segments that were not taken, in the order of the file.
    pub others: Vec<Other>,
    /// There was more damage than is told apart, and segments were not looked at.
    pub is_cut: bool,
}

impl Recovered {
    /// Whether everything is there: the whole trace, and nothing else was in the file.
    pub fn is_complete(&self) -> bool {
        let others = self.others.iter().all(|other| other.is_repeated);
        self.lost == 0 && (self.has_end || self.is_added) && others && !self.is_cut
    }
}

/// A place where something is missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gap {
    /// The place in the file, between two segments that were taken. It is empty where bytes were
    /// cut out, or stand elsewhere.
    pub bytes: Range<u64>,
    /// Bytes there that are in no sound segment.
    pub damaged: u64,
    /// The events that were there, the first of the trace being 0; empty where none is missing.
    pub events: Range<u64>,
    /// How many of these are definitions that are not lost, because they stand in the file twice.
    pub definitions: u64,
}

impl Gap {
    /// Events that are missing.
    pub fn lost(&self) -> u64 {
        let all = self.events.end.saturating_sub(self.events.start);
        all.saturating_sub(self.definitions)
    }
}

/// Sound segments that were not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// Where they are.
    pub bytes: Range<u64>,
    /// How many.
    pub segments: u64,
    /// Events in them.
    pub events: u64,
    /// They are there twice, and were taken from another place. Otherwise they are of another
    /// trace.
    pub is_repeated: bool,
}

/// Why nothing could be recovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The file can't be read, or the new one can't be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is nothing of a trail.
    #[error("not a trail: it does not begin as one, and no part of one is in it")]
    NotATrail,
    /// Of a later version.
    #[error("version {0} of the format: only those up to {VERSION} are known; use a later jtrail")]
    Version(u8),
    /// What the first look found is gone.
    #[error("it changes while it is read; wait until nobody writes it any more")]
    Changed,
}

/// What is known of a trace that the file does not have yet.
pub trait More {
    /// The file has that event.
    fn seen(&mut self, event: &Event<'_>);

    /// Hands out what comes behind all that was seen.
    ///
    /// # Errors
    /// When it can't be read; or what `visit` fails with.
    fn hand_out(&mut self, visit: &mut dyn FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()>;

    /// Whether that is all that is known.
    fn is_known(&self) -> bool;
}

/// Nothing.
impl More for () {
    fn seen(&mut self, _: &Event<'_>) {}

    fn hand_out(&mut self, _: &mut dyn FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }

    fn is_known(&self) -> bool {
        false
    }
}

/// Makes a trail of what is sound in `source`, and writes it to `out`.
///
/// Memory does not grow with the file, but with the number of places where it is damaged, up to a
/// bound, and with what the trace defines.
///
/// # Errors
/// When reading or writing fails, or `source` is no trail.
pub fn recover(source: impl Read + Seek, out: &mut dyn Write) -> Result<Recovered, RecoverError> {
    recover_with(source, out, &mut ())
}

/// As [`recover`], and puts events behind those of the file, which was being written.
///
/// # Errors
/// As those of [`recover`], and what `more` fails with.
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
