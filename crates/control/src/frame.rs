//! Frames, the units of the wire protocol.
//!
//! ```text
//! frame = 'J' 'T' kind:u8 0:u8 length:u32 payload
//! ```
//!
//! `length` is little-endian and counts the payload. Commands, answers and notices are XML
//! documents; data are bytes of a trace. A header is checked as soon as it has arrived. So the
//! payload of an invalid frame is never stored.

use std::fmt;

/// The size of a frame's header in bytes.
pub const HEADER: usize = 8;
/// The maximum size of a command, an answer or a notice, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 64 << 10;
/// The maximum number of bytes of a trace in one frame.
pub const MAX_DATA_BYTES: usize = 256 << 10;

const MAGIC: [u8; 2] = *b"JT";

/// The kind of a frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// Client to agent: a [`Command`](crate::Command).
    Command = 1,
    /// Agent to client: the [`Answer`](crate::Answer) to a command.
    Answer = 2,
    /// Agent to client: bytes of the trace.
    Data = 3,
    /// Agent to client, unsolicited: a [`Notice`](crate::Notice).
    Notice = 4,
}

impl FrameKind {
    fn of(byte: u8) -> Option<Self> {
        [Self::Command, Self::Answer, Self::Data, Self::Notice]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }

    /// Returns the maximum size of the payload in bytes.
    pub const fn limit(self) -> usize {
        match self {
            Self::Data => MAX_DATA_BYTES,
            Self::Command | Self::Answer | Self::Notice => MAX_DOCUMENT_BYTES,
        }
    }
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command => "a command",
            Self::Answer => "an answer",
            Self::Data => "data",
            Self::Notice => "a notice",
        })
    }
}

/// A received frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The kind of the payload.
    pub kind: FrameKind,
    /// The payload, within the limit of its kind.
    pub payload: Vec<u8>,
}

/// Appends a frame to `out`.
///
/// # Panics
/// If the payload is larger than [`FrameKind::limit`].
pub fn encode(kind: FrameKind, payload: &[u8], out: &mut Vec<u8>) {
    assert!(payload.len() <= kind.limit(), "{kind} is too large");
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[kind as u8, 0]);
    // The limit fits into a u32.
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(payload);
}

/// The error for bytes that are not frames. The bytes after them can't be read either.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{fault} in the frame at byte {at}")]
pub struct FrameError {
    /// The frame's position in the connection, in bytes.
    pub at: u64,
    /// The error in the frame.
    pub fault: FrameFault,
}

/// An error in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameFault {
    /// The frame does not begin with `JT`.
    Magic,
    /// The kind is unknown, or not allowed in this direction.
    Kind(u8),
    /// The fourth byte is not 0.
    Reserved(u8),
    /// The payload is larger than its kind allows.
    Size {
        /// The kind of the payload.
        kind: FrameKind,
        /// The size of the payload in bytes.
        length: u32,
    },
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("JT is missing"),
            Self::Kind(kind) => write!(f, "kind {kind} is not expected"),
            Self::Reserved(byte) => write!(f, "the fourth byte is {byte}, not 0"),
            Self::Size { kind, length } => {
                write!(
                    f,
                    "{length} bytes for {kind}, at most {} are allowed",
                    kind.limit()
                )
            }
        }
    }
}

/// Splits a stream of bytes into frames. The bytes may arrive in any pieces.
///
/// It stores only the bytes fed since the last frame was taken. To limit them, take all frames
/// before feeding more bytes, and feed pieces of bounded size.
#[derive(Debug)]
pub struct Decoder {
    expected: &'static [FrameKind],
    buffer: Vec<u8>,
    /// The number of bytes at the start of the buffer whose frames were taken.
    taken: usize,
    /// The buffer's position in the connection, in bytes.
    before: u64,
    failed: Option<FrameError>,
}

impl Decoder {
    /// Creates a decoder for the bytes of a client.
    pub fn for_agent() -> Self {
        Self::new(&[FrameKind::Command])
    }

    /// Creates a decoder for the bytes of an agent.
    pub fn for_client() -> Self {
        Self::new(&[FrameKind::Answer, FrameKind::Data, FrameKind::Notice])
    }

    fn new(expected: &'static [FrameKind]) -> Self {
        Self {
            expected,
            buffer: Vec::new(),
            taken: 0,
            before: 0,
            failed: None,
        }
    }

    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return; // no more frames will be decoded
        }
        self.buffer.drain(..self.taken);
        self.before += self.taken as u64;
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next frame; `None` if more bytes are needed.
    ///
    /// # Errors
    /// If the next frame is invalid. All later calls return the same error.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.frame().map_err(|fault| {
            let at = self.before + self.taken as u64;
            let error = FrameError { at, fault };
            self.failed = Some(error);
            self.buffer = Vec::new();
            error
        })
    }

    /// Returns true if a frame has arrived only in part.
    pub fn is_within_frame(&self) -> bool {
        self.failed.is_none() && self.taken < self.buffer.len()
    }

    fn frame(&mut self) -> Result<Option<Frame>, FrameFault> {
        let rest = &self.buffer[self.taken..];
        let begun = rest.len().min(MAGIC.len());
        if rest[..begun] != MAGIC[..begun] {
            return Err(FrameFault::Magic);
        }
        let Some(&byte) = rest.get(2) else {
            return Ok(None);
        };
        let kind = FrameKind::of(byte)
            .filter(|kind| self.expected.contains(kind))
            .ok_or(FrameFault::Kind(byte))?;
        match rest.get(3) {
            None => return Ok(None),
            Some(0) => {}
            Some(&byte) => return Err(FrameFault::Reserved(byte)),
        }
        let Some(&[a, b, c, d]) = rest.get(4..HEADER) else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, d]);
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        if size > kind.limit() {
            return Err(FrameFault::Size { kind, length });
        }
        let Some(payload) = rest.get(HEADER..HEADER + size) else {
            return Ok(None);
        };
        let payload = payload.to_vec();
        self.taken += HEADER + size;
        Ok(Some(Frame { kind, payload }))
    }
}
