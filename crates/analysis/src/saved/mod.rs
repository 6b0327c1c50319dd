//! The analysis of a whole trace as bytes, so that a report need not read the trace again.
//!
//! | Module | Content |
//! |---|---|
//! | `forms` | serialised forms of maps and lists |
//! | `check` | what must hold in a loaded analysis |
//!
//! The bytes are [`VERSION`], and a Zstandard frame that contains the [`Analysis`] as written by
//! [`postcard`]. They contain everything that a report shows, and nothing that only further events
//! would need: open calls and waits, and the objects themselves. So an analysis is finished before
//! it is saved, and a loaded one takes no further events. The time of recording is not subtracted
//! yet, so that [`Analysis::without_cost`] still can.
//!
//! The call tree is cut: it has the branches that take at least [`LEAST_SHARE`] of the time, and
//! the number of the omitted ones. Programs have millions of call paths, most of which take nearly
//! no time.

mod check;
mod forms;

pub(crate) use forms::{by_key, facts, steps, texts};

use crate::{Analysis, Objects, Subjects};
use std::io::Read;
use zstd::stream::read::Decoder;

/// The version of the form, which is the first byte. Bytes of another version can't be loaded. Any
/// change of a serialised type needs a new version.
pub const VERSION: u8 = 1;

/// What the analysis of a trace must have so that it answers the reports that need no more than the
/// usual tables: a call tree one level deeper than a report shows without options, and the sums of
/// objects.
pub const SUBJECTS: Subjects = Subjects {
    levels: 17,
    objects: true,
    classes: false,
    heap: false,
};

/// The minimum share of the total time that a branch of a saved call tree takes: a tenth of what a
/// report shows without options.
pub const LEAST_SHARE: f64 = 0.001;

/// The maximum size of the serialised analysis before compression, in bytes. A trace with a million
/// methods takes some 120 MB.
const MOST_BYTES: u64 = 128 << 20;

/// The maximum ratio of the sizes before and after compression, which limits the memory that a
/// small corrupt file can take. [`SLACK`] bytes are always allowed.
const MOST_RATIO: u64 = 64;
const SLACK: u64 = 1 << 20;

/// The compression level. The names and sums of 500,000 methods, 59 MB, become 11 MB in some
/// seconds.
const LEVEL: i32 = 12;

/// The binary logarithm of the maximum distance of repetitions in bytes, which is the memory that
/// decompression takes. [`LEVEL`] needs 22.
const WINDOW_LOG: u32 = 23;

/// Returns the analysis as bytes. Calls [`Analysis::finish`].
///
/// Returns `None` if the analysis can't be saved: if it has contents of class files or graphs of
/// heap dumps, or if [`load`] would refuse its size, of more than 128 MiB before compression.
pub fn save(mut analysis: Analysis) -> Option<Vec<u8>> {
    if analysis.subjects.classes || analysis.subjects.heap {
        return None;
    }
    analysis.finish();
    analysis.calls.cut_tree(analysis.cost);
    let plain = postcard::to_allocvec(&analysis).ok()?;
    let frame = zstd::bulk::compress(&plain, LEVEL).ok()?;
    let packed = [&[VERSION], frame.as_slice()].concat();
    (plain.len() as u64 <= most_plain(packed.len())).then_some(packed)
}

/// Returns the analysis of which [`save`] returned the bytes. Returns `None` for bytes of another
/// version, and for corrupt ones if the damage makes the analysis inconsistent. Other damage must
/// be found by a checksum.
///
/// The memory taken is at most proportional to the number of bytes. The analysis must not be given
/// further events.
pub fn load(bytes: &[u8]) -> Option<Analysis> {
    let (version, packed) = bytes.split_first()?;
    if *version != VERSION {
        return None;
    }
    let most = most_plain(bytes.len());
    let mut decoder = Decoder::with_buffer(packed).ok()?;
    decoder.window_log_max(WINDOW_LOG).ok()?;
    let mut plain = Vec::new();
    decoder.take(most + 1).read_to_end(&mut plain).ok()?;
    if plain.len() as u64 > most {
        return None;
    }
    let (analysis, rest) = postcard::take_from_bytes::<Analysis>(&plain).ok()?;
    (rest.is_empty() && check::is_consistent(&analysis)).then_some(analysis)
}

/// Returns the maximum size before compression for a size after compression, both in bytes.
fn most_plain(packed: usize) -> u64 {
    let by_ratio = (packed as u64).saturating_mul(MOST_RATIO);
    by_ratio.saturating_add(SLACK).min(MOST_BYTES)
}

impl Analysis {
    /// Returns the optional parts that this analysis has.
    pub fn subjects(&self) -> Subjects {
        self.subjects
    }

    /// Returns a loaded analysis as if it had been made with these optional parts only, as far as
    /// reports show it. Returns `None` if this analysis lacks one of the parts.
    pub fn narrowed(mut self, needed: Subjects) -> Option<Self> {
        let has = self.subjects;
        let is_enough = needed.levels <= has.levels
            && needed.objects <= has.objects
            && needed.classes <= has.classes
            && needed.heap == has.heap;
        if !is_enough {
            return None;
        }
        if !needed.objects {
            self.objects = Objects::default();
        }
        Some(self)
    }
}
