//! Reading XML, for the formats that are documents of it: the tokenizer, and what stands around the elements.

pub(crate) mod document;
pub(crate) mod scan;

/// Characters of a name that are shown.
const LONGEST_NAME: usize = 80;

/// A name, short enough to be shown.
pub(crate) fn cut(name: &str) -> &str {
    name.char_indices()
        .nth(LONGEST_NAME)
        .map_or(name, |(end, _)| &name[..end])
}

/// The number at the begin of `input`, and what is behind it. Up to nineteen digits: more may not fit into 64 bits.
#[inline]
pub(crate) fn number(input: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut length = 0;
    while let Some(digit) = input.get(length).map(|b| b.wrapping_sub(b'0'))
        && digit <= 9
    {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (1..=19)
        .contains(&length)
        .then(|| (number, &input[length..]))
}
