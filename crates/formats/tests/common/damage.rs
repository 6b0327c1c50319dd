//! How damage may change the events before it. The tests of the command line use this module too.

use jtrail_formats::{Decoded, Format, Step};
use std::collections::HashSet;
use std::hash::Hash;

/// How damage may change the events that precede it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// The preceding events are unchanged.
    Stands,
    /// Up to this many events may read differently. The decoder holds them back until it has read a
    /// later part of the file. That part may complete these events, or hold events that precede
    /// them.
    Waits(usize),
}

impl Before {
    pub fn of(format: Format) -> Self {
        match format {
            Format::TptpXml | Format::TptpBinary | Format::ProfilerJ | Format::Trail => {
                Self::Stands
            }
            // A synthesised leave, or an object whose allocation is cut off.
            Format::Jinsight => Self::Waits(1),
            // The opening events, which wait until the first buffer is complete.
            Format::Mlpd => Self::Waits(4),
            // The opening events, which wait for the process record, and code, which waits for its
            // compilation.
            Format::TraceLog => Self::Waits(20),
            _ => panic!("say what damage does to {format:?}"),
        }
    }

    /// True if the damaged trace still has the events that the whole one had before the damage.
    pub fn keeps<T: Eq + Hash>(self, reported: &[T], damaged: &[T]) -> bool {
        match self {
            Self::Stands => damaged.starts_with(reported),
            Self::Waits(most) => missing(reported, damaged) <= most,
        }
    }

    /// True if a cut trace has no events that the whole one lacks.
    pub fn adds_nothing<T: Eq + Hash>(self, whole: &[T], cut: &[T]) -> bool {
        match self {
            Self::Stands => whole.starts_with(cut),
            Self::Waits(most) => missing(cut, whole) <= most,
        }
    }
}

/// Returns how many items of `some` are not in `others`.
fn missing<T: Eq + Hash>(some: &[T], others: &[T]) -> usize {
    let others: HashSet<&T> = others.iter().collect();
    some.iter().filter(|one| !others.contains(one)).count()
}

/// Returns, for a sound trace, where each decoder step ends, with the number of events so far.
pub fn ends(format: Format, bytes: &[u8]) -> Vec<(usize, usize)> {
    // In these two formats, the decoder emits implied events before it consumes the record; in the
    // others, it consumes the record first.
    let implies = matches!(format, Format::Jinsight | Format::TraceLog);
    let mut decoder = format.decoder();
    let (mut start, mut events, mut ends) = (0, 0, vec![(0, 0)]);
    loop {
        let Decoded { used, step } = decoder.step(&bytes[start..], true).expect("a sound trace");
        start += used;
        match step {
            Step::Event(_) => events += 1,
            Step::End => {
                ends.push((start, events));
                return ends;
            }
            _ => {}
        }
        if used > 0 || !implies {
            ends.push((start, events));
        }
    }
}

/// Returns how many events precede `place`; `ends` comes from [`ends`].
pub fn events_before(ends: &[(usize, usize)], place: usize) -> usize {
    ends[ends.partition_point(|(end, _)| *end <= place) - 1].1
}
