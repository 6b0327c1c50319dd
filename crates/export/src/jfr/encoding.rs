//! Integers, texts and the frames of events.

use super::schema::Type;

/// Appends an integer: 7 bits a byte, the lowest first, with bit 7 set if a byte follows. The ninth
/// byte holds 8 bits.
#[inline]
pub(super) fn integer(out: &mut Vec<u8>, mut value: u64) {
    for _ in 0..8 {
        if value < 0x80 {
            break;
        }
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed integer.
#[inline]
pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    integer(out, value as u64);
}

/// Appends a truth value.
#[inline]
pub(super) fn boolean(out: &mut Vec<u8>, value: bool) {
    out.push(value.into());
}

/// Appends a text, or null.
pub(super) fn text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => out.push(0),
        Some("") => out.push(1),
        Some(text) => utf8(out, text),
    }
}

/// Appends a text as UTF-8, even if it is empty.
pub(super) fn utf8(out: &mut Vec<u8>, text: &str) {
    out.push(3);
    integer(out, text.len() as u64);
    out.extend(text.bytes());
}

/// Appends an event with these fields.
#[inline]
pub(super) fn enclose(out: &mut Vec<u8>, id: Type, fields: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    out.push(id as u8);
    fields(out);
    let size = out.len() - start;
    if size < 0x80 {
        out[start] = size as u8;
    } else {
        set_size(out, start);
    }
}

/// Replaces the first byte of a long event by the size, which includes itself.
fn set_size(out: &mut Vec<u8>, start: usize) {
    let rest = out.len() - start - 1;
    let mut bytes = Vec::new();
    for len in 2.. {
        bytes.clear();
        integer(&mut bytes, (rest + len) as u64);
        if bytes.len() == len {
            break;
        }
    }
    out.splice(start..=start, bytes);
}
