//! The document of a format of totals, as it would be if the trace ended now.

use super::Translator;
use jtrail_model::{Event, Timestamp, TraceEnd};

impl Translator {
    /// The number of the snapshot, from 1 on, and its document. None where the format writes what
    /// happens as it comes.
    pub fn snapshot(&mut self, ticks: u64) -> Option<(u64, Vec<u8>)> {
        let time = Timestamp(self.timeline.at(ticks));
        self.emit_lines(time); // told again later, they stand for all
        let mut copy = self.encoder.copy()?;
        self.snapshots += 1;
        let mut document = Vec::new();
        copy.begin(&mut document);
        // What is open counts up to here.
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
