//! What must hold in a loaded analysis, so that no use of it panics or takes much memory.

use crate::Analysis;

/// The maximum of counts that are added to others.
const MOST: u64 = 1 << 60;

/// Returns true if all numbers in the analysis lead to something, and the counts of what is not
/// kept are possible.
pub(super) fn is_consistent(analysis: &Analysis) -> bool {
    let counts = [
        analysis.more_lost,
        analysis.more_uninstrumented,
        analysis.more_bursts,
        analysis.more_demoted,
        analysis.origin.more,
        analysis.exceptions.more_uncaught,
        analysis.initialisations.count,
        analysis.monitors.blocked.count,
    ];
    counts.iter().all(|count| *count <= MOST)
        && analysis.calls.is_consistent()
        && analysis.collections.is_consistent()
        && analysis.objects.is_consistent()
}
