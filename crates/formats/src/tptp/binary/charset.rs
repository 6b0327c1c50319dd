//! Character sets that message 1 may name.

use jtrail_model::Text;
use std::borrow::Cow;

/// The character set of a stream's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Charset {
    /// The character set of our encoder, and the default without message 1.
    #[default]
    Utf8,
    Ascii,
    Latin1,
    /// The character set that the format's design note gives as an example besides UTF-8.
    Koi8R,
}

/// The characters of KOI8-R from 0x80 upwards.
const KOI8_R: &str = "─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{a0}⌡°²·÷═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©юабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ";

impl Charset {
    /// Returns the character set called `name`, regardless of case.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().replace('_', "-").as_str() {
            "UTF8" | "UTF-8" => Self::Utf8,
            "ASCII" | "US-ASCII" => Self::Ascii,
            "LATIN1" | "ISO8859-1" | "ISO-8859-1" => Self::Latin1,
            "KOI8-R" => Self::Koi8R,
            _ => return None,
        })
    }

    /// Returns the character set's name in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Ascii => "US-ASCII",
            Self::Latin1 => "ISO-8859-1",
            Self::Koi8R => "KOI8-R",
        }
    }

    /// Decodes `bytes`. Returns `None` if they are invalid in this character set.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<Text<'_>> {
        match self {
            _ if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Ascii => None,
            Self::Latin1 => Some(bytes.iter().map(|&b| char::from(b)).collect()),
            Self::Koi8R => Some(bytes.iter().map(|&b| koi8_r(b)).collect()),
        }
    }
}

fn koi8_r(byte: u8) -> char {
    match byte.checked_sub(0x80) {
        None => char::from(byte),
        Some(high) => KOI8_R
            .chars()
            .nth(usize::from(high))
            .unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case() {
        for (name, set) in [
            ("UTF8", Charset::Utf8),
            ("utf-8", Charset::Utf8),
            ("Iso8859_1", Charset::Latin1),
            ("koi8-r", Charset::Koi8R),
            ("us-ascii", Charset::Ascii),
        ] {
            assert_eq!(Charset::by_name(name), Some(set), "{name}");
        }
        assert_eq!(Charset::by_name("UTF-16"), None);
        assert_eq!(Charset::by_name(""), None);
    }

    #[test]
    fn text_is_decoded() {
        assert_eq!(KOI8_R.chars().count(), 128);
        let koi8 = [0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4, b'!', 0x80, 0xff];
        assert_eq!(Charset::Koi8R.decode(&koi8).unwrap(), "Привет!─Ъ");
        assert_eq!(Charset::Latin1.decode(&[0xe9, b'a']).unwrap(), "éa");
        assert_eq!(Charset::Ascii.decode(&[0xe9]), None);
        assert_eq!(Charset::Utf8.decode(&[0xe9]), None);
        assert_eq!(Charset::Utf8.decode("é".as_bytes()).unwrap(), "é");
    }
}
