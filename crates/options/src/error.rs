//! The one-line error for wrong options.

use std::fmt;

/// An error in the options, with its position.
///
/// It is displayed as one line (several for [`OptionError::is_help`]), for instance `option format
/// at byte 7: no such value "binry"; allowed are xml, binary, none; did you mean "binary"?`. Bytes
/// count from 0 in the option text. An error in a file has the position `file:line` instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{position}{problem}")]
pub struct OptionError {
    position: Position,
    problem: String,
    may_continue: bool,
    help: bool,
}

impl OptionError {
    /// True if the option text also has `onerror=continue`: the program then runs without a trace.
    pub fn may_continue(&self) -> bool {
        self.may_continue
    }

    /// Returns the wrong option, if a single option is wrong. With [`Self::problem`], it makes a
    /// message for users who did not write the option text, so that byte positions mean nothing to
    /// them.
    pub fn key(&self) -> Option<&str> {
        match &self.position {
            Position::Option { key, .. } => Some(key),
            Position::None | Position::Text { .. } | Position::File { .. } => None,
        }
    }

    /// Returns the error without its position.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// True if the text asked for help, which is not an error. The display is then the help text,
    /// in several lines.
    pub fn is_help(&self) -> bool {
        self.help
    }

    pub(crate) fn at(key: &str, byte: usize, problem: impl Into<String>) -> Self {
        Self::new(
            Position::Option {
                key: shown(key),
                byte,
            },
            problem.into(),
        )
    }

    pub(crate) fn text(byte: usize, problem: impl Into<String>) -> Self {
        Self::new(Position::Text { byte }, problem.into())
    }

    pub(crate) fn file(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self::new(
            Position::File {
                file: file.to_owned(),
                line,
            },
            problem.into(),
        )
    }

    pub(crate) fn help(text: String) -> Self {
        Self {
            help: true,
            ..Self::new(Position::None, text)
        }
    }

    pub(crate) fn with_continue(self, may_continue: bool) -> Self {
        Self {
            may_continue,
            ..self
        }
    }

    fn new(position: Position, problem: String) -> Self {
        Self {
            position,
            problem,
            may_continue: false,
            help: false,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Position {
    None,
    Text { byte: usize },
    Option { key: String, byte: usize },
    File { file: String, line: usize },
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::None => Ok(()),
            Position::Text { byte } => write!(f, "options at byte {byte}: "),
            Position::Option { key, byte } => write!(f, "option {key} at byte {byte}: "),
            Position::File { file, line } => write!(f, "{}:{line}: ", shown(file)),
        }
    }
}

/// Returns a form of the user's text for one-line messages. Control characters are escaped, and
/// long text is cut.
pub(crate) fn shown(text: &str) -> String {
    const LIMIT: usize = 60;
    let mut out: String = text
        .chars()
        .take(LIMIT)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(LIMIT).is_some() {
        out.push('…');
    }
    out
}

/// Returns text like [`shown`], but in quotation marks.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text))
}

/// Returns `; allowed are …`. If an allowed word is similar to `word`, the most similar one
/// follows.
pub(crate) fn allowed(word: &str, words: &[&str]) -> String {
    let list = match words {
        [only] => format!("; allowed is {only}"),
        _ => format!("; allowed are {}", words.join(", ")),
    };
    list + &did_you_mean(word, words.iter().copied())
}

/// Returns `; did you mean "…"?` with the word most similar to `word`. Returns an empty text if no
/// word is similar.
pub(crate) fn did_you_mean<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> String {
    let word = word.to_lowercase();
    let best = words
        .filter_map(|w| {
            let lower = w.to_lowercase();
            let begun = word.len() >= 3 && (lower.starts_with(&word) || word.starts_with(&lower));
            let d = distance(&word, &lower);
            (begun || d <= w.len().max(word.len()) / 3).then_some((d, w))
        })
        .min_by_key(|(d, _)| *d);
    best.map_or_else(String::new, |(_, w)| format!("; did you mean \"{w}\"?"))
}

/// Returns the edit distance of two words: insertions, removals, replacements, and swaps of
/// neighbours.
fn distance(a: &str, b: &str) -> usize {
    // No misspelled option is that long. The limit keeps the table below small.
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (rows[i - 1][j] + 1)
                    .min(rows[i][j - 1] + 1)
                    .min(rows[i - 1][j - 1] + same);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("fromat", "format", 1),
            ("binry", "binary", 1),
            ("abc", "xyz", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn long_and_odd_text_is_cut_and_escaped() {
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert_eq!(shown(&"x".repeat(61)).chars().count(), 61);
        assert!(shown(&"x".repeat(61)).ends_with("x…"));
    }
}
