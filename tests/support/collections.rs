//! The collections in a trace.

use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, Generation};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// A collection in a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collection {
    pub(crate) collector: String,
    pub(crate) cause: String,
    pub(crate) generation: Generation,
    pub(crate) heap: i64,
    pub(crate) used: i64,
}

pub(crate) fn collections(file: &Path) -> Vec<Collection> {
    let mut detail = Collection::default();
    let mut collections = Vec::new();
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a trace");
    let problem = reader
        .for_each(|item| {
            match item {
                Item::Event { event, .. } => match event {
                    Event::GcStart(_) => detail = Collection::default(),
                    Event::GcDetail(e) => {
                        detail.collector = e.collector.to_string();
                        detail.cause = e.cause.to_string();
                        detail.generation = e.generation;
                    }
                    Event::GcFinish(e) => collections.push(Collection {
                        heap: e.total_space,
                        used: e.used_space,
                        ..detail.clone()
                    }),
                    _ => {}
                },
                Item::Remark(remark) => return ControlFlow::Break(format!("{remark:?}")),
            }
            ControlFlow::Continue(())
        })
        .expect("it can be read");
    assert_eq!(problem, None);
    collections
}
