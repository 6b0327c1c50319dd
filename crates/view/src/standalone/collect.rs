//! The slices and waits of a part of a trace.

use super::Selection;
use super::order::callers_first;
use crate::slice::{EARLIER, LATER};
use crate::slices::Latest;
use crate::{Slice, Trace, Wait};
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// A part of a trace.
#[derive(Debug)]
pub(crate) struct Part {
    /// The span, which has its begin, but not its end.
    pub(crate) span: [Timestamp; 2],
    /// Threads with their slices that overlap the span, callers before their callees. All begins
    /// and ends are known: what never ends has ended at the trace's last time.
    pub(crate) threads: Vec<(ThreadId, Vec<Slice>)>,
    /// The waits among the slices, with what they are for.
    pub(crate) waits: Vec<Wait>,
}

/// What was collected.
pub(super) enum Collected {
    Part(Part),
    /// There are too many slices: so many at least, of which some begin at these times.
    TooMany {
        found: usize,
        begins: Vec<Timestamp>,
    },
}

/// Slices of threads, callees before their callers.
struct Gathered {
    threads: BTreeMap<ThreadId, (Vec<Slice>, Latest)>,
    found: usize,
}

/// Collects the selected part of a trace, if it has at most `max` slices. More are not kept.
///
/// # Errors
/// If the file can't be read, or `InvalidData` if a segment is damaged.
pub(super) fn collect(trace: &Trace, selection: &Selection, max: usize) -> io::Result<Collected> {
    let span = selection.span;
    let gathered = gather(trace, selection, max)?;
    if gathered.found > max {
        let slices = gathered
            .threads
            .into_values()
            .flat_map(|(slices, _)| slices);
        return Ok(Collected::TooMany {
            found: gathered.found,
            begins: slices.map(|slice| slice.begin).collect(),
        });
    }
    let mut threads: Vec<(ThreadId, Vec<Slice>)> = Vec::new();
    for (id, (slices, _)) in gathered.threads {
        if !slices.is_empty() {
            threads.push((id, slices));
        }
    }
    let waits = waits(trace, span, &threads)?;
    // The begins of waits that began before the segments that were read.
    let begins: FxHashMap<(ThreadId, Timestamp), Timestamp> = waits
        .iter()
        .map(|wait| ((wait.thread, wait.end), wait.begin))
        .collect();
    let [first, end] = trace.span();
    // What never ends has ended at the last time.
    let last = Timestamp(end.0.saturating_sub(1)).max(first);
    for (id, slices) in &mut threads {
        for slice in slices.iter_mut() {
            if slice.begin == EARLIER && !slice.kind.is_call() {
                let begin = begins.get(&(*id, slice.end));
                slice.begin = begin.copied().unwrap_or(EARLIER);
            }
            if slice.end == LATER {
                *slice = trace.with_end(*id, *slice)?;
            }
            slice.begin = slice.begin.max(first);
            if slice.end == LATER {
                slice.end = last.max(slice.begin);
            }
        }
        callers_first(slices);
    }
    let waits = waits.into_iter().map(|wait| Wait {
        begin: wait.begin.max(first),
        end: wait.end.min(last.max(wait.begin)),
        ..wait
    });
    Ok(Collected::Part(Part {
        span,
        waits: waits.collect(),
        threads,
    }))
}

/// Gathers the slices of threads, segment by segment. Ends early, with the segment in which there
/// are too many.
fn gather(trace: &Trace, selection: &Selection, max: usize) -> io::Result<Gathered> {
    let span = selection.span;
    let is_empty = span[0] >= span[1];
    let is_selected = |id: &ThreadId| match &selection.threads {
        _ if is_empty => false,
        Some(threads) => threads.contains(id),
        None => true,
    };
    // For each segment the threads whose slices it tells, and if it is the last one that does.
    let mut needs: BTreeMap<usize, Vec<(ThreadId, bool)>> = BTreeMap::new();
    for thread in trace.threads().filter(is_selected) {
        let numbers = trace.segments_of(thread, span);
        let last = numbers.last().copied();
        for number in numbers {
            let is_last = Some(number) == last;
            needs.entry(number).or_default().push((thread, is_last));
        }
    }
    let mut gathered = Gathered {
        threads: BTreeMap::new(),
        found: 0,
    };
    for (number, threads) in needs {
        let segment = trace.segment(number)?;
        for (id, is_last) in threads {
            let (kept, latest) = gathered.threads.entry(id).or_default();
            let found = &mut gathered.found;
            let mut innermost_first = |slice: &Slice| {
                if slice.overlaps(span) {
                    *found += 1;
                    if *found <= max {
                        kept.push(*slice);
                    }
                }
            };
            let segment = Arc::clone(&segment);
            latest.follow(trace, id, (number, segment), &mut innermost_first)?;
            if is_last {
                latest.end(trace, id, span, innermost_first);
            }
        }
        if gathered.found > max {
            break;
        }
    }
    Ok(gathered)
}

/// Returns the waits of the threads that have any.
fn waits(
    trace: &Trace,
    span: [Timestamp; 2],
    threads: &[(ThreadId, Vec<Slice>)],
) -> io::Result<Vec<Wait>> {
    let waiting = threads
        .iter()
        .filter(|(_, slices)| slices.iter().any(|slice| !slice.kind.is_call()));
    let waiting: BTreeSet<ThreadId> = waiting.map(|(id, _)| *id).collect();
    let mut waits = Vec::new();
    trace.waits_of(&waiting, span, |wait| waits.push(wait))?;
    Ok(waits)
}
