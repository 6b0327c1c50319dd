//! A window in memory onto a part of a file, which moves along the file.

use std::io::{self, Read, Seek, SeekFrom};

/// Number of bytes that are read at once: the first number after a jump, then twice as many each
/// time, up to the second number.
const CHUNKS: [usize; 2] = [4 << 10, 256 << 10];

/// The part of a source that is in memory.
pub(in crate::trail) struct Window<R> {
    source: R,
    /// Position of the first byte in memory. The source is positioned after the last byte in
    /// memory.
    start: u64,
    bytes: Vec<u8>,
    /// Number of bytes to read at once.
    chunk: usize,
}

impl<R: Read + Seek> Window<R> {
    /// Returns an empty window at the start of `source`.
    ///
    /// # Errors
    /// If `source` can't seek.
    pub(in crate::trail) fn new(mut source: R) -> io::Result<Self> {
        source.seek(SeekFrom::Start(0))?;
        Ok(Self {
            source,
            start: 0,
            bytes: Vec::new(),
            chunk: CHUNKS[0],
        })
    }

    /// Returns `length` bytes from `offset` on, or fewer if the source ends before. Takes memory
    /// only for bytes that exist.
    ///
    /// # Errors
    /// If the source fails.
    pub(in crate::trail) fn get(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let end = self.start + self.bytes.len() as u64;
        if !(self.start..=end).contains(&offset) {
            match self.source.seek(SeekFrom::Start(offset)) {
                // No file can be that long on this system, so this one ends before `offset`. The
                // position of the source is unchanged.
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

    /// Returns the bytes from `offset` on that are in memory.
    pub(super) fn near(&self, offset: u64) -> &[u8] {
        let at = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.bytes.get(at..).unwrap_or_default()
    }
}
