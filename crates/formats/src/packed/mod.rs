//! Traces inside of other files: gzip files and ZIP archives. [`Packed`] returns the content of
//! such a file as a stream, in bounded memory, from sources that can't seek.
//!
//! | First bytes | Content |
//! |---|---|
//! | `1f 8b` | gzip: all members, one after another, and zeros after them. A compressed log profile is left as it is: its decoder unpacks it, and skips corrupt pieces |
//! | `PK\x03\x04` | ZIP archive: its first file that is not empty |
//! | other | the bytes themselves |
//!
//! A file in a ZIP archive may be stored or deflated, also with 64-bit sizes. Its checksum and its
//! size are checked, wherever they are: before the file, or after it. The central directory is not
//! read. Folders, empty files, and what macOS adds below `__MACOSX/` are skipped.
//!
//! Refused, with a reason:
//!
//! - archives without a file, encrypted files, and other methods of compression
//! - stored files whose size follows them: their end can't be found
//! - packed files in packed files, except for compressed log profiles
//!
//! A second file in an archive is a fault, and so is what follows a gzip file. It is not read. A
//! file whose end is missing is read up to there, and is truncated.
//!
//! Positions of events and remarks are those in the content.

mod gzip;
mod zip;

pub(crate) use gzip::Members;

use crate::{Remark, Severity, mlpd};
use flate2::bufread::GzDecoder;
use std::io::{self, Read};

/// The first bytes of a ZIP archive that has a file.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// Maximum number of bytes that are read from the source, or unpacked, at once.
const PIECE: usize = 64 << 10;

/// Number of bytes of a gzip file within which its content must begin.
const MAX_GZIP_HEAD: usize = 192 << 10;

/// Something that was packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Gzip,
    Zip,
}

impl Packing {
    /// Returns the name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "a gzip file",
            Self::Zip => "a ZIP archive",
        }
    }
}

/// What the first bytes of a file tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The bytes are a trace, or nothing that is known.
    Plain,
    Packed(Packing),
    /// More bytes are needed.
    NeedMore,
}

/// Returns what a file is that begins with `head`. `last` is true if nothing follows.
pub(crate) fn find(head: &[u8], last: bool) -> Found {
    if head.starts_with(ZIP_MAGIC) {
        return Found::Packed(Packing::Zip);
    }
    if !head.starts_with(mlpd::GZIP_MAGIC) {
        return Found::Plain;
    }
    // The content may be shorter.
    let mut content = Vec::new();
    let mut start = GzDecoder::new(head).take(mlpd::MAGIC.len() as u64);
    match start.read_to_end(&mut content) {
        Ok(_) if content == mlpd::MAGIC => Found::Plain,
        Ok(_) => Found::Packed(Packing::Gzip),
        // The decoder of log profiles reports what is wrong with a file that is no gzip.
        Err(_) if last || head.len() >= MAX_GZIP_HEAD => Found::Plain,
        Err(_) => Found::NeedMore,
    }
}

/// Why a stream ended before the end of its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) severity: Severity,
    pub(crate) message: String,
}

impl Failure {
    fn truncated(what: &str) -> Self {
        Self {
            severity: Severity::Truncated,
            message: format!("{what} is truncated"),
        }
    }

    fn fault(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Fault,
            message: message.into(),
        }
    }
}

/// One step of unpacking.
#[derive(Debug)]
enum Unpacked {
    /// This number of bytes of the input were used.
    Used(usize),
    /// More input is needed. Never returned if the input was the last one.
    NeedMore,
    /// The content is complete.
    End,
}

/// Takes packed bytes and returns their content.
trait Unpack: Send {
    /// Unpacks the next bytes of `input`, and appends at most about a thousand times as many bytes
    /// to `out`. `last` is true if nothing follows `input`. Must not be called after
    /// [`Unpacked::End`] or a failure.
    fn step(&mut self, input: &[u8], last: bool, out: &mut Vec<u8>) -> Result<Unpacked, Failure>;
}

/// A stream that is unpacked if it is packed.
pub(crate) struct Packed<R> {
    source: R,
    unpacker: Option<Box<dyn Unpack>>,
    /// Bytes of the source.
    input: Bytes,
    at_end: bool,
    /// Bytes of the content.
    content: Bytes,
    is_done: bool,
    failure: Option<Failure>,
}

/// Bytes of which the first ones were used.
#[derive(Debug, Default)]
struct Bytes {
    bytes: Vec<u8>,
    used: usize,
}

impl Bytes {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Removes the used bytes.
    fn compact(&mut self) {
        self.bytes.drain(..self.used);
        self.used = 0;
    }
}

impl<R: Read> Packed<R> {
    /// Creates a stream of the bytes of `source` as they are.
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            unpacker: None,
            input: Bytes::default(),
            at_end: false,
            content: Bytes::default(),
            is_done: false,
            failure: None,
        }
    }

    /// Unpacks from now on. `head` is what was read so far.
    pub(crate) fn unpack(&mut self, packing: Packing, head: &[u8]) {
        self.input.bytes = head.to_vec();
        self.unpacker = Some(match packing {
            Packing::Gzip => Box::new(gzip::Gzip::default()),
            Packing::Zip => Box::new(zip::Zip::default()),
        });
    }

    /// Returns true if the stream is unpacked.
    pub(crate) fn is_packed(&self) -> bool {
        self.unpacker.is_some()
    }

    /// Returns why the content ended, unless it is complete.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Reads to the end. Then returns what is wrong with the packed file, but only once. The
    /// content ends at `offset`. If it is known to be truncated, that is not returned again.
    pub(crate) fn remark(&mut self, offset: u64, is_truncated: bool) -> io::Result<Option<Remark>> {
        if self.is_packed() {
            io::copy(self, &mut io::sink())?;
        }
        let failure = self.failure.take();
        let is_new = |f: &Failure| f.severity != Severity::Truncated || !is_truncated;
        Ok(failure.filter(is_new).map(|failure| Remark {
            offset,
            severity: failure.severity,
            message: failure.message,
        }))
    }

    fn fill(&mut self) -> io::Result<()> {
        self.input.compact();
        let before = self.input.bytes.len();
        self.input.bytes.resize(before + PIECE, 0);
        let read = self.source.read(&mut self.input.bytes[before..]);
        let count = *read.as_ref().unwrap_or(&0);
        self.input.bytes.truncate(before + count);
        self.at_end = read? == 0;
        Ok(())
    }
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(unpacker) = &mut self.unpacker else {
                return self.source.read(buffer);
            };
            let count = self.content.rest().read(buffer)?;
            if count > 0 || self.is_done {
                self.content.used += count;
                return Ok(count);
            }
            self.content.compact();
            let input = self.input.rest();
            match unpacker.step(input, self.at_end, &mut self.content.bytes) {
                Ok(Unpacked::Used(used)) => self.input.used += used,
                Ok(Unpacked::NeedMore) => self.fill()?,
                Ok(Unpacked::End) => self.is_done = true,
                Err(failure) => {
                    self.failure = Some(failure);
                    self.is_done = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
