//! Huffman coding of a column. It suits columns that have no long repeats, but some bytes that are
//! far more frequent than others. Exact times are such a column.
//!
//! A block starts with the code lengths of all 256 bytes, four bits each. The codes of the column's
//! bytes follow without gaps, and fill each byte from its highest bit on.

/// Maximum length of a code, in bits. Five such codes and the used part of a byte fit into a word.
const MAX_CODE_BITS: usize = 11;
/// Number of entries of the decoding table, which is indexed by the first bits of a word.
const TABLE: usize = 1 << MAX_CODE_BITS;
/// Number of codes that are processed together.
const AT_ONCE: usize = 5;
/// Size of the code lengths, in bytes.
const HEAD: usize = 128;
const WORD: usize = size_of::<u64>();

/// A short code for a column. No byte's code has more than [`MAX_CODE_BITS`] bits.
pub(super) struct Code {
    lengths: [u8; 256],
    /// Number of bits of the whole coded column.
    bits: u64,
}

impl Code {
    /// Returns the code for a column. Returns `None` if the column has fewer than two different
    /// bytes, because it then needs no code.
    pub(super) fn of(column: &[u8]) -> Option<Self> {
        let counts = count(column);
        let lengths = lengths(&counts)?;
        let used = counts.iter().zip(&lengths);
        let bits = used.map(|(count, length)| u64::from(*count) * u64::from(*length));
        let bits = bits.sum::<u64>();
        Some(Self { lengths, bits })
    }

    /// Returns the size of the coded column, in bytes, without the code lengths.
    pub(super) fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Returns the size of the block, in bytes.
    pub(super) fn size(&self) -> usize {
        HEAD + self.bytes()
    }

    /// Returns the block of `column`, which must be the column that this code was made for.
    pub(super) fn block(&self, column: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size() + WORD);
        let pairs = self.lengths.chunks_exact(2);
        out.extend(pairs.map(|pair| pair[0] | pair[1] << 4));
        let mut codes = [(0_u16, 0_u8); 256];
        let mut next = 0;
        for (byte, length) in in_order(&self.lengths) {
            codes[usize::from(byte)] = ((next >> (MAX_CODE_BITS - length)) as u16, length as u8);
            next += TABLE >> length;
        }
        // Each write stores a whole word, but only its complete bytes count.
        out.resize(self.size() + WORD, 0);
        let (mut at, mut word, mut used) = (HEAD, 0_u64, 0_u32);
        for bytes in column.chunks(AT_ONCE) {
            for &byte in bytes {
                let (code, length) = codes[usize::from(byte)];
                used += u32::from(length);
                word |= u64::from(code) << (64 - used);
            }
            out[at..at + WORD].copy_from_slice(&word.to_be_bytes());
            at += (used / 8) as usize;
            word <<= used / 8 * 8;
            used %= 8;
        }
        out.truncate(self.size());
        out
    }
}

/// Decodes a block into `column`, which must already have the decoded size. Returns `None` if the
/// block is malformed.
pub(super) fn unpack(block: &[u8], column: &mut [u8]) -> Option<()> {
    let (head, bits) = block.split_at_checked(HEAD)?;
    let mut lengths = [0; 256];
    for (pair, byte) in lengths.chunks_exact_mut(2).zip(head) {
        pair.copy_from_slice(&[byte & 15, byte >> 4]);
    }
    let table = table(&lengths, column.len())?;
    let (mut at, mut done) = (0, 0);
    // Each step writes two bytes, even if its table entry holds only one. So this loop stops before
    // the last bytes of the column.
    while let Some(room) = column.get_mut(done..done + 2 * AT_ONCE) {
        let mut word = word(bits, at / 8) << (at % 8);
        let mut filled = 0;
        for _ in 0..AT_ONCE {
            let found = table[(word >> (64 - MAX_CODE_BITS)) as usize];
            room[filled..filled + 2].copy_from_slice(&found.bytes);
            filled += usize::from(found.count);
            word <<= found.bits;
            at += usize::from(found.bits);
        }
        done += filled;
    }
    for byte in &mut column[done..] {
        let word = word(bits, at / 8) << (at % 8);
        let found = table[(word >> (64 - MAX_CODE_BITS)) as usize];
        *byte = found.bytes[0];
        at += usize::from(lengths[usize::from(found.bytes[0])]);
    }
    // Only zero bits, up to the end of a byte, may follow the last code.
    let is_whole = at.div_ceil(8) == bits.len();
    let is_clean = || word(bits, at / 8) << (at % 8) == 0;
    (is_whole && is_clean()).then_some(())
}

/// The bytes that the first bits of a word stand for.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Decoded bytes.
    bytes: [u8; 2],
    /// Number of decoded bytes: one or two.
    count: u8,
    /// Number of bits of the codes of the decoded bytes.
    bits: u8,
}

/// Returns the word at the byte position `at`, with zeros after the end of `bytes`.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    if let Some(word) = bytes.get(at..at + WORD) {
        return u64::from_be_bytes(word.try_into().expect("eight bytes"));
    }
    let mut word = [0; WORD];
    let rest = bytes.get(at..).unwrap_or_default();
    word[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(word)
}

fn count(column: &[u8]) -> [u32; 256] {
    // With four tables, consecutive equal bytes do not wait for one counter.
    let mut counts = [[0_u32; 256]; 4];
    for bytes in column.chunks(4) {
        for (counts, byte) in counts.iter_mut().zip(bytes) {
            counts[usize::from(*byte)] += 1;
        }
    }
    std::array::from_fn(|byte| counts.iter().map(|counts| counts[byte]).sum())
}

/// Returns the code length of each byte; 0 for bytes that do not occur.
fn lengths(counts: &[u32; 256]) -> Option<[u8; 256]> {
    let mut bytes: Vec<u8> = (0..=u8::MAX)
        .filter(|byte| counts[usize::from(*byte)] > 0)
        .collect();
    if bytes.len() < 2 {
        return None;
    }
    bytes.sort_by_key(|byte| counts[usize::from(*byte)]);
    // Rare bytes get a greater weight until their codes are short enough.
    let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let mut least = all >> MAX_CODE_BITS;
    loop {
        let weights = bytes
            .iter()
            .map(|byte| u64::from(counts[usize::from(*byte)]).max(least));
        let depths = depths(weights.collect());
        if depths
            .iter()
            .all(|depth| usize::from(*depth) <= MAX_CODE_BITS)
        {
            let mut lengths = [0; 256];
            for (byte, depth) in bytes.iter().zip(depths) {
                lengths[usize::from(*byte)] = depth;
            }
            return Some(lengths);
        }
        least = 2 * least.max(1);
    }
}

/// Returns the depths of the leaves in the Huffman tree of `weights`, which must be in ascending
/// order.
fn depths(mut weights: Vec<u64>) -> Vec<u8> {
    let leaves = weights.len();
    let mut parents = vec![0; 2 * leaves - 1];
    // Leaves and inner nodes form two ascending rows, so the two lightest nodes are at the fronts
    // of the rows.
    let (mut leaf, mut inner) = (0, leaves);
    for node in leaves..2 * leaves - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            let is_leaf = leaf < leaves && (inner == node || weights[leaf] <= weights[inner]);
            let lightest = if is_leaf { &mut leaf } else { &mut inner };
            parents[*lightest] = node;
            weight += weights[*lightest];
            *lightest += 1;
        }
        weights.push(weight);
    }
    let mut depths = vec![0_u8; 2 * leaves - 1];
    for node in (0..2 * leaves - 2).rev() {
        depths[node] = depths[parents[node]].saturating_add(1);
    }
    depths.truncate(leaves);
    depths
}

/// Returns each byte that has a code, with the code's length. The bytes are in the order of their
/// codes: by length, then by byte.
fn in_order(lengths: &[u8; 256]) -> Vec<(u8, usize)> {
    let coded = (0..=u8::MAX)
        .zip(lengths)
        .filter(|(_, length)| **length > 0);
    let mut coded: Vec<_> = coded
        .map(|(byte, length)| (byte, usize::from(*length)))
        .collect();
    coded.sort_by_key(|(_, length)| *length);
    coded
}

/// Returns the decoding table for a column of `bytes` bytes. Returns `None` if the lengths do not
/// form a code.
fn table(lengths: &[u8; 256], bytes: usize) -> Option<Box<[Found; TABLE]>> {
    let mut table = Box::new([Found::default(); TABLE]);
    let mut filled = 0;
    for (byte, length) in in_order(lengths) {
        if length > MAX_CODE_BITS {
            return None;
        }
        let found = Found {
            bytes: [byte, 0],
            count: 1,
            bits: length as u8,
        };
        let end = filled + (TABLE >> length);
        table.get_mut(filled..end)?.fill(found);
        filled = end;
    }
    if filled != TABLE {
        return None;
    }
    // Entries with two bytes take time to fill in, so they are omitted for short columns.
    let pairs = if bytes < TABLE { 0 } else { TABLE };
    for at in 0..pairs {
        let first = table[at];
        let second = table[at << first.bits & (TABLE - 1)].bytes[0];
        let bits = first.bits + lengths[usize::from(second)];
        if usize::from(bits) <= MAX_CODE_BITS {
            table[at] = Found {
                bytes: [first.bytes[0], second],
                count: 2,
                bits,
            };
        }
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths_of(counts: &[u32]) -> Vec<u8> {
        let mut all = [0; 256];
        all[..counts.len()].copy_from_slice(counts);
        lengths(&all).expect("a code")[..counts.len()].to_vec()
    }

    /// Returns a column with byte `n` occurring `counts[n]` times, in a mixed order.
    fn column(counts: &[usize]) -> Vec<u8> {
        let bytes = (0..=u8::MAX).zip(counts);
        let sorted: Vec<u8> = bytes.flat_map(|(byte, count)| vec![byte; *count]).collect();
        let all = sorted.len();
        (0..all).map(|n| sorted[n * 7_919 % all]).collect()
    }

    fn fibonacci<const N: usize>() -> [usize; N] {
        let mut pair = (0, 1);
        [(); N].map(|()| {
            pair = (pair.1, pair.0 + pair.1);
            pair.0
        })
    }

    #[test]
    fn codes_are_the_shortest() {
        assert_eq!(lengths_of(&[8, 4, 2, 1, 1]), [1, 2, 3, 4, 4]);
        assert_eq!(lengths_of(&[1, 0, 1]), [1, 0, 1]);
        assert_eq!(lengths_of(&[5, 5, 5, 5]), [2; 4]);
        assert_eq!(
            lengths_of(&[10, 15, 12, 3, 4, 13, 1]),
            [3, 2, 2, 5, 4, 2, 5]
        );
        assert_eq!(lengths_of(&[1; 256]), [8; 256]);
        assert_eq!(lengths(&[0; 256]), None);
    }

    #[test]
    fn no_code_is_too_long() {
        let counts = fibonacci::<25>();
        let free = depths(counts.iter().map(|count| *count as u64).collect());
        assert_eq!(free.first(), Some(&24));
        let lengths = lengths_of(&counts.map(|count| count as u32));
        assert!(
            lengths
                .iter()
                .all(|length| usize::from(*length) <= MAX_CODE_BITS)
        );
        let bits = |lengths: &[u8]| -> usize {
            let codes = lengths.iter().zip(&counts);
            codes
                .map(|(length, count)| usize::from(*length) * count)
                .sum()
        };
        assert!(bits(&lengths) * 100 < bits(&free) * 102);
    }

    #[test]
    fn blocks_come_back() {
        let mut columns = vec![
            column(&[5, 1]),
            column(&[1; 256]),
            column(&fibonacci::<25>()),
            column(&[1000, 800, 0, 90, 3, 2, 1, 1, 70]),
            (0..=255)
                .flat_map(|byte| vec![byte; usize::from(byte)])
                .collect(),
        ];
        columns.extend((2..50).map(|length| (0..length).map(|n| n % 3).collect()));
        for column in columns {
            let code = Code::of(&column).expect("a code");
            let block = code.block(&column);
            assert_eq!(block.len(), code.size());
            let mut back = vec![0; column.len()];
            unpack(&block, &mut back).expect("a block");
            assert!(back == column);
        }
        assert!(Code::of(&[]).is_none() && Code::of(&[3; 100]).is_none());
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let column = column(&[9, 5, 3, 2]);
        let block = Code::of(&column).expect("a code").block(&column);
        let mut room = vec![0; column.len()];
        let mut is_block = |block: &[u8]| unpack(block, &mut room).is_some();
        assert!(is_block(&block));
        for length in 0..block.len() {
            assert!(!is_block(&block[..length]), "cut at {length}");
        }
        assert!(!is_block(&[&block[..], &[0]].concat()), "longer");
        // The codes take 9 + 10 + 9 + 6 bits, so six bits of the last byte are free.
        for bit in 0..6 {
            let mut block = block.clone();
            *block.last_mut().expect("its end") |= 1 << bit;
            assert!(!is_block(&block), "bit {bit} after the end");
        }
        for byte in 0..HEAD {
            for other in 0..=u8::MAX {
                let mut changed = block.clone();
                changed[byte] = other;
                // Only these two lengths form a complete code, in either order.
                let is_code = [other, other.rotate_left(4)].contains(&block[byte]);
                assert!(is_code || !is_block(&changed), "{byte}: {other:x}");
            }
        }
    }
}
