//! Notes of jtrail in a trace: losses, methods that are not instrumented, totals.
//!
//! Formats without messages for notes contain them as free text ([`crate::Custom`]), in the grammar
//!
//! ```text
//! jtrail KIND key=value key="value with blanks" …
//! ```
//!
//! Inside quotes, `\"` and `\\` stand for a quotation mark and a backslash. Unknown kinds and keys
//! are reserved for later versions; readers ignore them. [`crate::text`] uses the same grammar for
//! events for which a format has no message.

use crate::grammar::{self, PREFIX, Pairs};
use crate::{Duration, MethodId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A note of jtrail about its own trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// Events that happened are missing in the trace (`lost`).
    Lost(Lost<'a>),
    /// A class or method that the filters include is not instrumented (`uninstrumented`).
    Uninstrumented(Uninstrumented<'a>),
    /// Some things are not in the trace because the format has no field for them (`dropped`).
    Dropped(DroppedNote<'a>),
    /// A trigger has begun a burst (`burst`).
    Burst(BurstNote<'a>),
    /// Some calls are in the trace as sums, by method and caller (`short-calls`).
    ShortCalls(ShortCallsNote),
    /// Calls of a method are only summed from now on, because there are too many of them
    /// (`demoted`).
    Demoted(Demoted),
    /// The innermost open calls of a thread do not enclose its next aggregated calls
    /// (`sums-above`).
    SumsAbove(SumsAbove),
    /// Times of calls may be early; the note says by how much (`clock`).
    Clock(ClockNote),
    /// The process ended before it had written the end of the trace (`recovered`). The value is the
    /// number of preceding events that were recovered, because the process had not written them.
    Recovered(u64),
    /// The agent's totals (`totals`): the last note of a trace that ended normally.
    Totals(Totals),
}

/// Events that are missing in the trace ([`Note::Lost`]).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lost<'a> {
    /// The thread whose enters and leaves are missing. None if events of any threads and kinds may
    /// be missing.
    pub thread: ThreadId,
    /// Number of missing events.
    pub events: u64,
    /// Time of the last event before the gap.
    pub from: Timestamp,
    /// Time of the first event after the gap.
    pub to: Timestamp,
    /// Reason, in one word (`overflow`, `damaged`).
    pub reason: Cow<'a, str>,
}

/// A class or method that is not instrumented ([`Note::Uninstrumented`]).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Uninstrumented<'a> {
    /// Class name as in [`crate::ClassDef::name`].
    pub class: Cow<'a, str>,
    /// Method name and descriptor (`run()V`); empty for the whole class.
    pub method: Cow<'a, str>,
    /// Reason, as a short sentence.
    pub reason: Cow<'a, str>,
}

/// Things of one kind for which the format has no field ([`Note::Dropped`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DroppedNote<'a> {
    /// The kind in words, in the plural (`sizes of plain objects`).
    pub what: Cow<'a, str>,
    /// Number of things; 0 if they were not recorded at all.
    pub count: u64,
}

/// Start of a burst ([`Note::Burst`]).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BurstNote<'a> {
    /// The trigger, as in the agent's option `burst`.
    pub trigger: Cow<'a, str>,
    /// The thread on which the trigger fired; none if a time fired it.
    pub thread: ThreadId,
    /// Start of the burst.
    pub time: Timestamp,
}

/// Limits of the calls that are summed ([`Note::ShortCalls`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ShortCallsNote {
    /// Calls shorter than this are summed; 0 if the duration does not matter.
    pub min: Duration,
    /// Calls of a method are summed if it is called more often per second than this; 0 if the rate
    /// does not matter.
    pub rate: u64,
}

/// A method whose calls are summed from now on ([`Note::Demoted`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Demoted {
    /// The method.
    pub method: MethodId,
    /// Time from which the method's calls are summed.
    pub time: Timestamp,
    /// Rate that the method's calls exceeded, per second.
    pub rate: u64,
}

/// Aggregated calls within an outer call ([`Note::SumsAbove`]). The note is valid up to the
/// thread's next event of another kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SumsAbove {
    /// The thread.
    pub thread: ThreadId,
    /// How many open calls, counted from the innermost, do not enclose the aggregated calls.
    pub calls: u64,
}

/// Exactness of the times of calls ([`Note::Clock`]). An event of a call has its exact time if its
/// time differs from that of the thread's preceding event. Otherwise it has the time of the
/// preceding event, and may be up to a tick early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClockNote {
    /// Nominal interval between ticks of the clock.
    pub tick: Duration,
    /// Longest interval between two ticks while events were recorded.
    pub longest: Duration,
}

/// Totals of a trace ([`Note::Totals`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Method enters written.
    pub enters: u64,
    /// Method leaves written.
    pub leaves: u64,
    /// The leaves among [`Self::leaves`] that were written for calls without a leave record (see
    /// `docs/events.md`).
    pub repaired: u64,
    /// Enters and leaves lost.
    pub lost: u64,
    /// Calls still open at the end.
    pub open: u64,
    /// Classes whose methods were instrumented.
    pub classes: u64,
    /// Methods instrumented.
    pub methods: u64,
    /// Methods that the filters include and that are not instrumented.
    pub uninstrumented: u64,
    /// Objects written as allocated ([`crate::ObjectAlloc`]).
    pub objects: u64,
    /// Objects written as freed.
    pub frees: u64,
    /// Monitor events written, of all four kinds together.
    pub monitors: u64,
    /// Parks and unparks written, together.
    pub parks: u64,
    /// Exceptions written as thrown.
    pub throws: u64,
    /// Exceptions written as caught.
    pub catches: u64,
    /// Samples of stacks written.
    pub samples: u64,
    /// Begins and ends of class initialisations written, together.
    pub initialisations: u64,
}

impl Totals {
    /// Returns the number of events of the program, as a burst counts them: enters and leaves,
    /// allocations and frees, monitor events, parks and unparks, throws, catches, samples, class
    /// initialisations.
    pub fn events(&self) -> u64 {
        let counts = [
            self.enters,
            self.leaves,
            self.objects,
            self.frees,
            self.monitors,
            self.parks,
            self.throws,
            self.catches,
            self.samples,
            self.initialisations,
        ];
        counts.iter().sum()
    }
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::from(PREFIX);
        match self {
            Note::Lost(n) => {
                out.push_str("lost");
                grammar::number("thread", n.thread, &mut out);
                grammar::number("events", n.events, &mut out);
                grammar::number("from", n.from.0, &mut out);
                grammar::number("to", n.to.0, &mut out);
                grammar::text("reason", &n.reason, &mut out);
            }
            Note::Uninstrumented(n) => {
                out.push_str("uninstrumented");
                grammar::text("class", &n.class, &mut out);
                if !n.method.is_empty() {
                    grammar::text("method", &n.method, &mut out);
                }
                grammar::text("reason", &n.reason, &mut out);
            }
            Note::Dropped(n) => {
                out.push_str("dropped");
                grammar::number("count", n.count, &mut out);
                grammar::text("what", &n.what, &mut out);
            }
            Note::Burst(n) => {
                out.push_str("burst");
                grammar::text("trigger", &n.trigger, &mut out);
                grammar::number("thread", n.thread, &mut out);
                grammar::number("time", n.time.0, &mut out);
            }
            Note::ShortCalls(n) => {
                out.push_str("short-calls");
                grammar::number("min", n.min.0, &mut out);
                grammar::number("rate", n.rate, &mut out);
            }
            Note::Demoted(n) => {
                out.push_str("demoted");
                grammar::number("method", n.method, &mut out);
                grammar::number("time", n.time.0, &mut out);
                grammar::number("rate", n.rate, &mut out);
            }
            Note::SumsAbove(n) => {
                out.push_str("sums-above");
                grammar::number("thread", n.thread, &mut out);
                grammar::number("calls", n.calls, &mut out);
            }
            Note::Clock(n) => {
                out.push_str("clock");
                grammar::number("tick", n.tick.0, &mut out);
                grammar::number("longest", n.longest.0, &mut out);
            }
            Note::Recovered(events) => {
                out.push_str("recovered");
                grammar::number("events", *events, &mut out);
            }
            Note::Totals(n) => {
                out.push_str("totals");
                for (key, count) in [
                    ("enters", n.enters),
                    ("leaves", n.leaves),
                    ("repaired", n.repaired),
                    ("lost", n.lost),
                    ("open", n.open),
                    ("classes", n.classes),
                    ("methods", n.methods),
                    ("uninstrumented", n.uninstrumented),
                    ("objects", n.objects),
                    ("frees", n.frees),
                    ("monitors", n.monitors),
                    ("parks", n.parks),
                    ("throws", n.throws),
                    ("catches", n.catches),
                    ("samples", n.samples),
                    ("initialisations", n.initialisations),
                ] {
                    grammar::number(key, count, &mut out);
                }
            }
        }
        f.write_str(&out)
    }
}

impl Note<'static> {
    /// Parses a note. Returns `None` if the text is no note, a damaged note, or a note of a later
    /// version. Such a text is free text like any other.
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
            "uninstrumented" | "uncovered" => Note::Uninstrumented(Uninstrumented {
                class: fields.text("class")?,
                method: fields.text("method").unwrap_or_default(),
                reason: fields.text("reason")?,
            }),
            "dropped" | "left-out" => Note::Dropped(DroppedNote {
                count: fields.number("count")?,
                what: fields.text("what")?,
            }),
            "burst" => Note::Burst(BurstNote {
                trigger: fields.text("trigger")?,
                thread: ThreadId(fields.number("thread")?),
                time: Timestamp(fields.number("time")?),
            }),
            "short-calls" => Note::ShortCalls(ShortCallsNote {
                min: Duration(fields.number("min")?),
                rate: fields.number("rate")?,
            }),
            "demoted" => Note::Demoted(Demoted {
                method: MethodId(fields.number("method")?),
                time: Timestamp(fields.number("time")?),
                rate: fields.number("rate")?,
            }),
            "sums-above" => Note::SumsAbove(SumsAbove {
                thread: ThreadId(fields.number("thread")?),
                calls: fields.number("calls")?,
            }),
            "clock" => Note::Clock(ClockNote {
                tick: Duration(fields.number("tick")?),
                longest: Duration(fields.number("longest")?),
            }),
            "recovered" => Note::Recovered(fields.number("events")?),
            "totals" => Note::Totals(Totals {
                enters: fields.number("enters")?,
                leaves: fields.number("leaves")?,
                repaired: fields.number("repaired")?,
                lost: fields.number("lost")?,
                open: fields.number("open")?,
                classes: fields.number("classes")?,
                methods: fields.number("methods")?,
                // Traces of versions before 0.1 say `uncovered`.
                uninstrumented: fields
                    .number("uninstrumented")
                    .or_else(|| fields.number("uncovered"))?,
                objects: fields.count("objects")?,
                frees: fields.count("frees")?,
                monitors: fields.count("monitors")?,
                parks: fields.count("parks")?,
                throws: fields.count("throws")?,
                catches: fields.count("catches")?,
                samples: fields.count("samples")?,
                initialisations: fields.count("initialisations")?,
            }),
            _ => return None,
        })
    }
}

struct Fields<'t>(Vec<(&'t str, Cow<'t, str>)>);

impl<'t> Fields<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let mut pairs = Pairs::new(text);
        let mut fields = Vec::new();
        while !pairs.is_empty() {
            fields.push(pairs.pair()?);
        }
        Some(Self(fields))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, _)| *k == key)
            .map(|(_, v)| v.as_ref())
    }

    fn text(&self, key: &str) -> Option<Cow<'static, str>> {
        self.get(key).map(|v| Cow::Owned(v.to_owned()))
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        grammar::parse_number(self.get(key)?)
    }

    /// Returns a count that older traces do not contain. Without the key, returns 0.
    fn count(&self, key: &str) -> Option<u64> {
        match self.get(key) {
            Some(word) => grammar::parse_number(word),
            None => Some(0),
        }
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
            Note::Burst(BurstNote {
                trigger: "slow:a.B#run:2s/1000".into(),
                thread: ThreadId(3),
                time: Timestamp(7),
            }),
            Note::Uninstrumented(Uninstrumented {
                class: "a.B".into(),
                method: "run()V".into(),
                reason: "code would pass 65535 bytes".into(),
            }),
            Note::Uninstrumented(Uninstrumented {
                class: "odd \"name\\".into(),
                method: "".into(),
                reason: "".into(),
            }),
            Note::Dropped(DroppedNote {
                what: "sizes of plain objects".into(),
                count: 12,
            }),
            Note::ShortCalls(ShortCallsNote {
                min: Duration(1_000_000),
                rate: 5,
            }),
            Note::Demoted(Demoted {
                method: MethodId(7),
                time: Timestamp(-3),
                rate: 100_000,
            }),
            Note::SumsAbove(SumsAbove {
                thread: ThreadId(3),
                calls: 2,
            }),
            Note::Clock(ClockNote {
                tick: Duration(50_000),
                longest: Duration(1_300_000),
            }),
            Note::Recovered(17),
            Note::Totals(Totals {
                enters: 9,
                leaves: 8,
                open: 1,
                repaired: 2,
                lost: 3,
                classes: 4,
                methods: 5,
                uninstrumented: 6,
                objects: 7,
                frees: 10,
                monitors: 11,
                parks: 12,
                throws: 13,
                catches: 14,
                samples: 15,
                initialisations: 16,
            }),
        ];
        for note in notes {
            assert_eq!(Note::parse(&note.to_string()), Some(note.clone()), "{note}");
        }
    }

    #[test]
    fn counts_that_older_traces_lack_are_zero() {
        let text = "jtrail totals enters=9 leaves=8 repaired=0 lost=0 open=1 classes=2 methods=5 uninstrumented=0";
        let expected = Totals {
            enters: 9,
            leaves: 8,
            open: 1,
            classes: 2,
            methods: 5,
            ..Totals::default()
        };
        assert_eq!(Note::parse(text), Some(Note::Totals(expected)));
        assert_eq!(Note::parse(&format!("{text} later=1")), Note::parse(text));
        assert_eq!(Note::parse(&format!("{text} objects=x")), None);
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
            "jtrail uninstrumented class=\"x",
            "jtrail uninstrumented class=\"x\\",
            "jtrail later a=b",
        ] {
            assert_eq!(Note::parse(text), None, "{text}");
        }
    }
}
