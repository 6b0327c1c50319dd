//! The encoding of protocol buffers.

/// Wire type of a variable-length integer.
const VARINT: u32 = 0;
/// Wire type of 8 bytes.
const FIXED64: u32 = 1;
/// Wire type of bytes with their length.
const BYTES: u32 = 2;

/// Appends a variable-length integer: seven bits per byte, the lowest first.
#[inline]
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns the number of bytes of [`varint`].
#[inline]
pub(crate) fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

#[inline]
fn key(out: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(out, u64::from(field << 3 | wire_type));
}

/// Appends an integer field.
#[inline]
pub(crate) fn integer(out: &mut Vec<u8>, field: u32, value: u64) {
    key(out, field, VARINT);
    varint(out, value);
}

/// Appends a field of 8 bytes.
pub(crate) fn fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    key(out, field, FIXED64);
    out.extend(value.to_le_bytes());
}

/// Appends a field of bytes or text.
pub(crate) fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    bytes_head(out, field, value.len());
    out.extend(value);
}

/// Appends what precedes `len` bytes of a field.
#[inline]
pub(crate) fn bytes_head(out: &mut Vec<u8>, field: u32, len: usize) {
    key(out, field, BYTES);
    varint(out, len as u64);
}

/// Appends a field with a nested message, whose fields `fill` appends.
pub(crate) fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    key(out, field, BYTES);
    let start = out.len();
    fill(out);
    let len = out.len() - start;
    let head = varint_len(len as u64);
    out.resize(start + head + len, 0);
    out.copy_within(start..start + len, start + head);
    let mut length = Vec::with_capacity(head);
    varint(&mut length, len as u64);
    out[start..start + head].copy_from_slice(&length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_seven_bits_per_byte() {
        for (value, expected) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut out = Vec::new();
            varint(&mut out, value);
            assert_eq!((&out[..], varint_len(value)), (expected, expected.len()));
        }
        for bit in 0..64 {
            let mut out = Vec::new();
            varint(&mut out, 1 << bit);
            assert_eq!(out.len(), varint_len(1 << bit), "bit {bit}");
        }
    }

    #[test]
    fn messages_begin_with_their_length() {
        let mut out = vec![9];
        message(&mut out, 4, |out| {
            integer(out, 1, 150);
            message(out, 2, |out| bytes(out, 3, &[7; 200]));
        });
        assert_eq!(out[..5], [9, 0x22, 0xd1, 0x01, 0x08]);
        assert_eq!(out[5..13], [0x96, 1, 0x12, 0xcb, 1, 0x1a, 0xc8, 1]);
        assert_eq!(out[13..], [7; 200]);
        let mut out = Vec::new();
        fixed64(&mut out, 47, 5);
        assert_eq!(out, [0xf9, 2, 5, 0, 0, 0, 0, 0, 0, 0]);
    }
}
