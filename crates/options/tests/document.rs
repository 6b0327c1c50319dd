//! Checks that `docs/options.md` has the tables made from the rows of the keys. With
//! `JTRAIL_BLESS=1`, writes the tables into the document instead.

use jtrail_options::{Key, Options, SUBJECTS};
use std::fmt::Write;
use std::{env, fs};

const BEGIN: &str =
    "<!-- The table of keys: JTRAIL_BLESS=1 cargo test -p jtrail-options --test document -->\n";
const END: &str = "<!-- The end of the table of keys. -->\n";

#[test]
fn the_document_has_the_table_of_keys() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
    let old = fs::read_to_string(path).expect("docs/options.md");
    let (head, rest) = old.split_once(BEGIN).expect("the begin of the table");
    let (_, tail) = rest.split_once(END).expect("the end of the table");
    let new = format!("{head}{BEGIN}{}{END}{tail}", tables());
    if env::var_os("JTRAIL_BLESS").is_some() {
        fs::write(path, new).expect("docs/options.md is written");
    } else {
        assert!(
            new == old,
            "docs/options.md is not what the keys are; JTRAIL_BLESS=1 makes it so"
        );
    }
}

/// Returns a table for each subject.
fn tables() -> String {
    let mut text = String::new();
    for subject in SUBJECTS {
        // Writing to a String can't fail.
        let _ = writeln!(text, "\n### {}\n", subject.title);
        let _ = writeln!(text, "| Key | Takes | Default | Does |\n|---|---|---|---|");
        subject.keys.iter().for_each(|key| text += &row(key));
    }
    text.push('\n');
    text
}

fn row(key: &Key) -> String {
    let code =
        |words: &[&str]| -> Vec<String> { words.iter().map(|word| format!("`{word}`")).collect() };
    let mut takes = match key.words {
        [] => key.values(),
        words => code(words).join(" "),
    };
    if key.is_repeatable() {
        takes += "; may be repeated";
    }
    let mut name = format!("`{}`", key.name);
    if !key.aliases.is_empty() {
        name += &format!(" or {}", code(key.aliases).join(" or "));
    }
    let default = match (key.value(&Options::default()), key.default_note) {
        (Some(value), "") => format!("`{value}`"),
        (Some(value), note) => format!("`{value}`; {note}"),
        (None, note) => note.to_owned(),
    };
    let cells = [name, takes, default, key.help.to_owned()];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}
