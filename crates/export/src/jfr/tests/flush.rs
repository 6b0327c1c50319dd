//! Chunks of a recording that is written while the program runs.

use super::super::Recording;
use super::chunks::check_chunks;
use super::reader::read;
use super::{events_of, with};
use crate::filter::CallFilter;
use crate::testing::{enter, leave};
use crate::timeline::Timeline;
use jtrail_formats::Encode;
use jtrail_model::Event;

/// A recording that is being written, and what is written of it.
struct Live {
    timeline: Timeline<Recording>,
    out: Vec<u8>,
    calls: u32,
}

impl Live {
    fn new() -> Self {
        let mut live = Self {
            timeline: Timeline::new(CallFilter::default(), Recording::default),
            out: Vec::new(),
            calls: 0,
        };
        live.timeline.begin(&mut live.out);
        live.events(with([]));
        live
    }

    fn events(&mut self, events: impl IntoIterator<Item = Event<'static>>) {
        for event in events {
            self.timeline.event(&event, &mut self.out);
        }
    }

    fn calls(&mut self, count: u32) {
        for ticket in self.calls..self.calls + count {
            let ns = i64::from(ticket) * 10;
            let (begin, end) = (enter(1, ns, 1, ticket + 1), leave(1, ns + 5, 1, ticket + 1));
            self.events([begin, end]);
        }
        self.calls += count;
    }

    /// Flushes and returns the number of bytes that this wrote.
    fn flush(&mut self) -> usize {
        let before = self.out.len();
        self.timeline.flush(&mut self.out);
        self.out.len() - before
    }
}

#[test]
fn a_flush_writes_a_chunk_that_is_large_or_old() {
    let mut live = Live::new();
    live.calls(10);
    for _ in 0..9 {
        assert_eq!(live.flush(), 0, "a chunk of a few events waits");
    }
    let few = live.flush();
    assert!(few > 0, "but not for long");
    for _ in 0..20 {
        assert_eq!(live.flush(), 0, "without events there is no chunk");
    }
    live.calls(3_000);
    let bound = live.timeline.waiting();
    let many = live.flush();
    assert!(many > 16 << 10 && many <= bound, "{many} of {bound}");
    assert_eq!(live.timeline.waiting(), 0);
    live.calls(5);
    live.timeline.end(&mut live.out);
    let chunks = read(&live.out);
    assert_eq!(chunks.len(), 3);
    check_chunks(&chunks);
    assert_eq!(events_of(&chunks, &["jdk.MethodTrace"]).len(), 3_015);
}
