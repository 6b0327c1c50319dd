//! The traced process, as attributes.

use super::context::process_hash;
use super::wire::{Message, Value, Wire};
use jtrail_model::Event;

/// The name of a service that nobody has named, as OpenTelemetry prescribes it.
const UNKNOWN_SERVICE: &str = "unknown_service:java";

/// What is known of the traced process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// The name that the user has given the service. It may be empty.
    service: String,
    /// The id in the operating system; 0 if unknown.
    pub(super) id: u64,
    /// Path of the program file. It may be empty.
    pub(super) program: String,
    /// Identity of this run of the process. It may be empty.
    run: String,
    /// Name of the machine. It may be empty.
    host: String,
    /// Version of the agent. It may be empty.
    agent: String,
}

impl Process {
    /// Creates a process of which only the name of the service is known. It may be empty.
    pub(super) fn new(service: String) -> Self {
        Self {
            service,
            ..Self::default()
        }
    }

    /// Processes an event about the machine or the agent. Returns false for other events.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Node(e) => self.host = e.hostname.to_string(),
            Event::AgentCreate(e) => {
                self.run = e.process_id.to_string();
                self.agent = e.version.to_string();
            }
            _ => return false,
        }
        true
    }

    /// Returns a number for this run of the process.
    pub(super) fn hash(&self) -> u64 {
        process_hash(&[&self.run, &self.program, &self.host], self.id)
    }

    /// Returns the name of the service.
    fn service(&self) -> &str {
        let file_name = self.program.rsplit(['/', '\\']).next();
        let names = [Some(self.service.as_str()), file_name];
        let mut names = names.into_iter().flatten().filter(|name| !name.is_empty());
        names.next().unwrap_or(UNKNOWN_SERVICE)
    }

    /// Returns the attributes of the resource.
    pub(super) fn attributes(&self, wire: &impl Wire) -> Vec<u8> {
        let mut out = Vec::new();
        for (key, text) in [
            ("service.name", self.service()),
            ("service.instance.id", &self.run),
            ("process.executable.path", &self.program),
            ("host.name", &self.host),
            ("telemetry.sdk.name", "jtrail"),
            ("telemetry.sdk.language", "java"),
            ("telemetry.sdk.version", &self.agent),
        ] {
            if !text.is_empty() {
                wire.attribute(&mut out, Message::Resource, key, Value::Text(text));
            }
        }
        if self.id != 0 {
            let id = Value::Number(self.id as i64);
            wire.attribute(&mut out, Message::Resource, "process.pid", id);
        }
        out
    }
}
