//! The check of packed files.

use crate::chosen;
use crate::memory::{peak, within};
use flate2::{Compression, Crc, write::GzEncoder};
use jtrail_formats::mlpd::GZIP_MAGIC;
use jtrail_formats::{Format, Item, Readable, Reader, Remark, Severity};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;

/// Bytes of input that are allowed besides the bytes that were decoded. They are enough for an
/// unpacked piece, and for an item that the reader gives up.
const UNPACKING: usize = 512 << 10;

/// Reads a packed file in one piece and in several. Packs other files first: the trace in a packed
/// file must be read like the trace itself.
pub fn packed(data: &[u8]) {
    let (whole, peak) = peak(|| Outcome::of(data, data.len()));
    let Some((whole, bytes)) = whole else {
        return;
    };
    let piece = 1 + chosen(data, data.len());
    if whole.is_packed {
        within(peak, data.len() + bytes + UNPACKING);
    }
    let is_unpacked = whole.is_packed || data.starts_with(GZIP_MAGIC);
    if is_unpacked && !whole.is_sound() {
        // How much is unpacked before a fault depends on the pieces.
        return;
    }
    let again = |file: &[u8]| Outcome::of(file, piece).map(|(outcome, _)| outcome);
    if whole.is_packed {
        assert_eq!(again(data), Some(whole));
        return;
    }
    // The decoder of log profiles unpacks them itself, and reports positions in the gzip file.
    let file = match chosen(data, 2) {
        0 if whole.format != Format::Mlpd => gzip(data),
        _ => zip(data),
    };
    let expected = Outcome {
        is_packed: true,
        ..whole
    };
    assert_eq!(again(&file), Some(expected));
}

/// What a reader returns of a file.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    format: Readable,
    is_packed: bool,
    /// Hash of all events. Their positions depend on the pieces: white space that is read by itself
    /// does not belong to the event after it.
    events: u64,
    remarks: Vec<Remark>,
    error: Option<String>,
}

impl Outcome {
    /// Reads a file in pieces of at most `piece` bytes. Returns the number of decoded bytes, too.
    /// Returns `None` if the file is no trace.
    fn of(data: &[u8], piece: usize) -> Option<(Self, usize)> {
        let mut reader = Reader::new(Pieces { rest: data, piece }).ok()?;
        let (mut events, mut remarks) = (DefaultHasher::new(), Vec::new());
        let read = reader.for_each(|item| {
            match item {
                Item::Event { event, .. } => format!("{event:?}").hash(&mut events),
                Item::Remark(remark) => remarks.push(remark),
            }
            ControlFlow::<()>::Continue(())
        });
        let outcome = Self {
            format: reader.format(),
            is_packed: reader.is_packed(),
            events: events.finish(),
            remarks,
            error: read.err().map(|error| error.to_string()),
        };
        Some((outcome, reader.offset() as usize))
    }

    fn is_sound(&self) -> bool {
        let mut remarks = self.remarks.iter();
        self.error.is_none() && remarks.all(|remark| remark.severity != Severity::Fault)
    }
}

/// A file that is read in pieces.
struct Pieces<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.piece);
        self.rest.read(&mut buffer[..most])
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(content)
        .and_then(|()| gzip.finish())
        .expect("memory takes all")
}

/// Returns a ZIP archive with a stored file.
fn zip(content: &[u8]) -> Vec<u8> {
    let mut checksum = Crc::new();
    checksum.update(content);
    let size = (content.len() as u32).to_le_bytes();
    let mut archive = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0".to_vec();
    archive.extend(checksum.sum().to_le_bytes());
    archive.extend([size, size].as_flattened());
    // The length of the name, that of the extra fields, and the name.
    archive.extend(b"\x01\0\0\0a");
    archive.extend(content);
    // The first signature of the directory, which is not read.
    archive.extend(b"PK\x01\x02");
    archive
}
