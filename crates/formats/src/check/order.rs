//! The order of records that open and close a trace.

use super::findings::{Report, Rule};
use jtrail_model::Event;

/// The current position in the order of a trace.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The highest rank so far.
    rank: u8,
    /// Bit set of the ranks that occurred.
    seen: u16,
    incomplete: bool,
}

/// Names of the ranks. Each kind of record that opens or closes a trace has its own rank. Along the
/// trace, ranks must not fall.
const RANKS: [&str; 9] = [
    "node",
    "process",
    "agent",
    "trace start",
    "filters",
    "options",
    "events",
    "trace end",
    "agent end",
];
const OPENING: u16 = 0b1111;
const EVENTS: u8 = 6;
const TRACE_END: u8 = 7;

impl Order {
    /// Returns the order for a format without the records that open a trace.
    pub(super) fn without_opening() -> Self {
        Self {
            incomplete: true,
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn event(&mut self, event: &Event<'_>, report: &mut Report) {
        let rank = match event {
            Event::Node(_) => 0,
            Event::ProcessCreate(_) => 1,
            Event::AgentCreate(_) => 2,
            Event::TraceStart(_) => 3,
            Event::Filter(_) => 4,
            Event::Option(_) => 5,
            Event::TraceEnd(_) => TRACE_END,
            Event::AgentDestroy(_) => 8,
            _ if self.rank == EVENTS => return,
            _ => EVENTS,
        };
        self.ranked(rank, report);
    }

    /// True if the trace has reached its events and not its end.
    pub(super) fn is_among_events(&self) -> bool {
        self.rank == EVENTS
    }

    fn ranked(&mut self, rank: u8, report: &mut Report) {
        let name = RANKS[usize::from(rank)];
        let single = !(4..=EVENTS).contains(&rank);
        if single && self.seen & (1 << rank) != 0 {
            report.fault(Rule::Order, || format!("{name} is repeated"));
        } else if rank < self.rank {
            let last = RANKS[usize::from(self.rank)];
            report.fault(Rule::Order, || format!("{name} after {last}"));
        }
        self.seen |= 1 << rank;
        self.rank = self.rank.max(rank);
        let missing = OPENING & !self.seen;
        if rank > 3 && missing != 0 && !self.incomplete {
            self.incomplete = true;
            let first = RANKS[missing.trailing_zeros() as usize];
            report.fault(Rule::Order, || format!("the trace opens without {first}"));
        }
        if rank > TRACE_END && !self.ended() {
            report.fault(Rule::Order, || {
                "the agent ends, and the trace did not".into()
            });
        }
    }

    pub(super) fn ended(&self) -> bool {
        self.seen & (1 << TRACE_END) != 0
    }
}
