//! Notes and options, which each part has.

use crate::hash::Seed;
use jtrail_model::{Custom, DroppedNote, Event, Note, Totals, TraceOption};
use std::collections::{BTreeMap, HashSet};

/// Options that tell which part a file is.
const OF_PARTS: [&str; 2] = ["part", "before"];
/// Maximum number of texts that are remembered, so that they are in the joined trace once.
const MAX_KNOWN: usize = 100_000;

/// Notes and options of all parts.
#[derive(Debug, Default)]
pub(super) struct Notes {
    known: HashSet<String, Seed>,
    options: HashSet<(String, String), Seed>,
    /// What the parts up to the latest one dropped, by kind.
    dropped: BTreeMap<String, u64>,
    /// Totals of all parts, and of how many parts.
    totals: (Totals, usize),
    parts: usize,
    /// Number of calls that parts repeat.
    pub(super) reentered: u64,
    /// Number of initialisations of classes that parts repeat.
    pub(super) initialising_again: u64,
}

impl Notes {
    pub(super) fn begin_part(&mut self) {
        self.parts += 1;
    }

    /// Takes an option, and passes it on if it is new.
    pub(super) fn option(&mut self, option: &TraceOption<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        let pair = (option.key.to_string(), option.value.to_string());
        if OF_PARTS.contains(&&*option.key) || self.options.len() >= MAX_KNOWN {
            return;
        }
        if self.options.insert(pair) {
            emit(&Event::Option(option.clone()));
        }
    }

    /// Takes a note with joined ids.
    pub(super) fn note(&mut self, note: Note<'static>, emit: &mut dyn FnMut(&Event<'_>)) {
        match note {
            // The notes of a part have the numbers of all parts before, too.
            Note::Dropped(dropped) => {
                self.dropped
                    .insert(dropped.what.into_owned(), dropped.count);
            }
            Note::Totals(totals) => self.add(&totals),
            note => {
                let body = note.to_string();
                let is_repeated = matches!(
                    note,
                    Note::Burst(_)
                        | Note::Demoted(_)
                        | Note::ShortCalls(_)
                        | Note::Uninstrumented(_)
                );
                let is_new = !is_repeated
                    || self.known.len() >= MAX_KNOWN
                    || self.known.insert(body.clone());
                if is_new {
                    emit(&Event::Custom(Custom { body: body.into() }));
                }
            }
        }
    }

    /// Counts the end of a wait that no part has.
    pub(super) fn add_end(&mut self, end: &Event<'_>) {
        let (all, _) = &mut self.totals;
        match end {
            Event::ThreadUnpark(_) => all.parks += 1,
            _ => all.monitors += 1,
        }
    }

    fn add(&mut self, more: &Totals) {
        let (all, parts) = &mut self.totals;
        *parts += 1;
        let sums = [
            (&mut all.enters, more.enters),
            (&mut all.leaves, more.leaves),
            (&mut all.repaired, more.repaired),
            (&mut all.objects, more.objects),
            (&mut all.frees, more.frees),
            (&mut all.monitors, more.monitors),
            (&mut all.parks, more.parks),
            (&mut all.throws, more.throws),
            (&mut all.catches, more.catches),
            (&mut all.samples, more.samples),
            (&mut all.initialisations, more.initialisations),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        // These are of all parts up to the latest one.
        all.lost = all.lost.max(more.lost);
        all.classes = all.classes.max(more.classes);
        all.methods = all.methods.max(more.methods);
        all.uninstrumented = all.uninstrumented.max(more.uninstrumented);
    }

    /// Passes on the notes at the end of the trace, where so many calls are open.
    pub(super) fn end(&mut self, open: u64, emit: &mut dyn FnMut(&Event<'_>)) {
        let mut note = |note: Note<'_>| {
            let body = note.to_string().into();
            emit(&Event::Custom(Custom { body }));
        };
        for (what, count) in std::mem::take(&mut self.dropped) {
            let what = what.into();
            note(Note::Dropped(DroppedNote { what, count }));
        }
        let (totals, parts) = self.totals;
        if parts == self.parts {
            note(Note::Totals(Totals {
                enters: totals.enters.saturating_sub(self.reentered),
                initialisations: totals
                    .initialisations
                    .saturating_sub(self.initialising_again),
                open,
                ..totals
            }));
        }
    }
}
