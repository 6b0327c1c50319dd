//! Figures of one interval: conversion of a document of totals into rows.
//!
//! The agent sums up calls, and sends one document for each interval (see `source`). A document has
//! at most half a million paths, which limits the memory.

use jtrail_analysis::{Analysis, Subjects};
use jtrail_control::Status;
use jtrail_formats::{Decode, Format, Severity, Step};
use std::cmp::Reverse;
use std::time::Duration;

/// Figures of one interval.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Round {
    /// Length of the interval.
    pub(super) length: Duration,
    /// State of the agent at the end of the interval.
    pub(super) status: Status,
    /// Number of events in the interval by kind.
    pub(super) events: Vec<(String, u64)>,
    /// Number of events lost in the interval.
    pub(super) lost: u64,
    /// Calls in the interval, or `None` if the agent provides only counts.
    pub(super) calls: Option<Calls>,
}

/// Calls in an interval.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Calls {
    pub(super) methods: Vec<Method>,
    pub(super) threads: Vec<Thread>,
}

/// Calls of one method in an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Method {
    /// Name with descriptor, for programs.
    pub(super) raw: String,
    /// Readable name.
    pub(super) name: String,
    /// Number of calls that began in the interval or were still running.
    pub(super) calls: u64,
    /// Time in the method without callees, in ns.
    pub(super) own: i64,
    /// Time in the method with callees, in ns. The time of a recursive call counts once.
    pub(super) total: i64,
}

/// Calls of one thread in an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Thread {
    pub(super) name: String,
    /// Number of calls that began in the interval or were still running.
    pub(super) calls: u64,
    /// Time in the thread's outermost calls, in ns.
    pub(super) busy: i64,
}

/// Sort order of the methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(super) enum Sort {
    /// Self time
    #[default]
    #[value(name = "self")]
    Own,
    /// Total time
    Total,
    /// Calls per second
    Calls,
    /// Class and method
    Name,
}

impl Round {
    /// Returns a count of the interval as a count per second.
    pub(super) fn per_second(&self, count: u64) -> f64 {
        match self.length.as_secs_f64() {
            0.0 => 0.0,
            seconds => count as f64 / seconds,
        }
    }

    /// Returns a time as a share of the interval. The share exceeds 1 if several threads
    /// contributed.
    pub(super) fn part(&self, ns: i64) -> f64 {
        match self.length.as_nanos() {
            0 => 0.0,
            length => ns as f64 / length as f64,
        }
    }
}

impl Calls {
    /// Sorts methods and threads.
    pub(super) fn sort(&mut self, by: Sort) {
        let name = |m: &Method| m.raw.clone();
        match by {
            Sort::Own => self
                .methods
                .sort_by_cached_key(|m| (Reverse(m.own), name(m))),
            Sort::Total => self
                .methods
                .sort_by_cached_key(|m| (Reverse(m.total), name(m))),
            Sort::Calls => self
                .methods
                .sort_by_cached_key(|m| (Reverse(m.calls), name(m))),
            Sort::Name => self.methods.sort_by_cached_key(name),
        }
        match by {
            Sort::Name => self.threads.sort_by(|a, b| a.name.cmp(&b.name)),
            Sort::Calls => self.threads.sort_by_key(|t| Reverse(t.calls)),
            Sort::Own | Sort::Total => self.threads.sort_by_key(|t| Reverse(t.busy)),
        }
    }

    fn of(analysis: &Analysis) -> Self {
        let names = &analysis.names;
        let methods = analysis.calls.methods().into_iter();
        let threads = analysis.calls.threads().iter();
        Self {
            methods: methods
                .map(|m| Method {
                    raw: names.raw_method(m.method),
                    name: names.readable_method(m.method),
                    calls: m.calls,
                    own: m.own,
                    total: m.total,
                })
                .collect(),
            threads: threads
                .map(|t| Thread {
                    name: names.thread(t.thread),
                    calls: t.calls,
                    busy: t.busy,
                })
                .collect(),
        }
    }
}

/// Incremental analysis of a document that arrives in pieces.
pub(super) struct DocumentAnalysis {
    decoder: Box<dyn Decode>,
    /// Bytes that the decoder has not consumed yet.
    rest: Vec<u8>,
    analysis: Analysis,
    problem: Option<String>,
}

impl Default for DocumentAnalysis {
    fn default() -> Self {
        Self {
            decoder: Format::ProfilerJ.decoder(),
            rest: Vec::new(),
            analysis: Analysis::new(Subjects::default()),
            problem: None,
        }
    }
}

impl DocumentAnalysis {
    /// Processes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.problem.is_none() {
            self.rest.extend_from_slice(bytes);
            self.decode(false);
        }
    }

    /// Ends the document and returns its calls.
    ///
    /// # Errors
    /// If the document is invalid or incomplete, with a sentence as the reason.
    pub(super) fn finish(mut self) -> Result<Calls, String> {
        if self.problem.is_none() {
            self.decode(true);
        }
        match self.problem {
            Some(problem) => Err(problem),
            None => {
                self.analysis.finish();
                Ok(Calls::of(&self.analysis))
            }
        }
    }

    fn decode(&mut self, last: bool) {
        let mut used = 0;
        loop {
            match self.decoder.step(&self.rest[used..], last) {
                Ok(decoded) => {
                    match decoded.step {
                        Step::Event(event) => self.analysis.event(&event, |_, _| true),
                        Step::Remark(remark) if remark.severity == Severity::Truncated => {
                            self.problem = Some(remark.message);
                        }
                        Step::Nothing | Step::Remark(_) => {}
                        Step::NeedMore => break,
                        Step::End => {
                            used = self.rest.len();
                            break;
                        }
                    }
                    used += decoded.used;
                }
                Err(error) => {
                    self.problem = Some(error.to_string());
                    break;
                }
            }
        }
        self.rest.drain(..used);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use jtrail_control::{Ended, Figures, State, StreamUse, Trace};
    use jtrail_model::{
        AggregatedEnter, AggregatedLeave, ClassDef, ClassId, Duration as Time, Event, MethodDef,
        MethodId, ThreadId, ThreadStart,
    };
    use jtrail_options::OutputFormat;

    /// Returns a document: on each of two threads, `a` calls `b`, which calls `a`.
    pub(in super::super) fn document() -> Vec<u8> {
        let mut encoder = Format::ProfilerJ.encoder();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        let class = ClassId(1);
        let mut events = vec![Event::ClassDef(ClassDef {
            class,
            name: "x.Y".into(),
            ..ClassDef::default()
        })];
        for (method, name) in [(2, "a"), (3, "b")] {
            events.push(Event::MethodDef(MethodDef {
                method: MethodId(method),
                class,
                name: name.into(),
                signature: "(I)V".into(),
                ..MethodDef::default()
            }));
        }
        for (thread, name) in [(10, "main"), (11, "other")] {
            let thread = ThreadId(thread);
            events.push(Event::ThreadStart(ThreadStart {
                thread,
                name: name.into(),
                ..ThreadStart::default()
            }));
            let path = [(2, 5, 1_000_000), (3, 10, 2_000_000), (2, 20, 4_000_000)];
            for (method, calls, own) in path {
                events.push(Event::AggregatedEnter(AggregatedEnter {
                    thread,
                    method: MethodId(method),
                    calls,
                    base_time: Time(own),
                    ..AggregatedEnter::default()
                }));
            }
            for (method, ..) in path.iter().rev() {
                events.push(Event::AggregatedLeave(AggregatedLeave {
                    thread,
                    method: MethodId(*method),
                }));
            }
        }
        for event in &events {
            encoder.event(event, &mut out);
        }
        encoder.end(&mut out);
        out
    }

    /// Returns the status of an agent that records to a client.
    pub(in super::super) fn status() -> Status {
        Status {
            state: State::Recording,
            pid: 4711,
            version: "0.1.0".into(),
            uptime: Duration::from_secs(95),
            trace: Some(Ended {
                trace: Trace {
                    format: OutputFormat::ProfilerJ,
                    to: jtrail_control::Destination::Stream,
                    file: None,
                },
                figures: Figures {
                    elapsed: Duration::from_secs(2),
                    events: 140,
                    lost: 0,
                    bytes: 6,
                },
            }),
            buffer: 64 << 20,
            buffered: 256 << 10,
            memory: Some(3 << 20),
            overhead: Some(12_500),
            clients: 1,
            stream: StreamUse::Yours,
            counts: vec![("calls".into(), 140)],
            losses: Vec::new(),
        }
    }

    /// Returns a round of two seconds with the document and the status.
    pub(in super::super) fn round() -> Round {
        let mut analysis = DocumentAnalysis::default();
        analysis.take(&document());
        Round {
            length: Duration::from_secs(2),
            status: status(),
            events: vec![("calls".into(), 140), ("allocations".into(), 1_000)],
            lost: 0,
            calls: Some(analysis.finish().expect("whole")),
        }
    }

    #[test]
    fn sums_are_those_of_all_threads() {
        let calls = round().calls.expect("calls");
        let sums: Vec<_> = calls
            .methods
            .iter()
            .map(|m| (m.raw.as_str(), m.calls, m.own, m.total))
            .collect();
        // The time of the outer call of `a` includes the inner call.
        assert_eq!(
            sums,
            [
                ("x.Y.a(I)V", 50, 10_000_000, 14_000_000),
                ("x.Y.b(I)V", 20, 4_000_000, 12_000_000)
            ]
        );
        let threads: Vec<_> = calls
            .threads
            .iter()
            .map(|t| (t.name.as_str(), t.calls, t.busy))
            .collect();
        assert_eq!(threads, [("main", 35, 7_000_000), ("other", 35, 7_000_000)]);
    }

    #[test]
    fn pieces_make_no_difference() {
        let document = document();
        for size in [1, 7, 100] {
            let mut analysis = DocumentAnalysis::default();
            document.chunks(size).for_each(|piece| analysis.take(piece));
            let calls = analysis.finish().expect("whole");
            assert_eq!(Some(calls), round().calls, "pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_document_is_reported() {
        let mut analysis = DocumentAnalysis::default();
        analysis.take(b"no such thing");
        analysis.take(b" at all");
        assert!(analysis.finish().is_err());
    }

    #[test]
    fn methods_in_order() {
        let mut calls = round().calls.expect("calls");
        calls.methods[1].calls = 99;
        for (sort, first) in [
            (Sort::Own, "x.Y.a(I)V"),
            (Sort::Total, "x.Y.a(I)V"),
            (Sort::Calls, "x.Y.b(I)V"),
            (Sort::Name, "x.Y.a(I)V"),
        ] {
            calls.sort(sort);
            assert_eq!(calls.methods[0].raw, first, "{sort:?}");
        }
    }

    #[test]
    fn rates_are_by_the_second() {
        let round = round();
        assert_eq!(round.per_second(140), 70.0);
        assert_eq!(round.part(1_000_000_000), 0.5);
        let none = Round {
            length: Duration::ZERO,
            ..round
        };
        assert_eq!((none.per_second(1), none.part(1)), (0.0, 0.0));
    }
}
