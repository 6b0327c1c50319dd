//! The interface of encoders and of exports.

use super::{Timeline, UNMATCHED};
use crate::sink::Counter;
use crate::sink::{Sink, ThreadTime};
use crate::target::Export;
use jtrail_formats::{DropCount, Encode};
use jtrail_model::{AggregatedEnter, AggregatedLeave, Calls, Duration, Event, Timestamp};

impl<S: Sink> Timeline<S> {
    fn close(&mut self, out: &mut Vec<u8>) {
        let latest = self.slices.latest();
        for note in &self.notes {
            self.sink.mark(latest, &format!("jtrail: {note}"));
        }
        self.sink.close(&self.names, latest);
        self.sink.take(out);
    }

    /// Ends the sums of calls that are open in the sink, or begins them again in another one.
    fn divide_sums(&mut self, begins: bool) {
        if !S::TAKES_SUMS {
            return;
        }
        for (index, thread) in self.threads.iter() {
            let sums = thread.aggregated.iter();
            let mut sums: Vec<_> = sums
                .filter(|(_, is_selected)| *is_selected || S::TAKES_HIDDEN)
                .collect();
            if !begins {
                sums.reverse();
            }
            for (sum, is_selected) in sums {
                let event = match begins {
                    true => rest_of_sum(sum),
                    false => Event::AggregatedLeave(AggregatedLeave {
                        thread: sum.thread,
                        method: sum.method,
                    }),
                };
                let place = (index, thread.sums_above);
                let event = (&event, *is_selected);
                self.slices
                    .aggregated(&self.names, place, event, &mut self.sink);
            }
        }
    }

    /// Writes the values that counters have at the begin of a file.
    fn continue_counters(&mut self) {
        let time = self.slices.latest();
        for (counter, value) in [
            (Counter::HeapUsed, self.heap_used),
            (Counter::LiveThreads, self.live_threads),
        ] {
            if let Some(value) = value {
                self.sink.counter(counter, time, value);
            }
        }
    }
}

/// Returns the begin of a sum whose calls an earlier file has. It encloses the sums in it.
fn rest_of_sum(sum: &AggregatedEnter) -> Event<'static> {
    Event::AggregatedEnter(AggregatedEnter {
        calls: 0,
        base_time: Duration(sum.base_time.0.min(0)),
        base_cpu_time: Duration(sum.base_cpu_time.0.min(0)),
        ..*sum
    })
}

impl<S: Sink> Export for Timeline<S> {
    fn size(&self) -> u64 {
        self.sink.size()
    }

    fn slices(&self) -> u64 {
        self.slices.begun
    }

    fn has_calls(&self) -> bool {
        self.has_sums || self.slices.begun > self.slices.begun_waits
    }

    fn end_at(&mut self, time: Timestamp) {
        self.slices.end_at(time);
    }

    fn split(&mut self, end: &mut Vec<u8>, begin: &mut Vec<u8>) {
        self.divide_sums(false);
        self.slices.suspend_all(&self.names, &mut self.sink);
        self.close(end);
        while self.sink.close_more(&self.names) {
            self.sink.take(end);
        }
        self.sink.take(end);
        if let Some(dropped) = self.sink.dropped() {
            self.dropped_before.add(dropped);
        }
        let ended = std::mem::replace(&mut self.sink, (self.make_sink)());
        self.sink.continue_from(ended);
        self.sink.open();
        if let Some(time) = self.start {
            self.sink.start(time);
        }
        if let Some((id, program)) = &self.process {
            self.sink.process(*id, program);
        }
        for (index, thread) in self.threads.iter() {
            self.sink.thread(index, &thread.info);
        }
        self.slices.resume_all(&self.names, &mut self.sink);
        self.divide_sums(true);
        self.continue_counters();
        self.sink.take(begin);
    }
}

impl<S: Sink> Encode for Timeline<S> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.sink.open();
        self.sink.take(out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        if let Some(time) = event.time() {
            self.extend_time(time);
        }
        if !self.slice(event) && !self.define(event) {
            self.other(event);
        }
        self.sink.take(out);
    }

    fn unselected(&mut self, event: &Event<'_>, times: [Timestamp; 2], out: &mut Vec<u8>) {
        self.selected_from = Some(times[0]);
        self.is_in_time = event
            .time()
            .is_some_and(|time| (times[0]..=times[1]).contains(&time));
        match event {
            Event::ThreadEnd(e) => self.count_threads(e.time, -1),
            _ if event.is_definition() => self.event(event, out),
            _ => {}
        }
        self.is_in_time = true; // of all events that are selected
        self.sink.take(out);
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        if let Some(first) = calls.steps.iter().find(|step| step.time.0 != 0) {
            self.extend_time(first.time);
        }
        let thread = self.thread(calls.thread);
        self.threads[thread].sums_above = 0;
        let (names, sink) = (&self.names, &mut self.sink);
        for step in calls.steps {
            let at = ThreadTime {
                thread,
                time: step.time,
                cpu: calls.cpu_time.0,
            };
            match step.ends {
                false => self
                    .slices
                    .enter(names, at, (step.method, step.ticket), sink),
                true => self
                    .slices
                    .leave(names, at, (step.method, step.ticket, false), sink),
            }
        }
        self.sink.take(out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        while self.end_part(out) {}
    }

    fn end_part(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.is_closed {
            self.is_closed = true;
            let latest = self.slices.latest();
            self.finish_collection(latest, None);
            self.write_rate();
            self.slices.finish(&self.names, &mut self.sink);
            self.close(out);
        }
        let follows = self.sink.close_more(&self.names);
        self.sink.take(out);
        follows
    }

    fn has_pending(&self) -> bool {
        true
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.sink.flush(&self.names);
        self.sink.take(out);
    }

    fn waiting(&self) -> usize {
        self.sink.waiting()
    }

    fn dropped(&self) -> Vec<DropCount> {
        let mut counts = self.dropped.counts();
        if self.slices.unmatched > 0 {
            counts.push(DropCount {
                what: UNMATCHED,
                count: self.slices.unmatched,
            });
        }
        let mut of_sinks = self.dropped_before.clone();
        if let Some(dropped) = self.sink.dropped() {
            of_sinks.add(dropped);
        }
        counts.extend(of_sinks.counts());
        counts
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events() + self.slices.unmatched
    }
}
