//! The payload of a segment: columns of bytes, each as it is or compressed with LZ4.

use super::value::{Bytes, put_number};

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

/// Appends columns: the sizes of all of them, raw and stored, and then their bytes.
pub(super) fn pack<const N: usize>(columns: [&[u8]; N], out: &mut Vec<u8>) {
    let stored = columns.map(|raw| {
        let compressed = lz4_flex::block::compress(raw);
        (compressed.len() < raw.len()).then_some(compressed)
    });
    for (raw, stored) in columns.iter().zip(&stored) {
        put_number(raw.len() as u64, out);
        let length = stored.as_ref().map_or(raw.len(), Vec::len);
        put_number(length as u64, out);
    }
    for (raw, stored) in columns.iter().zip(&stored) {
        out.extend_from_slice(stored.as_deref().unwrap_or(raw));
    }
}

/// Reads columns, and takes them from the front of `bytes`. `None` where these are not as they should be.
pub(super) fn unpack<const N: usize>(bytes: &mut Bytes<'_>, into: &mut [Vec<u8>; N]) -> Option<()> {
    let mut sizes = [(0, 0); N];
    let mut all = 0_usize;
    for size in &mut sizes {
        *size = (bytes.small::<usize>()?, bytes.number()?);
        all = all.checked_add(size.0)?;
    }
    if all > LARGEST {
        return None;
    }
    for ((raw, stored), column) in sizes.into_iter().zip(into) {
        let stored = bytes.take(stored)?;
        column.clear();
        match stored.len() == raw {
            true => column.extend_from_slice(stored),
            // LZ4 makes at most 255 bytes of one.
            false if raw / 255 <= stored.len() => {
                column.resize(raw, 0);
                let length = lz4_flex::block::decompress_into(stored, column).ok()?;
                if length != raw {
                    return None;
                }
            }
            false => return None,
        }
    }
    Some(())
}
