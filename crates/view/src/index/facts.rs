//! What the index says of the whole trace: its collections, notes and options, and what each
//! thread does.

use super::encode::{SumRow, sum_of, sum_row};
use crate::overview::Collection;
use crate::sums::ThreadSum;
use jtrail_analysis::{Analysis, Subjects};
use jtrail_model::{Custom, Event, Generation, Note, ThreadId, Timestamp, TraceOption};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of entries of each list.
const MAX_ENTRIES: usize = 100_000;

/// What the index says of the whole trace. Times are in ns, as in the trace.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Facts {
    collections: Vec<CollectionRow>,
    /// Notes in the order of the trace, such as gaps and bursts.
    notes: Vec<String>,
    /// Keys and values of the recording's options and costs.
    options: Vec<(String, String)>,
    threads: Vec<(u64, SumRow)>,
    /// The collection that has begun.
    #[serde(skip)]
    collection: Collection,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct CollectionRow {
    begin: i64,
    end: i64,
    generation: u8,
    cause: String,
    used: i64,
}

impl Facts {
    /// Returns true if an event has a part in the facts.
    pub(super) fn has(event: &Event<'_>) -> bool {
        matches!(
            event,
            Event::GcStart(_)
                | Event::GcDetail(_)
                | Event::GcFinish(_)
                | Event::Custom(_)
                | Event::Option(_)
        )
    }

    /// Adds an event, in the order of the trace.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::GcStart(e) => self.collection.begin = e.time,
            Event::GcDetail(e) => {
                self.collection.generation = e.generation;
                self.collection.cause = e.cause.to_string();
            }
            Event::GcFinish(e) => {
                let begun = std::mem::take(&mut self.collection);
                let of_generation = |generation: &Generation| *generation == begun.generation;
                let generation = Generation::ALL.iter().position(of_generation);
                push(
                    &mut self.collections,
                    CollectionRow {
                        begin: begun.begin.0,
                        end: e.time.0,
                        generation: generation.unwrap_or(0) as u8,
                        cause: begun.cause,
                        used: e.used_space,
                    },
                );
            }
            Event::Custom(custom) if Note::parse(&custom.body).is_some() => {
                push(&mut self.notes, custom.body.to_string());
            }
            Event::Option(option) => {
                let pair = (option.key.to_string(), option.value.to_string());
                push(&mut self.options, pair);
            }
            _ => {}
        }
    }

    pub(super) fn set_threads(&mut self, threads: &BTreeMap<ThreadId, ThreadSum>) {
        let rows = threads.iter().map(|(id, sum)| (id.0, sum_row(sum)));
        self.threads = rows.collect();
    }

    /// Returns the analysis of all notes and options.
    pub(crate) fn analysis(&self) -> Analysis {
        let mut analysis = Analysis::new(Subjects::default());
        for (key, value) in &self.options {
            let (key, value) = (key.into(), value.into());
            analysis.event(&Event::Option(TraceOption { key, value }), |_, _| true);
        }
        for note in &self.notes {
            let body = note.into();
            analysis.event(&Event::Custom(Custom { body }), |_, _| true);
        }
        analysis
    }

    /// Returns what each thread does.
    pub(crate) fn threads(&self) -> BTreeMap<ThreadId, ThreadSum> {
        let sums = self.threads.iter();
        sums.map(|(id, row)| (ThreadId(*id), sum_of(*row)))
            .collect()
    }

    /// Returns the collections that end in a span, or are open in it.
    pub(crate) fn collections(
        &self,
        [from, until]: [Timestamp; 2],
    ) -> impl Iterator<Item = Collection> {
        let is_in = move |row: &&CollectionRow| row.begin < until.0 && row.end >= from.0;
        self.collections.iter().filter(is_in).map(|row| Collection {
            begin: Timestamp(row.begin),
            end: Timestamp(row.end),
            generation: Generation::ALL
                .get(usize::from(row.generation))
                .copied()
                .unwrap_or_default(),
            cause: row.cause.clone(),
            used: row.used,
        })
    }
}

fn push<T>(list: &mut Vec<T>, entry: T) {
    if list.len() < MAX_ENTRIES {
        list.push(entry);
    }
}
