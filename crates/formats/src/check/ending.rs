//! The end of a trace: what is still open, and whether the agent's own counts match.

use super::Checker;
use super::findings::{Counts, Findings, Report, Rule};
use crate::Severity;
use jtrail_model::{Kind, Totals};

impl Checker {
    /// Ends the check and returns its findings.
    pub fn finish(mut self) -> Findings {
        let mut open_calls = self.abandoned;
        let mut aggregated = 0;
        for thread in self
            .threads
            .iter()
            .filter_map(|(_, thread)| thread.as_ref())
        {
            open_calls += thread.calls.len() as u64;
            aggregated += thread.aggregated.len();
        }
        self.unended(aggregated);
        let counts = Counts {
            events: self.kinds.all(),
            kinds: self.kinds.occurring(),
            threads: self.threads.len() as u64,
            classes: self.classes.len() as u64,
            methods: self.methods.len() as u64,
            enters: self.kinds.of(Kind::MethodEnter),
            leaves: self.kinds.of(Kind::MethodLeave),
            open_calls,
            lost: self.lost,
            short_calls: self.short_calls,
            clock: self.clock,
            recovered: self.recovered,
            totals: self.totals,
            uninstrumented: std::mem::take(&mut self.uninstrumented),
        };
        if let Some(totals) = self.totals {
            self.compare(&totals, &counts);
        }
        let Report {
            findings, totals, ..
        } = self.report;
        Findings {
            findings,
            totals,
            counts,
        }
    }

    /// Reports what did not end. Threads that still wait, block or park are not reported: most
    /// programs end with such threads.
    fn unended(&mut self, aggregated: usize) {
        let ended = self.order.ended();
        let report = &mut self.report;
        if self.kinds.all() > 0 && !ended {
            // A trace of this agent always has its end, unless the program was killed or the output
            // failed. Samples of old agents never have one.
            let severity = if self.ours {
                Severity::Truncated
            } else {
                Severity::Info
            };
            report.add(severity, Rule::Order, || {
                "the trace does not say that collection ended".into()
            });
        }
        if self.collections.is_under_way() {
            report.info(Rule::Collections, || {
                "the last collection does not end".into()
            });
        }
        let severity = if ended {
            Severity::Fault
        } else {
            Severity::Info
        };
        if aggregated > 0 {
            report.add(severity, Rule::Aggregated, || {
                format!("{aggregated} aggregated calls do not end")
            });
        }
        if let Some(dump) = self.dumps.unended()
            && self.ours
        {
            report.add(severity, Rule::HeapDumps, || {
                format!("heap dump {dump} does not end")
            });
        }
    }

    fn compare(&mut self, totals: &Totals, counts: &Counts) {
        let kinds = &self.kinds;
        let summed = counts.short_calls.map_or(0, |(_, calls)| calls);
        for (what, reported, counted) in [
            (
                "enters",
                totals.enters,
                counts.enters.saturating_add(summed),
            ),
            (
                "leaves",
                totals.leaves,
                counts.leaves.saturating_add(summed),
            ),
            ("lost events", totals.lost, counts.lost),
            ("open calls", totals.open, counts.open_calls),
            ("objects", totals.objects, kinds.of(Kind::ObjectAlloc)),
            ("frees", totals.frees, kinds.of(Kind::ObjectFree)),
            ("monitor events", totals.monitors, kinds.monitors()),
            ("parks and unparks", totals.parks, kinds.parks()),
            ("throws", totals.throws, kinds.of(Kind::ExceptionThrow)),
            ("catches", totals.catches, kinds.of(Kind::ExceptionCatch)),
            ("samples", totals.samples, self.samples),
            (
                "begins and ends of class initialisations",
                totals.initialisations,
                kinds.initialisations(),
            ),
        ] {
            if reported != counted {
                self.report.fault(Rule::Totals, || {
                    format!("the agent counted {reported} {what}, the trace has {counted}")
                });
            }
        }
    }
}
