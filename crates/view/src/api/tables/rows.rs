//! Tables that are sorted, filtered and cut.

use crate::api::Fault;
use crate::api::query::Query;
use crate::api::session::Opened;
use crate::api::traces::method_name;
use serde_json::{Value, json};
use std::cmp::Ordering;

/// Number of rows without `limit`.
const LIMIT: usize = 200;

/// A table.
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Value>>,
    /// The column that orders the rows, unless a request has another one.
    pub(super) order: usize,
}

/// A column: its name, and the kind of its cells.
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
}

impl Column {
    pub(super) fn new(name: &'static str, kind: &'static str) -> Self {
        Self { name, kind }
    }
}

impl Table {
    /// Returns the rows that a request asks for.
    pub(super) fn answer(mut self, opened: &Opened, query: &Query) -> Result<Value, Fault> {
        if let Some(text) = query.text("filter").filter(|text| !text.is_empty()) {
            let text = text.to_lowercase();
            let columns = &self.columns;
            let has = |row: &Vec<Value>| {
                let mut cells = row.iter().zip(columns);
                cells.any(|(cell, column)| shown(opened, cell, column).contains(&text))
            };
            self.rows.retain(has);
        }
        let order = match query.text("sort") {
            None => self.order,
            Some(name) => {
                let place = self.columns.iter().position(|column| column.name == name);
                place.ok_or_else(|| Fault::Request(format!("sort: there is no column {name:?}")))?
            }
        };
        self.sort(opened, order);
        if query.text("reverse") == Some("1") {
            self.rows.reverse();
        }
        let all = self.rows.len();
        self.rows
            .truncate(query.optional("limit")?.unwrap_or(LIMIT));
        let columns = self.columns.iter();
        let columns = columns.map(|column| json!({ "name": column.name, "kind": column.kind }));
        Ok(json!({
            "total_rows": all,
            "columns": columns.collect::<Vec<Value>>(),
            "rows": self.rows,
        }))
    }

    /// Sorts the rows: numbers with the largest first, all else in ascending order.
    fn sort(&mut self, opened: &Opened, order: usize) {
        let column = &self.columns[order];
        let number = |row: &[Value]| row[order].as_i64().unwrap_or(i64::MIN);
        match column.kind {
            "count" | "ns" | "bytes" => self.rows.sort_by_key(|row| std::cmp::Reverse(number(row))),
            "time" | "thread" => self.rows.sort_by_key(|row| number(row)),
            _ => {
                let text = |row: &Vec<Value>| shown(opened, &row[order], column);
                self.rows.sort_by_cached_key(text);
            }
        }
        // Equal rows have the order of their other cells, so that it does not change.
        let rest = |row: &[Value]| row.iter().map(ToString::to_string).collect::<Vec<String>>();
        let equal = |a: &[Value], b: &[Value]| a[order] == b[order];
        for group in self.rows.chunk_by_mut(|a, b| equal(a, b)) {
            if group.len() > 1 {
                group.sort_by(|a, b| -> Ordering { rest(a).cmp(&rest(b)) });
            }
        }
    }
}

/// Returns the text of a cell in lower case, for a method with its class; empty for numbers.
fn shown(opened: &Opened, cell: &Value, column: &Column) -> String {
    match (column.kind, cell) {
        ("method", Value::Number(number)) => {
            let number = number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok());
            let [class, name, signature] = method_name(opened, number.unwrap_or(u32::MAX));
            format!("{class}.{name}{signature}").to_lowercase()
        }
        ("text", Value::String(text)) => text.to_lowercase(),
        _ => String::new(),
    }
}
