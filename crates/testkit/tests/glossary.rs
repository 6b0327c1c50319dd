//! Checks the code against `docs/glossary.md`: no identifier may contain a name of the column
//! "Instead of".

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The names that no identifier may contain. Each has the glossary's term as its value.
struct Glossary {
    /// Names of types, in CamelCase. Each is compared with whole identifiers.
    types: BTreeMap<String, String>,
    /// Sequences of lower-case words. Each is compared with the words in an identifier.
    words: Vec<(Vec<String>, String)>,
}

impl Glossary {
    /// Parses the table. Its rows have three cells. The third cell has names in backticks.
    fn parse(text: &str) -> Self {
        let mut glossary = Self {
            types: BTreeMap::new(),
            words: Vec::new(),
        };
        for row in text.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [term, _, instead] = cells[..] else {
                panic!("a row of the glossary has three cells: {row}")
            };
            for name in instead.split('`').skip(1).step_by(2) {
                if name.starts_with(char::is_uppercase) {
                    glossary.types.insert(name.into(), term.into());
                } else {
                    glossary.words.push((parts(name), term.into()));
                }
            }
        }
        glossary
    }

    /// Returns the term to use instead, if the identifier contains a forbidden name.
    fn term_for(&self, identifier: &str) -> Option<&str> {
        if let Some(term) = self.types.get(identifier) {
            return Some(term);
        }
        let parts = parts(identifier);
        let is_within = |words: &[String]| parts.windows(words.len()).any(|part| part == words);
        let found = self.words.iter().find(|(words, _)| is_within(words));
        found.map(|(_, term)| term.as_str())
    }
}

/// Splits an identifier into words in lower case, at underscores and at capital letters.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for letter in identifier.chars() {
        if letter == '_' || letter.is_uppercase() && was_lower {
            parts.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
        if letter != '_' {
            let last = parts.last_mut().expect("one at least");
            last.extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the identifiers in Rust or Java source, except in comments and in string and character
/// literals.
fn identifiers(source: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            let body = rest[start..].find(&end).map(|at| start + at + end.len());
            body.unwrap_or(rest.len())
        } else if first == '"' {
            literal(rest, '"')
        } else if first == '\'' {
            // It is a character literal if the second quotation mark follows after one character.
            // Otherwise it is a lifetime.
            match rest[1..]
                .chars()
                .nth(usize::from(!rest[1..].starts_with('\\')))
            {
                Some('\'') => literal(rest, '\''),
                _ if rest[1..].starts_with('\\') => literal(rest, '\''),
                _ => 1,
            }
        } else if first.is_alphabetic() || first == '_' {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
            found.insert(&rest[..length]);
            length
        } else {
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// Returns the number of `#` if the text begins with a raw string literal.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// Returns the length in bytes of the literal at the start of the text, including both quotation
/// marks.
fn literal(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == quote && !is_escaped {
            return at + letter.len_utf8();
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    text.len()
}

/// Adds all Rust and Java sources in `folder` and its subfolders to `found`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("a name in UTF-8");
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") || name.ends_with(".java") {
            found.push(path);
        }
    }
}

#[test]
fn identifiers_use_the_words_of_the_glossary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/glossary.md")).expect("the glossary");
    let glossary = Glossary::parse(&text);
    let count = glossary.types.len() + glossary.words.len();
    assert!(count > 10, "the glossary names {count} words to avoid");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 800, "{} sources", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).expect("text");
        for identifier in identifiers(&source) {
            if let Some(term) = glossary.term_for(identifier) {
                let file = file.strip_prefix(&root).expect("within").display();
                wrong.push(format!(
                    "{file}: {identifier}: the glossary says \"{term}\""
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_are_found_in_identifiers_alone() {
    let text = "| Term | Meaning | Instead of |\n|---|---|---|\n\
                | report | To pass on. | `told`, `made_anew` |\n| scope | A guard. | `Lasting` |\n";
    let glossary = Glossary::parse(text);
    let source = "fn is_told(a: &'a str) { let c = '\"'; let d = '\\''; \"told\"; r#\"told \"#; /* told */ }\n\
                  struct One; // told\nstruct Lasting; fn retold() { ToldAll::new(made_anew_twice, madeAnew) }\n\
                  struct LastingOne;";
    let mut wrong: Vec<_> = identifiers(source).into_iter().collect();
    wrong.retain(|identifier| glossary.term_for(identifier).is_some());
    let expected = [
        "Lasting",
        "ToldAll",
        "is_told",
        "madeAnew",
        "made_anew_twice",
    ];
    assert_eq!(wrong, expected);
}
