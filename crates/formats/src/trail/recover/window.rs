//! A part of a file in memory, that moves along it.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes read at once, at first after a jump, and when one chunk is read behind the other.
const CHUNKS: [usize; 2] = [4 << 10, 256 << 10];

/// The part of a source that is looked at.
pub(in crate::trail) struct Window<R> {
    source: R,
    /// Where the bytes are from; the source stands behind them.
    start: u64,
    bytes: Vec<u8>,
    /// Bytes to read at once.
    chunk: usize,
}

impl<R: Read + Seek> Window<R> {
    /// # Errors
    /// When the source can't seek.
    pub(in crate::trail) fn new(mut source: R) -> io::Result<Self> {
        source.seek(SeekFrom::Start(0))?;
        Ok(Self {
            source,
            start: 0,
            bytes: Vec::new(),
            chunk: CHUNKS[0],
        })
    }

    /// As many bytes from `offset` on, fewer only where the source ends. Takes memory for those
    /// that are there.
    ///
    /// # Errors
    /// Those of the source.
    pub(in crate::trail) fn get(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let end = self.start + self.bytes.len() as u64;
        if !(self.start..=end).contains(&offset) {
            match self.source.seek(SeekFrom::Start(offset)) {
                // No file is that long there, so this one ends before; and it stands where it
                // stood.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(&[]),
                sought => _ = sought?,
            }
            self.bytes.clear();
            self.start = offset;
            self.chunk = CHUNKS[0];
        }
        let at = (offset - self.start) as usize;
        if self.bytes.len() - at < length {
            self.bytes.drain(..at);
            self.start = offset;
            let missing = length.max(self.chunk) - self.bytes.len();
            self.chunk = (self.chunk * 2).min(CHUNKS[1]);
            (&mut self.source)
                .take(missing as u64)
                .read_to_end(&mut self.bytes)?;
        }
        let part = self.near(offset);
        Ok(&part[..part.len().min(length)])
    }

    /// The bytes from `offset` on that are in memory.
    pub(super) fn near(&self, offset: u64) -> &[u8] {
        let at = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.bytes.get(at..).unwrap_or_default()
    }
}
