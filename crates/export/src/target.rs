//! The targets.

use crate::chrome::TraceEvents;
use crate::collapsed::{self, Weight};
use crate::filter::CallFilter;
use crate::firefox;
use crate::flame::{self, Base};
use crate::jfr::Recording;
use crate::otlp::{self, Format as OtlpFormat};
use crate::perfetto::Packets;
use crate::pprof;
use crate::profile::Profiler;
use crate::sink::Sink;
use crate::speedscope::Profiles;
use crate::timeline::Timeline;
use jtrail_formats::Encode;
use jtrail_model::Timestamp;
use std::sync::Arc;

/// A format of another tool that traces are exported to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Perfetto's own format.
    Perfetto,
    /// Chrome's Trace Event Format.
    Chrome,
    /// Profiles for the Firefox Profiler.
    Firefox,
    /// speedscope's own format.
    Speedscope,
    /// Collapsed stacks.
    Collapsed,
    /// Recordings of JDK Flight Recorder.
    Jfr,
    /// A page with a flame graph.
    Flame,
    /// Profiles of Go's pprof.
    Pprof,
    /// OpenTelemetry traces.
    Otlp,
}

/// What is known of a target without writing it.
struct Row {
    name: &'static str,
    extensions: &'static [&'static str],
    /// `None` if tools open any export.
    ceiling: Option<Ceiling>,
    /// Bytes of memory for each item of the ceiling, if all of them are kept until the end.
    kept: Option<u64>,
}

/// The largest export that the target's tool opens in reasonable time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ceiling {
    /// Maximum number of items.
    pub items: u64,
    /// The items in words, in the plural.
    pub what: &'static str,
    /// The tool that opens no more.
    pub tool: &'static str,
}

/// What is exported, and how.
#[derive(Debug, Default)]
pub struct Options {
    /// Which calls are exported.
    pub filter: CallFilter,
    /// The weight of a target that has one.
    pub weight: Weight,
    /// True if call paths of different threads are kept apart, for targets that can do both.
    pub with_threads: bool,
    /// The format of OpenTelemetry traces.
    pub otlp_format: OtlpFormat,
    /// Name of the service that OpenTelemetry traces belong to. If it is empty, the program's name
    /// is used.
    pub service: String,
    /// What [`Target::Flame`] calls the trace, such as the name of its file. If empty, the page
    /// names the program.
    pub title: String,
    /// The trace that the exported one is compared with, for [`Target::Flame`]: the page then shows
    /// what is new, what vanished, and what changed.
    pub base: Option<Arc<Base>>,
    /// What is left out of the export, each as a part of a sentence: `only calls of …`. Targets
    /// that have a place for it write it.
    pub notes: Vec<String>,
}

/// An encoder of a target.
pub trait Export: Encode {
    /// Returns the number of items of the current file that the [`Ceiling`] limits.
    fn size(&self) -> u64;

    /// Returns the number of calls and waits so far. One that continues in another file counts
    /// again.
    fn slices(&self) -> u64;

    /// Returns true if there are calls so far, single ones or sums.
    fn has_calls(&self) -> bool;

    /// Sets the time at which calls end that are still open at the end.
    fn end_at(&mut self, time: Timestamp);

    /// Ends the file and begins another one, in which open calls continue. Appends the bytes that
    /// end the first file to `end`, and those that begin the next one to `begin`.
    fn split(&mut self, end: &mut Vec<u8>, begin: &mut Vec<u8>);
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 9] = [
        Self::Perfetto,
        Self::Chrome,
        Self::Firefox,
        Self::Speedscope,
        Self::Jfr,
        Self::Collapsed,
        Self::Flame,
        Self::Pprof,
        Self::Otlp,
    ];

    fn row(self) -> &'static Row {
        match self {
            Self::Perfetto => &Row {
                name: "perfetto",
                extensions: &[".pftrace", ".perfetto-trace"],
                ceiling: Some(Ceiling {
                    items: 5_000_000,
                    what: "slices",
                    tool: "the Perfetto UI",
                }),
                kept: None,
            },
            Self::Chrome => &Row {
                name: "chrome",
                // speedscope takes `.chrome.json` for another format of Chrome's.
                extensions: &[".trace.json", ".chrome.json"],
                ceiling: Some(Ceiling {
                    items: 256_000_000,
                    what: "bytes",
                    tool: "the Perfetto UI",
                }),
                kept: None,
            },
            Self::Speedscope => &Row {
                name: "speedscope",
                extensions: &[".speedscope.json"],
                ceiling: Some(Ceiling {
                    items: 2_000_000,
                    what: "begins and ends of calls and waits",
                    tool: "speedscope",
                }),
                kept: Some(45),
            },
            Self::Collapsed => &Row {
                name: "collapsed",
                extensions: &[".collapsed", ".folded"],
                ceiling: Some(Ceiling {
                    items: 1_500_000,
                    what: "call paths",
                    tool: "a flame graph tool",
                }),
                kept: Some(120),
            },
            Self::Jfr => &Row {
                name: "jfr",
                extensions: &[".jfr"],
                // It loads 8.6 million calls in 27 s of CPU time, and needs 2 GB for them.
                ceiling: Some(Ceiling {
                    items: 5_000_000,
                    what: "events",
                    tool: "JDK Mission Control",
                }),
                kept: None,
            },
            Self::Flame => &Row {
                name: "flame",
                extensions: &[".html"],
                // The page leaves out the smallest of them, which are compared in memory.
                ceiling: Some(Ceiling {
                    items: 1_500_000,
                    what: "call paths",
                    tool: "a browser",
                }),
                kept: Some(180),
            },
            Self::Pprof => &Row {
                name: "pprof",
                extensions: &[".pb.gz", ".pprof"],
                ceiling: Some(Ceiling {
                    items: 1_000_000,
                    what: "call paths",
                    tool: "go tool pprof",
                }),
                kept: Some(100),
            },
            Self::Otlp => &Row {
                name: "otlp",
                extensions: &[".otlp.pb", ".otlp.json", ".otlp.jsonl"],
                ceiling: Some(Ceiling {
                    items: 20_000,
                    what: "spans in one trace",
                    tool: "Jaeger's page of a trace",
                }),
                kept: None,
            },
            Self::Firefox => &Row {
                name: "firefox",
                extensions: &[".firefox.json.gz", ".profile.json.gz"],
                ceiling: Some(Ceiling {
                    items: 5_000_000,
                    what: "samples and markers",
                    tool: "the Firefox Profiler",
                }),
                kept: Some(10),
            },
        }
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the extensions of files, with their dots, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        self.row().extensions
    }

    /// Returns the largest export that the target's tool opens.
    pub fn ceiling(self) -> Option<Ceiling> {
        self.row().ceiling
    }

    /// Returns how many bytes of memory each item of the ceiling takes until the end of the trace.
    /// `None` if the export is written while the trace is read.
    pub fn kept_bytes(self) -> Option<u64> {
        self.row().kept
    }

    /// Returns the target with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Returns the target whose files have such a name.
    pub fn by_file_name(name: &str) -> Option<Self> {
        let has = |target: &Self| target.extensions().iter().any(|end| name.ends_with(end));
        Self::ALL.into_iter().find(has)
    }

    /// Creates an encoder.
    pub fn encoder(self, options: Options) -> Box<dyn Export> {
        match self {
            Self::Perfetto => timeline(options, Packets::default),
            Self::Chrome => timeline(options, TraceEvents::default),
            Self::Firefox => timeline(options, firefox::Builder::default),
            Self::Speedscope => timeline(options, Profiles::default),
            Self::Jfr => timeline(options, Recording::default),
            Self::Flame => {
                let (title, base) = (options.title.clone(), options.base.clone());
                timeline(options, move || {
                    Profiler::new(flame::Writer::new(title.clone(), base.clone()))
                })
            }
            Self::Pprof => timeline(options, || Profiler::new(pprof::Writer)),
            Self::Otlp => {
                let service = options.service.clone();
                match options.otlp_format {
                    OtlpFormat::Protobuf => timeline(options, move || {
                        otlp::Spans::new(otlp::Protobuf, service.clone())
                    }),
                    OtlpFormat::Json => timeline(options, move || {
                        otlp::Spans::new(otlp::Json, service.clone())
                    }),
                }
            }
            Self::Collapsed => {
                let (weight, with_threads) = (options.weight, options.with_threads);
                timeline(options, move || {
                    Profiler::new(collapsed::Writer::new(weight, with_threads))
                })
            }
        }
    }
}

/// Creates an encoder that writes to a sink for each file.
fn timeline<S: Sink + 'static>(
    options: Options,
    make_sink: impl Fn() -> S + Send + 'static,
) -> Box<dyn Export> {
    Box::new(Timeline::new(options.filter, make_sink).with_notes(options.notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_name_and_extension() {
        for target in Target::ALL {
            let variant = format!("{target:?}").to_lowercase();
            assert_eq!(target.name(), variant);
            assert_eq!(Target::by_name(target.name()), Some(target));
            for extension in target.extensions() {
                let name = format!("a.b{extension}");
                assert_eq!(Target::by_file_name(&name), Some(target), "{name}");
            }
        }
        assert_eq!(Target::by_file_name("a.pftrace.old"), None);
    }
}
