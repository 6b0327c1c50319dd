//! What came through a conversion.

use super::leaves::{Leaves, Value, leaves};
use crate::common::spelling::Spelling;
use jtrail_model::Event;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Times that are whole milliseconds since a moment that is one, too, are off by less than this.
const COARSE: u64 = 2_000_000;

/// What becomes of events of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Nothing of them is left.
    Dropped,
    /// They count in events of another kind.
    Sum(String),
    /// They are there.
    Kept(Kept),
}

/// Of the fields that had something to lose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    /// Those that did.
    pub(crate) whole: Vec<String>,
    /// Those that say something else now.
    pub(crate) changed: Vec<String>,
    /// Those that say nothing now.
    pub(crate) missing: Vec<String>,
    /// None of the events is missing.
    pub(crate) all: bool,
    /// The format has them as readable text.
    pub(crate) as_text: bool,
}

impl Fate {
    /// How much came through, of which the first number matters most.
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

/// What a conversion does.
#[derive(Default)]
pub(crate) struct Fates {
    /// By kind, as many as the source has.
    pub(crate) kinds: BTreeMap<String, Fate>,
    /// The most that a time was changed by in nanoseconds; `None` when all are gone.
    pub(crate) rounding: Option<u64>,
}

impl Fates {
    /// Takes the better of both, kind by kind.
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

/// What becomes of the events of several traces when they are written so.
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
    // The first round learns which ids stand for which.
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

/// The kind that is not among `kinds` and that says most else without the events in question.
fn sum(kinds: &BTreeSet<&str>, with: &[Leaves], without: &[Leaves]) -> Option<String> {
    // Ids are given anew.
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
    // Of several, the first by name.
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    Some(most?.0.to_owned())
}

/// Pairs of key and number, as events have them that are written as text.
fn texts(bytes: &[u8]) -> usize {
    let is_pair = |at: &&[u8]| {
        at[0].is_ascii_lowercase() && at[1] == b'=' && (at[2].is_ascii_digit() || at[2] == b'-')
    };
    bytes.windows(3).filter(is_pair).count()
}

/// Finds events again.
#[derive(Default)]
struct Matching {
    /// What ids of the source are called behind the conversion.
    ids: HashMap<Value, Value>,
    kept: BTreeMap<String, Kept>,
    rounding: Option<u64>,
}

/// What became of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Missing,
    Changed,
    Whole,
}

impl Matching {
    /// Finds the events of a kind again, those first that are most like what they were.
    fn kind(&mut self, kind: &str, before: &[Leaves], after: &[Leaves]) {
        let mut before: Vec<_> = of_kind(before, kind).collect();
        let mut after: Vec<_> = of_kind(after, kind).collect();
        let mut any = false;
        let mut fields: BTreeMap<&str, Found> = BTreeMap::new();
        while !before.is_empty() && !after.is_empty() {
            let columns = after.len();
            let pairs = (0..before.len()).flat_map(|a| (0..columns).map(move |b| (a, b)));
            // Of several that are as much alike, the first.
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

    /// Whether two events have anything in common besides ids that may mean anything, and how many
    /// fields are the same.
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

    /// Remembers how ids are called, and how far times are off.
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
