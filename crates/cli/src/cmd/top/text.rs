//! Figures of an interval as tables, for pipes and programs.

use super::round::Round;
use crate::output::{Cell, Column, Section, column, optional};
use std::time::Duration;

const AGENT: &[Column] = &[
    column("pid", "process"),
    column("state", "state"),
    column("interval_ns", "interval"),
    column("lost", "lost"),
    column("buffered_bytes", "buffered"),
    column("buffer_bytes", "of"),
    optional("memory_bytes", "memory"),
    optional("overhead", "overhead"),
    column("clients", "clients"),
];

const EVENTS: &[Column] = &[
    column("kind", "kind"),
    column("events", "events"),
    column("per_second", "per second"),
];

const METHODS: &[Column] = &[
    column("calls", "calls"),
    column("per_second", "per second"),
    column("self_ns", "self"),
    column("self_share", "self %"),
    column("total_ns", "total"),
    column("total_share", "total %"),
    column("method", "method"),
];

const THREADS: &[Column] = &[
    column("calls", "calls"),
    column("per_second", "per second"),
    column("busy_ns", "in calls"),
    column("busy_share", "in calls %"),
    column("thread", "thread"),
];

fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

fn section(name: &'static str, columns: &[Column], rows: Vec<Vec<Cell>>) -> Section {
    Section {
        name,
        columns: columns.to_vec(),
        rows,
        more: 0,
        unrecorded: None,
        vertical: false,
    }
}

/// Returns the tables with at most `rows` rows each. The order of the calls is unchanged.
pub(super) fn sections(round: &Round, rows: usize) -> Vec<Section> {
    let status = &round.status;
    let bytes = |n: u64| Cell::Bytes(i64::try_from(n).unwrap_or(i64::MAX));
    let rate = |n: u64| Cell::Count(round.per_second(n).round() as u64);
    let agent = vec![
        Cell::Count(status.pid.into()),
        Cell::Text(status.state.to_string()),
        Cell::Time(ns(round.length)),
        Cell::Count(round.lost),
        bytes(status.buffered),
        bytes(status.buffer),
        status.memory.map_or(Cell::None, bytes),
        match status.overhead {
            Some(millionths) => Cell::Share(f64::from(millionths) / 1e6),
            None => Cell::None,
        },
        Cell::Count(status.clients.into()),
    ];
    let events = round
        .events
        .iter()
        .map(|(kind, n)| vec![Cell::Text(kind.clone()), Cell::Count(*n), rate(*n)]);
    let mut all = vec![
        Section {
            vertical: true,
            ..section("agent", AGENT, vec![agent])
        }
        .without_empty(),
        section("events", EVENTS, events.collect()),
    ];
    let Some(calls) = &round.calls else {
        return all;
    };
    let methods = calls.methods.iter().take(rows).map(|m| {
        vec![
            Cell::Count(m.calls),
            rate(m.calls),
            Cell::Time(m.own),
            Cell::Share(round.part(m.own)),
            Cell::Time(m.total),
            Cell::Share(round.part(m.total)),
            Cell::Name {
                raw: m.raw.clone(),
                readable: m.name.clone(),
            },
        ]
    });
    let threads = calls.threads.iter().take(rows).map(|t| {
        vec![
            Cell::Count(t.calls),
            rate(t.calls),
            Cell::Time(t.busy),
            Cell::Share(round.part(t.busy)),
            Cell::Text(t.name.clone()),
        ]
    });
    all.push(Section {
        more: calls.methods.len().saturating_sub(rows),
        unrecorded: None,
        ..section("methods", METHODS, methods.collect())
    });
    all.push(Section {
        more: calls.threads.len().saturating_sub(rows),
        unrecorded: None,
        ..section("threads", THREADS, threads.collect())
    });
    all
}

#[cfg(test)]
mod tests {
    use super::super::round::tests::round;
    use super::*;
    use crate::output::{Style, write};

    fn text(style: Style, round: &Round, rows: usize) -> String {
        let mut out = Vec::new();
        write(style, &sections(round, rows), &mut out).expect("memory takes it");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn tables_for_programs() {
        let text = text(Style::Tsv, &round(), 1);
        for line in [
            "4711\trecording\t2000000000\t0\t262144\t67108864\t3145728\t0.012500\t1",
            "allocations\t1000\t500",
            "50\t25\t10000000\t0.005000\t14000000\t0.007000\tx.Y.a(I)V",
            "35\t18\t7000000\t0.003500\tmain",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
        assert!(!text.contains("x.Y.b"), "one row: {text}");
    }

    #[test]
    fn rates_without_calls() {
        let round = Round {
            calls: None,
            ..round()
        };
        let text = text(Style::Table, &round, 10);
        assert!(text.contains("calls") && !text.contains("method"), "{text}");
    }
}
