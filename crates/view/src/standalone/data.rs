//! What the page asks a server otherwise: names, pictures and tables.

use super::collect::Part;
use crate::api::calls::{described, owner_in};
use crate::api::pictures::kind;
use crate::api::traces::method_name;
use crate::api::{Opened, Session, Status};
use crate::{Kind, NO_METHOD, Slice, Wait};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

/// Number of intervals in the picture of the whole, at most.
const MAX_INTERVALS: usize = 640;
/// Maximum number of intervals of all threads together.
const MAX_CELLS: usize = 1 << 20;
/// Maximum number of rows of a table, and of waits with what they are for.
const MAX_ROWS: usize = 10_000;
/// Number of waits for which the class of the object and the call of the owner are looked up.
const MAX_OWNERS: usize = 200;
/// Maximum bytes of names of methods, and as many of tables.
const MAX_BYTES: usize = 32 << 20;
/// Time of a step of a search.
const STEP: Duration = Duration::from_millis(100);

/// Writes the data of a page.
///
/// # Errors
/// If `out` can't be written, a trace can't be read, or names are too long for a page.
pub(super) fn write(session: &Session, parts: &[Part], out: &mut impl Write) -> io::Result<()> {
    let infos = ask(session, "/api/traces", "")?;
    write!(out, "{{\"version\":1,\"traces\":[")?;
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            write!(out, ",")?;
        }
        let asked = Asked {
            session,
            number,
            opened: &session.traces()[number].read(),
            part,
        };
        asked.write(infos["traces"][number].clone(), out)?;
    }
    write!(out, "]}}")
}

/// Returns an answer when all of it has been read.
fn ask(session: &Session, path: &str, query: &str) -> io::Result<Value> {
    loop {
        let answer = session.answer(path, query);
        let value: Value = serde_json::from_slice(&answer.body)?;
        if answer.status != Status::Answered {
            let text = value["error"].as_str().unwrap_or("there is no answer");
            return Err(io::Error::other(text));
        }
        if value["share"].as_f64().unwrap_or(1.0) >= 1.0 {
            return Ok(value);
        }
    }
}

/// A part of a trace that is asked about.
struct Asked<'a> {
    session: &'a Session,
    number: usize,
    opened: &'a Opened,
    part: &'a Part,
}

impl Asked<'_> {
    fn write(&self, mut info: Value, out: &mut impl Write) -> io::Result<()> {
        let mut remarks: Vec<String> = Vec::new();
        let mut methods: BTreeSet<u32> = BTreeSet::new();
        let lanes = self.lanes()?;
        let mut tables = serde_json::Map::new();
        for what in ["allocations", "waits", "exceptions", "collections"] {
            let table = self.table(what, &mut remarks)?;
            methods.extend(methods_in(&table));
            tables.insert(what.to_owned(), table);
        }
        let waits = self.waits(&mut remarks, &mut methods)?;
        for (_, slices) in &self.part.threads {
            methods.extend(slices.iter().map(|slice| slice.method));
        }
        methods.remove(&NO_METHOD);
        if let Some(all) = info["remarks"].as_array_mut() {
            all.extend(remarks.into_iter().map(Value::from));
        }
        self.info(&mut info);
        write!(out, "{{\"info\":{info},\"methods\":{{")?;
        self.methods(&methods, out)?;
        write!(out, "}},\"slices\":{{")?;
        for (place, (id, slices)) in self.part.threads.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let number = self.opened.number(*id).unwrap_or_default();
            write!(out, "{comma}\"{number}\":")?;
            self.slices(slices, out)?;
        }
        let tables = limited("tables", Value::Object(tables).to_string())?;
        write!(out, "}},\"waits\":[{}]", waits.join(","))?;
        write!(out, ",\"lanes\":{lanes},\"tables\":{tables}}}")
    }

    /// Completes the facts of the trace by those of its slices: levels have waits.
    fn info(&self, info: &mut Value) {
        for (id, slices) in &self.part.threads {
            let levels = slices
                .iter()
                .map(|slice| slice.level.saturating_add(1))
                .max();
            if let (Some(number), Some(levels)) = (self.opened.number(*id), levels) {
                info["threads"]["levels"][number] = json!(levels);
            }
        }
    }

    /// Returns the span as parameters of a request.
    fn span(&self) -> String {
        let [from, until] = self.part.span.map(|time| self.opened.since(time));
        format!("trace={}&from={from}&until={until}", self.number)
    }

    fn lanes(&self) -> io::Result<Value> {
        let threads = self.opened.trace().threads().count().max(1);
        let intervals = (MAX_CELLS / threads).clamp(16, MAX_INTERVALS);
        let query = format!("{}&bins={intervals}", self.span());
        ask(self.session, "/api/lanes", &query)
    }

    fn table(&self, what: &str, remarks: &mut Vec<String>) -> io::Result<Value> {
        // Without threads, a request is about all.
        if what == "waits" && self.part.threads.is_empty() {
            return Ok(json!({ "share": 1.0, "total_rows": 0, "columns": [], "rows": [] }));
        }
        // Threads without calls and waits may allocate and throw, too.
        let is_of_calls = what == "waits";
        let threads = self.part.threads.iter().filter(|_| is_of_calls);
        let threads = threads.filter_map(|(id, _)| self.opened.number(*id));
        let threads: Vec<String> = threads.map(|number| number.to_string()).collect();
        let query = format!(
            "{}&what={what}&limit={MAX_ROWS}&threads={}",
            self.span(),
            threads.join(",")
        );
        let table = ask(self.session, "/api/table", &query)?;
        let all = table["total_rows"].as_u64().unwrap_or_default();
        if all > MAX_ROWS as u64 {
            remarks.push(format!("{what}: the first {MAX_ROWS} of {all} rows"));
        }
        Ok(table)
    }

    /// Returns the waits as JSON. The longest ones have what the owner does.
    fn waits(
        &self,
        remarks: &mut Vec<String>,
        methods: &mut BTreeSet<u32>,
    ) -> io::Result<Vec<String>> {
        let mut waits: Vec<&Wait> = self.part.waits.iter().collect();
        waits.sort_by_key(|wait| (Reverse(wait.end.since(wait.begin)), wait.begin, wait.thread));
        if waits.len() > MAX_ROWS {
            let all = waits.len();
            remarks.push(format!(
                "the {MAX_ROWS} longest of {all} waits have what they are for"
            ));
            waits.truncate(MAX_ROWS);
        }
        let described_waits = || waits.iter().take(MAX_OWNERS).copied();
        while self.opened.find_classes(described_waits(), STEP)? < 1.0 {}
        let written = waits.iter().enumerate().map(|(place, wait)| {
            let owner_in = match place < MAX_OWNERS {
                true => owner_in(self.opened, wait)?,
                false => None,
            };
            methods.extend(owner_in.map(|call| call.method));
            let mut value = described(self.opened, wait, owner_in);
            value["thread"] = json!(self.opened.number(wait.thread));
            Ok(value.to_string())
        });
        written.collect()
    }

    fn methods(&self, numbers: &BTreeSet<u32>, out: &mut impl Write) -> io::Result<()> {
        let mut names = String::new();
        for number in numbers {
            if !names.is_empty() {
                names.push(',');
            }
            names += &format!("\"{number}\":{}", json!(method_name(self.opened, *number)));
            if names.len() > MAX_BYTES {
                break;
            }
        }
        write!(out, "{}", limited("names of methods", names)?)
    }

    /// Writes the slices of a thread as columns.
    fn slices(&self, slices: &[Slice], out: &mut impl Write) -> io::Result<()> {
        let mut previous = self.opened.trace().span()[0];
        let mut since_previous = |slice: &Slice| {
            let since = slice
                .begin
                .since(std::mem::replace(&mut previous, slice.begin));
            since.0
        };
        write!(out, "{{\"begin\":[")?;
        column(out, slices.iter().map(&mut since_previous))?;
        write!(out, "],\"length\":[")?;
        let length = |slice: &Slice| slice.end.since(slice.begin).0;
        column(out, slices.iter().map(length))?;
        write!(out, "],\"method\":[")?;
        column(out, slices.iter().map(|slice| slice.method))?;
        write!(out, "],\"level\":[")?;
        column(out, slices.iter().map(|slice| slice.level))?;
        if slices.iter().any(|slice| slice.kind != Kind::Call) {
            write!(out, "],\"kind\":[")?;
            column(out, slices.iter().map(|slice| kind(slice.kind)))?;
        }
        write!(out, "]}}")
    }
}

/// Writes numbers with commas between them.
fn column(out: &mut impl Write, values: impl Iterator<Item = impl Into<i64>>) -> io::Result<()> {
    for (place, value) in values.enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(out, "{comma}{}", value.into())?;
    }
    Ok(())
}

/// Returns the methods in the cells of a table.
fn methods_in(table: &Value) -> Vec<u32> {
    let list = |name: &str| table[name].as_array().map_or(&[][..], Vec::as_slice);
    let columns = list("columns").iter().enumerate();
    let columns: Vec<usize> = columns
        .filter(|(_, column)| column["kind"] == "method")
        .map(|(place, _)| place)
        .collect();
    let cells = list("rows").iter();
    let cells = cells.flat_map(|row| columns.iter().map(move |place| &row[*place]));
    let numbers = cells.filter_map(Value::as_u64);
    numbers
        .filter_map(|number| u32::try_from(number).ok())
        .collect()
}

/// Returns a text that is not too long for a page.
fn limited(what: &str, text: String) -> io::Result<String> {
    match text.len() <= MAX_BYTES {
        true => Ok(text),
        false => Err(io::Error::other(format!(
            "{what}: more than {} MiB, which a page does not hold; select less",
            MAX_BYTES >> 20
        ))),
    }
}
