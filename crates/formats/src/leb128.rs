//! Numbers of as many bytes as they need, as several formats have them.

/// Appends an unsigned number: seven bits a byte, low ones first, bit 7 says that more follow.
#[inline]
pub(crate) fn put_uleb(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
