//! Figures as table for people, TSV or JSON for programs; and files.
//!
//! A result is a list of [`Section`]s, each with columns and rows; the three writers know nothing
//! of what they mean.

mod file;
mod human;
mod write;

pub(crate) use file::OutputFile;
pub(crate) use human::{bytes, count, time};
pub(crate) use write::{one_line, write};

/// How figures are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Style {
    /// Columns for people
    Table,
    /// Tab-separated values; times in ns
    Tsv,
    /// One JSON object; times in ns
    Json,
}

/// One table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Section {
    /// Key in JSON, and head of the table, which has blanks for its underscores.
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows that were left out.
    pub(crate) more: usize,
    /// It has one row; people see it as a list, programs as an object.
    pub(crate) vertical: bool,
}

/// A column of a [`Section`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// Name in TSV and JSON.
    pub(crate) key: &'static str,
    /// Head in a table; empty for a column that tables don't show.
    pub(crate) head: &'static str,
    /// It is left out when no row has a value in it.
    pub(crate) optional: bool,
}

pub(crate) const fn column(key: &'static str, head: &'static str) -> Column {
    Column {
        key,
        head,
        optional: false,
    }
}

/// A column that is left out when no row has a value in it.
pub(crate) const fn optional(key: &'static str, head: &'static str) -> Column {
    Column {
        key,
        head,
        optional: true,
    }
}

impl Section {
    /// Leaves out the optional columns that have no value.
    pub(crate) fn without_empty(mut self) -> Self {
        for at in (0..self.columns.len()).rev() {
            let empty = |row: &Vec<Cell>| row.get(at) == Some(&Cell::None);
            if self.columns[at].optional && self.rows.iter().all(empty) {
                self.columns.remove(at);
                for row in &mut self.rows {
                    row.remove(at);
                }
            }
        }
        self
    }
}

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    Text(String),
    /// A name with a spelling for programs and one for people.
    Name {
        raw: String,
        readable: String,
    },
    Count(u64),
    /// A count with a unit, which people see in full.
    Exact(u64, &'static str),
    /// Nanoseconds.
    Time(i64),
    /// Bytes; 0 is unknown.
    Bytes(i64),
    /// Part of a whole, 0 to 1.
    Share(f64),
    None,
}
