//! A single trace event.

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The fields of a trace event, as they are written.
#[derive(Deserialize, Debug)]
pub(super) struct Record<'a> {
    #[serde(borrow, default)]
    pub(super) ph: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dur: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize, Debug)]
struct NameArgs<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
}

impl<'a> Record<'a> {
    /// Reads a trace event. Returns `None` if it is none.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(super) fn name(&self) -> Option<Cow<'a, str>> {
        self.name.and_then(text)
    }

    /// Returns the time in ns.
    pub(super) fn time(&self) -> Option<i64> {
        self.ts.and_then(|ts| nanoseconds(&text(ts)?))
    }

    /// Returns the length in ns.
    pub(super) fn duration(&self) -> Option<i64> {
        self.dur.and_then(|dur| nanoseconds(&text(dur)?))
    }

    /// Returns the process and the thread; empty if they are missing.
    pub(super) fn thread(&self) -> (Cow<'a, str>, Cow<'a, str>) {
        let id = |id: Option<&'a RawValue>| id.and_then(text).unwrap_or_default();
        (id(self.pid), id(self.tid))
    }

    /// Returns the name in the arguments of metadata.
    pub(super) fn named(&self) -> Option<Cow<'a, str>> {
        let args: NameArgs<'a> = serde_json::from_str(self.args?.get()).ok()?;
        args.name.map_or(Some("".into()), text)
    }
}

/// Returns the text of a JSON string, or a number as it is written. `None` for other values.
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let json = value.get();
    match json.bytes().next() {
        Some(b'"') => {
            let inner = json.strip_prefix('"')?.strip_suffix('"')?;
            match inner.contains('\\') {
                false => Some(inner.into()),
                true => unescaped(json).map(Cow::from),
            }
        }
        Some(b'-' | b'0'..=b'9') => Some(json.into()),
        _ => None,
    }
}

/// Returns the text of a JSON string. A lone surrogate, which no text can have, is returned as its
/// escape: `\ud800`.
fn unescaped(json: &str) -> Option<String> {
    if let Ok(text) = serde_json::from_str(json) {
        return Some(text);
    }
    // As bytes, surrogates are characters of three bytes.
    let Bytes(bytes) = serde_json::from_str(json).ok()?;
    let mut text = String::with_capacity(bytes.len());
    let mut rest = &bytes[..];
    loop {
        let chunk = rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        text.push_str(chunk);
        match &rest[chunk.len()..] {
            [] => return Some(text),
            [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, after @ ..] => {
                let unit = 0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
                text += &format!("\\u{unit:04x}");
                rest = after;
            }
            _ => return None,
        }
    }
}

/// The bytes of a JSON string.
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Copying;
        impl Visitor<'_> for Copying {
            type Value = Bytes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Copying)
    }
}

/// Returns a number of µs in ns, rounded down. Values out of range are clamped. A float would not
/// have enough digits for times since 1970.
pub(super) fn nanoseconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], digits[at + 1..].parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    // The place of the last digit that counts, from the start of the digits.
    let end = (whole.len() as i64)
        .saturating_add(i64::from(exponent))
        .saturating_add(3);
    let mut value: i64 = 0;
    let mut digits = whole.bytes().chain(fraction.bytes());
    let (mut at, mut has_rest) = (0, false);
    while at < end {
        let digit = match digits.next() {
            Some(digit) => i64::from(digit - b'0'),
            None if value == 0 => break,
            None => 0,
        };
        let Some(next) = value.checked_mul(10).and_then(|v| v.checked_add(digit)) else {
            return Some(if is_negative { i64::MIN } else { i64::MAX });
        };
        value = next;
        at += 1;
    }
    has_rest |= digits.any(|digit| digit != b'0');
    Some(match is_negative {
        true => -value - i64::from(has_rest),
        false => value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_escapes() {
        for (json, expected) in [
            (r#""a\ud800""#, Some("a\\ud800")),
            (
                r#""\uDFFFb\ud83d\ude00\n\ud83d\ud83d\ude00""#,
                Some("\\udfffb😀\n\\ud83d😀"),
            ),
            (r#""é\udc00é""#, Some("é\\udc00é")),
            (r#""\ud83d\ude00""#, Some("😀")),
            (r#""\u12""#, None),
            (r#""\x""#, None),
        ] {
            assert_eq!(unescaped(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn microseconds_are_exact() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1.5", Some(1_500)),
            ("1700000000000000.123", Some(1_700_000_000_000_000_123)),
            ("1700000000000000.1239", Some(1_700_000_000_000_000_123)),
            ("-1.0001", Some(-1_001)),
            ("-1.000", Some(-1_000)),
            ("12e-3", Some(12)),
            ("12e-4", Some(1)),
            ("1.7e15", Some(1_700_000_000_000_000_000)),
            ("1E+3", Some(1_000_000)),
            ("0e999999999", Some(0)),
            ("1e999999999", Some(i64::MAX)),
            ("-1e999999999", Some(i64::MIN)),
            ("1e-999999999", Some(0)),
            ("99999999999999999999", Some(i64::MAX)),
            ("1e99999999999", None),
            (".", None),
            ("", None),
            ("1.2.3", None),
            ("x", None),
        ] {
            assert_eq!(nanoseconds(text), expected, "{text}");
        }
    }
}
