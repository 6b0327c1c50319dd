//! A shorter span, if a part has too many slices.

use super::Selection;
use super::collect::{Collected, collect};
use crate::Trace;
use jtrail_model::Timestamp;
use std::io;

/// Returns a span that begins with the selected one and whose slices are at most `max`, with their
/// number. `begins` are those of the first slices of the selection.
///
/// # Errors
/// If the file can't be read, or `InvalidData` if a segment is damaged.
pub(super) fn span(
    trace: &Trace,
    selection: &Selection,
    mut begins: Vec<Timestamp>,
    max: usize,
) -> io::Result<Option<([Timestamp; 2], usize)>> {
    begins.sort_unstable();
    let from = selection.span[0].max(trace.span()[0]);
    let mut place = max - max / 10;
    while place > 0 {
        let Some(until) = begins.get(place) else {
            place /= 2;
            continue;
        };
        let length = round(until.since(from).0);
        // `--until` is the last time of a span.
        let span = [
            from,
            Timestamp(from.0.saturating_add(length).saturating_add(1)),
        ];
        let shorter = Selection {
            span,
            ..selection.clone()
        };
        if let Collected::Part(part) = collect(trace, &shorter, max)? {
            let slices = part.threads.iter().map(|(_, slices)| slices.len());
            return Ok(Some((span, slices.sum())));
        }
        place /= 2;
    }
    Ok(None)
}

/// Rounds a length down to three digits; 0 if it is negative.
fn round(length: i64) -> i64 {
    let length = length.max(0);
    let digits = length.checked_ilog10().unwrap_or(0);
    let unit = 10_i64.pow(digits.saturating_sub(2));
    length / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_three_digits() {
        for (length, rounded) in [
            (-5, 0),
            (0, 0),
            (7, 7),
            (999, 999),
            (1_239, 1_230),
            (987_654_321, 987_000_000),
            (i64::MAX, 9_220_000_000_000_000_000),
        ] {
            assert_eq!(round(length), rounded);
        }
    }
}
