//! The markers of a thread, and how the viewer shows them.

use super::categories::{Category, Kind, OBJECT_WAIT, PARKED};
use super::json::{self, Json};
use super::tables::{NO_STACK, Tables};
use serde_json::{Value, json};

/// The kinds of markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MarkerKind {
    Blocked,
    Waiting,
    Parked,
    Throw,
    Catch,
    Sample,
    Collection,
    Mark,
}

impl MarkerKind {
    /// Returns the name in the viewer's lists.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blocked => "Blocked on a monitor",
            Self::Waiting => "Object.wait",
            Self::Parked => "Parked",
            Self::Throw => "Throw",
            Self::Catch => "Catch",
            Self::Sample => "Sample",
            Self::Collection => "Garbage collection",
            Self::Mark => "Mark",
        }
    }

    /// Returns the beginning of a marker's data: the schema, and the colour in the marker chart.
    fn head(self) -> &'static str {
        match self {
            Self::Blocked => r#"{"type":"blocked","color":"red""#,
            Self::Waiting => r#"{"type":"waiting","color":"grey""#,
            Self::Parked => r#"{"type":"parked","color":"grey""#,
            Self::Throw => r#"{"type":"throw","color":"orange""#,
            Self::Catch => r#"{"type":"catch","color":"yellow""#,
            Self::Sample => r#"{"type":"sample","color":"blue""#,
            Self::Collection => r#"{"type":"collection","color":"purple""#,
            Self::Mark => r#"{"type":"mark","color":"green""#,
        }
    }

    /// Returns the category of markers, and of frames in such a state.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Blocked => Kind::of(Category::Blocked),
            Self::Waiting => OBJECT_WAIT,
            Self::Parked => PARKED,
            Self::Collection => Kind::of(Category::Collection),
            Self::Throw | Self::Catch | Self::Sample | Self::Mark => Kind::of(Category::Other),
        }
    }
}

/// Returns the schemas of markers for `meta`.
pub(super) fn schemas() -> Value {
    let text = |key, label| json!({"key": key, "label": label, "format": "unique-string"});
    let object = || json!({"key": "object", "label": "Object", "format": "string"});
    let lists = json!(["marker-chart", "marker-table"]);
    let with_overview = json!(["marker-chart", "marker-table", "timeline-overview"]);
    let everywhere = json!([
        "marker-chart",
        "marker-table",
        "timeline-overview",
        "timeline-memory",
    ]);
    json!([
        {
            "name": "blocked",
            "colorField": "color",
            "tableLabel": "{marker.data.class}, owned by {marker.data.owner}",
            "chartLabel": "{marker.data.class}, owned by {marker.data.owner}",
            "description": "The thread needs a monitor that another thread owns.",
            "display": lists,
            "fields": [text("class", "Class"), object(), text("owner", "Owner")],
            "isStackBased": true,
        },
        {
            "name": "waiting",
            "colorField": "color",
            "tableLabel": "{marker.data.class}",
            "chartLabel": "{marker.data.class}",
            "description": "The thread is in Object.wait.",
            "display": lists,
            "fields": [
                text("class", "Class"),
                object(),
                {"key": "timeout", "label": "Timeout", "format": "duration"},
            ],
            "isStackBased": true,
        },
        {
            "name": "parked",
            "colorField": "color",
            "tableLabel": "{marker.data.class}",
            "chartLabel": "{marker.data.class}",
            "description": "The thread is in LockSupport.park or one of its variants.",
            "display": lists,
            "fields": [text("class", "Class of the blocker"), object()],
            "isStackBased": true,
        },
        {
            "name": "throw",
            "colorField": "color",
            "tableLabel": "{marker.data.class}",
            "chartLabel": "{marker.data.class}",
            "description": "An exception is thrown.",
            "display": with_overview,
            "fields": [text("class", "Class"), object()],
        },
        {
            "name": "catch",
            "colorField": "color",
            "tableLabel": "{marker.data.class}",
            "chartLabel": "{marker.data.class}",
            "description": "An exception is caught.",
            "display": lists,
            "fields": [text("class", "Class"), object()],
        },
        {
            "name": "sample",
            "colorField": "color",
            "tableLabel": "{marker.data.state}",
            "chartLabel": "{marker.data.state}",
            "description": "What the sampler of the agent found.",
            "display": lists,
            "fields": [
                text("state", "State of the thread"),
                {"key": "count", "label": "Successive samples", "format": "integer"},
            ],
        },
        {
            "name": "collection",
            "colorField": "color",
            "tableLabel": "{marker.data.generation}: {marker.data.reason}",
            "chartLabel": "{marker.data.generation}: {marker.data.reason}",
            "display": everywhere,
            "fields": [
                text("generation", "Kind"),
                text("collector", "Collector"),
                text("reason", "Cause"),
                {"key": "used", "label": "In use after it", "format": "bytes"},
            ],
        },
        {
            "name": "mark",
            "colorField": "color",
            "tableLabel": "{marker.data.text}",
            "chartLabel": "{marker.data.text}",
            "description": "A text of the program or a client, or a note of jtrail.",
            "display": with_overview,
            "fields": [text("text", "Text")],
        },
    ])
}

/// A marker without its data.
#[derive(Debug)]
struct Row {
    kind: MarkerKind,
    /// Number of the name's string.
    name: u32,
    start: i64,
    /// `None` for a moment.
    end: Option<i64>,
}

/// A thread's markers, some 40 bytes each and their data.
#[derive(Debug, Default)]
pub(super) struct Markers {
    rows: Vec<Row>,
    /// The data of all markers: JSON objects, separated by commas.
    data: Vec<u8>,
}

/// Appends the data of a marker.
pub(super) struct Data<'m> {
    out: &'m mut Vec<u8>,
    tables: &'m mut Tables,
}

impl Data<'_> {
    fn key(&mut self, key: &str) {
        self.out.push(b',');
        json::string(self.out, key);
        self.out.push(b':');
    }

    pub(super) fn number(&mut self, key: &str, value: i64) {
        self.key(key);
        json::decimal(self.out, value, 0);
    }

    /// Appends a text that may occur often.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        let number = self.tables.strings.number(text);
        self.number(key, number.into());
    }

    /// Appends a text unless it is empty.
    pub(super) fn optional_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.text(key, text);
        }
    }

    /// Appends an id, which is a number that is not reckoned with.
    pub(super) fn id(&mut self, key: &str, id: u64) {
        self.key(key);
        json::string(self.out, &id.to_string());
    }

    /// Appends a stack. Its key is no other field's: the viewer knows it.
    pub(super) fn stack(&mut self, stack: u32) {
        if stack != NO_STACK {
            self.key("cause");
            self.out.extend_from_slice(b"{\"stack\":");
            json::decimal(self.out, stack.into(), 0);
            self.out.push(b'}');
        }
    }
}

impl Markers {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a marker, whose data `fill` appends.
    pub(super) fn push(
        &mut self,
        tables: &mut Tables,
        kind: MarkerKind,
        (start, end): (i64, Option<i64>),
        fill: impl FnOnce(&mut Data<'_>),
    ) {
        if !self.data.is_empty() {
            self.data.push(b',');
        }
        let name = tables.strings.number(kind.name());
        self.rows.push(Row {
            kind,
            name,
            start,
            end,
        });
        self.data.extend_from_slice(kind.head().as_bytes());
        fill(&mut Data {
            out: &mut self.data,
            tables,
        });
        self.data.push(b'}');
    }

    /// Writes the table of markers. Times are written since `base`.
    pub(super) fn write(&self, json: &mut Json, base: i64) {
        json.raw("{\"data\":[");
        json.bytes(&self.data);
        json.raw("],");
        json.integers("name", self.rows.iter().map(|row| row.name));
        json.column("startTime", &self.rows, |json, row| {
            json.ms(row.start.saturating_sub(base))
        });
        json.column("endTime", &self.rows, |json, row| match row.end {
            Some(end) => json.ms(end.saturating_sub(base)),
            None => json.raw("null"),
        });
        json.column("phase", &self.rows, |json, row| {
            json.integer(row.end.is_some().into());
        });
        json.column("category", &self.rows, |json, row| {
            json.integer(row.kind.kind().category as i64);
        });
        json.length(self.rows.len());
    }
}
