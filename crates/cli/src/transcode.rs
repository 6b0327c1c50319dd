//! Turns the events of a trace, or of a part of it, into the bytes of another format.

use crate::input::{Ending, Input, Selected};
use crate::select::Selection;
use jtrail_analysis::Names;
use jtrail_formats::Encode;
use jtrail_formats::trail::Part;
use jtrail_model::{Custom, Event, Lost, Note, Timestamp};
use std::io::Write;

/// Number of encoded bytes that are collected before they are written.
const CHUNK: usize = 256 << 10;

/// What is encoded.
pub(crate) struct Source<'a, 's> {
    /// The trace.
    pub(crate) input: &'a mut Input,
    /// Events before those of the trace.
    pub(crate) opening: &'a [Event<'a>],
    /// The selected part of the trace.
    pub(crate) excerpt: &'a mut Excerpt<'s>,
    /// Called with each selected event, unless calls are passed together.
    pub(crate) observe: &'a mut dyn FnMut(&Event<'_>),
}

/// Encodes the events of `opening` and then the selected part of the input. Returns how reading
/// ended.
pub(crate) fn transcode<E: Encode + ?Sized>(
    source: &mut Source<'_, '_>,
    encoder: &mut E,
    out: &mut dyn Write,
) -> anyhow::Result<Ending> {
    let ending = transcode_events(source, encoder, out, |_, _, _| Ok(()))?;
    end(&ending, encoder, out)?;
    Ok(ending)
}

/// Like [`transcode`], but without the end of the encoding, which [`end`] writes. Calls `after`
/// after each element, with the bytes that are not written yet. Encoding stops when `after` returns
/// an error.
pub(crate) fn transcode_events<E: Encode + ?Sized, W: Write + ?Sized>(
    source: &mut Source<'_, '_>,
    encoder: &mut E,
    out: &mut W,
    mut after: impl FnMut(&mut E, &mut Vec<u8>, &mut W) -> anyhow::Result<()>,
) -> anyhow::Result<Ending> {
    let mut buffer = Vec::with_capacity(CHUNK + (CHUNK >> 2));
    encoder.begin(&mut buffer);
    for event in source.opening {
        encoder.event(event, &mut buffer);
    }
    let (excerpt, observe) = (&mut *source.excerpt, &mut *source.observe);
    let ending = source.input.parts(excerpt.is_all(), |seen| {
        match seen {
            Selected::Part(part, definitions) => return Ok(excerpt.wants(part, definitions)),
            Selected::Event(event) => {
                let is_taken = excerpt.takes(event);
                if is_taken {
                    if let Some(note) = excerpt.note(event) {
                        encoder.event(&note, &mut buffer);
                    }
                    observe(event);
                }
                let is_in_time = excerpt.selection.has_time(event);
                match is_taken && (is_in_time || is_end(event)) {
                    true => encoder.event(event, &mut buffer),
                    false => encoder.unselected(event, excerpt.selection.times(), &mut buffer),
                }
            }
            Selected::Calls(calls) => encoder.calls(&calls, &mut buffer),
        }
        after(encoder, &mut buffer, out)?;
        if buffer.len() >= CHUNK {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(true)
    })?;
    if let Some(note) = excerpt.last_note() {
        encoder.event(&note, &mut buffer);
    }
    out.write_all(&buffer)?;
    Ok(ending)
}

/// Writes the end of the encoding. `ending` tells how reading ended.
pub(crate) fn end<E: Encode + ?Sized, W: Write + ?Sized>(
    ending: &Ending,
    encoder: &mut E,
    out: &mut W,
) -> anyhow::Result<()> {
    // If the source is truncated, the converted trace is truncated too. The encoder may have
    // buffered parts of the trace until now. They are written in any case.
    let whole = !ending.truncated && ending.error.is_none();
    if !whole {
        encoder.mark_truncated();
    }
    let mut buffer = Vec::new();
    if whole || encoder.has_pending() {
        while encoder.end_part(&mut buffer) {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(())
}

/// Selection of a part of a trace, with the number of events that are left out.
pub(crate) struct Excerpt<'a> {
    selection: Selection<'a>,
    names: Names,
    /// Number of events left out since the last note.
    left_out: u64,
    is_reported: bool,
    latest: Timestamp,
    /// True if the encoder counts the threads that are alive.
    counts_threads: bool,
}

impl<'a> Excerpt<'a> {
    pub(crate) fn new(selection: Selection<'a>) -> Self {
        Self {
            selection,
            names: Names::default(),
            left_out: 0,
            is_reported: false,
            latest: Timestamp::default(),
            counts_threads: false,
        }
    }

    /// Makes the encoder get the ends of all threads, so that it can count those that are alive.
    pub(crate) fn with_thread_ends(self, counts_threads: bool) -> Self {
        Self {
            counts_threads,
            ..self
        }
    }

    /// Returns true if the whole trace is selected.
    pub(crate) fn is_all(&self) -> bool {
        self.selection.is_all()
    }

    /// Returns the end of the selected time, if the selection restricts the time.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        self.selection.window().map(|(_, end)| end)
    }

    /// Returns true if a part of a trail may contain selected events, or ends of threads that the
    /// encoder counts.
    ///
    /// The definitions of the part are written in either case.
    fn wants(&mut self, part: &Part, definitions: &[Event<'_>]) -> bool {
        let may_end_thread = self.counts_threads && part.has_last_of_thread;
        let wants = self.selection.may_have(&self.names, part, definitions)
            || (may_end_thread && self.selection.has_time_after(part));
        if !wants {
            self.left_out += u64::from(part.events).saturating_sub(definitions.len() as u64);
        }
        wants
    }

    /// Returns true if an event is written: every definition, every selected event, and the end of
    /// the trace.
    fn takes(&mut self, event: &Event<'_>) -> bool {
        if self.selection.is_all() {
            return true;
        }
        self.selection.see(event);
        if event.is_definition() {
            self.names.event(event);
            return true;
        }
        let takes = is_end(event)
            || (self.selection.has_time(event) && self.selection.has_thread(&self.names, event));
        self.left_out += u64::from(!takes);
        takes
    }

    /// Returns the note about left-out events that must be written before this event, if any.
    ///
    /// Notes are written at the first gap and at the end.
    fn note(&mut self, event: &Event<'_>) -> Option<Event<'static>> {
        if self.is_reported && !is_end(event) || event.is_definition() {
            return None;
        }
        self.latest = event.time().unwrap_or(self.latest);
        self.last_note()
    }

    fn last_note(&mut self) -> Option<Event<'static>> {
        let events = std::mem::take(&mut self.left_out);
        self.is_reported |= events > 0;
        let note = Note::Lost(Lost {
            events,
            from: self.latest,
            to: self.latest,
            reason: "selection".into(),
            ..Lost::default()
        });
        (events > 0).then(|| {
            Event::Custom(Custom {
                body: note.to_string().into(),
            })
        })
    }
}

/// Returns true for the events at the end of a trace.
fn is_end(event: &Event<'_>) -> bool {
    matches!(event, Event::TraceEnd(_) | Event::AgentDestroy(_))
}
