//! The order of slices in a page.

use crate::Slice;

/// Orders the slices of a thread, in which callees precede their callers, by their begins: callers
/// precede their callees. Times alone don't tell the order of calls that take no time.
pub(super) fn callers_first(slices: &mut Vec<Slice>) {
    const NONE: usize = usize::MAX;
    let count = slices.len();
    // From the last one on, each slice comes after its caller.
    let mut callers = vec![NONE; count];
    let mut open: Vec<usize> = Vec::new();
    for at in (0..count).rev() {
        let is_within = |caller: &usize| slices[*caller].level < slices[at].level;
        while open.last().is_some_and(|caller| !is_within(caller)) {
            open.pop();
        }
        callers[at] = open.last().copied().unwrap_or(NONE);
        open.push(at);
    }
    // A slice takes as many places as it and all that is within it.
    let mut sizes = vec![1_usize; count];
    for at in 0..count {
        if let Some(size) = sizes.get(callers[at]).map(|size| size + sizes[at]) {
            sizes[callers[at]] = size;
        }
    }
    let mut places = vec![0_usize; count];
    // The place after the last callee that has none yet, by caller.
    let mut ends = vec![0_usize; count];
    let mut end = count;
    for at in (0..count).rev() {
        let end = ends.get_mut(callers[at]).unwrap_or(&mut end);
        *end -= sizes[at];
        places[at] = *end;
        ends[at] = places[at] + sizes[at];
    }
    let mut ordered = slices.clone();
    for (slice, place) in slices.iter().zip(places) {
        ordered[place] = *slice;
    }
    *slices = ordered;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use jtrail_model::Timestamp;

    fn slice(method: u32, level: u32, begin: i64, end: i64) -> Slice {
        Slice {
            begin: Timestamp(begin),
            end: Timestamp(end),
            method,
            level,
            kind: Kind::Call,
        }
    }

    fn ordered(mut slices: Vec<Slice>) -> Vec<u32> {
        callers_first(&mut slices);
        slices.iter().map(|slice| slice.method).collect()
    }

    #[test]
    fn callers_precede_their_callees() {
        let slices = vec![
            slice(3, 2, 10, 20),
            slice(2, 1, 10, 30),
            slice(4, 1, 30, 40),
            slice(1, 0, 0, 50),
            slice(5, 0, 60, 70),
        ];
        assert_eq!(ordered(slices), [1, 2, 3, 4, 5]);
        assert_eq!(ordered(Vec::new()), [0; 0]);
    }

    #[test]
    fn calls_that_take_no_time_keep_their_callers() {
        // Two calls at the same time, each with a callee.
        let slices = vec![
            slice(3, 2, 10, 10),
            slice(2, 1, 10, 10),
            slice(5, 2, 10, 10),
            slice(4, 1, 10, 10),
            slice(1, 0, 10, 10),
        ];
        assert_eq!(ordered(slices), [1, 2, 3, 4, 5]);
    }
}
