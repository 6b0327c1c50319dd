//! Compares traces of one run, in any formats, by canonical keys.
//!
//! | Module | Holds |
//! |---|---|
//! | `sums` | the sums over one trace, by the trace's own ids |
//! | `objects` | the part of these sums about objects |
//! | `keys` | canonical names, independent of the format |
//! | `figures` | the sums of one quantity, by canonical key |
//!
//! [`jtrail_formats::Readable::recorded`] says what a format can record about a quantity. The
//! trace with the most information about a quantity is its **reference** (the first one, if several
//! are equal). All other traces are compared with the reference. If only one of the two traces has
//! some information (result types, names of threads, sizes of plain objects), it is not compared.

mod figures;
mod keys;
mod objects;
mod sums;

pub use sums::Sums;

use figures::{Figure, Figures, View};
use jtrail_formats::{MethodNames, Quantity, Readable, Recorded, profilerj};
use std::cmp::Reverse;

/// The comparison of one quantity in all traces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The quantity.
    pub quantity: Quantity,
    /// The outcome for each trace, in their order.
    pub traces: Vec<Outcome>,
}

/// The outcome of comparing one trace's quantity with the reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// This trace is the reference.
    Reference(Amount),
    /// The trace agrees with the reference.
    Equal(Amount),
    /// The trace differs from the reference.
    Differs(Amount, Vec<Difference>),
    /// The trace can't be compared, for this reason.
    NotComparable(String),
}

/// The total over all keys of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// The number of keys whose figure is not 0.
    pub keys: u64,
    /// The sum of all figures.
    pub sum: u64,
}

/// A key with different figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// The figure of the reference.
    pub expected: u64,
    /// The figure of this trace.
    pub found: u64,
}

impl Difference {
    fn size(&self) -> u64 {
        self.expected.abs_diff(self.found)
    }
}

/// Compares one quantity of several traces.
pub fn compare(quantity: Quantity, traces: &[Sums]) -> Compared {
    let silent: Vec<Option<String>> = traces.iter().map(|t| why_not(quantity, t)).collect();
    let rank = |at: &usize| (Reverse(richness(quantity, traces[*at].format)), *at);
    let talking = (0..traces.len()).filter(|at| silent[*at].is_none());
    let Some(reference) = talking.min_by_key(rank) else {
        let traces = silent.into_iter().flatten().map(Outcome::NotComparable);
        return Compared {
            quantity,
            traces: traces.collect(),
        };
    };
    let outcomes = silent
        .into_iter()
        .enumerate()
        .map(|(at, silent)| match silent {
            Some(why) => Outcome::NotComparable(why),
            None if at == reference => {
                let view = View::between(quantity, &traces[at], &traces[at]);
                Outcome::Reference(view.map_or(Amount::default(), |view| {
                    amount(&Figures::of(&traces[at], quantity, &view))
                }))
            }
            None => against(quantity, &traces[reference], &traces[at]),
        });
    Compared {
        quantity,
        traces: outcomes.collect(),
    }
}

/// Returns the reason why a trace has no information about the quantity. Returns `None` if it has
/// information.
fn why_not(quantity: Quantity, trace: &Sums) -> Option<String> {
    match trace.format.recorded(quantity) {
        Recorded::Nothing(why) => Some(why.to_owned()),
        Recorded::RoundedNodes(_) if trace.nodes >= profilerj::MAX_CALL_NODES as u64 => {
            Some("its call tree is folded".to_owned())
        }
        Recorded::AfterCollections if trace.objects.reported().is_none() => {
            let none = || "it has no table of live objects".to_owned();
            Some(trace.switched_off(quantity).unwrap_or_else(none))
        }
        _ => trace.switched_off(quantity),
    }
}

/// Returns the rank of a format by the amount of its information about the quantity. The highest
/// rank is the reference.
fn richness(quantity: Quantity, format: Readable) -> (u8, MethodNames, u8) {
    let recorded = match format.recorded(quantity) {
        Recorded::Exactly => 5,
        Recorded::RoundedNodes(_) | Recorded::AtEnd => 4,
        Recorded::RoundedCalls(_) => 3,
        Recorded::Arrays(_) => 2,
        Recorded::AfterCollections => 1,
        Recorded::Nothing(_) => 0,
    };
    let keys = format.thread_keys();
    let threads = [keys.first_names, keys.last_names, keys.order];
    (
        recorded,
        format.method_names(),
        threads.iter().filter(|known| **known).count() as u8,
    )
}

fn against(quantity: Quantity, reference: &Sums, trace: &Sums) -> Outcome {
    let view = match View::between(quantity, reference, trace) {
        Ok(view) => view,
        Err(why) => return Outcome::NotComparable(why),
    };
    let found = Figures::of(trace, quantity, &view);
    let amount = amount(&found);
    let expected = Figures::candidates(reference, quantity, &view);
    let results = expected
        .iter()
        .map(|expected| differences(expected, &found));
    // If all alternatives differ, the differences from the first one are reported.
    match results.clone().find(Vec::is_empty) {
        Some(_) => Outcome::Equal(amount),
        None => Outcome::Differs(amount, results.into_iter().next().unwrap_or_default()),
    }
}

fn amount(figures: &Figures) -> Amount {
    let reported = figures.by_key.values().filter(|f| f.value != 0);
    reported.fold(Amount::default(), |all, f| Amount {
        keys: all.keys + 1,
        sum: all.sum.saturating_add(f.value),
    })
}

/// Returns the differing figures, the biggest differences first.
fn differences(expected: &Figures, found: &Figures) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut look = |key: &String, expected: Figure, found: Figure| {
        let slack = expected.slack.saturating_add(found.slack);
        if expected.value.abs_diff(found.value) > slack {
            all.push(Difference {
                key: key.clone(),
                expected: expected.value,
                found: found.value,
            });
        }
    };
    let left_out = |key: &String| expected.left_out.contains(key) || found.left_out.contains(key);
    for (key, figure) in &expected.by_key {
        if !left_out(key) {
            let other = found.by_key.get(key).copied().unwrap_or_default();
            look(key, *figure, other);
        }
    }
    for (key, figure) in &found.by_key {
        if !left_out(key) && !expected.by_key.contains_key(key) {
            look(key, Figure::default(), *figure);
        }
    }
    all.sort_by(|a, b| (b.size(), &a.key).cmp(&(a.size(), &b.key)));
    all
}
