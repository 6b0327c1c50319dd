//! Line counts.

use super::Translator;
use jtrail_model::{Event, LineCount, LineCounts, Timestamp};

impl Translator {
    /// Adds lines and their counters to a method, in the order of the lines.
    pub fn add_lines(&mut self, method: u32, counters: &[(u32, u32)], entry: Option<u32>) {
        let method = self.methods.at(method);
        method.is_instrumented = true;
        method.entry_counter = entry;
        let lines = &mut method.counters;
        lines.extend_from_slice(counters);
        lines.sort_unstable();
        lines.dedup(); // repeated when another agent has retransformed the class
        self.entered.get_or_insert_default();
    }

    /// Counts an enter of a method, if lines are counted.
    #[inline]
    pub(super) fn count_entered(&mut self, method: u32) {
        if let Some(entered) = &mut self.entered {
            *entered.at(method) += 1;
        }
    }

    /// Writes the line counts so far, if lines are counted.
    pub fn emit_lines(&mut self, time: Timestamp) {
        let Some(counters) = (self.line_counters)() else {
            return;
        };
        let before = std::mem::take(&mut self.lines_before);
        let count = |counter: u32| {
            let before = before.get(counter as usize).copied();
            let now = counters.get(counter as usize).copied();
            now.unwrap_or(0).saturating_sub(before.unwrap_or(0))
        };
        for number in self.methods.covered() {
            let method = self.methods.at(number);
            let mut lines: Vec<LineCount> = Vec::with_capacity(method.counters.len());
            for (line, counter) in &method.counters {
                let count = count(*counter);
                match lines.last_mut() {
                    Some(last) if last.line == *line => last.count += count,
                    _ => lines.push(LineCount { line: *line, count }),
                }
            }
            // Without records of calls, the counter of the first instruction counts the calls,
            // provided that no jump leads back there.
            let at_entry = || method.entry_counter.map_or(0, count);
            let calls = match self.entered.as_ref().and_then(|e| e.get(number)) {
                None | Some(0) => at_entry(),
                Some(calls) => *calls,
            };
            let (method, _) = self.method(number, time);
            self.event(&Event::LineCounts(LineCounts {
                method,
                time,
                calls,
                lines,
            }));
        }
        (self.lines_before, self.lines_reported) = (before, counters);
    }
}
