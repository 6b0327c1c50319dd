//! Tests `docs/formats.md`: what each format is, and tables of what each format keeps and each
//! conversion loses.
//!
//! The tables are made by converting scenes with every kind of event, and by searching the result
//! for each event and each of its fields. With `JTRAIL_BLESS=1` the test writes the document anew;
//! otherwise it compares.

mod kept;
mod leaves;
mod scenes;
mod table;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the names of all kinds of events, in the model's order.
fn kinds() -> Vec<String> {
    let source = fs::read_to_string(root().join("crates/model/src/event/mod.rs")).expect("there");
    let (_, rest) = source
        .split_once("pub enum Event<'a> {")
        .expect("the events");
    let (variants, _) = rest.split_once("\n}").expect("the end of them");
    let name = |line: &str| Some(line.trim().split_once('(')?.0.to_owned());
    let lines = variants
        .lines()
        .filter(|line| !line.trim().starts_with("//"));
    lines.filter_map(name).collect()
}

#[test]
fn scenes_have_every_kind_and_are_sound() {
    let mut missing: BTreeSet<_> = kinds().into_iter().collect();
    assert!(missing.len() > 50, "{missing:?}");
    for scene in scenes::all() {
        let mut checker = jtrail_formats::Checker::default();
        for (at, event) in scene.iter().enumerate() {
            missing.remove(&leaves::leaves(event).kind);
            checker.event(at as u64, event);
        }
        let found = checker.finish().findings;
        assert!(found.is_empty(), "{found:#?}");
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_document_says_what_conversions_do() {
    let path = root().join("docs/formats.md");
    let made = format!("{}{}", include_str!("head.md"), table::tables(&kinds()));
    if env::var_os("JTRAIL_BLESS").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "docs/formats.md is not what conversions do; JTRAIL_BLESS=1 writes it"
    );
}
