//! Steps from one time to the next, as bytes and back: one byte below 240 ns, two below 4,080 ns.

use super::value::{Bytes, put_signed};

/// Steps below it are a byte.
const ONE: i64 = 240;
/// Steps from [`ONE`] on, by this much, are two bytes.
const TWO: i64 = 15 << 8;

/// Most bytes of a step.
pub(super) const LONGEST: usize = 11;

/// The byte of a step of one.
#[inline]
pub(super) fn short(step: i64) -> Option<u8> {
    (0..ONE).contains(&step).then_some(step as u8)
}

#[inline]
pub(super) fn put_time(step: i64, out: &mut Vec<u8>) {
    match short(step) {
        Some(byte) => out.push(byte),
        None => put_long(step, out),
    }
}

/// Appends a step of more bytes than one.
pub(super) fn put_long(step: i64, out: &mut Vec<u8>) {
    if (ONE..ONE + TWO).contains(&step) {
        let rest = step - ONE;
        out.extend_from_slice(&[(ONE + (rest >> 8)) as u8, rest as u8]);
    } else {
        out.push(u8::MAX);
        put_signed(step, out);
    }
}

#[inline]
pub(super) fn time(bytes: &mut Bytes<'_>) -> Option<i64> {
    let first = bytes.byte()?;
    Some(match i64::from(first) {
        step @ ..ONE => step,
        high if first < u8::MAX => ONE + ((high - ONE) << 8 | i64::from(bytes.byte()?)),
        _ => bytes.signed()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back() {
        let mut out = Vec::new();
        let steps = [
            0,
            1,
            239,
            240,
            241,
            255,
            256,
            4079,
            4080,
            4081,
            -1,
            i64::MIN,
            i64::MAX,
        ];
        for step in steps {
            put_time(step, &mut out);
        }
        let mut bytes = Bytes(&out);
        for step in steps {
            assert_eq!(time(&mut bytes), Some(step));
        }
        assert_eq!(time(&mut bytes), None);
    }
}
