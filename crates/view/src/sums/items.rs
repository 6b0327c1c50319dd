//! What is summed up together.

use crate::index::{Index, Place};
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use std::collections::BTreeSet;

/// Segments that are summed up together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Segment(u32),
    /// A node of the index, whose sums are there.
    Node(Place),
}

impl Item {
    /// Returns true for the segment with a number and later ones.
    pub(crate) fn is_from(&self, first: usize) -> bool {
        matches!(self, Self::Segment(number) if *number as usize >= first)
    }
}

/// Returns what is to be summed up for some threads in a span: nodes of the index for which `has`
/// is true and which have no segment with a part outside of the span, and segments.
pub(crate) fn items(
    trace: &Trace,
    threads: &BTreeSet<ThreadId>,
    span: [Timestamp; 2],
    has: impl Fn(&Index, Place) -> bool,
) -> Vec<Item> {
    let mut numbers = BTreeSet::new();
    for thread in threads {
        let of_thread = trace.segments_of(*thread, span).into_iter();
        numbers.extend(of_thread.map(|number| number as u32));
    }
    with_nodes(trace, &numbers, span, has)
}

/// Returns what is to be summed up by call path for some threads in a span. If more than `most`
/// segments would have to be read, it is nodes in which one path may stand for several.
pub(super) fn path_items(
    trace: &Trace,
    threads: &BTreeSet<ThreadId>,
    span: [Timestamp; 2],
    most: usize,
) -> Vec<Item> {
    let exact = items(trace, threads, span, Index::has_all_paths);
    let is_segment = |item: &&Item| matches!(item, Item::Segment(_));
    match exact.iter().filter(is_segment).count() > most {
        true => items(trace, threads, span, Index::has_paths),
        false => exact,
    }
}

/// Returns segments with nodes of the index in place of those that are in one: nodes for which
/// `has` is true and which have no segment with a part outside of the span.
pub(crate) fn with_nodes(
    trace: &Trace,
    numbers: &BTreeSet<u32>,
    [from, until]: [Timestamp; 2],
    has: impl Fn(&Index, Place) -> bool,
) -> Vec<Item> {
    let Some(index) = trace.index() else {
        return numbers.iter().copied().map(Item::Segment).collect();
    };
    let mut items = Vec::new();
    let mut rest = 0;
    let mut nodes: Vec<Place> = index.top().collect();
    nodes.reverse();
    while let Some(place) = nodes.pop() {
        let is_inside = |[first, last]: [Timestamp; 2]| first >= from && last < until;
        if !index.times(place).is_some_and(is_inside) || !has(&index, place) {
            nodes.extend(index.below(place).rev());
            continue;
        }
        let [first, end] = index.segments(place);
        items.extend(numbers.range(rest..first).copied().map(Item::Segment));
        items.push(Item::Node(place));
        rest = end;
    }
    items.extend(numbers.range(rest..).copied().map(Item::Segment));
    items
}
