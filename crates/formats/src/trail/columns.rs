//! The payload of a segment: columns of bytes, each as it is, or by LZ4 or Huffman's code.

use super::huffman;
use super::value::{Bytes, put_number};
use lz4_flex::block::compress;
use std::borrow::Cow;

/// The columns of a segment of events, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// The threads that have events here.
    Threads,
    /// What symbols stand for.
    Symbols,
    /// Which thread the events belong to.
    Runs,
    /// A bit for each event: whether its symbol was foreseen.
    Hits,
    /// The symbols that were not.
    Misses,
    /// Times of calls.
    Times,
    /// Fields of records.
    Records,
}

pub(super) const COLUMNS: usize = 7;

/// Most bytes of all columns of a segment.
pub(super) const LARGEST: usize = 32 << 20;
/// Most events of a segment. With the other limits, this bounds a reader's memory, whatever LZ4 makes of a few bytes.
pub(super) const MOST_EVENTS: u32 = 1 << 20;
/// Most threads of a segment.
pub(super) const MOST_THREADS: usize = 1 << 14;

/// Shorter columns are stored in the best of all ways; of others, so much shows which one that is.
const SAMPLE: usize = 8 << 10;

/// How a column is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Plain,
    Lz4,
    Huffman,
}

/// Appends columns: the sizes of all of them, raw and stored, and then their bytes.
pub(super) fn pack<const N: usize>(columns: [&[u8]; N], out: &mut Vec<u8>) {
    let stored = columns.map(store);
    for (raw, (way, bytes)) in columns.iter().zip(&stored) {
        put_number(raw.len() as u64, out);
        let more = if *way == Way::Huffman { raw.len() } else { 0 };
        put_number((more + bytes.len()) as u64, out);
    }
    for (_, bytes) in &stored {
        out.extend_from_slice(bytes);
    }
}

/// A column in few bytes.
fn store(raw: &[u8]) -> (Way, Cow<'_, [u8]>) {
    // Each way takes time, and what suits a column's middle suits the column.
    let sample = raw
        .len()
        .checked_sub(SAMPLE)
        .map(|rest| &raw[rest / 2..][..SAMPLE]);
    let (by_lz4, by_code) = match sample {
        None => (true, true),
        Some(part) => {
            let code = huffman::Code::of(part);
            let by_code = code.is_some_and(|code| code.bytes() < compress(part).len());
            (!by_code, by_code)
        }
    };
    let mut best = (Way::Plain, Cow::Borrowed(raw));
    if by_lz4 {
        let bytes = compress(raw);
        if bytes.len() < raw.len() {
            best = (Way::Lz4, Cow::Owned(bytes));
        }
    }
    if by_code
        && let Some(code) = huffman::Code::of(raw)
        && code.size() < best.1.len()
    {
        best = (Way::Huffman, Cow::Owned(code.block(raw)));
    }
    best
}

/// Reads columns, and takes them from the front of `bytes`. `None` where these are not as they should be.
pub(super) fn unpack<const N: usize>(bytes: &mut Bytes<'_>, into: &mut [Vec<u8>; N]) -> Option<()> {
    let mut sizes = [(0, Way::Plain, 0); N];
    let mut all = 0_usize;
    for size in &mut sizes {
        let (raw, told) = (bytes.small::<usize>()?, bytes.small::<usize>()?);
        *size = match told.checked_sub(raw) {
            None => (raw, Way::Lz4, told),
            Some(0) => (raw, Way::Plain, told),
            Some(more) => (raw, Way::Huffman, more),
        };
        all = all.checked_add(raw)?;
    }
    if all > LARGEST {
        return None;
    }
    for ((raw, way, stored), column) in sizes.into_iter().zip(into) {
        let stored = bytes.take(stored as u64)?;
        column.clear();
        match way {
            Way::Plain => column.extend_from_slice(stored),
            // LZ4 makes at most 255 bytes of one.
            Way::Lz4 if raw / 255 <= stored.len() => {
                column.resize(raw, 0);
                let length = lz4_flex::block::decompress_into(stored, column).ok()?;
                if length != raw {
                    return None;
                }
            }
            // A code has a bit at least.
            Way::Huffman if raw / 8 <= stored.len() => {
                column.resize(raw, 0);
                huffman::unpack(stored, column)?;
            }
            Way::Lz4 | Way::Huffman => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are no more alike than chance has it, the same each time.
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
            pack(columns.each_ref().map(|column| &column[..]), &mut out);
            let ways = columns.each_ref().map(|column| store(column).0);
            use Way::*;
            assert_eq!(ways, [Plain, Lz4, Huffman, Plain, Lz4]);
            let mut back = [const { Vec::new() }; 5];
            let mut bytes = Bytes(&out);
            unpack(&mut bytes, &mut back).expect("columns");
            assert!(back == columns && bytes.0.is_empty());
        }
    }

    #[test]
    fn sizes_that_can_not_be_are_refused() {
        let refused = |sizes: [u64; 2], stored: &[u8]| {
            let mut payload = Vec::new();
            for size in sizes {
                put_number(size, &mut payload);
            }
            payload.extend_from_slice(stored);
            unpack(&mut Bytes(&payload), &mut [Vec::new()]).is_none()
        };
        let raw = uneven(1_000);
        let (_, stored) = store(&raw);
        let size = stored.len() as u64;
        assert!(!refused([1_000, 1_000 + size], &stored));
        assert!(refused([1_000, size], &stored), "no LZ4");
        assert!(refused([1_000, 1_001 + size], &stored), "cut");
        assert!(
            refused([999, 999 + size], &stored),
            "less than the block has"
        );
        assert!(
            refused([8 * size + 8, 9 * size + 8], &stored),
            "more than it can have"
        );
        assert!(refused([1 << 40, (1 << 40) + size], &stored));
        assert!(refused([u64::MAX, size], &stored));
        assert!(refused([256, 1], &[0]), "more than LZ4 makes of it");
    }
}
