//! Frames: each frame holds one value, which is readable as a whole or not at all.

use serde::Serialize;
use serde::de::DeserializeOwned;

const HEAD: usize = 8;

/// Appends a frame with a value.
pub fn frame(value: &impl Serialize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    let framed = std::mem::take(out);
    // Fails only if memory is exhausted or the type can't be serialised, and all types here can.
    *out = postcard::to_extend(value, framed).unwrap_or_default();
    let (head, body) = out[start..].split_at_mut(HEAD);
    head[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    head[4..].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
}

/// Returns the value of the first frame in `bytes`, and the bytes after it. Returns `None` if there
/// is no complete frame.
pub(super) fn unframe<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    let [a, b, c, d, e, f, g, h] = *head;
    let (length, checksum) = (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    );
    let (body, rest) = rest.split_at_checked(length as usize)?;
    if crc32c::crc32c(body) != checksum {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, rest))
}

/// Returns the values of all frames up to the first damaged one.
pub(super) fn unframe_all<T: DeserializeOwned>(mut bytes: &[u8]) -> Vec<T> {
    let mut all = Vec::new();
    while let Some((value, rest)) = unframe(bytes) {
        all.push(value);
        bytes = rest;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_up_to_where_they_are_cut() {
        let mut bytes = Vec::new();
        let all = ["a", "", "longer than the others"];
        let ends = all.map(|text| {
            frame(&text, &mut bytes);
            bytes.len()
        });
        for cut in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(unframe_all::<String>(&bytes[..cut]), all[..whole], "{cut}");
        }
        bytes[ends[0] + 4] ^= 1;
        assert_eq!(unframe_all::<String>(&bytes), all[..1]);
    }
}
