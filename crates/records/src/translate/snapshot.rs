//! Snapshots of a format of totals: the document as it would be if the trace ended now.

use super::Translator;
use jtrail_model::{Event, Timestamp, TraceEnd};

impl Translator {
    /// Returns the number of the snapshot, from 1 on, and its document. Returns `None` if the
    /// format writes events one by one.
    pub fn snapshot(&mut self, ticks: u64) -> Option<(u64, Vec<u8>)> {
        let time = Timestamp(self.timeline.at(ticks));
        self.emit_lines(time); // a later count replaces this one
        let mut copy = self.encoder.copy()?;
        self.snapshots += 1;
        let mut document = Vec::new();
        copy.begin(&mut document);
        // Open calls are counted up to this time.
        copy.event(
            &Event::TraceEnd(TraceEnd {
                trace_id: "".into(),
                time,
            }),
            &mut document,
        );
        copy.end(&mut document);
        Some((self.snapshots, document))
    }
}
