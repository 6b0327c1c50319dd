//! Kinds of events and features that each format supports.

use crate::set::Events;
use crate::value::OutputFormat;

impl OutputFormat {
    /// Returns the extension of files of the format, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Xml => "trcxml",
            Self::Binary => "trcbin",
            Self::Jinsight => "trc",
            Self::Mlpd => "mlpd",
            Self::TraceLog => "log",
            Self::ProfilerJ => "xml",
            Self::Trail => "trail",
            Self::Perfetto => "pftrace",
            Self::Chrome => "trace.json",
            Self::Jfr => "jfr",
            Self::Collapsed => "collapsed",
            Self::None => "none",
        }
    }

    /// True if the format is that of another tool. jtrail reads it in part or not at all.
    pub const fn is_export(self) -> bool {
        matches!(
            self,
            Self::Perfetto | Self::Chrome | Self::Jfr | Self::Collapsed
        )
    }

    /// Returns the kinds of events that are recorded by default: all cheap kinds that the format
    /// supports.
    pub fn default_events(self) -> Events {
        self.split(Events::default()).0
    }

    /// Returns the kinds of events that the format supports, at least in part.
    const fn supported(self) -> Events {
        let common = Events::METHODS
            .union(Events::THREADS)
            .union(Events::CLASSES)
            .union(Events::ALLOC);
        match self {
            Self::Xml | Self::Binary | Self::Trail | Self::None => Events::ALL,
            Self::Jinsight => common
                .union(Events::GC)
                .union(Events::FREE)
                .union(Events::MONITORS)
                .union(Events::PARKS)
                .union(Events::DETAILS),
            Self::Mlpd => common
                .union(Events::GC)
                .union(Events::MONITORS)
                .union(Events::EXCEPTIONS)
                .union(Events::JIT)
                .union(Events::HEAP)
                .union(Events::DETAILS),
            Self::TraceLog => common
                .union(Events::GC)
                .union(Events::FREE)
                .union(Events::JIT)
                .union(Events::CPU)
                .union(Events::SAMPLES)
                .union(Events::DETAILS),
            Self::ProfilerJ => common
                .union(Events::FREE)
                .union(Events::CPU)
                .union(Events::SAMPLES)
                .union(Events::LINES),
            Self::Perfetto | Self::Chrome | Self::Jfr => common
                .union(Events::GC)
                .union(Events::MONITORS)
                .union(Events::PARKS)
                .union(Events::EXCEPTIONS)
                .union(Events::CPU)
                .union(Events::SAMPLES),
            Self::Collapsed => common
                .union(Events::MONITORS)
                .union(Events::PARKS)
                .union(Events::CPU),
        }
    }

    /// True if the format needs the open calls at the start of a burst. Then call stacks are kept
    /// up to date while recording is paused.
    pub const fn keeps_stacks(self) -> bool {
        matches!(self, Self::Jinsight)
    }

    /// True if samples are written from their outermost frame on. Then a stack that exceeds the
    /// maximum depth loses its innermost frames.
    pub const fn keeps_roots(self) -> bool {
        matches!(self, Self::TraceLog | Self::ProfilerJ)
    }

    /// True if the format supports calls that are added up.
    pub(crate) const fn has_sums_of_calls(self) -> bool {
        !matches!(
            self,
            Self::Jinsight | Self::Mlpd | Self::TraceLog | Self::Perfetto | Self::Chrome
        )
    }

    /// Splits the requested kinds of events into the recorded ones and those that the format does
    /// not support. If the format needs further kinds for a recorded one, they are added to the
    /// recorded ones.
    pub(crate) fn split(self, requested: Events) -> (Events, Events) {
        let mut recorded = requested.without(requested.without(self.supported()));
        if recorded.is_empty() {
            return (recorded, requested);
        }
        let has = |events| recorded.contains(events);
        let (with, without) = match self {
            // A class is defined with all of its methods, before any event in the class.
            Self::Jinsight => (Events::DETAILS, Events::NONE),
            // A trace log has either calls or samples. Its tables of live objects follow garbage
            // collections.
            Self::TraceLog => (
                if has(Events::FREE) {
                    Events::GC
                } else {
                    Events::NONE
                },
                if has(Events::METHODS) {
                    Events::SAMPLES
                } else {
                    Events::NONE
                },
            ),
            // The format's figures are those of live objects, so frees are needed.
            Self::ProfilerJ if has(Events::ALLOC) => (Events::FREE, Events::NONE),
            _ => (Events::NONE, Events::NONE),
        };
        recorded = recorded.union(with).without(without);
        (recorded, requested.without(recorded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(format: OutputFormat, asked: Events) -> (String, String) {
        let (recorded, unsupported) = format.split(asked);
        (recorded.to_string(), unsupported.to_string())
    }

    #[test]
    fn defaults() {
        for (format, events) in [
            (OutputFormat::Xml, "methods+threads+classes+gc"),
            (OutputFormat::None, "methods+threads+classes+gc"),
            (OutputFormat::Jinsight, "methods+threads+classes+gc+details"),
            (OutputFormat::Mlpd, "methods+threads+classes+gc"),
            (OutputFormat::TraceLog, "methods+threads+classes+gc"),
            (OutputFormat::ProfilerJ, "methods+threads+classes"),
        ] {
            assert_eq!(format.default_events().to_string(), events, "{format}");
        }
    }

    /// `docs/options.md` has a row for each format, with the kinds that it has no field for.
    #[test]
    fn the_document_says_what_has_no_field() {
        let document = include_str!("../../../docs/options.md");
        let (_, table) = document.split_once("| No field for |\n").expect("a table");
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split('|').collect()).collect();
        for word in OutputFormat::WORDS {
            let format = OutputFormat::parse(word).expect("a format");
            let quoted = format!("`{word}`");
            let mut rows = rows.iter().filter(|row| row[1].contains(&quoted));
            let row = rows.next().unwrap_or_else(|| panic!("no row for {word}"));
            // What depends on other kinds follows a semicolon.
            let kinds = row[4].split(';').next().unwrap_or_default();
            let kinds = kinds.replace('`', "");
            let kinds = kinds.split_whitespace().collect::<Vec<_>>().join("+");
            let expected = Events::ALL.without(format.supported()).to_string();
            assert_eq!(kinds, expected, "{word}");
            assert!(rows.next().is_none(), "two rows for {word}");
        }
    }

    #[test]
    fn what_has_no_field_is_dropped() {
        let asked = Events::LINES.union(Events::ALLOC).union(Events::SAMPLES);
        for (format, recorded, left_out) in [
            (OutputFormat::Binary, "alloc+samples+lines", ""),
            (OutputFormat::Jinsight, "alloc+details", "samples+lines"),
            (OutputFormat::Mlpd, "alloc", "samples+lines"),
            (OutputFormat::TraceLog, "alloc+samples", "lines"),
            (OutputFormat::ProfilerJ, "alloc+free+samples+lines", ""),
        ] {
            let (recorded, left_out) = (recorded.to_owned(), left_out.to_owned());
            assert_eq!(split(format, asked), (recorded, left_out), "{format}");
        }
        let free = Events::ALLOC.union(Events::FREE);
        let expected = ("gc+alloc+free".to_owned(), String::new());
        assert_eq!(split(OutputFormat::TraceLog, free), expected);
        let both = Events::METHODS.union(Events::SAMPLES);
        let expected = ("methods".to_owned(), "samples".to_owned());
        assert_eq!(split(OutputFormat::TraceLog, both), expected);
        let nothing = (String::new(), "gc".to_owned());
        assert_eq!(split(OutputFormat::ProfilerJ, Events::GC), nothing);
    }
}
