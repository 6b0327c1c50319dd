//! The analysis that the index of a trace contains. A report of the whole trace is made from it, if
//! it has all that the report shows; then it takes no time to read the trace.

use super::Args;
use super::tables::Table;
use jtrail_analysis::{Analysis, TreeCut, saved};
use std::path::Path;

/// Returns the bytes of the analysis of the whole trace that its index contains. Returns `None` if
/// there is none, or if it is not of this trace as it is now. The caller then reads the trace.
pub(super) fn analysis_of_index(trace: &Path) -> Option<Vec<u8>> {
    // An index that can't be read is as good as missing.
    jtrail_view::saved_analysis(trace).ok().flatten()
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
