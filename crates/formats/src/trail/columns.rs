//! The payload of a segment: columns of bytes. Each column is stored plain, or compressed by LZ4, a
//! Huffman code, or zstd.

use super::huffman;
use super::value::{Bytes, put_number};
use lz4_flex::block::compress;
use std::borrow::Cow;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

/// The columns of a segment of events, in the order of the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// The threads that have events in this segment.
    Threads,
    /// The calls of these threads that are open at the start.
    Open,
    /// The meanings of symbols.
    Symbols,
    /// Rows of consecutive events of one thread.
    Runs,
    /// A token for each event: its kind.
    Tokens,
    /// Times of calls.
    Times,
    /// Fields of records.
    Records,
}

pub(super) const COLUMNS: usize = 7;

/// Maximum size of all columns of a segment together, in bytes.
pub(super) const MAX_COLUMNS_BYTES: usize = 32 << 20;
/// Maximum number of events of a segment. Together with the other limits, it bounds a reader's
/// memory even if a few bytes expand to much more.
pub(super) const MAX_EVENTS: u32 = 1 << 20;
/// Maximum number of threads of a segment.
pub(super) const MAX_THREADS: usize = 1 << 14;

/// Shorter columns are compressed in every way, and the smallest result is stored. For longer
/// columns, a sample of this size decides which way is used.
const SAMPLE: usize = 8 << 10;
/// zstd's compression level. Each level takes twice the time of the level below, and a higher one
/// gains little here.
const LEVEL: i32 = 1;

/// Maximum ratio of a column's size to its stored size, for payloads with a single column. Readers
/// keep the contents of such segments in memory.
const MAX_TIMES: usize = 255;

/// Compression of a stored column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compression {
    Plain,
    Lz4,
    Huffman,
    Zstd,
}

const WAYS: [Compression; 4] = [
    Compression::Plain,
    Compression::Lz4,
    Compression::Huffman,
    Compression::Zstd,
];

/// Compresses columns.
pub(super) struct Packer {
    zstd: Option<Compressor<'static>>,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            // If memory for zstd is missing, the other ways remain.
            zstd: compressor().ok(),
        }
    }
}

fn compressor() -> std::io::Result<Compressor<'static>> {
    let mut zstd = Compressor::new(LEVEL)?;
    // Repeats in these columns are long. With these parameters, zstd is faster and compresses
    // better than with those of the level.
    zstd.set_parameter(CParameter::MinMatch(7))?;
    zstd.set_parameter(CParameter::HashLog(15))?;
    Ok(zstd)
}

impl Packer {
    /// Appends columns: first the raw and the stored size of each column, then the stored bytes of
    /// all columns.
    pub(super) fn pack<const N: usize>(&mut self, columns: [&[u8]; N], out: &mut Vec<u8>) {
        let even = match N {
            COLUMNS => Column::Times as usize,
            _ => N,
        };
        let mut number = 0..;
        let mut stored = columns.map(|column| self.store(column, number.next() == Some(even)));
        if let ([raw], [(way, bytes)]) = (&columns[..], &mut stored[..])
            && *way == Compression::Zstd
            && raw.len() / MAX_TIMES > bytes.len()
        {
            // Readers reject this ratio in a segment with a single column. LZ4 stays below the
            // limit.
            (*way, *bytes) = (Compression::Lz4, Cow::Owned(compress(raw)));
        }
        for (raw, (way, bytes)) in columns.iter().zip(&stored) {
            put_number(raw.len() as u64, out);
            put_number((bytes.len() as u64) << 2 | *way as u64, out);
        }
        for (_, bytes) in &stored {
            out.extend_from_slice(bytes);
        }
    }

    /// Compresses a column. `is_even` is true if its bytes rarely repeat in sequences, so that a
    /// Huffman code may be as good as any other way.
    fn store<'r>(&mut self, raw: &'r [u8], is_even: bool) -> (Compression, Cow<'r, [u8]>) {
        let mut best = (Compression::Plain, Cow::Borrowed(raw));
        let mut take = |way, bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) if bytes.len() < best.1.len() => best = (way, Cow::Owned(bytes)),
            _ => {}
        };
        // Each way takes time. What suits the middle of a column suits the whole column.
        let Some(rest) = raw.len().checked_sub(SAMPLE) else {
            take(Compression::Lz4, Some(compress(raw)));
            take(Compression::Zstd, self.with_zstd(raw));
            take(Compression::Huffman, huffman_coded(raw));
            return best;
        };
        let sample = &raw[rest / 2..][..SAMPLE];
        let is_for_code = is_even
            && match (huffman::Code::of(sample), self.with_zstd(sample)) {
                // A Huffman code takes half the time of zstd.
                (Some(code), Some(zstd)) => code.bytes() <= zstd.len() + zstd.len() / 8,
                (code, None) => code.is_some(),
                (None, Some(_)) => false,
            };
        match is_for_code {
            true => take(Compression::Huffman, huffman_coded(raw)),
            false => take(Compression::Zstd, self.with_zstd(raw)),
        }
        best
    }

    fn with_zstd(&mut self, raw: &[u8]) -> Option<Vec<u8>> {
        self.zstd.as_mut()?.compress(raw).ok()
    }
}

fn huffman_coded(raw: &[u8]) -> Option<Vec<u8>> {
    let code = huffman::Code::of(raw)?;
    (code.size() < raw.len()).then(|| code.block(raw))
}

/// Takes the columns of a segment of version `version` from the front of `bytes`, and decompresses
/// them. Returns `None` if they are malformed.
pub(super) fn unpack<const N: usize>(
    version: u8,
    bytes: &mut Bytes<'_>,
    into: &mut [Vec<u8>; N],
) -> Option<()> {
    unpack_first(N, version, bytes, into)
}

/// Like [`unpack`], but decompresses only the first `selected` columns, and leaves the others
/// unchanged.
pub(super) fn unpack_first<const N: usize>(
    selected: usize,
    version: u8,
    bytes: &mut Bytes<'_>,
    into: &mut [Vec<u8>; N],
) -> Option<()> {
    let mut sizes = [(0, Compression::Plain, 0); N];
    let mut all = 0_usize;
    for size in &mut sizes {
        let (raw, reported) = (bytes.small::<usize>()?, bytes.small::<usize>()?);
        *size = match reported.checked_sub(raw) {
            _ if version > 2 => (raw, WAYS[reported & 3], reported >> 2),
            None => (raw, Compression::Lz4, reported),
            Some(0) => (raw, Compression::Plain, reported),
            Some(more) => (raw, Compression::Huffman, more),
        };
        all = all.checked_add(raw)?;
    }
    if all > MAX_COLUMNS_BYTES {
        return None;
    }
    let mut zstd = None;
    for ((raw, way, stored), column) in sizes.into_iter().zip(into).take(selected) {
        let stored = bytes.take(stored as u64)?;
        column.clear();
        match way {
            Compression::Plain if raw == stored.len() => column.extend_from_slice(stored),
            // LZ4 expands one byte to at most 255 bytes.
            Compression::Lz4 if raw / 255 <= stored.len() => {
                column.resize(raw, 0);
                let length = lz4_flex::block::decompress_into(stored, column).ok()?;
                if length != raw {
                    return None;
                }
            }
            // Each code has at least one bit.
            Compression::Huffman if raw / 8 <= stored.len() => {
                column.resize(raw, 0);
                huffman::unpack(stored, column)?;
            }
            // A block of zstd holds at most 128 KiB, and takes at least three bytes.
            Compression::Zstd
                if raw >> 17 <= stored.len() / 3 && (N > 1 || raw / MAX_TIMES <= stored.len()) =>
            {
                column.resize(raw, 0);
                if zstd.is_none() {
                    zstd = Some(Decompressor::new().ok()?);
                }
                let zstd = zstd.as_mut()?;
                let length = zstd.decompress_to_buffer(stored, &mut column[..]).ok()?;
                if length != raw {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reproducible sequence of pseudo-random numbers.
    fn random(count: usize) -> impl Iterator<Item = u64> {
        let numbers = std::iter::successors(Some(1_u64), |last| {
            Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
        });
        numbers.map(|number| number >> 32).take(count)
    }

    fn uneven(count: usize) -> Vec<u8> {
        random(count)
            .map(|number| 10 + (number as u8 | 240).leading_ones() as u8)
            .collect()
    }

    #[test]
    fn a_column_is_stored_as_it_takes_least() {
        for count in [2_000, 100_000] {
            let columns = [
                random(count).map(|number| number as u8).collect(),
                b"again and ".repeat(count / 10),
                uneven(count),
                Vec::new(),
                vec![7; count],
            ];
            let mut out = Vec::new();
            let mut packer = Packer::default();
            packer.pack(columns.each_ref().map(|column| &column[..]), &mut out);
            let ways = columns
                .each_ref()
                .map(|column| packer.store(column, true).0);
            use Compression::*;
            let still = if count < SAMPLE { Lz4 } else { Zstd };
            assert_eq!(ways, [Plain, Zstd, Huffman, Plain, still]);
            let mut back = [const { Vec::new() }; 5];
            let mut bytes = Bytes(&out);
            unpack(3, &mut bytes, &mut back).expect("columns");
            assert!(back == columns && bytes.0.is_empty());
        }
    }

    /// In versions 1 and 2, the second number is the stored size for LZ4, which is below the raw
    /// size. For a Huffman code, it is the sum of both sizes.
    #[test]
    fn columns_of_earlier_versions_are_read() {
        let raw = uneven(1_000);
        let code = huffman_coded(&raw).expect("a code");
        let lz4 = compress(&[7; 1_000]);
        let columns = [
            (1_000 + code.len(), &code[..], &raw[..]),
            (lz4.len(), &lz4, &[7; 1_000]),
            (1_000, &raw, &raw),
        ];
        for (reported, stored, raw) in columns {
            let mut payload = Vec::new();
            put_number(1_000, &mut payload);
            put_number(reported as u64, &mut payload);
            payload.extend_from_slice(stored);
            let mut back = [Vec::new()];
            unpack(2, &mut Bytes(&payload), &mut back).expect("a column");
            assert_eq!(back[0], raw);
        }
    }

    #[test]
    fn sizes_that_can_not_be_are_refused() {
        let refused = |raw: u64, way: Compression, reported: u64, stored: &[u8]| {
            let mut payload = Vec::new();
            put_number(raw, &mut payload);
            put_number(reported << 2 | way as u64, &mut payload);
            payload.extend_from_slice(stored);
            unpack(3, &mut Bytes(&payload), &mut [Vec::new()]).is_none()
        };
        let raw = uneven(1_000);
        let code = huffman_coded(&raw).expect("a code");
        let size = code.len() as u64;
        assert!(!refused(1_000, Compression::Huffman, size, &code));
        assert!(refused(1_000, Compression::Lz4, size, &code), "no LZ4");
        assert!(refused(1_000, Compression::Zstd, size, &code), "no zstd");
        assert!(
            refused(1_000, Compression::Plain, size, &code),
            "another size"
        );
        assert!(refused(1_000, Compression::Huffman, size + 1, &code), "cut");
        assert!(
            refused(999, Compression::Huffman, size, &code),
            "less than the block has"
        );
        assert!(
            refused(8 * size + 8, Compression::Huffman, size, &code),
            "more than it can have"
        );
        assert!(refused(1 << 40, Compression::Plain, 1 << 40, &code));
        assert!(refused(u64::MAX, Compression::Huffman, size, &code));
        assert!(
            refused(256, Compression::Lz4, 1, &[0]),
            "more than LZ4 makes of it"
        );
        let zstd = Packer::default().with_zstd(&[7; 1_000]).expect("memory");
        let size = zstd.len() as u64;
        assert!(!refused(1_000, Compression::Zstd, size, &zstd));
        let mut alone = Vec::new();
        let text = vec![7; 1 << 20];
        Packer::default().pack([&text], &mut alone);
        let mut back = [Vec::new()];
        unpack(3, &mut Bytes(&alone), &mut back).expect("as LZ4");
        assert!(back[0] == text && alone.len() > text.len() / 256);
        for other in [999, 1_001, 32 << 20] {
            assert!(refused(other, Compression::Zstd, size, &zstd), "{other}");
        }
        assert!(refused(1_000, Compression::Zstd, size - 1, &zstd), "cut");
    }
}
