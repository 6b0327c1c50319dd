//! Generates `docs/bad-input.md` from the tables.

use super::options::{FILTERS, OPTIONS, SETTINGS};
use super::{huge, in_a_jvm, trace_rows};
use crate::support::of_project;
use std::fmt::Write as _;
use std::{env, fs};

fn document() -> String {
    let mut text = String::from(include_str!("head.md"));
    let code = |text: &str| {
        let text: String = text
            .chars()
            .flat_map(|c| match c {
                '|' => vec!['\\', '|'],
                c if c.is_control() || c == '\u{feff}' => c.escape_debug().collect(),
                c => vec![c],
            })
            .collect();
        let long = text.chars().count() > 240;
        let text: String = text.chars().take(240).chain(long.then_some('…')).collect();
        match text.contains('`') {
            _ if text.is_empty() => "–".to_owned(),
            true => format!("`` {text} ``"),
            false => format!("`{text}`"),
        }
    };
    for (title, what, rows) in [
        ("Options", "Option text", OPTIONS),
        (
            "Filter files",
            "Content of `rules`, with `filters=rules`",
            FILTERS,
        ),
        (
            "Options files",
            "Content of `settings`, with `options=settings`",
            SETTINGS,
        ),
    ] {
        let _ = writeln!(
            text,
            "\n## {title}\n\n| {what} | Line on standard error, after `jtrail: ` | JVM's exit |\n|---|---|--:|"
        );
        for row in rows {
            let (exit, _) = in_a_jvm(row.0, row.1);
            let _ = writeln!(text, "| {} | {} | {exit} |", code(row.0), code(row.1));
        }
    }
    let huge = [("Huge input", huge::rows())];
    for (title, rows) in trace_rows().into_iter().chain(huge) {
        let _ = writeln!(
            text,
            "\n## {title}\n\n| File | `jtrail verify` says | its exit | exit of `report`, `dump`, `convert` |\n|---|---|--:|--:|"
        );
        for row in rows {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                row.what,
                code(&row.says),
                row.codes.0,
                row.codes.1
            );
        }
    }
    text
}

#[test]
fn the_document_has_the_same_tables() {
    let path = of_project("docs/bad-input.md");
    let made = document();
    if env::var_os("JTRAIL_BLESS").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "docs/bad-input.md is not what the tables say; JTRAIL_BLESS=1 writes it"
    );
}
