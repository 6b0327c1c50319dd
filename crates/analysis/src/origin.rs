//! The origin of a trace: machine, process, agent, options and filters.

use crate::saved::facts;
use jtrail_model::{Event, Text};
use serde::{Deserialize, Serialize};

/// The key of a fact that is an option.
const OPTION: &str = "option";

/// All keys of facts.
pub(super) const KEYS: [&str; 9] = [
    "machine",
    "address",
    "program",
    "process",
    "agent",
    "agent version",
    "agent parameters",
    OPTION,
    "filter",
];

/// The facts about the origin, as keys and values in the order of the trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The first [`KEPT`](super::KEPT) facts.
    #[serde(with = "facts")]
    pub facts: Vec<(&'static str, String)>,
    /// The number of further facts.
    pub more: u64,
}

impl Origin {
    /// Processes the events at the start of a trace. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Node(e) => {
                self.text("machine", &e.hostname);
                self.text("address", &e.ip_address);
            }
            Event::ProcessCreate(e) => {
                self.text("program", &e.executable);
                if e.pid != 0 {
                    self.add("process", e.pid.to_string());
                }
            }
            Event::AgentCreate(e) => {
                self.text("agent", &e.name);
                self.text("agent version", &e.version);
                self.text("agent parameters", &e.parameters);
            }
            Event::Option(e) => self.add(OPTION, format!("{}={}", e.key, e.value)),
            Event::Filter(e) => {
                let class = starred(&e.pattern, &e.generic_pattern);
                let method = starred(&e.method_pattern, &e.method_generic_pattern);
                let rule = [&*e.mode, &class, &*e.method_mode, &method].join(" ");
                self.add("filter", rule.trim_end().to_owned());
            }
            _ => {}
        }
    }

    /// Returns true if the agent's options request this kind of events, such as `monitors`. Returns
    /// `None` if the trace does not have the option `events`.
    pub fn records(&self, kind: &str) -> Option<bool> {
        let options = self.facts.iter().filter(|(key, _)| *key == OPTION);
        let mut events = options.filter_map(|(_, fact)| fact.strip_prefix("events="));
        events
            .next_back()
            .map(|kinds| kinds.split('+').any(|k| k == kind))
    }

    fn text(&mut self, key: &'static str, value: &Text<'_>) {
        if !value.is_empty() {
            self.add(key, value.to_string());
        }
    }

    fn add(&mut self, key: &'static str, value: String) {
        super::keep(&mut self.facts, &mut self.more, (key, value));
    }
}

/// Returns the pattern with its star: before or after the text, as `generic` says.
fn starred(pattern: &str, generic: &str) -> String {
    match generic {
        "SUFFIX" => format!("{pattern}*"),
        "PREFIX" => format!("*{pattern}"),
        _ => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::TraceOption;

    #[test]
    fn the_option_events_lists_the_recorded_kinds() {
        let mut origin = Origin::default();
        assert_eq!(origin.records("monitors"), None);
        let option = |key: &'static str, value: &'static str| {
            Event::Option(TraceOption {
                key: key.into(),
                value: value.into(),
            })
        };
        origin.event(&option("alloc", "monitors"));
        assert_eq!(origin.records("monitors"), None);
        origin.event(&option("events", "methods+monitors"));
        let recorded = ["monitors", "methods", "parks", "method"].map(|kind| origin.records(kind));
        assert_eq!(recorded, [true, true, false, false].map(Some));
    }
}
