//! Drives a decoder over a stream, in bounded memory.

use crate::import::MAX_DETECT_BYTES;
use crate::packed::{Found, Packed, Packing, find};
use crate::{
    DETECT_BYTES, Decode, DecodeError, Decoded, Format, Handed, InOrder, Readable, Remark,
    Severity, Step,
};
use jtrail_model::{Calls, Event};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// Reads a trace from a stream, whatever its format. If the stream is a gzip file or a ZIP archive,
/// it reads the trace in it.
pub struct Reader<R> {
    source: Packed<R>,
    format: Readable,
    decoder: Box<dyn Decode>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    at_end: bool,
    order: Option<InOrder>,
    /// True if the decoder has reported that the trace is truncated.
    is_truncated: bool,
}

/// One item that a [`Reader`] passes to the visitor.
#[derive(Debug)]
pub enum Item<'a> {
    /// An event.
    Event {
        /// Position of the event, in bytes from the start of the trace. White space and headers
        /// directly before the event belong to it.
        offset: u64,
        /// The event.
        event: Event<'a>,
    },
    /// A remark on the trace; reading continues.
    Remark(Remark),
}

/// A unit that a [`Reader`] passes to the visitor of [`Reader::for_each_in_bulk`].
#[derive(Debug)]
pub enum Bulk<'a> {
    /// A single item.
    Item(Item<'a>),
    /// Consecutive calls of one thread, each of them an event.
    Calls {
        /// Position of the calls, like [`Item::Event::offset`].
        offset: u64,
        /// The calls.
        calls: Calls<'a>,
    },
}

impl<'a> Bulk<'a> {
    /// Passes each item of the bulk to `visit`, until `visit` breaks.
    pub fn items<B>(self, mut visit: impl FnMut(Item<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        match self {
            Self::Item(item) => visit(item),
            Self::Calls { offset, calls } => calls
                .events()
                .try_for_each(|event| visit(Item::Event { offset, event })),
        }
    }
}

/// The reason why a trace can't be read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The start of the stream matches no known format.
    #[error("not a trace: {0}")]
    UnknownFormat(&'static str),
    /// The stream is a packed file, and its content can't be read. The text is the reason.
    #[error("not a trace: {0}")]
    Packed(String),
    /// The decoder failed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An item is larger than the limit. Items of real traces are smaller.
    #[error("{format}: at byte {offset}: one item is larger than {limit} bytes")]
    TooLarge {
        /// Name of the format.
        format: &'static str,
        /// Position of the item, in bytes from the start of the trace.
        offset: u64,
        /// Maximum size of an item, in bytes.
        limit: usize,
    },
}

const FIRST_BUFFER: usize = 256 << 10;
const MAX_ITEM_BYTES: usize = 64 << 20;

impl<R: Read> Reader<R> {
    /// Reads the start of `source` and chooses the decoder by it.
    ///
    /// # Errors
    /// If the stream fails, or if its start matches no known format.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut reader = Self {
            source: Packed::new(source),
            format: Format::TptpXml.into(),
            decoder: Format::TptpXml.decoder(),
            buffer: vec![0; FIRST_BUFFER],
            start: 0,
            end: 0,
            offset: 0,
            at_end: false,
            order: None,
            is_truncated: false,
        };
        reader.fill_head()?;
        reader.unpack()?;
        reader.format = reader.detect()?;
        reader.decoder = reader.format.decoder();
        Ok(reader)
    }

    /// Detects the format. Reads more bytes if an import may need them.
    fn detect(&mut self) -> Result<Readable, ReadError> {
        loop {
            let head = &self.buffer[..self.end];
            if let Some(format) = Readable::detect(head, self.at_end) {
                return Ok(format);
            }
            // Only text can become an import.
            if self.at_end || head.len() >= MAX_DETECT_BYTES || head.contains(&0) {
                return Err(ReadError::UnknownFormat(match head {
                    [] => "it is empty",
                    _ if self.source.is_packed() => {
                        "it is a packed file, and not of a trace in a known format"
                    }
                    [b'P', b'K', ..] => "it is a ZIP archive without a file",
                    _ => "its first bytes are those of no format that jtrail knows",
                }));
            }
            self.fill()?;
        }
    }

    /// Reads the bytes by which the format is detected.
    fn fill_head(&mut self) -> Result<(), ReadError> {
        while self.end < DETECT_BYTES && !self.at_end {
            self.fill()?;
        }
        Ok(())
    }

    /// If the stream is packed, replaces its first bytes by those of its content.
    fn unpack(&mut self) -> Result<(), ReadError> {
        let Some(packing) = self.find_packing()? else {
            return Ok(());
        };
        self.source.unpack(packing, &self.buffer[..self.end]);
        (self.end, self.at_end) = (0, false);
        self.fill_head()?;
        match self.source.failure() {
            Some(failure) if self.end == 0 => {
                return Err(ReadError::Packed(failure.message.clone()));
            }
            _ => {}
        }
        match self.find_packing()? {
            None => Ok(()),
            Some(inner) => Err(ReadError::Packed(format!(
                "{} in {}; unpack the outer one first",
                inner.name(),
                packing.name()
            ))),
        }
    }

    /// Returns how the stream is packed, by its first bytes.
    fn find_packing(&mut self) -> Result<Option<Packing>, ReadError> {
        loop {
            match find(&self.buffer[..self.end], self.at_end) {
                Found::Plain => return Ok(None),
                Found::Packed(packing) => return Ok(Some(packing)),
                Found::NeedMore => self.fill()?,
            }
        }
    }

    /// Returns true if the stream is a packed file. Positions are those in its content.
    pub fn is_packed(&self) -> bool {
        self.source.is_packed()
    }

    /// Makes the reader sort the calls of a trail by time. Without this, it passes many calls of
    /// one thread together. See [`InOrder`].
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.order = (self.format == Format::Trail).then(InOrder::default);
        self
    }

    /// Returns the detected format.
    pub fn format(&self) -> Readable {
        self.format
    }

    /// Returns the number of bytes of the trace that were decoded so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Passes every event and remark to `visit`, in order, until the trace ends or `visit` breaks.
    ///
    /// # Errors
    /// If the stream fails, or if nothing after a position can be read.
    pub fn for_each<B>(
        &mut self,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, ReadError> {
        self.run::<_, false>(|bulk| bulk.items(&mut visit))
    }

    /// Like [`Self::for_each`], but passes calls in bulk. This is faster for trails, because their
    /// decoder returns many events at once, and slower for other formats. If `visit` breaks at a
    /// [`Bulk::Calls`], the rest of these calls is skipped.
    ///
    /// # Errors
    /// The same as those of [`Self::for_each`].
    pub fn for_each_in_bulk<B>(
        &mut self,
        visit: impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, ReadError> {
        self.run::<_, true>(visit)
    }

    fn run<B, const IN_BULK: bool>(
        &mut self,
        mut visit: impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, ReadError> {
        let mut order = self.order.take();
        let mut read = self.read_all::<_, IN_BULK>(order.as_mut(), &mut visit);
        if let (Ok(None) | Err(_), Some(order)) = (&read, &mut order)
            && let ControlFlow::Break(value) = order.flush(&mut visit)
        {
            read = Ok(Some(value));
        }
        self.order = order;
        read
    }

    fn read_all<B, const IN_BULK: bool>(
        &mut self,
        mut order: Option<&mut InOrder>,
        visit: &mut impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, ReadError> {
        let mut hand_out = |bulk: Option<Bulk<'_>>| match (&mut order, bulk) {
            (Some(order), Some(bulk)) => order.take(bulk, &mut *visit),
            (None, Some(bulk)) => visit(bulk),
            // The next read may block, so waiting calls are handed out first.
            (Some(order), None) => order.flush(&mut *visit),
            (None, None) => ControlFlow::Continue(()),
        };
        loop {
            let input = &self.buffer[self.start..self.end];
            let decoded = self.decoder.step(input, self.at_end);
            let is_over = match &decoded {
                Ok(decoded) => match &decoded.step {
                    Step::End => true,
                    Step::NeedMore => self.at_end,
                    Step::Remark(remark) => {
                        self.is_truncated |= remark.severity == Severity::Truncated;
                        false
                    }
                    _ => false,
                },
                Err(_) => true,
            };
            if is_over {
                let remark = self.source.remark(self.offset, self.is_truncated)?;
                let item = remark.map(|remark| hand_out(Some(Bulk::Item(Item::Remark(remark)))));
                return match (item, decoded) {
                    (Some(ControlFlow::Break(value)), _) => Ok(Some(value)),
                    (_, Err(error)) => Err(error.into()),
                    (_, Ok(_)) => Ok(None),
                };
            }
            let Decoded { used, step } = decoded?;
            let flow = match step {
                Step::Event(event) => {
                    let offset = self.offset;
                    hand_out(Some(Bulk::Item(Item::Event { offset, event })))
                }
                Step::Remark(remark) => hand_out(Some(Bulk::Item(Item::Remark(remark)))),
                Step::Nothing if IN_BULK => {
                    let offset = self.offset + used as u64;
                    let mut flow = ControlFlow::Continue(());
                    self.decoder.hand_out(&mut |handed| {
                        let bulk = match handed {
                            Handed::Event(event) => Bulk::Item(Item::Event { offset, event }),
                            Handed::Calls(calls) => Bulk::Calls { offset, calls },
                        };
                        flow = hand_out(Some(bulk));
                        match flow {
                            ControlFlow::Continue(()) => ControlFlow::Continue(()),
                            ControlFlow::Break(_) => ControlFlow::Break(()),
                        }
                    });
                    flow
                }
                Step::Nothing => ControlFlow::Continue(()),
                Step::End => return Ok(None),
                Step::NeedMore => {
                    // In bulk, events need not be handed out as soon as the source provides them.
                    if !IN_BULK && let ControlFlow::Break(value) = hand_out(None) {
                        return Ok(Some(value));
                    }
                    self.fill()?;
                    continue;
                }
            };
            self.start += used;
            self.offset += used as u64;
            if let ControlFlow::Break(value) = flow {
                return Ok(Some(value));
            }
        }
    }

    /// Moves the bytes not yet decoded to the front of the buffer, and reads more after them.
    fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= MAX_ITEM_BYTES {
                return Err(ReadError::TooLarge {
                    format: self.format.name(),
                    offset: self.offset,
                    limit: MAX_ITEM_BYTES,
                });
            }
            self.buffer.resize(self.end * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(n) => {
                    self.at_end = n == 0;
                    self.end += n;
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}
