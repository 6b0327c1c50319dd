//! What jtrail itself has to say in a trace: losses, methods that are not covered, totals.
//!
//! Formats without a place for these carry them as free text ([`crate::Custom`]), in the grammar
//!
//! ```text
//! jtrail KIND key=value key="value with blanks" …
//! ```
//!
//! Inside quotes, `\"` and `\\` stand for a quotation mark and a backslash. Unknown kinds and keys
//! are for later versions: readers pass them over.

use crate::{ThreadId, Timestamp};
use std::borrow::Cow;
use std::fmt;

/// One remark of jtrail about its own trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// Events that happened and are not in the trace (`lost`).
    Lost(Lost<'a>),
    /// A class or method that the filters include and that is not traced (`uncovered`).
    Uncovered(Uncovered<'a>),
    /// What the agent counted itself; the last note of a trace that ended well (`totals`).
    Totals(Totals),
}

/// See [`Note::Lost`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lost<'a> {
    /// The thread whose events are missing.
    pub thread: ThreadId,
    /// How many enters and leaves are missing.
    pub events: u64,
    /// Time of the last event before the gap.
    pub from: Timestamp,
    /// Time of the first event behind the gap.
    pub to: Timestamp,
    /// Why, in one word (`overflow`).
    pub reason: Cow<'a, str>,
}

/// See [`Note::Uncovered`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uncovered<'a> {
    /// Class name as in [`crate::ClassDef::name`].
    pub class: Cow<'a, str>,
    /// Method name and descriptor (`run()V`), empty when it is the whole class.
    pub method: Cow<'a, str>,
    /// Why, as a short sentence.
    pub reason: Cow<'a, str>,
}

/// See [`Note::Totals`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Method enters written.
    pub enters: u64,
    /// Method leaves written.
    pub leaves: u64,
    /// Of these, leaves made up for calls that were gone without one (see `docs/events.md`).
    pub repaired: u64,
    /// Enters and leaves lost.
    pub lost: u64,
    /// Calls still open at the end.
    pub open: u64,
    /// Classes whose methods were instrumented.
    pub classes: u64,
    /// Methods instrumented.
    pub methods: u64,
    /// Methods included by the filters, and not covered.
    pub uncovered: u64,
}

const PREFIX: &str = "jtrail ";

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        match self {
            Note::Lost(n) => {
                write!(f, "lost thread={} events={}", n.thread, n.events)?;
                write!(
                    f,
                    " from={} to={} reason={}",
                    n.from.0,
                    n.to.0,
                    Quoted(&n.reason)
                )
            }
            Note::Uncovered(n) => {
                write!(f, "uncovered class={}", Quoted(&n.class))?;
                if !n.method.is_empty() {
                    write!(f, " method={}", Quoted(&n.method))?;
                }
                write!(f, " reason={}", Quoted(&n.reason))
            }
            Note::Totals(n) => write!(
                f,
                "totals enters={} leaves={} repaired={} lost={} open={} classes={} methods={} uncovered={}",
                n.enters, n.leaves, n.repaired, n.lost, n.open, n.classes, n.methods, n.uncovered
            ),
        }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| !c.is_whitespace() && c != '"' && c != '\\';
        if !self.0.is_empty() && self.0.chars().all(plain) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{c}")?;
        }
        f.write_str("\"")
    }
}

impl Note<'static> {
    /// Reads a note back. `None` when the text is no note of jtrail, one of a later version, or a
    /// damaged one: it is then free text like any other.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.strip_prefix(PREFIX)?.split_once(' ')?;
        let fields = Fields::parse(rest)?;
        Some(match kind {
            "lost" => Note::Lost(Lost {
                thread: ThreadId(fields.number("thread")?),
                events: fields.number("events")?,
                from: Timestamp(fields.number("from")?),
                to: Timestamp(fields.number("to")?),
                reason: fields.text("reason")?,
            }),
            "uncovered" => Note::Uncovered(Uncovered {
                class: fields.text("class")?,
                method: fields.text("method").unwrap_or_default(),
                reason: fields.text("reason")?,
            }),
            "totals" => Note::Totals(Totals {
                enters: fields.number("enters")?,
                leaves: fields.number("leaves")?,
                repaired: fields.number("repaired")?,
                lost: fields.number("lost")?,
                open: fields.number("open")?,
                classes: fields.number("classes")?,
                methods: fields.number("methods")?,
                uncovered: fields.number("uncovered")?,
            }),
            _ => return None,
        })
    }
}

struct Fields(Vec<(String, String)>);

impl Fields {
    fn parse(mut rest: &str) -> Option<Self> {
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (key, tail) = rest.split_once('=')?;
            let mut value = String::new();
            if let Some(quoted) = tail.strip_prefix('"') {
                let mut chars = quoted.char_indices();
                loop {
                    match chars.next()? {
                        (_, '\\') => value.push(chars.next()?.1),
                        (at, '"') => {
                            rest = quoted[at + 1..].trim_start_matches(' ');
                            break;
                        }
                        (_, c) => value.push(c),
                    }
                }
            } else {
                let (word, tail) = tail.split_once(' ').unwrap_or((tail, ""));
                value.push_str(word);
                rest = tail;
            }
            fields.push((key.to_owned(), value));
        }
        Some(Self(fields))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    fn text(&self, key: &str) -> Option<Cow<'static, str>> {
        self.get(key).map(|v| Cow::Owned(v.to_owned()))
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_read_back_as_written() {
        let notes = [
            Note::Lost(Lost {
                thread: ThreadId(3),
                events: 120,
                from: Timestamp(-5),
                to: Timestamp(7),
                reason: "overflow".into(),
            }),
            Note::Uncovered(Uncovered {
                class: "a.B".into(),
                method: "run()V".into(),
                reason: "code would pass 65535 bytes".into(),
            }),
            Note::Uncovered(Uncovered {
                class: "odd \"name\\".into(),
                method: "".into(),
                reason: "".into(),
            }),
            Note::Totals(Totals {
                enters: 9,
                leaves: 8,
                open: 1,
                ..Totals::default()
            }),
        ];
        for note in notes {
            assert_eq!(Note::parse(&note.to_string()), Some(note.clone()), "{note}");
        }
    }

    #[test]
    fn other_text_is_no_note() {
        for text in [
            "",
            "jtrail",
            "jtrail ",
            "jtrail lost",
            "jtrail lost thread=1",
            "mark lost x=1",
            "jtrail uncovered class=\"x",
            "jtrail uncovered class=\"x\\",
            "jtrail later a=b",
        ] {
            assert_eq!(Note::parse(text), None, "{text}");
        }
    }
}
