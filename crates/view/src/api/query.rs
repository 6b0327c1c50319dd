//! Parameters of a request.

use super::Fault;
use std::collections::BTreeSet;
use std::str::FromStr;

/// The parameters of a request: names, and values without escapes.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses `name=value&name=value`.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(name), unescape(value))
        });
        Self(pairs.collect())
    }

    /// Returns a parameter that may be missing.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        pairs.find(|(of, _)| of == name).map(|(_, value)| &**value)
    }

    /// Returns a number, or `None` if it is missing.
    pub(super) fn optional<N: FromStr>(&self, name: &str) -> Result<Option<N>, Fault> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        let wrong = || Fault::Request(format!("{name}: {value:?} is no such number"));
        value.parse().map(Some).map_err(|_| wrong())
    }

    /// Returns a number that must be there.
    pub(super) fn number<N: FromStr>(&self, name: &str) -> Result<N, Fault> {
        let number = self.optional(name)?;
        number.ok_or_else(|| Fault::Request(format!("{name} is missing")))
    }

    /// Returns a list of numbers and ranges (`3,10-20`), in ascending order; empty if it is
    /// missing. Numbers are below `end`.
    pub(super) fn numbers(&self, name: &str, end: u32) -> Result<BTreeSet<u32>, Fault> {
        let text = self.text(name).unwrap_or_default();
        let mut numbers = BTreeSet::new();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let wrong = || Fault::Request(format!("{name}: {word:?} is not there"));
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n < end);
            let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
            numbers.extend(first..=last);
        }
        Ok(numbers)
    }
}

/// Replaces `%41` by its byte, and `+` by a blank.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escaped = match byte {
            b'%' => after.split_first_chunk().and_then(|(digits, after)| {
                rest = after;
                hexadecimal(*digits)
            }),
            b'+' => Some(b' '),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hexadecimal(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| (digit as char).to_digit(16));
    Some((high? << 4 | low?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_no_escapes() {
        let query = Query::parse("a=1&text=%C3%a4+b%2Bc%&list=9,3,4-6,&&empty");
        assert_eq!(query.text("text"), Some("ä b+c%"));
        assert_eq!(query.number::<u32>("a").ok(), Some(1));
        let list = query.numbers("list", 10).expect("numbers");
        assert_eq!(Vec::from_iter(list), [3, 4, 5, 6, 9]);
        assert!(query.numbers("list", 9).is_err());
        assert_eq!(query.text("empty"), Some(""));
        assert!(query.number::<u32>("text").is_err());
        assert!(query.number::<u32>("missing").is_err());
    }
}
