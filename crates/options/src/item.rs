//! Splits option text into keys and values. The crate's documentation has the grammar.

use crate::error::{OptionError, quoted};
use crate::keys::{find, hint};

/// One `key=value` of the option text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) key: &'a str,
    /// Position of the key in the text, in bytes.
    pub(crate) key_at: usize,
    /// The value without quotation marks and escapes.
    pub(crate) value: String,
    /// Position of the value in the text, in bytes.
    pub(crate) value_at: usize,
}

/// Splits option text into its items.
pub(crate) fn split(text: &str) -> Result<Vec<Item<'_>>, OptionError> {
    let mut items = Vec::new();
    if text.is_empty() {
        return Ok(items);
    }
    let mut at = 0;
    loop {
        let key_at = at;
        let end = text[at..].find([',', '=']).map_or(text.len(), |n| at + n);
        let key = &text[at..end];
        if !text[end..].starts_with('=') {
            return Err(without_value(key, key_at));
        }
        if key.is_empty() {
            return Err(OptionError::text(key_at, "a key is missing before \"=\""));
        }
        let value_at = end + 1;
        let (value, end) = value(key, text, value_at)?;
        items.push(Item {
            key,
            key_at,
            value,
            value_at,
        });
        if end == text.len() {
            return Ok(items);
        }
        at = end + 1; // after the comma
    }
}

fn without_value(key: &str, at: usize) -> OptionError {
    if key.is_empty() {
        return OptionError::text(at, "an option is missing here: there is one comma too many");
    }
    if find(key).is_some() {
        return OptionError::at(key, at, "the value is missing: options are key=value");
    }
    let hint = hint(key, &["JPIAgent"]);
    OptionError::text(at, format!("{} is not key=value{hint}", quoted(key)))
}

/// Returns the value that begins at `start`, and the position of the comma or end after it.
fn value(key: &str, text: &str, start: usize) -> Result<(String, usize), OptionError> {
    let rest = &text[start..];
    let (quote, body) = match rest.strip_prefix('"') {
        Some(body) => (true, body),
        None => (false, rest),
    };
    let end = if quote { '"' } else { ',' };
    let body_at = start + usize::from(quote);
    let mut value = String::new();
    let mut chars = body.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\'
            && let Some(&(_, next)) = chars.peek()
            && (next == end || next == '\\')
        {
            value.push(next);
            chars.next();
        } else if c != end {
            value.push(c);
        } else if !quote {
            return Ok((value, body_at + at));
        } else {
            let after = body_at + at + 1;
            return match text[after..].chars().next() {
                None | Some(',') => Ok((value, after)),
                Some(_) => Err(OptionError::at(
                    key,
                    after,
                    "only a comma may follow the closing quotation mark",
                )),
            };
        }
    }
    if quote {
        return Err(OptionError::at(
            key,
            start,
            "the closing quotation mark is missing",
        ));
    }
    Ok((value, text.len()))
}

/// Returns a value as it must be written in option text: in quotation marks if necessary, else
/// unchanged.
///
/// ```
/// assert_eq!(jtrail_options::escape("app.trcbin"), "app.trcbin");
/// assert_eq!(jtrail_options::escape("a,b"), "\"a,b\"");
/// ```
pub fn escape(value: &str) -> String {
    if !value.starts_with('"') && !value.contains([',', '\\']) {
        return value.to_owned();
    }
    let mut out = String::from("\"");
    for c in value.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("a=", &[("a", "")]),
            ("a=b,c=d", &[("a", "b"), ("c", "d")]),
            ("a=b=c", &[("a", "b=c")]),
            (r"a=x\,y,b=\\z", &[("a", "x,y"), ("b", r"\z")]),
            (r"a=C:\tmp\x", &[("a", r"C:\tmp\x")]),
            (r#"a="x,y",b="q\"\\r""#, &[("a", "x,y"), ("b", r#"q"\r"#)]),
            (r#"a=x"y"#, &[("a", r#"x"y"#)]),
            ("a=x\\", &[("a", "x\\")]),
            ("a=ü,ö=b", &[("a", "ü"), ("ö", "b")]),
        ];
        for (text, expected) in cases {
            let items = split(text).expect(text);
            let got: Vec<_> = items.iter().map(|i| (i.key, i.value.as_str())).collect();
            assert_eq!(&got, expected, "{text}");
        }
    }

    #[test]
    fn items_know_their_place() {
        let items = split("ab=x,c=\"y\"").expect("well formed");
        assert_eq!((items[1].key_at, items[1].value_at), (5, 7));
    }

    #[test]
    fn escaped_values_read_back() {
        for value in [
            "", "a", "a,b", "\"", "a\"b", "\\", "\\\"", ",", "a\\,b", "\"x\",", "ü\\",
        ] {
            let text = format!("k={},l=m", escape(value));
            assert_eq!(split(&text).expect(&text)[0].value, value, "{text}");
        }
    }
}
