//! The tables of the document.

use super::kept::{Fate, Fates, Kept, fates};
use super::scenes;
use crate::common::spelling::Spelling;
use jtrail_formats::{Format, Import, Severity};
use std::fmt::Write as _;

/// Returns the tables of all formats and of all pairs of formats.
pub(crate) fn tables(kinds: &[String]) -> String {
    let scenes = scenes::all();
    let formats = Spelling::all();
    let from_scenes: Vec<_> = formats.iter().map(|to| fates(&scenes, *to)).collect();
    let mut text = String::from("\n## What each format holds\n\n");
    text.push_str(include_str!("legend.md"));
    text.push('\n');
    row(
        &mut text,
        "Event",
        formats.iter().map(|f| f.name().to_owned()),
    );
    row(&mut text, "---", formats.iter().map(|_| "---".to_owned()));
    row(&mut text, "*times*", from_scenes.iter().map(unit));
    for kind in kinds {
        let fate = |fates: &Fates| cell(fates.kinds.get(kind).unwrap_or(&Fate::Dropped));
        row(&mut text, &words(kind), from_scenes.iter().map(fate));
    }
    pairs(&mut text, kinds, &formats);
    remarks(&mut text);
    text
}

/// Appends the kinds of remarks that readers count.
fn remarks(text: &mut String) {
    text.push_str("\n## What readers remark\n\n");
    text.push_str(include_str!("remarks.md"));
    row(text, "Format", ["Records", "What", "Is"].map(str::to_owned));
    row(text, "---", ["---"; 3].map(str::to_owned));
    let imports = Import::ALL.map(|import| (import.name(), import.remark_kinds()));
    let formats = Format::ALL.map(|format| (format.name(), format.remark_kinds()));
    for (name, kinds) in formats.into_iter().chain(imports) {
        for kind in kinds {
            let is = match (kind.is_skipped, kind.severity) {
                (true, Severity::Info) => "skipped",
                (true, _) => "a fault, skipped",
                (false, Severity::Info) => "read",
                (false, _) => "a fault, read",
            };
            let what = kind.what.replace("{}", "…");
            let cells = [kind.records.to_owned(), what, is.to_owned()];
            row(text, name, cells);
        }
    }
}

fn pairs(text: &mut String, kinds: &[String], formats: &[Spelling]) {
    let mut matrix = String::new();
    let mut lists = String::new();
    row(
        &mut matrix,
        "from \\ to",
        formats.iter().map(|f| f.name().to_owned()),
    );
    row(&mut matrix, "---", formats.iter().map(|_| "--:".to_owned()));
    let mut sources: Vec<(Vec<Said>, Vec<&str>)> = Vec::new();
    for from in formats {
        let read = |scene: &scenes::Trace| from.decode(from.encode(scene));
        let traces: Vec<_> = scenes::all().iter().map(read).collect();
        let results: Vec<_> = formats.iter().map(|to| fates(&traces, *to)).collect();
        row(&mut matrix, from.name(), results.iter().map(counts));
        let said = results.iter().map(|result| said(kinds, result)).collect();
        add_to(&mut sources, said, from.name());
    }
    for (targets, names) in sources {
        let _ = writeln!(lists, "\n### From {}\n", names.join(" and "));
        row(
            &mut lists,
            "To",
            ["In part", "In sums", "Dropped"].map(str::to_owned),
        );
        row(&mut lists, "---", ["---"; 3].map(str::to_owned));
        let mut rows: Vec<(Said, Vec<&str>)> = Vec::new();
        for (to, said) in formats.iter().zip(targets) {
            add_to(&mut rows, said, to.name());
        }
        for (said, names) in rows {
            row(&mut lists, &names.join(", "), said);
        }
    }
    text.push_str("\n## What each conversion drops\n\n");
    text.push_str(include_str!("pairs.md"));
    text.push('\n');
    text.push_str(&matrix);
    text.push_str(&lists);
}

/// Three lists of kinds of events: those kept in part, those added up, and those dropped.
type Said = [String; 3];

/// Adds a name to the row with the content `said`, or adds such a row.
fn add_to<'n, T: PartialEq>(rows: &mut Vec<(T, Vec<&'n str>)>, said: T, name: &'n str) {
    match rows.iter_mut().find(|(other, _)| *other == said) {
        Some((_, names)) => names.push(name),
        None => rows.push((said, vec![name])),
    }
}

fn row(text: &mut String, first: &str, cells: impl IntoIterator<Item = String>) {
    let _ = write!(text, "| {first} |");
    for cell in cells {
        let _ = write!(text, " {cell} |");
    }
    text.push('\n');
}

/// Returns `method enter` for `MethodEnter`.
fn words(kind: &str) -> String {
    let mut words = String::new();
    for c in kind.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

fn unit(fates: &Fates) -> String {
    match fates.rounding {
        None => "none",
        Some(0) => "ns",
        Some(_) => "ms",
    }
    .to_owned()
}

fn cell(fate: &Fate) -> String {
    match fate {
        Fate::Dropped => "–".to_owned(),
        Fate::Sum(kind) => format!("→ {}", words(kind)),
        Fate::Kept(kept) => {
            let text = if kept.as_text { "text" } else { "yes" };
            match partly(kept) {
                partly if partly.is_empty() => text.to_owned(),
                partly if kept.as_text => format!("{text}, {partly}"),
                partly => partly,
            }
        }
    }
}

/// Lists the dropped fields, or the kept ones if that list is shorter.
fn partly(kept: &Kept) -> String {
    let mut parts = Vec::new();
    if !kept.missing.is_empty() {
        let few = !kept.whole.is_empty() && kept.missing.len() > kept.whole.len();
        parts.push(if few {
            format!("only {}", list(&kept.whole))
        } else {
            format!("no {}", list(&kept.missing))
        });
    }
    if !kept.changed.is_empty() {
        parts.push(format!("other {}", list(&kept.changed)));
    }
    if !kept.all {
        parts.push("not all".to_owned());
    }
    parts.join("; ")
}

/// Lists names of fields, with both parts of a frame as one.
fn list(fields: &[String]) -> String {
    let mut names: Vec<String> = Vec::new();
    for field in fields {
        let name = match field.rsplit_once('.') {
            Some((list, "line")) if fields.contains(&format!("{list}.method")) => continue,
            Some((list, "method")) if fields.contains(&format!("{list}.line")) => list,
            _ => field,
        };
        names.push(name.replace(['_', '.'], " "));
    }
    names.join(", ")
}

/// Returns how many kinds are kept whole, kept in part, added up, and dropped.
fn counts(fates: &Fates) -> String {
    let count = |what: fn(&Fate) -> bool| fates.kinds.values().filter(|fate| what(fate)).count();
    format!(
        "{} / {} / {} / {}",
        count(|fate| matches!(fate, Fate::Kept(kept) if kept.is_whole())),
        count(|fate| matches!(fate, Fate::Kept(kept) if !kept.is_whole())),
        count(|fate| matches!(fate, Fate::Sum(_))),
        count(|fate| matches!(fate, Fate::Dropped)),
    )
}

fn said(kinds: &[String], fates: &Fates) -> Said {
    let mut said = [const { Vec::new() }; 3];
    for kind in kinds {
        let name = words(kind);
        match fates.kinds.get(kind) {
            Some(Fate::Kept(kept)) if !kept.is_whole() => {
                said[0].push(format!("{name} ({})", partly(kept)));
            }
            Some(Fate::Sum(sum)) => said[1].push(format!("{name} (→ {})", words(sum))),
            Some(Fate::Dropped) => said[2].push(name),
            _ => {}
        }
    }
    said.map(|names| match names.is_empty() {
        true => "–".to_owned(),
        false => names.join(", "),
    })
}
