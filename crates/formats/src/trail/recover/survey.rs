//! The first look at a damaged trail: where its sound segments are, and which of them are of one
//! trace.

use super::window::Window;
use crate::trail::columns::MOST_EVENTS;
use crate::trail::wire::{HEADER, Header, LARGEST_PAYLOAD, MAGIC, NoHeader, next_place};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::ops::Range;

/// Most runs that are told apart: what bounds the memory. A sound trail is one.
const MOST_RUNS: usize = 1 << 18;

/// Where a trace has come to at a segment's begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    /// Number of the segment.
    pub(super) number: u32,
    /// Events before it.
    pub(super) before: u64,
}

impl Place {
    pub(super) fn of(header: &Header) -> Self {
        Self {
            number: header.number,
            before: header.before,
        }
    }

    /// The place behind a segment.
    pub(super) fn after(header: &Header) -> Self {
        Self {
            number: header.number.wrapping_add(1),
            before: header.before.wrapping_add(header.events.into()),
        }
    }

    /// Whether a trace that has come to here may go on at `later`, with some segments missing in
    /// between.
    pub(super) fn leads_to(self, later: Self) -> bool {
        let segments = later.number.checked_sub(self.number);
        let events = later.before.checked_sub(self.before);
        match (segments, events) {
            (Some(segments), Some(events)) => {
                events <= u64::from(segments) * u64::from(MOST_EVENTS)
            }
            _ => false,
        }
    }
}

/// Sound segments that stand behind each other in the file and in the trace.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) bytes: Range<u64>,
    pub(super) first: Place,
    pub(super) next: Place,
    pub(super) segments: u64,
    /// Which trace they are of; 0 if they do not say.
    pub(super) trace: u32,
    /// Bytes of runs up to the end of this one.
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
    /// Where it is in the file.
    pub(super) at: u64,
    pub(super) first: Place,
    pub(super) next: Place,
    pub(super) trace: u32,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) runs: Vec<Run>,
    /// Headers of segments with a corrupt payload.
    pub(super) headers: Vec<LoneHeader>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// It begins as a trail does.
    pub(super) begins: bool,
    /// The version of a first segment that can't be read.
    pub(super) version: Option<u8>,
    /// There was more than is told apart.
    pub(super) is_cut: bool,
    /// The trace that was chosen.
    trace: u32,
}

impl Survey {
    pub(super) fn of<R: Read + Seek>(window: &mut Window<R>) -> io::Result<Self> {
        let mut survey = Self {
            begins: window.get(0, MAGIC.len())? == MAGIC,
            ..Self::default()
        };
        let mut at = 0;
        // What was checked in vain. A payload may be full of what looks like headers, each with a
        // payload as large as can be.
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
                    at += next_place(window.near(at)) as u64;
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
            // The next segment may begin within what this one claims, if its end is missing.
            at += match vain <= 4 * at + 2 * LARGEST_PAYLOAD as u64 {
                true => next_place(segment),
                false => segment.len(),
            } as u64;
        }
    }

    fn sound(&mut self, at: u64, header: &Header) {
        let (first, next) = (Place::of(header), Place::after(header));
        let before = self.runs.last().map_or(0, |run| run.sound);
        let end = at + (HEADER as u64 + u64::from(header.length));
        if let Some(last) = self.runs.last_mut()
            && (last.bytes.end, last.next, last.trace) == (at, first, header.trace)
        {
            last.bytes.end = end;
            last.next = next;
            last.sound += end - at;
            last.segments += 1;
        } else if self.runs.len() < MOST_RUNS {
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
        if self.headers.len() < MOST_RUNS {
            self.headers.push(LoneHeader {
                at,
                first: Place::of(header),
                next: Place::after(header),
                trace: header.trace,
            });
        }
    }

    /// Parts the runs into those of one trace, in its order, and all others in the order of the
    /// file. It is the trace of which most is there.
    pub(super) fn chosen(&mut self) -> (Vec<Run>, Vec<Run>) {
        self.trace = largest(&self.runs);
        // The first segment of a trace holds nothing, and does not say of which trace it is.
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

    /// Bytes of a part of the file that are in sound segments.
    pub(super) fn sound_bytes(&self, bytes: &Range<u64>) -> u64 {
        let up_to = |at: u64| {
            let runs = self.runs.partition_point(|run| run.bytes.end <= at);
            let before = match self.runs.get(runs) {
                // `at` is in that run.
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

    /// Returns how far the trace went that has come to `place` at byte `end`, by the headers after
    /// it.
    pub(super) fn reached_after(&self, end: u64, mut place: Place) -> Place {
        for header in &self.headers {
            if header.at >= end && self.is_of_trace(header.trace) && place.leads_to(header.first) {
                place = header.next;
            }
        }
        place
    }
}

/// The trace with most events, the first of several.
fn largest(runs: &[Run]) -> u32 {
    let mut sizes: HashMap<u32, (u64, Reverse<usize>)> = HashMap::new();
    for (n, run) in runs.iter().enumerate().filter(|(_, run)| run.trace != 0) {
        let size = sizes.entry(run.trace).or_insert((0, Reverse(n)));
        size.0 = size.0.saturating_add(run.events());
    }
    let largest = sizes.into_iter().max_by_key(|(_, size)| *size);
    largest.map_or(0, |(trace, _)| trace)
}
