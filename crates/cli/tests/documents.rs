//! Checks the commands in the README and the documents: the arguments and options in them must
//! exist.

use crate::common::jtrail;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the code in a document: each line of a code block, and each code span in the text.
fn code(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            found.push(line.to_owned());
        } else {
            // In a table, `\|` stands for `|`.
            let spans = line.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| span.replace("\\|", "|")));
        }
    }
    found
}

/// Returns the arguments for the help of a jtrail command, and the flags in the command. Returns
/// `None` for other code.
fn command(code: &str) -> Option<(String, Vec<&str>)> {
    let mut words = code.strip_prefix("jtrail ")?.split_whitespace();
    let subcommand = words.next()?;
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_word(subcommand) || subcommand == "help" {
        return None; // `jtrail SUBCOMMAND`, `jtrail --version`, the name of a thread
    }
    let help = match subcommand {
        // Each action of `ctl` has its own flags and help.
        "ctl" => match (words.next(), words.next()) {
            (Some(agent), Some(action)) if is_word(action) => format!("ctl {agent} {action}"),
            _ => subcommand.to_owned(),
        },
        _ => subcommand.to_owned(),
    };
    // The words after one of these belong to another program, or are a comment.
    let own = words.take_while(|word| !["--", "#", "|", "&&", ";"].contains(word));
    let flags = own.filter(|word| word.starts_with("--"));
    let flags = flags.map(|flag| flag.split('=').next().unwrap_or(flag));
    Some((help, flags.collect()))
}

/// Returns the text of the agent's options in a `java` command.
fn agent_options(code: &str) -> Option<&str> {
    let (_, path) = code.split_once("-agentpath:")?;
    let (_, options) = path.split_once('=')?;
    options.split_whitespace().next()
}

#[test]
fn commands_have_arguments_and_options_that_there_are() {
    let mut helps: BTreeMap<String, Option<String>> = BTreeMap::new();
    let (mut commands, mut flags, mut options) = (0, 0, 0);
    let documents = fs::read_dir(root().join("docs")).expect("docs");
    let documents = documents.map(|entry| entry.expect("an entry").path());
    let documents = documents.filter(|path| path.extension().is_some_and(|end| end == "md"));
    for path in documents.chain([root().join("README.md"), root().join("CONTRIBUTING.md")]) {
        let text = fs::read_to_string(&path).expect("text");
        // Other documents also have lines of events as text, which begin with "jtrail" too.
        let has_commands_only = path.ends_with("README.md");
        let path = path.display();
        for code in code(&text) {
            if let Some((subcommand, given)) = command(&code) {
                let help = helps.entry(subcommand.clone()).or_insert_with(|| {
                    let line: Vec<&str> = subcommand.split(' ').chain(["--help"]).collect();
                    let done = jtrail(&line);
                    (done.code == 0).then_some(done.out)
                });
                let Some(help) = help else {
                    assert!(!has_commands_only, "{path}: {code}: no such subcommand");
                    continue;
                };
                commands += 1;
                for flag in given {
                    flags += 1;
                    let mut words = help.split_whitespace();
                    let is_there = words.any(|word| word.trim_end_matches([',', ':']) == flag);
                    assert!(is_there, "{path}: {code}: {subcommand} has no {flag}");
                }
            }
            let text = agent_options(&code).filter(|text| !text.starts_with("key=value"));
            // The TPTP syntax groups options under the names of agent and profiler.
            let text = text.filter(|text| !text.starts_with("JPIAgent"));
            for option in text.into_iter().flat_map(|text| text.split(',')) {
                let key = option.split('=').next().unwrap_or(option);
                options += 1;
                let is_known = key == "help" || jtrail_options::find(key).is_some();
                assert!(is_known, "{path}: {code}: no option {key}");
            }
        }
    }
    let counts = (commands, flags, options);
    assert!(commands > 60 && flags > 10 && options > 0, "{counts:?}");
}

#[test]
fn commands_are_found_in_text_and_blocks() {
    let document = "Say `jtrail run --file=x --min 1ms -- java --version` or `events=gc`:\n\
        ```sh\njava -agentpath:a/libjtrail.so=format=xml,min=1ms -cp x Main   # by hand\n```\n\
        | `jtrail dump \\| head` |\n";
    let code = code(document);
    let commands: Vec<_> = code.iter().filter_map(|code| command(code)).collect();
    let expected = [("run", vec!["--file", "--min"]), ("dump", vec![])];
    assert_eq!(
        commands,
        expected.map(|(subcommand, flags)| (subcommand.to_owned(), flags))
    );
    let options: Vec<_> = code.iter().filter_map(|code| agent_options(code)).collect();
    assert_eq!(options, ["format=xml,min=1ms"]);
}
