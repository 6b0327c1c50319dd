//! The table of keys: one row per key, one file per subject.
//!
//! Parser, help, command line, manual and `docs/options.md` are derived from the rows.
//! `docs/design/adding-an-option.md` describes how to add a row.

mod buffers;
mod calls;
mod control;
mod formats;
mod objects;
mod output;
mod what;

use crate::builder::Fault;
use crate::error::did_you_mean;
use crate::key::{Key, Subject};
use crate::options::Options;
use std::fmt::{Display, Write};

/// All keys by subject, in the order of help and documents.
pub const SUBJECTS: &[Subject] = &[
    output::SUBJECT,
    what::SUBJECT,
    calls::SUBJECT,
    objects::SUBJECT,
    buffers::SUBJECT,
    control::SUBJECT,
    formats::SUBJECT,
];

/// Keys planned for a later version. The error says so instead of "no such option".
const LATER_KEYS: &[&str] = &["start"];

/// Returns all keys, in the order of help and documents.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SUBJECTS.iter().flat_map(|subject| subject.keys)
}

/// Returns the key with this name or alias.
pub fn find(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.has_name(name))
}

/// Returns the key that has `name` as a former name.
pub fn renamed(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.former.contains(&name))
}

/// Returns the error message for a name that no key has.
pub(crate) fn unknown(name: &str) -> String {
    if LATER_KEYS.contains(&name) {
        return "not available in this version".to_owned();
    }
    match hint(name, &[]).as_str() {
        "" => "no such option; \"help\" in place of the options lists all".to_owned(),
        hint => format!("no such option{hint}"),
    }
}

/// Returns `; did you mean "…"?` with the key whose former name is `name`. If there is none, it has
/// the most similar name among the keys and `others`.
pub(crate) fn hint(name: &str, others: &[&str]) -> String {
    match renamed(name) {
        Some(key) => format!("; did you mean \"{}\"?", key.name),
        None => {
            let names = keys().map(|key| key.name);
            did_you_mean(name, names.chain(others.iter().copied()))
        }
    }
}

/// Returns the table of keys as text for a terminal, ending in a line feed.
pub fn help() -> String {
    let mut text = String::from(
        "jtrail agent options: -agentpath:libjtrail.so=key=value,key=value,…\n\
         A value with a comma stands in quotation marks, or has \\, for the comma.\n",
    );
    let default = Options::default();
    for subject in SUBJECTS {
        // Writing to a String can't fail.
        let _ = writeln!(text, "\n{}:", subject.title);
        for key in subject.keys {
            let also: String = key
                .aliases
                .iter()
                .map(|alias| format!(" (or {alias})"))
                .collect();
            let again = if key.is_repeatable() {
                ", repeatable"
            } else {
                ""
            };
            let (values, default) = (key.values(), key.default_with(&default));
            let _ = writeln!(text, "  {}{also}\n      {}", key.name, key.help);
            let _ = writeln!(text, "      {values}; default: {default}{again}");
        }
    }
    text
}

/// Stores a parsed value, or returns the error of the parser. Used by rows for `set`.
fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), Fault> {
    *field = value?;
    Ok(())
}

/// Returns the text of a value that always exists. Used by rows for `show`.
fn text(value: impl Display) -> Option<String> {
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{Events, HeapMoments, SaveMoments};
    use crate::value::OutputFormat;

    /// Each row's description of values agrees with what the parser accepts.
    #[test]
    fn the_table_agrees_with_the_values() {
        let row = |name| find(name).expect("listed");
        let begins = |name, words: &[&str]| row(name).values.starts_with(&words.join(" "));
        assert!(begins("events", Events::WORDS));
        assert!(begins("heap", HeapMoments::WORDS));
        assert!(begins("save", SaveMoments::WORDS), "{}", row("save").values);
        let extensions: Vec<&str> = OutputFormat::WORDS
            .iter()
            .map(|word| OutputFormat::parse(word).expect("a format"))
            .filter(|format| *format != OutputFormat::None)
            .fold(Vec::new(), |mut all, format| {
                all.push(format.extension());
                all
            });
        assert!(row("file").default_note.ends_with(&extensions.join(", ")));
    }

    #[test]
    fn rows_are_filled_in() {
        for key in keys() {
            let name = key.name;
            assert!(!key.help.is_empty(), "{name}");
            assert_ne!(key.words.is_empty(), key.values.is_empty(), "{name}");
            assert!(!LATER_KEYS.contains(&name));
            assert_eq!(key.formats().is_some(), name.contains('.'), "{name}");
            let is_plain = |c: char| c.is_ascii_lowercase() || matches!(c, '.' | '-');
            assert!(name.chars().all(is_plain), "{name}");
        }
    }

    #[test]
    fn each_name_means_one_key() {
        let mut names: Vec<&str> = keys()
            .flat_map(|key| [&[key.name], key.aliases, key.former].concat())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn help_names_every_key() {
        let text = help();
        assert!(keys().all(|key| text.contains(&format!("\n  {}", key.name))));
        assert!(text.contains("options (or profile)"));
    }
}
