//! Drives a decoder over a stream, in bounded memory.

use crate::{DETECT_BYTES, Decode, DecodeError, Decoded, Format, Handed, InOrder, Remark, Step};
use jtrail_model::{Calls, Event};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// Reads a trace from a stream, whatever its format.
pub struct Reader<R> {
    source: R,
    format: Format,
    decoder: Box<dyn Decode>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    at_end: bool,
    order: Option<InOrder>,
}

/// What a [`Reader`] hands out.
#[derive(Debug)]
pub enum Item<'a> {
    /// An event.
    Event {
        /// Where it starts, in bytes from the start of the trace; white space and headers before it
        /// count in.
        offset: u64,
        /// What it says.
        event: Event<'a>,
    },
    /// A remark on the trace; reading goes on.
    Remark(Remark),
}

/// What a [`Reader`] hands out in bulk.
#[derive(Debug)]
pub enum Bulk<'a> {
    /// By itself.
    Item(Item<'a>),
    /// Calls of one thread in a row, each an event.
    Calls {
        /// Where they start, as of an item.
        offset: u64,
        /// What they are.
        calls: Calls<'a>,
    },
}

impl<'a> Bulk<'a> {
    /// Hands the bulk to `visit` as single items, until `visit` is truncated.
    pub fn items<B>(self, mut visit: impl FnMut(Item<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        match self {
            Self::Item(item) => visit(item),
            Self::Calls { offset, calls } => calls
                .events()
                .try_for_each(|event| visit(Item::Event { offset, event })),
        }
    }
}

/// Why a trace can't be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stream's begin is of no known format.
    #[error("not a trace: {0}")]
    UnknownFormat(&'static str),
    /// The decoder gave up.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An item is larger than any sensible trace has.
    #[error("{format}: at byte {offset}: one item is larger than {limit} bytes")]
    TooLarge {
        /// Name of the format.
        format: &'static str,
        /// Where the item starts.
        offset: u64,
        /// The limit.
        limit: usize,
    },
}

const FIRST_BUFFER: usize = 256 << 10;
const LARGEST_ITEM: usize = 64 << 20;

impl<R: Read> Reader<R> {
    /// Looks at the begin of `source` and chooses the decoder by it.
    ///
    /// # Errors
    /// When the stream fails, or starts like no format that is known.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut reader = Self {
            source,
            format: Format::TptpXml,
            decoder: Format::TptpXml.decoder(),
            buffer: vec![0; FIRST_BUFFER],
            start: 0,
            end: 0,
            offset: 0,
            at_end: false,
            order: None,
        };
        while reader.end < DETECT_BYTES && !reader.at_end {
            reader.fill()?;
        }
        let head = &reader.buffer[..reader.end];
        reader.format = Format::detect(head).ok_or(ReadError::UnknownFormat(match head {
            [] => "it is empty",
            [b'P', b'K', ..] => {
                "it is a ZIP archive; unpack it first and read the XML documents in it"
            }
            _ => "its first bytes are those of no format that jtrail knows",
        }))?;
        reader.decoder = reader.format.decoder();
        Ok(reader)
    }

    /// From now on, hands out the calls of a trail in the order of time, too, where it would hand
    /// out those of each thread in a row. See [`InOrder`].
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.order = (self.format == Format::Trail).then(InOrder::default);
        self
    }

    /// The format found.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes of the trace that were decoded so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Hands every event and remark to `visit`, in order, until the trace ends or `visit` breaks
    /// off.
    ///
    /// # Errors
    /// When the stream fails, or nothing behind a place can be read.
    pub fn for_each<B>(
        &mut self,
        mut visit: impl FnMut(Item<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, ReadError> {
        self.run::<_, false>(|bulk| bulk.items(&mut visit))
    }

    /// Like [`Self::for_each`], but quicker for trails, whose decoder hands out many events at
    /// once, and slower for other formats. If `visit` is truncated at some calls, the rest of these
    /// calls is skipped.
    ///
    /// # Errors
    /// Those of [`Self::for_each`].
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
            // The source may make us wait.
            (Some(order), None) => order.flush(&mut *visit),
            (None, None) => ControlFlow::Continue(()),
        };
        loop {
            let input = &self.buffer[self.start..self.end];
            let Decoded { used, step } = self.decoder.step(input, self.at_end)?;
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
                Step::NeedMore if self.at_end => return Ok(None),
                Step::NeedMore => {
                    // In bulk, what a source gave is not wanted at once.
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

    /// Makes room behind the bytes not yet decoded, and reads into it.
    fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= LARGEST_ITEM {
                return Err(ReadError::TooLarge {
                    format: self.format.name(),
                    offset: self.offset,
                    limit: LARGEST_ITEM,
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
