//! What each format of a trace has a place for.

use crate::set::Events;
use crate::value::OutputFormat;

impl OutputFormat {
    /// Usual ending of a file's name, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Xml => "trcxml",
            Self::Binary => "trcbin",
            Self::Jinsight => "trc",
            Self::Mlpd => "mlpd",
            Self::TraceLog => "log",
            Self::ProfilerJ => "xml",
            Self::Trail => "trail",
            Self::None => "none",
        }
    }

    /// What is recorded when nothing else is asked for: what the format has a place for, and costs
    /// little.
    pub fn default_events(self) -> Events {
        self.place(Events::default()).0
    }

    /// The kinds of events that the format has a place for, be it for a part of what they tell.
    const fn places(self) -> Events {
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
        }
    }

    /// Whether a burst begins with the calls that are under way, so that stacks are kept up while
    /// collection pauses.
    pub const fn keeps_stacks(self) -> bool {
        matches!(self, Self::Jinsight)
    }

    /// Whether samples are told from their outermost frame on, so that a stack that is too deep
    /// loses its innermost frames.
    pub const fn keeps_roots(self) -> bool {
        matches!(self, Self::TraceLog | Self::ProfilerJ)
    }

    /// Whether the format has a place for calls that are added up.
    pub(crate) const fn has_sums_of_calls(self) -> bool {
        !matches!(self, Self::Jinsight | Self::Mlpd | Self::TraceLog)
    }

    /// Parts what is asked for into that which is recorded, and that which the format has no place
    /// for. What has to come with something recorded is added.
    pub(crate) fn place(self, asked: Events) -> (Events, Events) {
        let mut placed = asked.without(asked.without(self.places()));
        if placed.is_empty() {
            return (placed, asked);
        }
        let has = |events| placed.contains(events);
        let (with, without) = match self {
            // A class lists its methods, and stands before all that happens in it.
            Self::Jinsight => (Events::DETAILS, Events::NONE),
            // It has one place for calls and samples; its tables of live objects stand behind
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
            // Its figures are those of the objects that are alive.
            Self::ProfilerJ if has(Events::ALLOC) => (Events::FREE, Events::NONE),
            _ => (Events::NONE, Events::NONE),
        };
        placed = placed.union(with).without(without);
        (placed, asked.without(placed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(format: OutputFormat, asked: Events) -> (String, String) {
        let (placed, no_place) = format.place(asked);
        (placed.to_string(), no_place.to_string())
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

    #[test]
    fn what_has_no_place_is_left_out_and_told() {
        let asked = Events::LINES.union(Events::ALLOC).union(Events::SAMPLES);
        for (format, recorded, left_out) in [
            (OutputFormat::Binary, "alloc+samples+lines", ""),
            (OutputFormat::Jinsight, "alloc+details", "samples+lines"),
            (OutputFormat::Mlpd, "alloc", "samples+lines"),
            (OutputFormat::TraceLog, "alloc+samples", "lines"),
            (OutputFormat::ProfilerJ, "alloc+free+samples+lines", ""),
        ] {
            let (recorded, left_out) = (recorded.to_owned(), left_out.to_owned());
            assert_eq!(placed(format, asked), (recorded, left_out), "{format}");
        }
        let free = Events::ALLOC.union(Events::FREE);
        let expected = ("gc+alloc+free".to_owned(), String::new());
        assert_eq!(placed(OutputFormat::TraceLog, free), expected);
        let both = Events::METHODS.union(Events::SAMPLES);
        let expected = ("methods".to_owned(), "samples".to_owned());
        assert_eq!(placed(OutputFormat::TraceLog, both), expected);
        let nothing = (String::new(), "gc".to_owned());
        assert_eq!(placed(OutputFormat::ProfilerJ, Events::GC), nothing);
    }
}
