//! The second pass over a corrupt trail: writes the contents of its sound segments to a new trail.

use super::survey::{Run, Survey, TracePosition};
use super::{Gap, More, Other, REASON, RecoverError, Recovered, Window};
use crate::Encode;
use crate::trail::calls::{Thread, Threads};
use crate::trail::columns::unpack;
use crate::trail::decode::block::Block;
use crate::trail::decode::copies::Copies;
use crate::trail::encode::Encoder;
use crate::trail::index::IndexContents;
use crate::trail::value::Bytes;
use crate::trail::wire::{HEADER, Header, Kind};
use jtrail_model::{Custom, Event, Lost, Note, ThreadId, Timestamp};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;

/// Number of encoded bytes that are collected before they are written.
const CHUNK: usize = 256 << 10;

/// Writer of a new trail from sound segments.
pub(super) struct Salvage<'o> {
    survey: &'o Survey,
    out: &'o mut dyn Write,
    more: &'o mut dyn More,
    encoder: Encoder,
    buffer: Vec<u8>,
    /// Position after the last used segment, in the file.
    end: u64,
    /// Position after the last used segment, in the trace.
    next: TracePosition,
    threads: Threads,
    ended: Vec<u64>,
    block: Block,
    /// Copies of the definitions in the next segment.
    copies: Option<Vec<u8>>,
    /// Number of lost events without a note so far.
    unreported: u64,
    /// Latest time so far.
    latest: Option<i64>,
    /// First time of the current segment.
    first: Option<i64>,
    recovered: Recovered,
}

impl<'o> Salvage<'o> {
    pub(super) fn new(survey: &'o Survey, out: &'o mut dyn Write, more: &'o mut dyn More) -> Self {
        let mut salvage = Self {
            survey,
            out,
            more,
            encoder: Encoder::default(),
            buffer: Vec::new(),
            end: 0,
            next: TracePosition::default(),
            threads: Threads::default(),
            ended: Vec::new(),
            block: Block::default(),
            copies: None,
            unreported: 0,
            latest: None,
            first: None,
            recovered: Recovered::default(),
        };
        salvage.encoder.begin(&mut salvage.buffer);
        salvage
    }

    /// Uses those segments of the next stretch that continue the trace.
    pub(super) fn run<R: Read + Seek>(
        &mut self,
        window: &mut Window<R>,
        run: &Run,
    ) -> Result<(), RecoverError> {
        let mut at = run.bytes.start;
        let mut repeated: Option<Other> = None;
        while at < run.bytes.end {
            let (header, payload) = segment(window, at)?;
            let bytes = at..at + (HEADER + payload.len()) as u64;
            at = bytes.end;
            let place = TracePosition::of(&header);
            if self.next.leads_to(place) {
                self.gap(bytes.start, place, false)?;
                self.segment(&header, payload, bytes)?;
                continue;
            }
            let other = repeated.get_or_insert_with(|| Other {
                bytes: bytes.clone(),
                segments: 0,
                events: 0,
                is_repeated: true,
            });
            other.bytes.end = bytes.end;
            other.segments += 1;
            other.events += u64::from(header.events);
        }
        self.recovered.others.extend(repeated);
        Ok(())
    }

    /// Moves to another position in the file and in the trace. Records a gap if anything is
    /// missing, and recovers definitions from their copies.
    fn gap(&mut self, at: u64, place: TracePosition, is_last: bool) -> Result<(), RecoverError> {
        let bytes = self.end.min(at)..at;
        let damaged = (at - bytes.start).saturating_sub(self.survey.sound_bytes(&bytes));
        let definitions = match is_last || self.next != place {
            true => self.take_copies()?,
            false => 0,
        };
        let events = self.next.before..place.before.max(self.next.before);
        if damaged > 0 || self.next != place {
            self.lose(Gap {
                bytes,
                damaged,
                events,
                definitions,
            });
        }
        (self.end, self.next) = (at, place);
        Ok(())
    }

    /// Writes the definitions of the pending copies. Returns their number.
    fn take_copies(&mut self) -> io::Result<u64> {
        let mut taken = 0;
        for event in self.copies.take().map(Copies::of).into_iter().flatten() {
            self.event(&event)?;
            taken += 1;
        }
        Ok(taken)
    }

    fn lose(&mut self, gap: Gap) {
        self.unreported = self.unreported.saturating_add(gap.lost());
        self.recovered.lost = self.recovered.lost.saturating_add(gap.lost());
        self.recovered.gaps.push(gap);
    }

    fn segment(
        &mut self,
        header: &Header,
        payload: &[u8],
        bytes: Range<u64>,
    ) -> Result<(), RecoverError> {
        (self.end, self.next) = (bytes.end, TracePosition::after(header));
        match header.kind {
            Kind::Definitions => {
                let mut column = [Vec::new()];
                let read = unpack(header.version, &mut Bytes(payload), &mut column);
                let [column] = column;
                self.copies = read.map(|()| column);
            }
            Kind::Index => {
                let end = IndexContents::get(header.version, payload).and_then(|found| found.end);
                self.recovered.has_end = end.is_some_and(|(_, is_truncated)| !is_truncated);
            }
            Kind::Events => {
                if header.times != [0; 2] {
                    self.first = Some(header.times[0]);
                }
                self.events(header, payload, bytes)?;
                if header.times != [0; 2] {
                    self.latest = self.latest.max(Some(header.times[1]));
                }
                self.first = None;
            }
        }
        Ok(())
    }

    fn events(
        &mut self,
        header: &Header,
        payload: &[u8],
        bytes: Range<u64>,
    ) -> Result<(), RecoverError> {
        self.recovered.has_end &= header.events == 0;
        let (mut taken, mut definitions) = (0, 0);
        if self.block.begin(header, payload, &self.threads).is_none() {
            definitions = self.take_copies()?;
        } else {
            self.copies = None;
            while self.block.left() > 0 {
                let Some(event) = self.block.next() else {
                    break;
                };
                if let Event::ThreadEnd(e) = &event {
                    self.ended.push(e.thread.0);
                }
                self.event(&event)?;
                taken += 1;
            }
            let had_events = |(_, thread): &(u64, Thread)| thread.events > 0;
            self.threads.extend(self.block.threads().filter(had_events));
            for thread in self.ended.drain(..) {
                self.threads.remove(&thread);
            }
        }
        if taken < header.events {
            // The checksum is right, but the contents are malformed. So the file is not corrupt,
            // but was written by a faulty writer.
            let events = header.before.saturating_add(taken.into())
                ..header.before.saturating_add(header.events.into());
            self.lose(Gap {
                damaged: bytes.end - bytes.start,
                bytes,
                events,
                definitions,
            });
        }
        Ok(())
    }

    /// Writes an event of the trace.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        // The note must not precede the opening events of a trace.
        if self.unreported > 0 && !event.is_opening() {
            self.report_loss()?;
        }
        self.recovered.events += 1;
        self.more.seen(event);
        self.put(event)
    }

    /// Writes the events that the file does not have. Returns the change in the number of open
    /// calls.
    fn add_more(&mut self) -> io::Result<i64> {
        let mut open = 0;
        let Self {
            more,
            encoder,
            buffer,
            out,
            recovered,
            ..
        } = self;
        more.hand_out(&mut |event| {
            recovered.events += 1;
            recovered.added += 1;
            match event {
                Event::MethodEnter(_) => open += 1,
                Event::MethodLeave(_) => open -= 1,
                _ => {}
            }
            put(encoder, event, buffer, out)
        })?;
        Ok(open)
    }

    fn report_loss(&mut self) -> io::Result<()> {
        let from = self.latest.or(self.first).unwrap_or(0);
        let to = self.first.unwrap_or(from).max(from);
        let note = Note::Lost(Lost {
            thread: ThreadId::NONE,
            events: std::mem::take(&mut self.unreported),
            from: Timestamp(from),
            to: Timestamp(to),
            reason: REASON.into(),
        });
        self.put(&Event::Custom(Custom {
            body: note.to_string().into(),
        }))
    }

    fn put(&mut self, event: &Event<'_>) -> io::Result<()> {
        put(&mut self.encoder, event, &mut self.buffer, self.out)
    }

    /// Ends the new trail.
    pub(super) fn finish(mut self, others: &[Run]) -> Result<Recovered, RecoverError> {
        let survey = self.survey;
        // The header of a segment with a corrupt payload still says how many events the segment
        // had.
        let reached = survey.reached_after(self.end, self.next);
        self.gap(survey.size.max(self.end), reached, true)?;
        if self.unreported > 0 {
            self.report_loss()?;
        }
        let more_open = self.add_more()?;
        let dropped = self.encoder.dropped_events();
        self.unreported = self.unreported.saturating_add(dropped);
        self.recovered.lost = self.recovered.lost.saturating_add(dropped);
        self.recovered.events = self.recovered.events.saturating_sub(dropped);
        if self.unreported > 0 {
            self.report_loss()?;
        }
        self.recovered.is_added = self.more.is_known();
        if !self.recovered.has_end && !self.recovered.is_added {
            self.encoder.mark_truncated();
        }
        self.encoder.end(&mut self.buffer);
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        let open = |thread: &Thread| u64::try_from(thread.depth).unwrap_or(0);
        let mut recovered = self.recovered;
        let open_calls = self.threads.values().map(open).fold(0, u64::saturating_add);
        recovered.open_calls = open_calls.saturating_add_signed(more_open);
        recovered.size = survey.size;
        recovered.is_cut = survey.is_cut;
        let other = |run: &Run| Other {
            segments: run.segments,
            events: run.events(),
            // The first segment is the same in all traces.
            is_repeated: run.trace == 0 && run.events() == 0,
            bytes: run.bytes.clone(),
        };
        recovered.others.extend(others.iter().map(other));
        recovered.others.sort_by_key(|other| other.bytes.start);
        recovered.gaps.sort_by_key(|gap| gap.bytes.start);
        Ok(recovered)
    }
}

fn put(
    encoder: &mut Encoder,
    event: &Event<'_>,
    buffer: &mut Vec<u8>,
    out: &mut dyn Write,
) -> io::Result<()> {
    encoder.event(event, buffer);
    if buffer.len() >= CHUNK {
        out.write_all(buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// Reads the segment at a position where the first pass found one.
fn segment<R: Read + Seek>(
    window: &mut Window<R>,
    at: u64,
) -> Result<(Header, &[u8]), RecoverError> {
    let header = window.get(at, HEADER)?.first_chunk();
    let header = header.and_then(|bytes| Header::get(bytes).ok());
    let header = header.ok_or(RecoverError::Changed)?;
    let length = HEADER + header.length as usize;
    match window.get(at, length)?.split_at_checked(HEADER) {
        Some((_, payload)) if payload.len() == header.length as usize => Ok((header, payload)),
        _ => Err(RecoverError::Changed),
    }
}
