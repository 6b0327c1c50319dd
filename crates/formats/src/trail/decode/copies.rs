//! Decoder of the copies of definitions, which precede the segment of events with the definitions.

use crate::trail::record;
use crate::trail::value::{Bytes, Last, MAX_RECORD_BYTES, Source};
use jtrail_model::Event;
use std::ops::Range;

/// Iterator over definitions. It ends early if the copies are corrupt.
#[derive(Clone, Default)]
pub(in crate::trail) struct Copies {
    column: Vec<u8>,
    at: usize,
    texts: Vec<Range<usize>>,
    last: Last,
}

impl Copies {
    /// Creates an iterator over the column of a segment of definitions.
    pub(in crate::trail) fn of(column: Vec<u8>) -> Self {
        Self {
            column,
            ..Self::default()
        }
    }

    /// Returns true if all definitions were returned.
    pub(super) fn is_over(&self) -> bool {
        self.at >= self.column.len()
    }
}

impl Iterator for Copies {
    type Item = Event<'static>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut source = Source {
            column: &self.column,
            bytes: Bytes(self.column.get(self.at..)?),
            texts: &mut self.texts,
            last: &mut self.last,
            room: MAX_RECORD_BYTES,
        };
        let code = source.bytes.byte()?;
        let event = record::get(code, &mut source);
        self.at = self.column.len() - source.bytes.0.len();
        match event {
            Some(event) if event.is_definition() => Some(event),
            _ => {
                *self = Self::default();
                None
            }
        }
    }
}
