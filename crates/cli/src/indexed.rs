//! What a report of a trace shows, as the index of the trace keeps it.

use crate::analyse::analyse;
use crate::input::Input;
use crate::outcome::SOUND;
use crate::select::Span;
use jtrail_analysis::saved;
use std::path::Path;

/// The part of the trail's size that a saved analysis may take: one 200th. A trail with a larger
/// one is read quickly.
const PART: u64 = 200;

/// Returns the analysis of a trail for its index. Returns `None` if the trail can't be read without
/// remarks, or if the analysis is too large.
pub(crate) fn analysis_for_index(trail: &Path) -> Option<Vec<u8>> {
    let mut input = Input::open(trail, true).ok()?;
    let (analysis, ending) = analyse(&mut input, &Span::default(), &[], saved::SUBJECTS).ok()?;
    if ending.code() != SOUND || ending.infos != 0 {
        return None;
    }
    let size = trail.metadata().ok()?.len();
    saved::save(analysis).filter(|bytes| bytes.len() as u64 <= size / PART)
}
