//! Output of figures as tables, TSV or JSON, and of files.
//!
//! A result is a list of [`Section`]s, each with columns and rows. The three writers don't know the
//! meaning of the figures.

mod file;
mod human;
mod temporary;
mod write;

pub(crate) use file::{OutputFile, write_error};
pub(crate) use human::{bytes, count, time};
pub(crate) use temporary::{Temporary, ending_signals, leave_signals};
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

/// A table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Section {
    /// Key in JSON. In the heading of a table, blanks replace the underscores.
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Number of omitted rows.
    pub(crate) more: usize,
    /// The kind of events that the rows come from, if this kind was not recorded. Tables show a
    /// remark about it in place of the rows.
    pub(crate) unrecorded: Option<&'static str>,
    /// True if the section has a single row. Tables show it as a list, JSON as an object.
    pub(crate) vertical: bool,
}

/// Column of a [`Section`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// Name in TSV and JSON.
    pub(crate) key: &'static str,
    /// Heading in a table, or empty if tables hide the column.
    pub(crate) head: &'static str,
    /// True if the column is omitted when no row has a value.
    pub(crate) optional: bool,
}

pub(crate) const fn column(key: &'static str, head: &'static str) -> Column {
    Column {
        key,
        head,
        optional: false,
    }
}

/// Returns a column that is omitted when no row has a value.
pub(crate) const fn optional(key: &'static str, head: &'static str) -> Column {
    Column {
        key,
        head,
        optional: true,
    }
}

impl Section {
    /// Removes optional columns without values.
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

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    Text(String),
    /// A name with a raw and a readable spelling.
    Name {
        raw: String,
        readable: String,
    },
    Count(u64),
    /// A count with a unit, which tables show without rounding.
    Exact(u64, &'static str),
    /// Nanoseconds.
    Time(i64),
    /// Bytes. 0 means unknown.
    Bytes(i64),
    /// Share of a whole, 0 to 1.
    Share(f64),
    None,
}
