//! The analysis that the index of a trace contains. A report of the whole trace is made from it, if
//! it has all that the report shows; then it takes no time to read the trace.

use super::Args;
use super::tables::Table;
use jtrail_analysis::{Analysis, TreeCut, saved};
use std::path::Path;

/// Returns the bytes of the analysis of the whole trace that its index contains: those that
/// [`saved::save`] returned.
///
/// Returns `None` if there is no index, if it has no analysis, or if it is not the index of this
/// trace as it is now. The caller then reads the trace. There are no indexes yet, so that this is
/// always so.
pub(super) fn analysis_of_index(_trace: &Path) -> Option<Vec<u8>> {
    None
}

/// Returns the analysis for a report of the whole trace. Returns `None` if the report shows more
/// than what was saved, or if the bytes can't be loaded.
pub(super) fn analysis(args: &Args, bytes: &[u8]) -> Option<Analysis> {
    let analysis = saved::load(bytes)?.narrowed(args.subjects())?;
    let has_all = |cut: TreeCut| args.min.of(cut.all) >= cut.least;
    let is_enough = !args.tables().contains(&Table::Tree)
        || analysis
            .calls
            .tree()
            .cut_below(args.net)
            .is_none_or(has_all);
    is_enough.then_some(analysis)
}

#[cfg(test)]
mod tests;
