//! Reads the header and the buffers of a file.

mod definitions;
mod gunzip;
mod merge;
mod raw;
pub(super) mod remarks;
mod replay;

use super::header::{Found, Header};
use super::wire::{BUFFER_HEADER, DEFINITIONS, MAX_BUFFER_BYTES};
use super::{FORMAT, GZIP_MAGIC, header};
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use gunzip::Gunzip;
use merge::Batch;
use raw::{Buffer, BufferHeader};
use replay::Replay;

/// Maximum size of the buffers that are merged, in bytes. Batches that jtrail writes are smaller.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// Decoder of log profiles, plain or compressed with gzip.
#[derive(Debug, Default)]
pub struct Decoder(Source);

#[derive(Debug, Default)]
enum Source {
    #[default]
    Unknown,
    Plain(Box<Stream>),
    Gzip(Box<Gunzip>),
}

impl Decode for Decoder {
    #[inline]
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let (used, step) = match &mut self.0 {
            Source::Plain(stream) => stream.step(input, last)?,
            Source::Gzip(gunzip) => gunzip.step(input, last)?,
            Source::Unknown => {
                if input.len() < GZIP_MAGIC.len() && !last {
                    (0, Step::NeedMore)
                } else {
                    self.0 = if input.starts_with(GZIP_MAGIC) {
                        Source::Gzip(Box::default())
                    } else {
                        Source::Plain(Box::default())
                    };
                    (0, Step::Nothing)
                }
            }
        };
        Ok(Decoded { used, step })
    }
}

/// Decoder of an uncompressed file: a header, and buffers.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Offset at which the input of the next step starts.
    offset: u64,
    header: Option<Box<Header>>,
    batch: Batch,
    /// True while events are taken from the batch. No buffers are added to the batch during that
    /// time.
    is_draining_batch: bool,
    replay: Replay,
    /// True if the last buffer was an empty buffer of definitions. jtrail ends a file with such a
    /// buffer if the trace does not report the end of the agent.
    ends_empty: bool,
    ending: Option<Ending>,
}

#[derive(Debug)]
enum Ending {
    /// The file is complete, but its last events are not reported yet.
    Complete,
    /// The file is truncated. Holds the remark until it is reported.
    Truncated(Option<Remark>),
    Refused(DecodeError),
}

pub(super) type Stepped = Result<(usize, Step<'static>), DecodeError>;

impl Stream {
    #[inline]
    pub(super) fn step(&mut self, input: &[u8], last: bool) -> Stepped {
        if self.is_draining_batch {
            if let Some(event) = self.replay.queued() {
                return Ok((0, Step::Event(event)));
            }
            while let Some(next) = self.batch.next() {
                if let Some(event) = self.replay.next(next) {
                    return Ok((0, Step::Event(event)));
                }
            }
            self.is_draining_batch = false;
        }
        let (used, step) = match self.ending {
            Some(_) => self.ending(),
            None if self.header.is_none() => self.header(input, last),
            None => self.buffer(input, last),
        }?;
        self.offset += used as u64;
        Ok((used, step))
    }

    fn header(&mut self, input: &[u8], last: bool) -> Stepped {
        match header::read(input) {
            Found::Header(header, used) => {
                self.replay.header(&header);
                self.header = Some(header);
                Ok((used, Step::Nothing))
            }
            Found::Part if !last => Ok((0, Step::NeedMore)),
            Found::Part => Err(self.refuse(0, "the file is shorter than its header".into())),
            Found::Wrong(at, message) => Err(self.refuse(at, message)),
        }
    }

    /// Adds a buffer to the batch. If the buffer belongs to the next batch, it is not added, and
    /// the events of the current batch are reported first.
    fn buffer(&mut self, input: &[u8], last: bool) -> Stepped {
        let Some(version) = self.header.as_ref().map(|header| header.version) else {
            return Ok((0, Step::End));
        };
        if input.is_empty() && last {
            return Ok(self.end(Ending::Complete));
        }
        let Some(head) = input.first_chunk::<BUFFER_HEADER>() else {
            return Ok(self.more(input, last));
        };
        let Some(header) = BufferHeader::read(head) else {
            let error = self.refuse(0, "no buffer starts here".into());
            return Ok(self.end(Ending::Refused(error)));
        };
        if header.length > MAX_BUFFER_BYTES {
            let message = format!("a buffer of {} bytes", header.length);
            let error = self.refuse(4, message);
            return Ok(self.end(Ending::Refused(error)));
        }
        let begins_batch = !self.batch.is_empty()
            && (header.thread == DEFINITIONS
                || !self.replay.is_own()
                || self.batch.has(header.thread)
                || self.batch.bytes() > MAX_BATCH_BYTES);
        if begins_batch {
            self.is_draining_batch = true;
            return Ok((0, Step::Nothing));
        }
        let Some(bytes) = input.get(BUFFER_HEADER..BUFFER_HEADER + header.length) else {
            return Ok(self.more(input, last));
        };
        self.replay.buffer(header.thread, header.time, self.offset);
        let definitions = self.replay.is_own() && header.thread == DEFINITIONS;
        self.ends_empty = definitions && header.length == 0;
        let offset = self.offset + BUFFER_HEADER as u64;
        let buffer = Buffer::new(version, header, bytes, offset);
        self.batch.add(buffer, bytes.len(), definitions);
        Ok((BUFFER_HEADER + bytes.len(), Step::Nothing))
    }

    fn more(&mut self, input: &[u8], last: bool) -> (usize, Step<'static>) {
        if !last {
            return (0, Step::NeedMore);
        }
        let remark = self.truncated(&format!("{} bytes of a buffer are skipped", input.len()));
        let used = input.len();
        let (_, step) = self.end(Ending::Truncated(Some(remark)));
        (used, step)
    }

    fn truncated(&self, how: &str) -> Remark {
        Remark {
            offset: self.offset,
            severity: Severity::Truncated,
            message: format!("the trace is truncated: {how}"),
        }
    }

    /// True if the trace is complete. Only files that jtrail wrote mark their end, so other files
    /// count as complete.
    fn ends(&self) -> bool {
        !self.replay.is_own() || self.replay.has_agent_end || self.ends_empty
    }

    /// Ends the input. The events of the current batch are reported next, then the ending.
    fn end(&mut self, ending: Ending) -> (usize, Step<'static>) {
        self.ending = Some(ending);
        self.is_draining_batch = true;
        (0, Step::Nothing)
    }

    fn ending(&mut self) -> Stepped {
        if let (None, Some(Ending::Refused(error))) = (&self.header, &self.ending) {
            return Err(error.clone());
        }
        if let Some(event) = self.replay.last_event() {
            return Ok((0, Step::Event(event)));
        }
        if let Some(remark) = self.replay.remarks.pop() {
            return Ok((0, Step::Remark(remark)));
        }
        if matches!(self.ending, Some(Ending::Complete)) && !self.ends() {
            let remark = self.truncated("the end is missing");
            self.ending = Some(Ending::Truncated(None));
            return Ok((0, Step::Remark(remark)));
        }
        match &mut self.ending {
            Some(Ending::Truncated(remark)) if remark.is_some() => {
                let remark = remark.take();
                Ok((0, remark.map_or(Step::End, Step::Remark)))
            }
            Some(Ending::Refused(error)) => Err(error.clone()),
            _ => Ok((0, Step::End)),
        }
    }

    fn refuse(&mut self, at: usize, message: String) -> DecodeError {
        let error = DecodeError {
            format: FORMAT,
            offset: self.offset + at as u64,
            message,
        };
        self.ending = Some(Ending::Refused(error.clone()));
        error
    }
}
