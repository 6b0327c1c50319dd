//! Finds out what a conversion keeps.

use super::leaves::{Leaves, Value, leaves};
use crate::common::spelling::Spelling;
use jtrail_model::Event;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum error of a time, in nanoseconds. Some formats write times as whole milliseconds since a
/// start, and round the start to milliseconds, too.
const COARSE: u64 = 2_000_000;

/// What a conversion does with the events of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The conversion drops all of them.
    Dropped,
    /// They are added up in events of another kind, named here.
    Sum(String),
    /// The events remain.
    Kept(Kept),
}

/// What a conversion does with those fields of a kind of event that have a value in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    /// Fields whose values are kept.
    pub(crate) whole: Vec<String>,
    /// Fields whose values differ.
    pub(crate) changed: Vec<String>,
    /// Fields that are empty after the conversion.
    pub(crate) missing: Vec<String>,
    /// True if no event is missing.
    pub(crate) all: bool,
    /// True if the format writes the events as readable text.
    pub(crate) as_text: bool,
}

impl Fate {
    /// Returns how much was kept; the first number matters most.
    fn rank(&self) -> (usize, usize, usize) {
        match self {
            Self::Dropped => (0, 0, 0),
            Self::Sum(_) => (1, 0, 0),
            Self::Kept(kept) => (2, kept.whole.len(), kept.changed.len()),
        }
    }
}

impl Kept {
    pub(crate) fn is_whole(&self) -> bool {
        self.all && self.changed.is_empty() && self.missing.is_empty()
    }
}

/// Result of a conversion.
#[derive(Default)]
pub(crate) struct Fates {
    /// Fate of each kind of event in the source.
    pub(crate) kinds: BTreeMap<String, Fate>,
    /// Largest change of a time, in nanoseconds; `None` if no times are left.
    pub(crate) rounding: Option<u64>,
}

impl Fates {
    /// Takes, for each kind, the better of both fates.
    fn best_of(&mut self, other: Self) {
        for (kind, fate) in other.kinds {
            let best = self.kinds.entry(kind).or_insert(Fate::Dropped);
            if fate.rank() > best.rank() {
                *best = fate;
            }
        }
        self.rounding = self.rounding.max(other.rounding);
    }
}

/// Returns the fates of the events of several traces when they are converted to `to`.
pub(crate) fn fates(traces: &[Vec<Event<'static>>], to: Spelling) -> Fates {
    let mut all = Fates::default();
    for events in traces {
        all.best_of(of_one(events, to));
    }
    all
}

fn of_one(events: &[Event<'static>], to: Spelling) -> Fates {
    let bytes = to.encode(events);
    let before: Vec<_> = events.iter().map(leaves).collect();
    let after = decoded(to, bytes.clone());
    let kinds: BTreeSet<_> = before.iter().map(|event| event.kind.as_str()).collect();
    let mut matching = Matching::default();
    // The first round learns how the conversion maps ids.
    for _ in 0..2 {
        matching.kept.clear();
        for kind in &kinds {
            matching.kind(kind, &before, &after);
        }
    }
    let fate = |kind: &str| {
        let others = events.iter().zip(&before);
        let others = others.filter(|(_, leaves)| leaves.kind != kind);
        let without = to.encode(&others.map(|(e, _)| e.clone()).collect::<Vec<_>>());
        let Some(kept) = matching.kept.get(kind) else {
            let sum = sum(&kinds, &after, &decoded(to, without));
            return sum.map_or(Fate::Dropped, Fate::Sum);
        };
        let count = of_kind(&before, kind).count();
        Fate::Kept(Kept {
            as_text: texts(&bytes) >= texts(&without) + count,
            ..kept.clone()
        })
    };
    Fates {
        kinds: kinds.iter().map(|k| ((*k).to_owned(), fate(k))).collect(),
        rounding: matching.rounding,
    }
}

fn of_kind<'l>(all: &'l [Leaves], kind: &str) -> impl Iterator<Item = &'l Leaves> {
    all.iter().filter(move |event| event.kind == kind)
}

fn decoded(to: Spelling, bytes: Vec<u8>) -> Vec<Leaves> {
    to.decode(bytes).iter().map(leaves).collect()
}

/// Returns the kind of event that holds the sums of some events. `with` is the result of a
/// conversion with these events, `without` the result without them. The kind is the one outside
/// `kinds` that has the most events in `with` but not in `without`.
fn sum(kinds: &BTreeSet<&str>, with: &[Leaves], without: &[Leaves]) -> Option<String> {
    // A conversion may renumber ids, so they are not compared.
    let shown = |event: &Leaves| {
        let mut fields = event.fields.clone();
        let values = fields.iter_mut().flat_map(|(_, values)| values);
        values.for_each(|value| {
            if let Value::Id(_, id) = value {
                *id = 0;
            }
        });
        format!("{} {fields:?}", event.kind)
    };
    let left: BTreeSet<_> = without.iter().map(shown).collect();
    let new =
        |event: &&Leaves| !kinds.contains(event.kind.as_str()) && !left.contains(&shown(event));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for event in with.iter().filter(new) {
        *counts.entry(&event.kind).or_default() += 1;
    }
    // If several kinds have the same count, the first by name wins.
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    Some(most?.0.to_owned())
}

/// Counts the pairs of key and number in events that are written as text.
fn texts(bytes: &[u8]) -> usize {
    let is_pair = |at: &&[u8]| {
        at[0].is_ascii_lowercase() && at[1] == b'=' && (at[2].is_ascii_digit() || at[2] == b'-')
    };
    bytes.windows(3).filter(is_pair).count()
}

/// Matches events before and after a conversion.
#[derive(Default)]
struct Matching {
    /// Maps ids of the source to ids after the conversion.
    ids: HashMap<Value, Value>,
    kept: BTreeMap<String, Kept>,
    rounding: Option<u64>,
}

/// What a conversion did with a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Missing,
    Changed,
    Whole,
}

impl Matching {
    /// Matches the events of a kind, the most similar pairs first.
    fn kind(&mut self, kind: &str, before: &[Leaves], after: &[Leaves]) {
        let mut before: Vec<_> = of_kind(before, kind).collect();
        let mut after: Vec<_> = of_kind(after, kind).collect();
        let mut any = false;
        let mut fields: BTreeMap<&str, Found> = BTreeMap::new();
        while !before.is_empty() && !after.is_empty() {
            let columns = after.len();
            let pairs = (0..before.len()).flat_map(|a| (0..columns).map(move |b| (a, b)));
            // If several pairs are equally similar, the first one wins.
            let best = pairs
                .rev()
                .max_by_key(|(a, b)| self.alike(before[*a], after[*b]));
            let Some((a, b)) = best.filter(|(a, b)| self.alike(before[*a], after[*b]).0) else {
                break;
            };
            any = true;
            let (event, other) = (before.remove(a), after.remove(b));
            for (name, values) in &event.fields {
                self.learn(name, values, other);
                if values.iter().all(Value::is_empty) {
                    continue;
                }
                let found = self.field(name, values, other);
                let worst = fields.entry(name).or_insert(found);
                *worst = found.min(*worst);
            }
        }
        if !any {
            return;
        }
        let with = |what| {
            let names = fields.iter().filter(|(_, found)| **found == what);
            names.map(|(name, _)| (*name).to_owned()).collect()
        };
        let kept = Kept {
            whole: with(Found::Whole),
            changed: with(Found::Changed),
            missing: with(Found::Missing),
            all: before.is_empty(),
            as_text: false,
        };
        self.kept.insert(kind.to_owned(), kept);
    }

    /// Returns whether two events have a meaningful value in common, and how many of their fields
    /// are equal. Ids count as meaningful only once their mapping is known.
    fn alike(&self, event: &Leaves, other: &Leaves) -> (bool, usize) {
        let fields = event.fields.iter();
        let same = |(name, values): &&(String, Vec<Value>)| {
            self.field(name, values, other) == Found::Whole
        };
        let says = |value: &Value| match value {
            Value::Id(..) => self.ids.contains_key(value),
            _ => !value.is_empty(),
        };
        let same = || fields.clone().filter(same);
        let related = same().any(|(_, values)| values.iter().any(says));
        (related, same().count())
    }

    fn field(&self, name: &str, values: &[Value], other: &Leaves) -> Found {
        let Some((_, others)) = other.fields.iter().find(|(other, _)| other == name) else {
            return Found::Missing;
        };
        if others.iter().all(Value::is_empty) && !values.iter().all(Value::is_empty) {
            return Found::Missing;
        }
        let pairs = || values.iter().zip(others);
        if values.len() == others.len() && pairs().all(|(a, b)| self.same(a, b)) {
            Found::Whole
        } else {
            Found::Changed
        }
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Id(..), Value::Id(..)) => self.ids.get(a).is_none_or(|id| id == b),
            (Value::Time(a), Value::Time(b)) => a.abs_diff(*b) < COARSE,
            _ => a == b,
        }
    }

    /// Remembers the mapping of ids, and the largest change of a time.
    fn learn(&mut self, name: &str, values: &[Value], other: &Leaves) {
        let others = other.fields.iter().find(|(other, _)| other == name);
        let others = others.map_or(&[][..], |(_, values)| values);
        for (a, b) in values.iter().zip(others) {
            match (a, b) {
                (Value::Id(..), _) if !a.is_empty() && !b.is_empty() => {
                    self.ids.entry(a.clone()).or_insert_with(|| b.clone());
                }
                (Value::Time(a), Value::Time(b)) if name == "time" && *b != 0 => {
                    let off = a.abs_diff(*b);
                    if off < COARSE {
                        self.rounding = self.rounding.max(Some(off));
                    }
                }
                _ => {}
            }
        }
    }
}
