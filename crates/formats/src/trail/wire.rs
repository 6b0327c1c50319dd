//! Segments: a header with its own checksum, and a payload with a checksum in the header.

/// Size of a header, in bytes.
pub(super) const HEADER: usize = 56;
/// The first bytes of each segment, and so of each trace.
pub(crate) const MAGIC: [u8; 4] = *b"\xb5JTR";
/// The version of the format that is written. Readers accept it and all versions from 1 on.
pub(super) const VERSION: u8 = 3;
/// Maximum size of a payload, in bytes.
pub(super) const MAX_PAYLOAD_BYTES: usize = 32 << 20;

/// The kind of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Copies of the definitions in the next segment of events.
    Definitions = 1,
    Events = 2,
    Index = 3,
}

/// The header of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) version: u8,
    pub(super) kind: Kind,
    /// Number of the segment, counted from 0.
    pub(super) number: u32,
    /// Size of the payload, in bytes.
    pub(super) length: u32,
    /// CRC-32C of the payload.
    pub(super) checksum: u32,
    /// Number of events in all preceding segments.
    pub(super) before: u64,
    /// Number of events in this segment, without copies of definitions.
    pub(super) events: u32,
    /// Smallest and largest time in this segment; 0 if it has no times.
    pub(super) times: [i64; 2],
    /// Identifies the trace: the checksum of the payload of segment 1; 0 in segment 0.
    pub(super) trace: u32,
}

/// The reason why some bytes are not a valid header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoHeader {
    Damaged,
    /// A sound header of an unknown version.
    Version(u8),
}

impl Header {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[self.version, self.kind as u8, 0, 0]);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out.extend_from_slice(&self.events.to_le_bytes());
        out.extend_from_slice(&self.before.to_le_bytes());
        for time in self.times {
            out.extend_from_slice(&time.to_le_bytes());
        }
        out.extend_from_slice(&self.trace.to_le_bytes());
        let checksum = crc32c::crc32c(&out[start..]);
        out.extend_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a header.
    ///
    /// # Errors
    /// If the bytes are not a header that this version understands.
    pub(super) fn get(bytes: &[u8; HEADER]) -> Result<Self, NoHeader> {
        let (body, checksum) = bytes.split_at(HEADER - 4);
        if bytes[..4] != MAGIC || crc32c::crc32c(body).to_le_bytes() != checksum {
            return Err(NoHeader::Damaged);
        }
        if !(1..=VERSION).contains(&bytes[4]) {
            return Err(NoHeader::Version(bytes[4]));
        }
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        let long = |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[at + i]));
        let header = Self {
            version: bytes[4],
            kind: match bytes[5] {
                1 => Kind::Definitions,
                2 => Kind::Events,
                3 => Kind::Index,
                _ => return Err(NoHeader::Damaged),
            },
            number: word(8),
            length: word(12),
            checksum: word(16),
            events: word(20),
            before: long(24),
            times: [long(32) as i64, long(40) as i64],
            trace: word(48),
        };
        match header.length as usize <= MAX_PAYLOAD_BYTES {
            true => Ok(header),
            false => Err(NoHeader::Damaged),
        }
    }
}

/// Returns the first position after position 0 of `bytes` at which a segment may begin. If there is
/// none, returns a position near the end; no segment begins before it.
pub(super) fn next_candidate(bytes: &[u8]) -> usize {
    let rest = bytes.get(1..).unwrap_or_default();
    let found = rest.windows(MAGIC.len()).position(|four| four == MAGIC);
    match found {
        Some(at) => at + 1,
        // The end may hold the first part of a magic word.
        None => bytes
            .len()
            .saturating_sub(MAGIC.len() - 1)
            .max(1.min(bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_all_or_nothing() {
        let header = Header {
            version: VERSION,
            kind: Kind::Events,
            number: 7,
            length: 812,
            checksum: 0xdead_beef,
            before: 1 << 40,
            events: 99_999,
            times: [-1, i64::MAX],
            trace: 0x0123_4567,
        };
        let mut out = Vec::new();
        header.put(&mut out);
        let mut bytes: [u8; HEADER] = out.try_into().expect("its size");
        assert_eq!(Header::get(&bytes), Ok(header));
        for bit in 0..HEADER * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::get(&bytes), Err(NoHeader::Damaged), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn places_are_found() {
        assert_eq!(next_candidate(b"\xb5JTR...\xb5JTR"), 7);
        assert_eq!(next_candidate(b"abcdef\xb5J"), 5);
        assert_eq!(next_candidate(b"ab"), 1);
        assert_eq!(next_candidate(b"a"), 1);
        assert_eq!(next_candidate(b""), 0);
    }
}
