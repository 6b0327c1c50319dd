//! JVM flags that don't work with an agent from the start of the JVM.
//!
//! Flags are searched in the command, in the files that `@FILE` arguments name, and in the
//! variables that the launcher or every JVM reads. If the command is not `java`, it may pass any of
//! its arguments to a JVM, so all of them are searched.

use super::launch::TOOL_OPTIONS;
use std::ffi::{OsStr, OsString};
use std::fs;

/// Variables that contain flags. Only `java` reads the first one, which may contain `@FILE`.
const VARIABLES: [&str; 3] = ["JDK_JAVA_OPTIONS", TOOL_OPTIONS, "_JAVA_OPTIONS"];

/// Launcher options whose value is the next word.
const WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-reads",
    "--add-opens",
    "--patch-module",
    "--enable-native-access",
    "--source",
];

/// Options of `java` that are followed by the program and its own arguments.
const BEFORE_PROGRAM: [&str; 3] = ["-jar", "-m", "--module"];

/// Maximum depth of files that name other files (`-XX:VMOptionsFile`). JVMs read fewer levels.
const MAX_DEPTH: u32 = 4;

/// The reason why a flag does not work with an agent.
const REFUSES: &str = "the JVM does not start with an agent when it is to write an archive; \
    run the command without jtrail, and attach while it runs (`jtrail attach PID`)";
const INCOMPLETE_CACHE: &str = "classes that the agent instruments are left out of the cache, and the JVM \
    prints warnings on standard output; record the cache without jtrail";
const RUNS_NOTHING: &str =
    "the JVM makes a cache and runs no program, so there is nothing to trace";

/// Returns a warning for each flag of the command that does not work with an agent, with advice.
pub(super) fn warnings(
    arguments: &[OsString],
    direct: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<String> {
    let mut found = Found::default();
    let words = arguments.iter().map(|word| text(word)).collect();
    match direct {
        true => found.launcher(words, ""),
        false => found.jvm(words, "", MAX_DEPTH),
    }
    for name in VARIABLES {
        let Some(value) = variable(name) else {
            continue;
        };
        let (words, origin) = (split(&text(&value), false), format!(" in {name}"));
        match name == VARIABLES[0] {
            true => found.launcher(words, &origin),
            false => found.jvm(words, &origin, MAX_DEPTH),
        }
    }
    found.0
}

#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    /// Searches the words of a java command up to the program. The words after the program are not
    /// for the JVM.
    fn launcher(&mut self, words: Vec<String>, origin: &str) {
        let mut options = Vec::new();
        let mut words = with_argument_files(words).into_iter();
        while let Some(word) = words.next() {
            if ends_options(&word) {
                break;
            }
            match WITH_VALUE.contains(&&*word) {
                true => _ = words.next(),
                false => options.push(word),
            }
        }
        self.jvm(options, origin, MAX_DEPTH);
    }

    /// Searches words that the JVM itself reads.
    fn jvm(&mut self, words: Vec<String>, origin: &str, depth: u32) {
        for word in words {
            if let Some(path) = word.strip_prefix("-XX:VMOptionsFile=") {
                if let (Ok(file), 1..) = (fs::read(path), depth) {
                    let words = split(&String::from_utf8_lossy(&file), false);
                    self.jvm(words, &format!(" in {path}"), depth - 1);
                }
            } else if let Some(what) = explanation(&word) {
                let line = format!("jtrail: {word}{origin}: {what}");
                if !self.0.contains(&line) {
                    self.0.push(line);
                }
            }
        }
    }
}

/// Replaces each `@FILE` by the words in the file, like the launcher.
///
/// An `@FILE` within a file is not replaced. Unreadable files count as empty: the JVM will report
/// them.
fn with_argument_files(words: Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    let mut files_are_read = true;
    for word in words {
        files_are_read &= word != "--disable-@files";
        match word.strip_prefix('@').filter(|_| files_are_read) {
            Some(path) => {
                let file = fs::read(path).unwrap_or_default();
                all.extend(split(&String::from_utf8_lossy(&file), true));
            }
            None => all.push(word),
        }
    }
    all
}

/// Returns true if a word of a java command names the program, or directly precedes the program's
/// name.
fn ends_options(word: &str) -> bool {
    BEFORE_PROGRAM.contains(&word) || !word.starts_with('-')
}

/// Returns the explanation of a flag that does not work with an agent, or `None` for other flags.
fn explanation(word: &str) -> Option<&'static str> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    match (word, name) {
        ("-Xshare:dump" | "-XX:+AutoCreateSharedArchive" | "-XX:+DumpSharedSpaces", _)
        | (_, "-XX:ArchiveClassesAtExit") => Some(REFUSES),
        ("-XX:AOTMode=record", _) | (_, "-XX:AOTCacheOutput") => Some(INCOMPLETE_CACHE),
        ("-XX:AOTMode=create", _) => Some(RUNS_NOTHING),
        _ => None,
    }
}

/// Splits a text into words at blanks, except within single or double quotation marks.
///
/// In an argument file, `#` begins a comment. Between quotation marks, a backslash escapes the next
/// character.
fn split(text: &str, is_argument_file: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut mark = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (mark, character) {
            (Some(end), _) if character == end => mark = None,
            (Some(_), '\\') if is_argument_file => {
                word.get_or_insert_default().extend(characters.next());
            }
            (None, '"' | '\'') => {
                mark = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if is_argument_file && word.is_none() => {
                _ = characters.by_ref().find(|character| *character == '\n');
            }
            (None, ' ' | '\t' | '\n' | '\r' | '\u{c}') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(command: &str, direct: bool, variables: &[(&str, &str)]) -> Vec<String> {
        let words: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
        warnings(&words, direct, |name| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn flags_that_an_agent_defeats_are_reported_with_what_to_do() {
        for (command, expected) in [
            ("-XX:ArchiveClassesAtExit=a.jsa -cp x Main", REFUSES),
            ("-cp x -Xshare:dump", REFUSES),
            (
                "-XX:+AutoCreateSharedArchive -XX:SharedArchiveFile=a -jar x",
                REFUSES,
            ),
            (
                "-XX:AOTMode=record -XX:AOTConfiguration=a Main",
                INCOMPLETE_CACHE,
            ),
            ("-XX:AOTCacheOutput=a.aot Main", INCOMPLETE_CACHE),
            (
                "-XX:AOTMode=create -XX:AOTConfiguration=a -XX:AOTCache=b",
                RUNS_NOTHING,
            ),
        ] {
            let reported = lines(command, true, &[]);
            assert!(
                reported.len() == 1 && reported[0].ends_with(expected),
                "{command}: {reported:?}"
            );
            assert_eq!(
                lines(&format!("-x {command}"), false, &[]),
                reported,
                "{command}"
            );
        }
        assert!(REFUSES.contains("attach"));
    }

    /// The flags are: use of a cache, disabled attaching, and arguments of the program itself.
    #[test]
    fn others_are_not() {
        for command in [
            "-XX:AOTCache=a -XX:AOTMode=on -Xshare:on -XX:SharedArchiveFile=b Main",
            "-XX:+DisableAttachMechanism Main",
            "-cp x Main -Xshare:dump",
            "-jar x.jar -XX:AOTCacheOutput=a",
            "--module-path -Xshare:dump -m a/b -Xshare:dump",
            "-XX:-AutoCreateSharedArchive -cp -Xshare:dump Main",
        ] {
            assert_eq!(lines(command, true, &[]), [""; 0], "{command}");
        }
    }

    #[test]
    fn variables_and_files_are_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        let (arguments, options) = (path("args"), path("options"));
        fs::write(
            &arguments,
            "# -Xshare:dump\n-cp \"a \\\" b\" '-XX:AOTCacheOutput=a b'\nMain -Xshare:dump\n",
        )
        .expect("written");
        fs::write(&options, "-Dx=y\n-XX:ArchiveClassesAtExit=z").expect("written");
        let with_file = lines(&format!("@{arguments}"), true, &[]);
        assert_eq!(
            with_file,
            [format!(
                "jtrail: -XX:AOTCacheOutput=a b: {INCOMPLETE_CACHE}"
            )]
        );
        let disabled = format!("--disable-@files @{arguments}");
        assert_eq!(lines(&disabled, true, &[]), [""; 0]);
        let in_file = format!("jtrail: -XX:ArchiveClassesAtExit=z in {options}: {REFUSES}");
        let reported = lines(&format!("-XX:VMOptionsFile={options}"), true, &[]);
        assert_eq!(reported, [in_file]);
        for name in VARIABLES {
            let reported = lines("Main", false, &[(name, "-Da='b c' -Xshare:dump")]);
            assert_eq!(
                reported,
                [format!("jtrail: -Xshare:dump in {name}: {REFUSES}")]
            );
        }
    }
}
