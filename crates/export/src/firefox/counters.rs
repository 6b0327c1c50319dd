//! Counters: quantities of the process that change over time.

use super::json::Json;
use crate::sink::Counter;
use jtrail_model::Timestamp;
use serde_json::{Value, json};

/// The counters in the order of their tracks.
pub(super) const ALL: [Counter; 4] = [
    Counter::HeapUsed,
    Counter::AllocationRate,
    Counter::ProcessCpu,
    Counter::LiveThreads,
];

/// The viewer connects values by a line. A number of threads that stays the same for longer than
/// this time in ns gets a horizontal one.
const STEP: i64 = 1_000_000;

/// The samples of a counter.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Times, and the changes since the preceding time.
    samples: Vec<(i64, i64)>,
    /// The latest time and value.
    latest: Option<(i64, i64)>,
}

impl Track {
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Adds a value. Values come in the order of time.
    pub(super) fn push(&mut self, counter: Counter, time: Timestamp, value: i64) {
        let Some((latest, before)) = self.latest else {
            // The viewer takes the first change for 0.
            self.samples.push((time.0, 0));
            if !is_rate(counter) {
                self.samples.push((time.0, value));
            }
            self.latest = Some((time.0, value));
            return;
        };
        let time = time.0.max(latest);
        let change = match counter {
            Counter::AllocationRate => {
                let length = i128::from(time.abs_diff(latest));
                let bytes = i128::from(before).saturating_mul(length) / 1_000_000_000;
                i64::try_from(bytes).unwrap_or(i64::MAX)
            }
            _ => value.saturating_sub(before),
        };
        self.latest = Some((time, value));
        if counter == Counter::LiveThreads && time.saturating_sub(latest) > STEP {
            self.samples.push((time, 0));
        }
        match self.samples.last_mut() {
            Some(last) if last.0 == time && is_rate(counter) => {
                last.1 = last.1.saturating_add(change);
            }
            _ => self.samples.push((time, change)),
        }
    }

    /// Extends a value that is not a rate to the end of the profile.
    pub(super) fn finish(&mut self, counter: Counter, time: i64) {
        if let Some((latest, value)) = self.latest
            && latest < time
            && !is_rate(counter)
        {
            self.push(counter, Timestamp(time), value);
        }
    }

    /// Writes the counter. Times are written since `base`.
    pub(super) fn write(&self, json: &mut Json, counter: Counter, (base, pid): (i64, &str)) {
        json.raw("{");
        json.fields([
            ("name", json!(counter.name())),
            ("category", json!(category(counter))),
            ("description", json!(counter.name())),
            ("pid", json!(pid)),
            ("mainThreadIndex", json!(0)),
            ("display", display(counter)),
        ]);
        json.raw("\"samples\":{");
        json.column("time", &self.samples, |json, (time, _)| {
            json.ms(time.saturating_sub(base))
        });
        let digits = match counter {
            Counter::ProcessCpu => 4,
            _ => 0,
        };
        json.column("count", &self.samples, |json, (_, change)| {
            json.decimal(*change, digits)
        });
        json.length(self.samples.len());
        json.raw("}");
    }
}

/// Returns true if the viewer shows changes per time, and false if it shows their sum.
fn is_rate(counter: Counter) -> bool {
    matches!(counter, Counter::AllocationRate | Counter::ProcessCpu)
}

/// Returns the category. The viewer shows markers of collections on tracks of memory.
fn category(counter: Counter) -> &'static str {
    match counter {
        Counter::HeapUsed | Counter::AllocationRate => "Memory",
        _ => "Process",
    }
}

/// Returns how the viewer draws the counter, and what it says at a point of its graph.
fn display(counter: Counter) -> Value {
    let row = |source, unit, label| json!({"type": "value", "source": source, "format": {"unit": unit}, "label": label});
    let (label, color, unit, rows) = match counter {
        Counter::HeapUsed => (
            "Heap used",
            "orange",
            "bytes",
            json!([
                row(
                    "accumulated",
                    "bytes",
                    "in use, compared with the start of the visible range"
                ),
                row("count-range", "bytes", "range of the graph"),
            ]),
        ),
        Counter::AllocationRate => (
            "Allocation rate",
            "magenta",
            "bytes",
            json!([
                row("rate", "bytes-per-second", "allocation rate"),
                row("accumulated", "bytes", "allocated up to this time"),
                row("count-range", "bytes", "allocated in the visible range"),
            ]),
        ),
        Counter::ProcessCpu => (
            "CPU of the process",
            "blue",
            "percent",
            json!([row("rate", "number", "% of a processor")]),
        ),
        Counter::LiveThreads | Counter::ThreadCpu(_) => (
            "Live threads",
            "teal",
            "",
            json!([row("accumulated", "number", "live threads")]),
        ),
    };
    let markers = match counter {
        Counter::HeapUsed => json!("timeline-memory"),
        _ => Value::Null,
    };
    let graph = match is_rate(counter) {
        true => "line-rate",
        false => "line-accumulated",
    };
    json!({
        "graphType": graph,
        "unit": unit,
        "color": color,
        "markerSchemaLocation": markers,
        "sortWeight": 0,
        "label": label,
        "tooltipRows": rows,
    })
}
