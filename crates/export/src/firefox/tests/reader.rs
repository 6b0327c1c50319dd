//! Reads profiles as Mozilla's documents describe them.

use super::super::Builder;
use crate::testing::{START, encode};
use flate2::read::GzDecoder;
use jtrail_model::Event;
use serde_json::{Value, json};
use std::io::Read;

/// Returns the text of a gzip file.
pub(super) fn unpack(bytes: &[u8]) -> String {
    let mut text = String::new();
    let read = GzDecoder::new(bytes).read_to_string(&mut text);
    read.expect("a gzip file");
    text
}

pub(super) fn profile(events: &[Event<'_>]) -> Value {
    let text = unpack(&encode(Builder::default(), events));
    serde_json::from_str(&text).expect("JSON")
}

/// Returns a number of ms in ns.
pub(super) fn ns(ms: &Value) -> i64 {
    (ms.as_f64().expect("a number") * 1e6).round() as i64
}

/// Returns a time of the profile as the distance to [`START`] in ns.
pub(super) fn since_start(profile: &Value, ms: &Value) -> i64 {
    let start = profile["meta"]["startTime"].as_i64().expect("a number");
    start * 1_000_000 + ns(ms) - START
}

pub(super) fn rows(table: &Value) -> usize {
    let length = table["length"].as_u64().expect("a length") as usize;
    for (name, column) in table.as_object().expect("a table") {
        if let Value::Array(items) = column {
            assert_eq!(items.len(), length, "{name}");
        }
    }
    length
}

pub(super) fn index(value: &Value) -> usize {
    value.as_u64().expect("an index") as usize
}

pub(super) fn thread_named<'p>(profile: &'p Value, name: &str) -> &'p Value {
    let threads = profile["threads"].as_array().expect("threads");
    let mut named = threads.iter().filter(|thread| thread["name"] == name);
    named.next().expect("a thread")
}

/// Returns the frames of a stack, the outermost first, as `package!function:line`, and the category
/// of the innermost one.
pub(super) fn stack(profile: &Value, stack: &Value) -> (String, String) {
    let shared = &profile["shared"];
    let text = |number: &Value| {
        shared["stringArray"][index(number)]
            .as_str()
            .expect("a text")
    };
    let mut frames = Vec::new();
    let mut category = None;
    let mut at = stack.as_u64().map(|number| number as usize);
    while let Some(number) = at {
        let frame = index(&shared["stackTable"]["frame"][number]);
        let function = index(&shared["frameTable"]["func"][frame]);
        let name = text(&shared["funcTable"]["name"][function]);
        let package = shared["funcTable"]["resource"][function].as_u64();
        let package = package.map(|n| text(&shared["resourceTable"]["name"][n as usize]));
        let package = package.map(|name| format!("{name}!")).unwrap_or_default();
        let line = shared["frameTable"]["line"][frame].as_u64();
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        frames.push(format!("{package}{name}{line}"));
        let of_frame = index(&shared["frameTable"]["category"][frame]);
        let of_frame = &profile["meta"]["categories"][of_frame]["name"];
        category.get_or_insert(of_frame.as_str().expect("a name").to_owned());
        let offset = index(&shared["stackTable"]["prefixOffset"][number]);
        at = (offset > 0).then(|| number - offset);
    }
    frames.reverse();
    (frames.join(" "), category.unwrap_or_default())
}

/// Returns the samples of a thread as `time category weight: frames`.
pub(super) fn samples(profile: &Value, name: &str) -> Vec<String> {
    let table = &thread_named(profile, name)["samples"];
    assert_eq!(table["weightType"], "tracing-ms");
    let mut time = 0;
    let line = |row| {
        time += ns(&table["timeDeltas"][row]);
        let (frames, category) = stack(profile, &table["stack"][row]);
        let start = profile["meta"]["startTime"].as_i64().expect("a number");
        let time = time + start * 1_000_000 - START;
        let weight = ns(&table["weight"][row]);
        format!("{time} {category} {weight}: {frames}")
    };
    (0..rows(table)).map(line).collect()
}

/// Returns the markers of a thread as `begin end name category {data}`, with texts for their
/// numbers. A moment has no end.
pub(super) fn markers(profile: &Value, name: &str) -> Vec<String> {
    let table = &thread_named(profile, name)["markers"];
    let text = |number: &Value| &profile["shared"]["stringArray"][index(number)];
    let line = |row: usize| {
        let mut data = table["data"][row].clone();
        let schemas = profile["meta"]["markerSchema"].as_array().expect("schemas");
        let mut schemas = schemas
            .iter()
            .filter(|schema| schema["name"] == data["type"]);
        let schema = schemas.next().expect("a schema");
        for field in schema["fields"].as_array().expect("fields") {
            let key = field["key"].as_str().expect("a key");
            if field["format"] == "unique-string" && !data[key].is_null() {
                data[key] = text(&data[key]).clone();
            }
        }
        if let Some(cause) = data.get("cause") {
            data["cause"] = json!(stack(profile, &cause["stack"]).0);
        }
        let fields = data.as_object_mut().expect("data");
        fields.remove("type");
        fields.remove("color");
        let (start, end) = (&table["startTime"][row], &table["endTime"][row]);
        let end = match table["phase"][row].as_u64() {
            Some(1) => since_start(profile, end).to_string(),
            _ => "-".to_owned(),
        };
        let category = index(&table["category"][row]);
        let category = &profile["meta"]["categories"][category]["name"];
        let name = text(&table["name"][row]);
        let start = since_start(profile, start);
        format!("{start} {end} {name} {category} {data}").replace('"', "'")
    };
    (0..rows(table)).map(line).collect()
}

/// Returns the changes of a counter, with their times.
pub(super) fn counter(profile: &Value, name: &str) -> Vec<(i64, f64)> {
    let counters = profile["counters"].as_array().expect("counters");
    let mut named = counters.iter().filter(|c| c["display"]["label"] == name);
    let table = &named.next().expect("a counter")["samples"];
    let row = |row: usize| {
        let time = since_start(profile, &table["time"][row]);
        (time, table["count"][row].as_f64().expect("a number"))
    };
    (0..rows(table)).map(row).collect()
}
