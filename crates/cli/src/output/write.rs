//! Writers for the three styles.

use super::{Cell, Column, Section, Style, bytes, count, time};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes the sections in a style.
///
/// - Table: each table is below its name.
/// - TSV: a line `# name`, the keys, then the rows. An empty line separates sections.
/// - JSON: an object with an array of objects for each section, or an object for a vertical
///   section.
pub(crate) fn write(style: Style, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    match style {
        Style::Table => tables(sections, out),
        Style::Tsv => tsv(sections, out),
        Style::Json => json(sections, out),
    }
}

fn tables(sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    for (n, section) in sections.iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", section.name.replace('_', " "))?;
        if section.vertical {
            list(section, out)?;
        } else if section.rows.is_empty() {
            match section.unrecorded {
                Some(events) => writeln!(out, "  not recorded (--events +{events})")?,
                None => writeln!(out, "  none")?,
            }
        } else {
            table(section, out)?;
        }
        if section.more > 0 {
            writeln!(out, "  … {} more", count(section.more as u64))?;
        }
    }
    Ok(())
}

fn list(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    let width = section
        .columns
        .iter()
        .map(|c| c.head.chars().count())
        .max()
        .unwrap_or(0);
    let row = section.rows.first().map_or(&[][..], Vec::as_slice);
    for (column, cell) in section
        .columns
        .iter()
        .zip(row)
        .filter(|(c, _)| !c.head.is_empty())
    {
        writeln!(out, "  {:width$}  {}", column.head, readable(cell))?;
    }
    Ok(())
}

fn table(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    let shown = |c: &Column| !c.head.is_empty();
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(section.columns.iter().filter(|c| shown(c)).map(|c| c.head));
    for row in &section.rows {
        let cells = section.columns.iter().zip(row).filter(|(c, _)| shown(c));
        table.add_row(cells.map(|(_, cell)| readable(cell)));
    }
    let columns = section.columns.iter().enumerate().filter(|(_, c)| shown(c));
    for (place, (index, _)) in columns.enumerate() {
        let text =
            |row: &Vec<Cell>| matches!(row.get(index), Some(Cell::Text(_) | Cell::Name { .. }));
        let right = !section.rows.iter().any(text);
        if let Some(column) = table.column_mut(place) {
            column.set_padding((1, 1));
            if right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn readable(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Name { readable: text, .. } => one_line(text),
        Cell::Count(n) => count(*n),
        Cell::Exact(n, unit) => format!("{} {unit}", count(*n)),
        Cell::Time(ns) => time(*ns),
        Cell::Bytes(0) | Cell::None => "-".to_owned(),
        Cell::Bytes(n) => bytes(n.unsigned_abs()),
        Cell::Share(share) => format!("{:.1}%", share * 100.0),
    }
}

fn tsv(sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    for (n, section) in sections.iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        writeln!(out, "# {}", section.name)?;
        let keys: Vec<&str> = section.columns.iter().map(|c| c.key).collect();
        writeln!(out, "{}", keys.join("\t"))?;
        for row in &section.rows {
            let cells: Vec<String> = row.iter().map(raw).collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
    }
    Ok(())
}

fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Name { raw: text, .. } => one_line(text),
        Cell::Count(n) | Cell::Exact(n, _) => n.to_string(),
        Cell::Time(n) | Cell::Bytes(n) => n.to_string(),
        Cell::Share(share) => format!("{share:.6}"),
        Cell::None => String::new(),
    }
}

/// Returns a text with control characters escaped.
///
/// Names come from the traced program, and may contain control sequences of terminals.
pub(crate) fn one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

fn json(sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    let mut object = Map::new();
    for section in sections {
        let mut rows = section.rows.iter().map(|row| {
            let cells = section.columns.iter().zip(row);
            Value::Object(
                cells
                    .map(|(c, cell)| (c.key.to_owned(), value(cell)))
                    .collect(),
            )
        });
        let value = if section.vertical {
            rows.next().unwrap_or(Value::Null)
        } else {
            Value::Array(rows.collect())
        };
        object.insert(section.name.to_owned(), value);
    }
    serde_json::to_writer_pretty(&mut *out, &Value::Object(object))?;
    writeln!(out)
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) | Cell::Name { raw: text, .. } => Value::from(text.as_str()),
        Cell::Count(n) | Cell::Exact(n, _) => Value::from(*n),
        Cell::Time(n) | Cell::Bytes(n) => Value::from(*n),
        Cell::Share(share) => Value::from((share * 1e6).round() / 1e6),
        Cell::None => Value::Null,
    }
}
