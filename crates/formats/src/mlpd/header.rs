//! Writing and reading of the file header.

use super::DataVersion;
use super::encode::dropped::Dropped;
use super::wire::{AGENT, ARCHITECTURE, CLOCK_START, FILE_ID, OPERATING_SYSTEM};
use crate::tally::DropTally;
use jtrail_model::{Event, TIMER_OVERHEAD, Timestamp};

/// Maximum size of a text in the header, in bytes. Texts of real files are far shorter.
const MAX_TEXT_BYTES: usize = 64 << 10;
const MILLISECOND: i64 = 1_000_000;

/// Contents of the events that open a trace.
#[derive(Debug, Default)]
pub(super) struct Opening {
    machine: Option<Timestamp>,
    process: Option<Timestamp>,
    agent: Option<Timestamp>,
    trace: Option<Timestamp>,
    timer_overhead: i32,
    pid: i32,
    arguments: String,
    architecture: String,
    system: String,
}

impl Opening {
    pub(super) fn event(
        &mut self,
        event: &Event<'_>,
        version: DataVersion,
        dropped: &mut DropTally<Dropped>,
    ) {
        let v17 = version == DataVersion::V17;
        let unheld = |texts: &[&str]| texts.iter().any(|text| !text.is_empty());
        match event {
            Event::Node(e) => {
                self.machine = Some(e.time);
                let texts = [&*e.node_id, &e.hostname, &e.ip_address];
                dropped.part_if(unheld(&texts) || e.timezone != 0, Dropped::Identities);
            }
            Event::ProcessCreate(e) => {
                self.process = Some(e.time);
                self.pid = e.pid;
                let texts = [&*e.process_id, &e.name, &e.node_id, &e.executable];
                dropped.part_if(unheld(&texts), Dropped::Identities);
            }
            Event::AgentCreate(e) => {
                self.agent = Some(e.time);
                // A decoded log profile has an agent with this name and a version. The decoder made
                // up both, so they do not count as dropped.
                let (name, number) = match e.name == AGENT {
                    true => ("", ""),
                    false => (&*e.name, &*e.version),
                };
                let texts = [&*e.agent_id, &e.process_id, name, &e.agent_type, number];
                let arguments = !v17 && !e.parameters.is_empty();
                dropped.part_if(unheld(&texts) || arguments, Dropped::Identities);
                self.arguments = text(&e.parameters);
            }
            Event::TraceStart(e) => {
                self.trace = Some(e.time);
                dropped.part_if(unheld(&[&e.trace_id, &e.agent_id]), Dropped::Identities);
            }
            Event::Filter(_) => dropped.event(Dropped::Filters),
            Event::Option(e) => match (&*e.key, e.value.parse()) {
                (TIMER_OVERHEAD, Ok(overhead @ 0..)) => self.timer_overhead = overhead,
                (ARCHITECTURE, _) if v17 => self.architecture = text(&e.value),
                (OPERATING_SYSTEM, _) if v17 => self.system = text(&e.value),
                _ => dropped.event(Dropped::Options),
            },
            _ => {}
        }
    }

    fn begin(&self) -> Option<Timestamp> {
        self.agent.or(self.process).or(self.machine).or(self.trace)
    }

    /// Returns the start of the trace, in nanoseconds since 1970, rounded down to a whole
    /// millisecond. `first` is the time of the first event after the opening events.
    pub(super) fn origin(&self, first: Option<Timestamp>) -> i64 {
        let begin = self.begin().or(first).unwrap_or_default().0.max(0);
        begin - begin % MILLISECOND
    }

    /// Returns the start times of the agent and the trace.
    pub(super) fn begins(&self, first: Option<Timestamp>) -> (Timestamp, Timestamp) {
        let agent = self.begin().or(first).unwrap_or_default();
        (agent, self.trace.unwrap_or(agent))
    }

    pub(super) fn write(&self, version: DataVersion, origin: Option<i64>, out: &mut Vec<u8>) {
        let (major, minor, data) = match version {
            DataVersion::V1 => (0, 1, 1),
            DataVersion::V17 => (3, 0, 17),
        };
        let pointer_size = 8;
        out.extend_from_slice(&FILE_ID.to_le_bytes());
        out.extend_from_slice(&[major, minor, data, pointer_size]);
        let milliseconds = origin.unwrap_or(0) / MILLISECOND;
        out.extend_from_slice(&milliseconds.to_le_bytes());
        if version == DataVersion::V17 {
            out.extend_from_slice(&CLOCK_START.to_le_bytes());
        }
        out.extend_from_slice(&self.timer_overhead.to_le_bytes());
        // Flags.
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.pid.to_le_bytes());
        match version {
            // System identifier.
            DataVersion::V1 => out.extend_from_slice(&[0; 4]),
            DataVersion::V17 => {
                // Port of a server.
                out.extend_from_slice(&[0; 2]);
                for text in [&self.arguments, &self.architecture, &self.system] {
                    out.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
                    out.extend_from_slice(text.as_bytes());
                    out.push(0);
                }
            }
        }
    }
}

/// Converts a text so that the header can hold it: limits its length, and replaces zero characters.
fn text(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES - 3)];
    text.replace('\0', "\u{fffd}")
}

/// Contents of a file header.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    pub(super) version: DataVersion,
    /// Major and minor version of the header. The decoder reports them as the agent's version.
    pub(super) numbers: (u8, u8),
    pub(super) pointer_size: u8,
    /// Startup time in nanoseconds since 1970.
    pub(super) startup: i64,
    /// Startup time on the buffers' clock; `None` in version 1, because its header has no such
    /// field.
    pub(super) clock: Option<u64>,
    pub(super) timer_overhead: i32,
    pub(super) pid: i32,
    /// System identifier in version 1, port of a server in version 17.
    pub(super) system: u32,
    pub(super) arguments: String,
    pub(super) architecture: String,
    pub(super) operating_system: String,
}

/// Result of reading a header.
pub(super) enum Found {
    /// Header, and its size in bytes.
    Header(Box<Header>, usize),
    /// The input ends inside the header.
    Part,
    /// Invalid header: offset of the invalid field, and the reason.
    Wrong(usize, String),
}

/// Reads a header from the start of `input`.
pub(super) fn read(input: &[u8]) -> Found {
    let mut fields = Raw {
        input,
        at: 0,
        field: 0,
    };
    match fields.header() {
        Ok(header) => Found::Header(Box::new(header), fields.at),
        Err(None) => Found::Part,
        Err(Some(reason)) => Found::Wrong(fields.field, reason),
    }
}

struct Raw<'b> {
    input: &'b [u8],
    at: usize,
    /// Offset of the last field read.
    field: usize,
}

impl Raw<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Option<String>> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let bytes = rest.first_chunk().ok_or(None)?;
        (self.field, self.at) = (self.at, self.at + N);
        Ok(*bytes)
    }

    /// Reads the header. `Err(None)` means that the input is too short.
    fn header(&mut self) -> Result<Header, Option<String>> {
        let id = FILE_ID.to_le_bytes();
        let head = &self.input[..self.input.len().min(id.len())];
        if !id.starts_with(head) {
            return Err(Some(
                "the first bytes are not those of a log profile".into(),
            ));
        }
        self.bytes::<4>()?;
        let ([major, minor], [data]) = (self.bytes()?, self.bytes()?);
        let version = match (data, major) {
            (1, 0) => DataVersion::V1,
            (17, 3..) => DataVersion::V17,
            (1 | 17, _) => {
                return Err(Some(format!(
                    "header version {major}.{minor} does not go with data version {data}"
                )));
            }
            _ => return Err(Some(format!("unsupported data version {data}"))),
        };
        let [pointer_size] = self.bytes()?;
        if pointer_size > 8 {
            return Err(Some(format!("pointers of {pointer_size} bytes")));
        }
        let startup = i64::from_le_bytes(self.bytes()?).checked_mul(MILLISECOND);
        let startup = startup.ok_or_else(|| Some("the startup time is out of range".into()))?;
        let v17 = version == DataVersion::V17;
        let clock = match v17 {
            true => Some(u64::from_le_bytes(self.bytes()?)),
            false => None,
        };
        let timer_overhead = i32::from_le_bytes(self.bytes()?);
        let flags = u32::from_le_bytes(self.bytes()?);
        if flags != 0 {
            return Err(Some(format!("flags {flags:#x}: none are known")));
        }
        let mut header = Header {
            version,
            numbers: (major, minor),
            pointer_size,
            startup,
            clock,
            timer_overhead,
            pid: i32::from_le_bytes(self.bytes()?),
            ..Header::default()
        };
        if v17 {
            header.system = u16::from_le_bytes(self.bytes()?).into();
            header.arguments = self.text()?;
            header.architecture = self.text()?;
            header.operating_system = self.text()?;
        } else {
            header.system = u32::from_le_bytes(self.bytes()?);
        }
        Ok(header)
    }

    fn text(&mut self) -> Result<String, Option<String>> {
        let size = u32::from_le_bytes(self.bytes()?) as usize;
        if size > MAX_TEXT_BYTES {
            return Err(Some(format!("a text of {size} bytes in the header")));
        }
        let end = self.at + size;
        let text = self.input.get(self.at..end).ok_or(None)?;
        self.at = end;
        let text = text.split(|&b| b == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}
