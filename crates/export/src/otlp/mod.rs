//! OpenTelemetry traces: what Jaeger, Tempo and the OpenTelemetry Collector take (OTLP).
//!
//! | Format | Extension | Contents |
//! |---|---|---|
//! | protobuf | `.otlp.pb` | a `TracesData` message, which is an `ExportTraceServiceRequest` too |
//! | JSON | `.otlp.json`, `.otlp.jsonl` | a `TracesData` message in each line, like the Collector's file exporter |
//!
//! Both hold the same messages. They come in batches of about [`MAX_BATCH`] bytes: a
//! `ResourceSpans` message with the resource, the scope and spans. A batch of the protobuf format
//! is a complete request by itself ([`body_len`]). An export without spans is empty.
//!
//! | Module | Contents |
//! |---|---|
//! | `sink` | what becomes spans, and what events of spans |
//! | `spans` | open spans, names, batches |
//! | `context` | ids of spans and traces |
//! | `resource` | the traced process, as attributes |
//! | `wire` | what both formats write |
//! | `protobuf`, `json` | the formats |
//!
//! # Spans
//!
//! Every call that is exported is a span. Its parent is the innermost exported call around it. A
//! span is written when it ends, so a parent comes after its children.
//!
//! | Field | Contents |
//! |---|---|
//! | trace id | one for each outermost span. All traces of a process begin with the same 8 bytes. |
//! | span id | from process, thread, time of the begin, and method |
//! | name | `Shop.pay`, without package and parameters |
//! | kind | internal |
//! | start, end | in ns since 1970-01-01 UTC. Times before 1970 become 0. |
//! | status | error if an exception ended the call, with the class of the thread's latest throw |
//!
//! The ids are the same in every export of a trace. So an export with more spans adds to what was
//! sent before, unless a span is no longer the outermost one.
//!
//! | Attribute | Contents |
//! |---|---|
//! | `code.function.name` | `com.acme.Shop.pay` |
//! | `jtrail.descriptor` | `(Lcom/acme/Order;I)V` |
//! | `thread.id`, `thread.name` | the thread's id in the trace, and its latest name |
//! | `jtrail.cpu_time_ns` | CPU time with that of callees, if measured |
//! | `jtrail.allocated_objects`, `jtrail.allocated_bytes` | allocations of the thread during the span, if there were some |
//! | `error.type` | class of the exception that ended the call |
//!
//! # Waits
//!
//! A wait within a span is a child of it: `blocked on a monitor`, `Object.wait` or `parked`. Waits
//! outside of spans are omitted.
//!
//! | Attribute | Contents |
//! |---|---|
//! | `jtrail.wait` | `blocked`, `waiting` or `parked` |
//! | `jtrail.object`, `jtrail.class` | id and class of the monitor or blocker |
//! | `jtrail.owner` | name of the thread that holds the monitor |
//! | `jtrail.timeout_ms` | time limit of `Object.wait` |
//!
//! A span that is blocked on a monitor has a link to the innermost call of the owner that is a span
//! at that moment. The link's attribute `jtrail.link` is `owner of the monitor`.
//!
//! # Events of spans
//!
//! | Event | In | Attributes |
//! |---|---|---|
//! | `exception` | the innermost call at the throw | `exception.type`, `exception.stacktrace` |
//! | `catch` | the innermost call at the catch | `exception.type`, `jtrail.handler` |
//! | `young collection`, … | the innermost call of each thread | `jvm.gc.name`, `jvm.gc.cause`, `jtrail.duration_ns` |
//!
//! A span has at most [`MAX_EVENTS`] events, like in OpenTelemetry's own libraries. The field
//! `dropped_events_count` counts all others.
//!
//! # Marks
//!
//! Marks, and notes on what the trace lacks, belong to no call. They are the events `mark` of a
//! span named `marks`, the only one of the last trace. Their text is the attribute `jtrail.text`.
//!
//! # Limits
//!
//! Spans have no place for samples, counters, and calls that were recorded as sums. What happens
//! outside of spans is omitted. A trace viewer takes some ten thousand spans in a trace. So the
//! ceiling is about the largest trace, and not about all spans.

mod context;
mod json;
mod protobuf;
mod resource;
mod sink;
mod spans;
mod wire;

pub(crate) use json::Json;
pub(crate) use protobuf::Protobuf;
pub use protobuf::body_len;
pub(crate) use spans::Spans;

/// Minimum number of bytes of spans in a batch, but for the last one.
pub(crate) const MAX_BATCH: usize = 1 << 20;

/// Maximum number of events of a span.
const MAX_EVENTS: u32 = 128;

/// A format of OpenTelemetry traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Protocol buffers.
    #[default]
    Protobuf,
    /// Lines of JSON.
    Json,
}

impl Format {
    /// Returns the format of a file.
    pub fn by_file_name(name: &str) -> Self {
        match name.ends_with(".json") || name.ends_with(".jsonl") {
            true => Self::Json,
            false => Self::Protobuf,
        }
    }
}

#[cfg(test)]
mod tests;
