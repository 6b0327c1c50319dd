//! ZIP archives, from the start to the end of their first file.

use super::{Failure, PIECE, Unpack, Unpacked};
use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Signatures of the records of an archive.
mod signature {
    pub(super) const FILE: u32 = 0x0403_4b50;
    pub(super) const DESCRIPTOR: u32 = 0x0807_4b50;
    pub(super) const EXTRA_DATA: u32 = 0x0806_4b50;
    pub(super) const DIRECTORY: u32 = 0x0201_4b50;
    pub(super) const END: u32 = 0x0605_4b50;
    pub(super) const END_64: u32 = 0x0606_4b50;
}

/// Bits of the flags of a file.
mod flag {
    pub(super) const ENCRYPTED: u16 = 1;
    /// The checksum and the sizes follow the file, in a data descriptor.
    pub(super) const DESCRIPTOR: u16 = 1 << 3;
    pub(super) const PATCH: u16 = 1 << 5;
    pub(super) const MASKED: u16 = 1 << 13;
}

/// Size of a file's header without name and extra fields.
const HEADER: usize = 30;
/// Maximum size of a data descriptor.
const MAX_DESCRIPTOR: usize = 24;
/// Extra field with 64-bit sizes.
const ZIP64: u16 = 1;
/// A size that is in the extra field.
const IN_EXTRA: u32 = u32::MAX;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Unpacks the first file of an archive.
#[derive(Debug, Default)]
pub(super) struct Zip {
    state: State,
    checksum: Crc,
    /// Number of bytes of the file, packed and unpacked, so far.
    packed: u64,
    unpacked: u64,
}

#[derive(Debug, Default)]
enum State {
    /// Before a header.
    #[default]
    Header,
    /// This number of bytes are skipped before a header.
    Skipping(u64),
    /// In a stored file.
    Stored(Header),
    Deflated(Header, Box<Decompress>),
    /// After the file, before its descriptor if it has one.
    After(Header),
    /// After the file and its descriptor.
    Following,
}

/// What the header of a file tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    method: u16,
    /// `None` if the sizes and the checksum follow the file.
    sizes: Option<Sizes>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sizes {
    checksum: u32,
    packed: u64,
    unpacked: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn truncated() -> Failure {
    Failure::truncated("the ZIP archive")
}

/// Returns the sizes of a file. 64-bit sizes are in the extra fields, those of the content first.
fn sizes(header: &[u8], mut extra: &[u8]) -> Option<Sizes> {
    let (packed, unpacked) = (u32_at(header, 18), u32_at(header, 22));
    let mut sizes = Sizes {
        checksum: u32_at(header, 14),
        packed: packed.into(),
        unpacked: unpacked.into(),
    };
    if packed != IN_EXTRA && unpacked != IN_EXTRA {
        return Some(sizes);
    }
    while let [a, b, c, d, rest @ ..] = extra {
        let (id, len) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
        let field = rest.get(..usize::from(len))?;
        if id == ZIP64 {
            let mut at = 0;
            for (size, short) in [(&mut sizes.unpacked, unpacked), (&mut sizes.packed, packed)] {
                if short == IN_EXTRA {
                    field.get(at..at + 8)?;
                    *size = u64_at(field, at);
                    at += 8;
                }
            }
            return Some(sizes);
        }
        extra = &rest[field.len()..];
    }
    None
}

impl Zip {
    /// Reads a header. Returns the number of used bytes, or `None` if more are needed.
    fn header(&mut self, input: &[u8]) -> Result<Option<usize>, Failure> {
        if input.len() < HEADER {
            return Ok(None);
        }
        if u32_at(input, 0) != signature::FILE {
            return Err(Failure::fault("the ZIP archive has no file with content"));
        }
        let (flags, method) = (u16_at(input, 6), u16_at(input, 8));
        let name_end = HEADER + usize::from(u16_at(input, 26));
        let end = name_end + usize::from(u16_at(input, 28));
        let (Some(name), Some(extra)) = (input.get(HEADER..name_end), input.get(name_end..end))
        else {
            return Ok(None);
        };
        let has_descriptor = flags & flag::DESCRIPTOR != 0;
        let sizes = sizes(input, extra)
            .ok_or_else(|| Failure::fault("the ZIP archive lacks the sizes of its file"))?;
        // Some writers set the flag although they know the sizes.
        let are_known = !has_descriptor || sizes.packed != 0;
        let is_no_file = name.ends_with(b"/") || name.starts_with(b"__MACOSX/");
        if are_known && (is_no_file || sizes.unpacked == 0) {
            self.state = State::Skipping(sizes.packed);
            return Ok(Some(end));
        }
        if flags & (flag::ENCRYPTED | flag::MASKED) != 0 {
            return Err(Failure::fault("the file in the ZIP archive is encrypted"));
        }
        let header = Header {
            method,
            sizes: (!has_descriptor || are_known && method == STORED).then_some(sizes),
        };
        self.state = match (method, header.sizes) {
            _ if flags & flag::PATCH != 0 => {
                return Err(Failure::fault("the file in the ZIP archive is a patch"));
            }
            (STORED, Some(_)) => State::Stored(header),
            (STORED, None) => {
                let message = "the size of the stored file in the ZIP archive follows it; \
                               unpack the archive first";
                return Err(Failure::fault(message));
            }
            (DEFLATED, _) => State::Deflated(header, Box::new(Decompress::new(false))),
            _ => {
                return Err(Failure::fault(format!(
                    "the file in the ZIP archive is compressed by method {method}; only stored \
                     and deflated files can be read"
                )));
            }
        };
        Ok(Some(end))
    }

    /// Takes bytes of the content.
    fn take(&mut self, used: usize, content: &[u8]) -> usize {
        self.packed += used as u64;
        self.unpacked += content.len() as u64;
        self.checksum.update(content);
        used
    }

    fn stored(&mut self, header: Header, input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let size = header.sizes.map_or(0, |sizes| sizes.packed);
        let left = usize::try_from(size - self.packed).unwrap_or(usize::MAX);
        if left == 0 {
            self.state = State::After(header);
            return Some(0);
        }
        let piece = &input[..input.len().min(left).min(PIECE)];
        out.extend(piece);
        (!piece.is_empty()).then(|| self.take(piece.len(), piece))
    }

    /// Checks what follows the file. Returns the number of used bytes, or `None` if more are
    /// needed.
    fn after(
        &mut self,
        header: Header,
        input: &[u8],
        last: bool,
    ) -> Result<Option<usize>, Failure> {
        let found = Sizes {
            checksum: self.checksum.sum(),
            packed: self.packed,
            unpacked: self.unpacked,
        };
        let used = match header.sizes {
            Some(sizes) if sizes == found => 0,
            Some(_) => return Err(wrong()),
            None if input.len() < MAX_DESCRIPTOR && !last => return Ok(None),
            None => descriptor(input, found)?,
        };
        self.state = State::Following;
        Ok(Some(used))
    }
}

fn wrong() -> Failure {
    Failure::fault("the file in the ZIP archive has another size or checksum than it should")
}

/// Returns the size of the data descriptor, which must have these values. Its signature is
/// optional, and its sizes have 32 or 64 bits.
fn descriptor(input: &[u8], expected: Sizes) -> Result<usize, Failure> {
    let mut is_cut = false;
    for start in [4, 0] {
        if start == 4 && u32_at(input, 0) != signature::DESCRIPTOR {
            continue;
        }
        let at = start + 4;
        let checksum = u32_at(input, start);
        let short = (
            u64::from(u32_at(input, at)),
            u64::from(u32_at(input, at + 4)),
        );
        let long = (u64_at(input, at), u64_at(input, at + 8));
        for (size, (packed, unpacked)) in [(8, short), (16, long)] {
            let values = Sizes {
                checksum,
                packed,
                unpacked,
            };
            match input.len() >= at + size {
                true if values == expected => return Ok(at + size),
                is_whole => is_cut |= !is_whole,
            }
        }
    }
    Err(if is_cut { truncated() } else { wrong() })
}

/// Checks the record that follows the file.
fn following(input: &[u8], last: bool) -> Result<Unpacked, Failure> {
    if input.len() < HEADER && !last {
        return Ok(Unpacked::NeedMore);
    }
    if input.len() < 4 {
        return Err(truncated());
    }
    match u32_at(input, 0) {
        signature::DIRECTORY | signature::END | signature::END_64 | signature::EXTRA_DATA => {
            Ok(Unpacked::End)
        }
        signature::FILE => {
            let end = HEADER + usize::from(u16_at(input, 26));
            let name = match input.get(HEADER..end) {
                None if !last => return Ok(Unpacked::NeedMore),
                None => return Err(truncated()),
                Some(name) => String::from_utf8_lossy(name),
            };
            if name.ends_with('/') || name.starts_with("__MACOSX/") {
                return Ok(Unpacked::End);
            }
            Err(Failure::fault(format!(
                "the ZIP archive has several files; only the first is read, {name:?} is not"
            )))
        }
        _ => Err(Failure::fault("the ZIP archive is damaged after its file")),
    }
}

impl Unpack for Zip {
    fn step(&mut self, input: &[u8], last: bool, out: &mut Vec<u8>) -> Result<Unpacked, Failure> {
        let used = match &mut self.state {
            State::Header => self.header(input)?,
            State::Skipping(left) => {
                let piece = input
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= piece as u64;
                let is_over = *left == 0;
                if is_over {
                    self.state = State::Header;
                }
                (piece > 0 || is_over).then_some(piece)
            }
            State::Stored(header) => {
                let header = *header;
                self.stored(header, input, out)
            }
            State::Deflated(header, unpacker) => {
                let header = *header;
                let before = (unpacker.total_in(), out.len());
                out.reserve(PIECE);
                let status = unpacker
                    .decompress_vec(input, out, FlushDecompress::None)
                    .map_err(|_| Failure::fault("the file in the ZIP archive is damaged"))?;
                let used = (unpacker.total_in() - before.0) as usize;
                if status == Status::StreamEnd {
                    self.state = State::After(header);
                }
                let is_stuck = used == 0 && out.len() == before.1 && status != Status::StreamEnd;
                self.take(used, &out[before.1..]);
                (!is_stuck).then_some(used)
            }
            State::After(header) => {
                let header = *header;
                self.after(header, input, last)?
            }
            State::Following => return following(input, last),
        };
        match used {
            Some(used) => Ok(Unpacked::Used(used)),
            None if last => Err(truncated()),
            None => Ok(Unpacked::NeedMore),
        }
    }
}
