//! Gzip files.

use super::{Failure, Unpack, Unpacked};
use flate2::write::GzDecoder;
use std::io::Write as _;

/// Number of compressed bytes that are unpacked at once.
const PIECE: usize = 8 << 10;

/// Unpacks a gzip file.
#[derive(Debug, Default)]
pub(super) struct Gzip {
    members: Members,
}

impl Unpack for Gzip {
    fn step(&mut self, input: &[u8], last: bool, out: &mut Vec<u8>) -> Result<Unpacked, Failure> {
        match &input[..input.len().min(PIECE)] {
            [] if !last => Ok(Unpacked::NeedMore),
            [] => self.members.finish(out).map(|()| Unpacked::End),
            piece => {
                let result = self.members.write(piece, out);
                result.map(|()| Unpacked::Used(piece.len()))
            }
        }
    }
}

/// The members of a gzip file, one after another. Zeros may follow them, as gzip(1) allows.
#[derive(Debug)]
pub(crate) struct Members {
    member: GzDecoder<Vec<u8>>,
    next: Next,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The first member, or a later one that has begun.
    Member,
    /// A further member, or zeros.
    Further,
    Zeros,
}

impl Default for Members {
    fn default() -> Self {
        Self {
            member: GzDecoder::new(Vec::new()),
            next: Next::Member,
        }
    }
}

impl Members {
    /// Unpacks the next bytes of the file, and appends their content to `out`.
    ///
    /// # Errors
    /// If the file is corrupt. What precedes the fault has been appended.
    pub(crate) fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        while let Some(first) = bytes.first() {
            let used = match (self.next, first) {
                (Next::Further | Next::Zeros, 0) => {
                    self.next = Next::Zeros;
                    1
                }
                (Next::Further, 0x1f) => {
                    self.next = Next::Member;
                    0
                }
                (Next::Further | Next::Zeros, _) => {
                    return Err(Failure::fault(
                        "something that is not gzip follows the compressed stream",
                    ));
                }
                (Next::Member, _) => {
                    let result = self.member.write(bytes);
                    out.append(self.member.get_mut());
                    let used = result.map_err(|error| {
                        Failure::fault(format!("the compressed stream is damaged: {error}"))
                    })?;
                    // The decoder takes nothing after the end of a member.
                    if used == 0 {
                        self.end_of_member(out)?;
                    }
                    used
                }
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    fn end_of_member(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let result = self.member.try_finish();
        out.append(self.member.get_mut());
        result.map_err(|_| {
            Failure::fault("the compressed stream has another size or checksum than it should")
        })?;
        self.member = GzDecoder::new(Vec::new());
        self.next = Next::Further;
        Ok(())
    }

    /// Checks the end of the file, and appends the rest of the content to `out`.
    ///
    /// # Errors
    /// If the file is truncated, or if its checksum is wrong.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        if self.next != Next::Member {
            return Ok(());
        }
        let flushed = self.member.flush();
        out.append(self.member.get_mut());
        // The decoder takes one more byte if the member is not complete; its content is discarded.
        // `try_finish` can't distinguish a missing checksum from a wrong one.
        match flushed.and_then(|()| self.member.write(&[0])) {
            Ok(0) => self.end_of_member(out),
            _ => Err(Failure::truncated("the compressed stream")),
        }
    }
}
