//! LEB128: an encoding of numbers in as few bytes as possible. Several formats use it.

/// Appends an unsigned number in groups of seven bits, the low ones first. Bit 7 of a byte says
/// that another byte follows.
#[inline]
pub(crate) fn put_uleb(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
