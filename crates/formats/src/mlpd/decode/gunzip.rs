//! A compressed stream: unpacked piece by piece, and read as if it were plain. Of the piece in
//! which it is damaged nothing is read.

use super::{Stepped, Stream};
use crate::{DecodeError, Remark, Severity, Step};
use flate2::write::MultiGzDecoder;
use std::io::Write as _;

/// Bytes that are unpacked at a time. They become a thousand times as many at most.
const PIECE: usize = 8 << 10;

/// Unpacks, and reads what comes out.
#[derive(Debug)]
pub(super) struct Gunzip {
    unpacker: MultiGzDecoder<Vec<u8>>,
    stream: Stream,
    /// Bytes of the unpacked ones that the stream has used.
    used: usize,
    /// Packed bytes taken.
    offset: u64,
    state: State,
    /// The stream told that it is truncated.
    broken_off: bool,
}

#[derive(Debug)]
enum State {
    Unpacking,
    /// All that can be unpacked is, and why nothing follows, if not by the file's end.
    Unpacked(Option<Remark>),
}

impl Default for Gunzip {
    fn default() -> Self {
        Self {
            unpacker: MultiGzDecoder::new(Vec::new()),
            stream: Stream::default(),
            used: 0,
            offset: 0,
            state: State::Unpacking,
            broken_off: false,
        }
    }
}

impl Gunzip {
    pub(super) fn step(&mut self, input: &[u8], last: bool) -> Stepped {
        let whole = matches!(self.state, State::Unpacked(_));
        let plain = self.unpacker.get_ref();
        let plain = plain.get(self.used..).unwrap_or_default();
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
            // What follows a corrupt place is skipped.
            Step::End if !input.is_empty() => return Ok((input.len(), Step::Nothing)),
            Step::End if !last => return Ok((0, Step::NeedMore)),
            Step::End => {
                let State::Unpacked(remark) = &mut self.state else {
                    return Ok((0, Step::End));
                };
                // That it is truncated is told once.
                let remark = remark
                    .take()
                    .filter(|remark| !self.broken_off || remark.severity != Severity::Truncated);
                return Ok((0, remark.map_or(Step::End, Step::Remark)));
            }
            Step::Remark(remark) => {
                self.broken_off |= remark.severity == Severity::Truncated;
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

    /// Unpacks a piece; an empty one is the end.
    fn unpack(&mut self, piece: &[u8]) {
        self.unpacker.get_mut().drain(..self.used);
        self.used = 0;
        let unpacked = match piece {
            [] => self.unpacker.try_finish(),
            piece => self.unpacker.write_all(piece),
        };
        let remark = match unpacked {
            Ok(()) if piece.is_empty() => None,
            Ok(()) => return,
            Err(error) => {
                // At the end, a checksum that is not there and another one are the same error.
                let (severity, message) = if piece.is_empty() {
                    (
                        Severity::Truncated,
                        "the compressed stream is truncated".to_owned(),
                    )
                } else {
                    (
                        Severity::Fault,
                        format!("the compressed stream is damaged: {error}"),
                    )
                };
                Some(Remark {
                    offset: self.offset,
                    severity,
                    message,
                })
            }
        };
        self.state = State::Unpacked(remark);
    }
}
