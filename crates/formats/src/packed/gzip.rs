//! Gzip files.

use super::{Failure, Unpack, Unpacked};
use flate2::write::MultiGzDecoder;
use std::io::Write as _;

/// Number of compressed bytes that are unpacked at once.
const PIECE: usize = 8 << 10;

/// Unpacks a gzip file.
#[derive(Debug)]
pub(super) struct Gzip {
    unpacker: MultiGzDecoder<Vec<u8>>,
}

impl Default for Gzip {
    fn default() -> Self {
        Self {
            unpacker: MultiGzDecoder::new(Vec::new()),
        }
    }
}

impl Unpack for Gzip {
    fn step(&mut self, input: &[u8], last: bool, out: &mut Vec<u8>) -> Result<Unpacked, Failure> {
        let piece = &input[..input.len().min(PIECE)];
        let result = match piece {
            [] if !last => return Ok(Unpacked::NeedMore),
            [] => self.unpacker.try_finish().map(|()| Unpacked::End),
            piece => self
                .unpacker
                .write_all(piece)
                .map(|()| Unpacked::Used(piece.len())),
        };
        out.append(self.unpacker.get_mut());
        // At the end of the input, a missing checksum and a wrong one cause the same error.
        result.map_err(|error| match piece {
            [] => Failure::truncated("the compressed stream"),
            _ => Failure::fault(format!("the compressed stream is damaged: {error}")),
        })
    }
}
