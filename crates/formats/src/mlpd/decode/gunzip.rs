//! Compressed files. The stream is decompressed piece by piece and read like an uncompressed file.
//! What follows a fault is skipped.

use super::{Stepped, Stream};
use crate::packed::Members;
use crate::{DecodeError, Remark, Severity, Step};

/// Number of compressed bytes that are decompressed at a time. Their decompressed size is at most
/// about a thousand times as large.
const PIECE: usize = 8 << 10;

/// Decompressor, and decoder of its output.
#[derive(Debug)]
pub(super) struct Gunzip {
    members: Members,
    /// Decompressed bytes.
    plain: Vec<u8>,
    stream: Stream,
    /// Number of decompressed bytes that `stream` has consumed.
    used: usize,
    /// Number of compressed bytes consumed.
    offset: u64,
    state: State,
    /// True if `stream` has reported that it is truncated.
    truncated: bool,
}

#[derive(Debug)]
enum State {
    Unpacking,
    /// All decompressible input is decompressed. Holds a remark with the reason, unless the reason
    /// is the regular end of the file.
    Unpacked(Option<Remark>),
}

impl Default for Gunzip {
    fn default() -> Self {
        Self {
            members: Members::default(),
            plain: Vec::new(),
            stream: Stream::default(),
            used: 0,
            offset: 0,
            state: State::Unpacking,
            truncated: false,
        }
    }
}

impl Gunzip {
    pub(super) fn step(&mut self, input: &[u8], last: bool) -> Stepped {
        let whole = matches!(self.state, State::Unpacked(_));
        let plain = self.plain.get(self.used..).unwrap_or_default();
        let (used, step) = self
            .stream
            .step(plain, whole)
            .map_err(|error| DecodeError {
                message: format!("{} (unpacked)", error.message),
                ..error
            })?;
        self.used += used;
        match step {
            Step::NeedMore => {}
            // Input after a corrupt piece is skipped.
            Step::End if !input.is_empty() => return Ok((input.len(), Step::Nothing)),
            Step::End if !last => return Ok((0, Step::NeedMore)),
            Step::End => {
                let State::Unpacked(remark) = &mut self.state else {
                    return Ok((0, Step::End));
                };
                // Truncation is reported only once, and `stream` may have reported it already.
                let remark = remark
                    .take()
                    .filter(|remark| !self.truncated || remark.severity != Severity::Truncated);
                return Ok((0, remark.map_or(Step::End, Step::Remark)));
            }
            Step::Remark(remark) => {
                self.truncated |= remark.severity == Severity::Truncated;
                return Ok((0, Step::Remark(remark)));
            }
            step => return Ok((0, step)),
        }
        let piece = &input[..input.len().min(PIECE)];
        if piece.is_empty() && !last {
            return Ok((0, Step::NeedMore));
        }
        self.unpack(piece);
        self.offset += piece.len() as u64;
        Ok((piece.len(), Step::Nothing))
    }

    /// Decompresses a piece. An empty piece means the end of the input.
    fn unpack(&mut self, piece: &[u8]) {
        self.plain.drain(..self.used);
        self.used = 0;
        let unpacked = match piece {
            [] => self.members.finish(&mut self.plain),
            piece => self.members.write(piece, &mut self.plain),
        };
        let remark = match unpacked {
            Ok(()) if piece.is_empty() => None,
            Ok(()) => return,
            Err(failure) => Some(Remark {
                offset: self.offset,
                severity: failure.severity,
                message: failure.message,
            }),
        };
        self.state = State::Unpacked(remark);
    }
}
