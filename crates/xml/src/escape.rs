//! Escaping of text.

/// For each byte value, true if the byte needs escaping, or if it starts a character that may need
/// escaping.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        special[control] = true;
        control += 1;
    }
    special[b'&' as usize] = true;
    special[b'<' as usize] = true;
    special[b'>' as usize] = true;
    special[b'"' as usize] = true;
    special[0xef] = true;
    special
};

/// Appends `text` to `out`, escaped for an element or for an attribute in double quotes.
///
/// Characters that XML forbids become U+FFFD.
pub fn escape(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    let special = |&b: &u8| SPECIAL[usize::from(b)];
    while let Some(step) = bytes[at..].iter().position(special) {
        at += step;
        let (replacement, length) = match bytes[at..] {
            [b'&', ..] => ("&amp;", 1),
            [b'<', ..] => ("&lt;", 1),
            [b'>', ..] => ("&gt;", 1),
            [b'"', ..] => ("&quot;", 1),
            [b'\t', ..] => ("&#9;", 1),
            [b'\n', ..] => ("&#10;", 1),
            [b'\r', ..] => ("&#13;", 1),
            // U+FFFE and U+FFFF; all other characters that start with EF are copied.
            [0xef, 0xbf, 0xbe | 0xbf, ..] => ("\u{fffd}", 3),
            [0xef, ..] => {
                at += 3;
                continue;
            }
            _ => ("\u{fffd}", 1),
        };
        out.extend_from_slice(&bytes[copied..at]);
        out.extend_from_slice(replacement.as_bytes());
        at += length;
        copied = at;
    }
    out.extend_from_slice(&bytes[copied..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let text =
            "a&<>\"'\t\n\r\0\u{1}\u{b}\u{1f}\u{7f}\u{fffe}\u{ffff}\u{fffd}\u{feff}é\u{10ffff}";
        let expected = "a&amp;&lt;&gt;&quot;'&#9;&#10;&#13;\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{7f}\
            \u{fffd}\u{fffd}\u{fffd}\u{feff}é\u{10ffff}";
        let mut out = Vec::new();
        escape(text, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
