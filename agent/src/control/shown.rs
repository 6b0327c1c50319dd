//! The state of the trace that clients see.

use super::overhead::Overhead;
use crate::sources::Tracer;
use jtrail_control::{DataStream, Destination, Ended, Figures, State, Trace};
use jtrail_model::Totals;
use jtrail_options::{OutputFormat, Overflow};
use jtrail_records::ownership::FileId;
use jtrail_writer::{Progress, Saved};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a client may take to read the rest of a trace when the program ends.
const LAST_DATA: Duration = Duration::from_secs(5);

/// The trace that clients see.
pub(super) struct Shown {
    /// When the agent was loaded.
    loaded: Instant,
    state: State,
    pub(super) trace: Option<Trace>,
    /// The file that the trace is written to.
    file: Option<FileId>,
    began: Instant,
    pub(super) overhead: Overhead,
    /// The stream to a client that receives the trace, or will receive the next one.
    pub(super) stream: Option<DataStream>,
    /// True if the program is about to end.
    hurries: bool,
    /// When a client must have read the last data; set when the program ends.
    last_data: Option<Instant>,
}

impl Shown {
    /// Returns the state after the agent's start. There is no trace if its file could not be
    /// opened.
    pub(super) fn of(tracer: &Tracer) -> Self {
        let now = Instant::now();
        let options = &tracer.session.options;
        let begun = tracer.writer.begun();
        let begun = begun.filter(|_| !options.begins_idle());
        let trace = begun.map(|begun| {
            let (to, file) = match options.overflow {
                Overflow::Ring => (Destination::Ring, None),
                _ => (Destination::File, Some(begun.target.clone())),
            };
            Trace {
                format: options.format,
                to,
                file,
            }
        });
        Self {
            state: match trace {
                Some(_) if options.has_bursts() => State::Paused,
                Some(_) => State::Recording,
                None => State::Idle,
            },
            file: begun.and_then(|begun| begun.file),
            trace,
            loaded: now,
            began: now,
            overhead: Overhead::new(
                tracer.session.clock.cost.record as f64 / 1000.0,
                tracer.writer.progress(),
            ),
            stream: None,
            hurries: false,
            last_data: None,
        }
    }

    /// Shortens the writer's wait for the client, because the program is about to end. Later
    /// streams have the shorter wait, too.
    pub(super) fn hurry(&mut self) {
        self.hurries = true;
        self.hurry_stream();
    }

    /// Sets a deadline for the client to read the rest of the trace. Nothing more is recorded.
    pub(super) fn finish(&mut self) {
        self.last_data = Some(Instant::now() + LAST_DATA);
        self.finish_stream();
    }

    /// Sets the stream of a trace that is about to begin; `None` if the trace failed to begin. The
    /// shorter wait and the deadline are set before the trace begins, because a client might stop
    /// reading at the first data.
    pub(super) fn open(&mut self, stream: Option<DataStream>) {
        self.stream = stream;
        self.hurry_stream();
        self.finish_stream();
    }

    fn hurry_stream(&self) {
        if let Some(stream) = self.stream.as_ref().filter(|_| self.hurries) {
            stream.hurry(LAST_DATA);
        }
    }

    fn finish_stream(&self) {
        if let (Some(stream), Some(last)) = (&self.stream, self.last_data) {
            stream.finish_within(last.saturating_duration_since(Instant::now()));
        }
    }

    /// Sets the state of the trace; does nothing if the trace has ended.
    pub(super) fn set_state(&mut self, state: State) {
        if self.trace.is_some() {
            self.state = state;
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Returns the time since the agent was loaded.
    pub(super) fn uptime(&self) -> Duration {
        self.loaded.elapsed()
    }

    /// Returns the format of the active trace.
    pub(super) fn format(&self) -> Option<OutputFormat> {
        self.trace.as_ref().map(|trace| trace.format)
    }

    /// Returns true if a trace is being written to the file at that path.
    pub(super) fn is_written_to(&self, path: &Path) -> bool {
        self.file.is_some_and(|file| file.is_at(path))
    }

    /// Notes that a trace has begun. It is written to `file`, or to the stream that [`Self::open`]
    /// has set.
    pub(super) fn begin(&mut self, trace: &Trace, file: Option<FileId>, progress: Progress) {
        self.overhead = self.overhead.begin(progress);
        self.state = State::Recording;
        (self.trace, self.file) = (Some(trace.clone()), file);
        self.began = Instant::now();
    }

    pub(super) fn ended(&self, progress: Progress) -> Option<Ended> {
        let figures = match progress.newest {
            // Events that are still in the buffers are not counted yet.
            Some(newest) => Figures {
                elapsed: newest.span,
                events: newest.read,
                lost: 0,
                bytes: newest.bytes,
            },
            None => Figures {
                elapsed: self.began.elapsed(),
                events: progress.totals.events(),
                lost: progress.totals.lost,
                bytes: progress.bytes,
            },
        };
        self.trace.clone().map(|trace| Ended { trace, figures })
    }

    /// Notes that the trace has ended. Returns its description and figures.
    pub(super) fn end(&mut self, progress: Progress) -> Option<Ended> {
        let ended = self.ended(progress);
        self.state = State::Idle;
        (self.trace, self.file, self.stream) = (None, None, None);
        ended
    }
}

/// Describes a trace that a flight recorder has saved.
pub(super) fn saved(format: OutputFormat, saved: &Saved) -> Ended {
    let Progress { totals, bytes, .. } = saved.progress;
    Ended {
        trace: Trace {
            format,
            to: Destination::File,
            file: Some(saved.path.display().to_string()),
        },
        figures: Figures {
            elapsed: saved.span,
            events: totals.events(),
            lost: totals.lost,
            bytes,
        },
    }
}

/// Returns the number of recorded events of each kind.
pub(super) fn counts(totals: &Totals) -> [(&'static str, u64); 9] {
    [
        ("calls", totals.enters + totals.leaves),
        ("allocations", totals.objects),
        ("frees", totals.frees),
        ("monitors", totals.monitors),
        ("parks", totals.parks),
        ("throws", totals.throws),
        ("catches", totals.catches),
        ("samples", totals.samples),
        ("initialisations", totals.initialisations),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_all_events() {
        let totals = Totals {
            enters: 1,
            leaves: 2,
            objects: 4,
            frees: 8,
            monitors: 16,
            parks: 32,
            throws: 64,
            catches: 128,
            samples: 256,
            initialisations: 512,
            // These are no events of the program.
            repaired: 1 << 20,
            lost: 1 << 20,
            open: 1 << 20,
            classes: 1 << 20,
            methods: 1 << 20,
            uninstrumented: 1 << 20,
        };
        let sum: u64 = counts(&totals).iter().map(|(_, events)| events).sum();
        assert_eq!((sum, totals.events()), (1023, 1023));
    }
}
