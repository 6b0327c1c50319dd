//! What damage may change of the events before it. The tests of the command line use it too.

use jtrail_formats::{Decoded, Format, Step};
use std::collections::HashSet;
use std::hash::Hash;

/// What damage may change of what comes before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// Nothing.
    Stands,
    /// As many events may read otherwise: what follows would say more of them, or comes before
    /// them.
    Waits(usize),
}

impl Before {
    pub fn of(format: Format) -> Self {
        match format {
            Format::TptpXml | Format::TptpBinary | Format::ProfilerJ | Format::Trail => {
                Self::Stands
            }
            // A leave that is made up, or an object whose making is cut off.
            Format::Jinsight => Self::Waits(1),
            // The opening, until the first buffer is whole.
            Format::Mlpd => Self::Waits(4),
            // The opening, until the process is told; and code, until its compilation is.
            Format::TraceLog => Self::Waits(20),
            _ => panic!("say what damage does to {format:?}"),
        }
    }

    /// Whether what was told of a trace before the damage is told of the damaged one.
    pub fn keeps<T: Eq + Hash>(self, reported: &[T], damaged: &[T]) -> bool {
        match self {
            Self::Stands => damaged.starts_with(reported),
            Self::Waits(most) => missing(reported, damaged) <= most,
        }
    }

    /// Whether nothing is told of a trace that is cut but what is told of the whole one.
    pub fn adds_nothing<T: Eq + Hash>(self, whole: &[T], cut: &[T]) -> bool {
        match self {
            Self::Stands => whole.starts_with(cut),
            Self::Waits(most) => missing(cut, whole) <= most,
        }
    }
}

/// How many of some are not among others.
fn missing<T: Eq + Hash>(some: &[T], others: &[T]) -> usize {
    let others: HashSet<&T> = others.iter().collect();
    some.iter().filter(|one| !others.contains(one)).count()
}

/// Where the steps of a decoder end in a sound trace, and how many events there were by then.
pub fn ends(format: Format, bytes: &[u8]) -> Vec<(usize, usize)> {
    // What a record implies is told before that is used up; in other formats a record is used up,
    // and then told.
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

/// How many events stand before a place, of which [`ends`] are.
pub fn events_before(ends: &[(usize, usize)], place: usize) -> usize {
    ends[ends.partition_point(|(end, _)| *end <= place) - 1].1
}
