//! The first pass over a corrupt trail: finds the sound segments, and which of them belong to the
//! same trace.

use super::window::Window;
use crate::trail::columns::MAX_EVENTS;
use crate::trail::wire::{HEADER, Header, MAGIC, MAX_PAYLOAD_BYTES, NoHeader, next_candidate};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::ops::Range;

/// Maximum number of stretches ([`Run`]) that are kept. It bounds memory. A sound trail is a single
/// stretch.
const MAX_RUNS: usize = 1 << 18;

/// A position in a trace, at the start of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct TracePosition {
    /// Number of the segment.
    pub(super) number: u32,
    /// Number of events before the segment.
    pub(super) before: u64,
}

impl TracePosition {
    pub(super) fn of(header: &Header) -> Self {
        Self {
            number: header.number,
            before: header.before,
        }
    }

    /// Returns the position after a segment.
    pub(super) fn after(header: &Header) -> Self {
        Self {
            number: header.number.wrapping_add(1),
            before: header.before.wrapping_add(header.events.into()),
        }
    }

    /// Returns true if a trace at this position may continue at `later`, with some segments missing
    /// in between.
    pub(super) fn leads_to(self, later: Self) -> bool {
        let segments = later.number.checked_sub(self.number);
        let events = later.before.checked_sub(self.before);
        match (segments, events) {
            (Some(segments), Some(events)) => events <= u64::from(segments) * u64::from(MAX_EVENTS),
            _ => false,
        }
    }
}

/// A stretch: sound segments that follow each other in the file and in the trace.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) bytes: Range<u64>,
    pub(super) first: TracePosition,
    pub(super) next: TracePosition,
    pub(super) segments: u64,
    /// Identifies the trace of the segments; 0 if they do not identify it.
    pub(super) trace: u32,
    /// Total size of all stretches up to and including this one, in bytes.
    sound: u64,
}

impl Run {
    pub(super) fn events(&self) -> u64 {
        self.next.before.saturating_sub(self.first.before)
    }
}

/// A sound header of a segment whose payload is corrupt.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoneHeader {
    /// Position of the header in the file, in bytes.
    pub(super) at: u64,
    pub(super) first: TracePosition,
    pub(super) next: TracePosition,
    pub(super) trace: u32,
}

/// The segments that a file holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) runs: Vec<Run>,
    /// Headers of segments with a corrupt payload.
    pub(super) headers: Vec<LoneHeader>,
    /// Size of the file, in bytes.
    pub(super) size: u64,
    /// True if the file starts like a trail.
    pub(super) begins: bool,
    /// Version of the first segment, if that version can't be read.
    pub(super) version: Option<u8>,
    /// True if the file has more stretches than are kept.
    pub(super) is_cut: bool,
    /// Identifies the chosen trace.
    trace: u32,
}

impl Survey {
    pub(super) fn of<R: Read + Seek>(window: &mut Window<R>) -> io::Result<Self> {
        let mut survey = Self {
            begins: window.get(0, MAGIC.len())? == MAGIC,
            ..Self::default()
        };
        let mut at = 0;
        // Number of bytes that were checked in vain. A payload may be full of apparent headers,
        // each of which claims a payload of the maximum size.
        let mut vain = 0_u64;
        loop {
            let Some(bytes) = window.get(at, HEADER)?.first_chunk() else {
                survey.size = at + window.near(at).len() as u64;
                return Ok(survey);
            };
            let header = match Header::get(bytes) {
                Ok(header) => header,
                Err(problem) => {
                    if let (NoHeader::Version(version), 0) = (problem, at) {
                        survey.version = Some(version);
                    }
                    at += next_candidate(window.near(at)) as u64;
                    continue;
                }
            };
            let length = HEADER + header.length as usize;
            let segment = window.get(at, length)?;
            if segment.len() == length && crc32c::crc32c(&segment[HEADER..]) == header.checksum {
                survey.sound(at, &header);
                at += length as u64;
                continue;
            }
            survey.unsound(at, &header);
            vain += segment.len() as u64;
            // If the end of this segment is missing, the next segment may begin within its claimed
            // range.
            at += match vain <= 4 * at + 2 * MAX_PAYLOAD_BYTES as u64 {
                true => next_candidate(segment),
                false => segment.len(),
            } as u64;
        }
    }

    fn sound(&mut self, at: u64, header: &Header) {
        let (first, next) = (TracePosition::of(header), TracePosition::after(header));
        let before = self.runs.last().map_or(0, |run| run.sound);
        let end = at + (HEADER as u64 + u64::from(header.length));
        if let Some(last) = self.runs.last_mut()
            && (last.bytes.end, last.next, last.trace) == (at, first, header.trace)
        {
            last.bytes.end = end;
            last.next = next;
            last.sound += end - at;
            last.segments += 1;
        } else if self.runs.len() < MAX_RUNS {
            self.runs.push(Run {
                bytes: at..end,
                first,
                next,
                segments: 1,
                trace: header.trace,
                sound: before + (end - at),
            });
        } else {
            self.is_cut = true;
        }
    }

    fn unsound(&mut self, at: u64, header: &Header) {
        if self.headers.len() < MAX_RUNS {
            self.headers.push(LoneHeader {
                at,
                first: TracePosition::of(header),
                next: TracePosition::after(header),
                trace: header.trace,
            });
        }
    }

    /// Chooses the trace with the most events. Returns two lists: the stretches of this trace, in
    /// the order of the trace, and all other stretches, in the order of the file.
    pub(super) fn chosen(&mut self) -> (Vec<Run>, Vec<Run>) {
        self.trace = largest(&self.runs);
        // The first segment of a trace is empty and does not identify the trace.
        let is_first = |run: &Run| run.trace == 0 && run.events() == 0;
        let first = self.runs.iter().position(is_first);
        let (mut chosen, mut others) = (Vec::new(), Vec::new());
        for (n, run) in self.runs.iter().enumerate() {
            match run.trace == self.trace || first == Some(n) {
                true => chosen.push(run.clone()),
                false => others.push(run.clone()),
            }
        }
        chosen.sort_by_key(|run| (run.first.number, Reverse(run.segments), run.bytes.start));
        (chosen, others)
    }

    /// Returns the number of bytes in a range of the file that belong to sound segments.
    pub(super) fn sound_bytes(&self, bytes: &Range<u64>) -> u64 {
        let up_to = |at: u64| {
            let runs = self.runs.partition_point(|run| run.bytes.end <= at);
            let before = match self.runs.get(runs) {
                // `at` is within this stretch.
                Some(run) if run.bytes.start < at => at - run.bytes.start,
                _ => 0,
            };
            let last = runs.checked_sub(1).map(|last| &self.runs[last]);
            last.map_or(0, |run| run.sound) + before
        };
        up_to(bytes.end).saturating_sub(up_to(bytes.start))
    }

    fn is_of_trace(&self, trace: u32) -> bool {
        trace == 0 || trace == self.trace
    }

    /// Returns the position in the trace that the headers from byte `end` on reach. At `end`, the
    /// position in the trace is `place`.
    pub(super) fn reached_after(&self, end: u64, mut place: TracePosition) -> TracePosition {
        for header in &self.headers {
            if header.at >= end && self.is_of_trace(header.trace) && place.leads_to(header.first) {
                place = header.next;
            }
        }
        place
    }
}

/// Returns the trace with the most events; the first one if several have equally many.
fn largest(runs: &[Run]) -> u32 {
    let mut sizes: HashMap<u32, (u64, Reverse<usize>)> = HashMap::new();
    for (n, run) in runs.iter().enumerate().filter(|(_, run)| run.trace != 0) {
        let size = sizes.entry(run.trace).or_insert((0, Reverse(n)));
        size.0 = size.0.saturating_add(run.events());
    }
    let largest = sizes.into_iter().max_by_key(|(_, size)| *size);
    largest.map_or(0, |(trace, _)| trace)
}
