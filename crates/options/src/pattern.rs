//! A pattern for class or method names.

use crate::error::quoted;
use std::fmt;

/// A name with any number of `*`. Each `*` stands for any text, even an empty one.
///
/// A pattern is compiled once: matching the usual shapes (`text`, `text*`, `*text`, `*text*`) takes
/// one comparison or one search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    text: String,
    shape: Shape,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Shape {
    Any,
    Exact(Box<str>),
    Prefix(Box<str>),
    Suffix(Box<str>),
    Contains(Box<str>),
    /// Text before the first star, texts between stars, text after the last star.
    Glob(Box<str>, Box<[Box<str>]>, Box<str>),
}

impl Pattern {
    /// Returns the pattern that every name fits.
    pub fn any() -> Self {
        Self::new("*")
    }

    /// Returns the pattern that `text` describes. Several stars in a row count as one.
    pub fn new(text: &str) -> Self {
        let mut kept = String::with_capacity(text.len());
        for c in text.chars() {
            if c != '*' || !kept.ends_with('*') {
                kept.push(c);
            }
        }
        let parts: Vec<&str> = kept.split('*').collect();
        let shape = match parts[..] {
            [name] => Shape::Exact(name.into()),
            ["", ""] => Shape::Any,
            [prefix, ""] => Shape::Prefix(prefix.into()),
            ["", suffix] => Shape::Suffix(suffix.into()),
            ["", middle, ""] => Shape::Contains(middle.into()),
            [first, ref middle @ .., last] => {
                let middle: Vec<Box<str>> = middle.iter().map(|m| Box::from(*m)).collect();
                Shape::Glob(first.into(), middle.into(), last.into())
            }
            // Splitting gives one part at least.
            [] => Shape::Exact("".into()),
        };
        Self { text: kept, shape }
    }

    /// True if every name fits the pattern.
    pub fn is_any(&self) -> bool {
        self.shape == Shape::Any
    }

    /// True if `name` fits the pattern.
    pub fn matches(&self, name: &str) -> bool {
        match &self.shape {
            Shape::Any => true,
            Shape::Exact(text) => **text == *name,
            Shape::Prefix(text) => name.starts_with(&**text),
            Shape::Suffix(text) => name.ends_with(&**text),
            Shape::Contains(text) => name.contains(&**text),
            Shape::Glob(first, middle, last) => {
                let Some(mut rest) = name
                    .strip_prefix(&**first)
                    .and_then(|rest| rest.strip_suffix(&**last))
                else {
                    return false;
                };
                // The leftmost match of each part leaves the most text for the following parts.
                for part in middle {
                    match rest.find(&**part) {
                        Some(at) => rest = &rest[at + part.len()..],
                        None => return false,
                    }
                }
                true
            }
        }
    }

    /// Returns the pattern in TPTP's spelling (message 1007): without the star whose position
    /// [`Self::generic`] returns.
    ///
    /// TPTP has no patterns with further stars; these stars stay in the text.
    pub fn text(&self) -> &str {
        match self.generic() {
            "SUFFIX" => &self.text[..self.text.len() - 1],
            "PREFIX" => &self.text[1..],
            _ => &self.text,
        }
    }

    /// Returns TPTP's word for the position of the star: `SUFFIX` for `text*`, `PREFIX` for `*text`
    /// and for `*` alone, else `NONE`.
    pub fn generic(&self) -> &'static str {
        if self.text.len() > 1 && self.text.ends_with('*') {
            "SUFFIX"
        } else if self.text.starts_with('*') {
            "PREFIX"
        } else {
            "NONE"
        }
    }
}

/// The pattern with its stars.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits an `include` or `exclude` value into class pattern and, if it has one, method pattern.
///
/// `#` always separates class and method. Without `#`, the part after the last dot is a method if
/// Java's naming rules say so: its first letter is lower case, and that of the preceding part is
/// upper case. One of these two parts may be `*` instead, but not both.
///
/// | Value | Class | Method |
/// |---|---|---|
/// | `com.acme.*` | `com.acme.*` | |
/// | `com.acme.Foo` | `com.acme.Foo` | |
/// | `com.acme.Foo.bar`, `com.acme.Foo.<init>` | `com.acme.Foo` | `bar`, `<init>` |
/// | `com.acme.Foo.*` | `com.acme.Foo` | |
/// | `*.toString`, `com.*.run` | `*`, `com.*` | `toString`, `run` |
/// | `*Test`, `*.Test` | `*Test`, `*.Test` | |
/// | `*Test.set*` | `*Test` | `set*` |
/// | `com.acme.foo` | `com.acme.foo` | |
/// | `com.acme.foo#bar` | `com.acme.foo` | `bar` |
pub(crate) fn split_class_method(value: &str) -> Result<(&str, Option<&str>), String> {
    if value.is_empty() {
        return Err("the pattern is missing".to_owned());
    }
    if value.contains('/') {
        let dotted = quoted(&value.replace('/', "."));
        return Err(format!(
            "class names have dots, not slashes; did you mean {dotted}?"
        ));
    }
    let bad = |c: char| c.is_whitespace() || c.is_control() || "()[];\"'?".contains(c);
    if let Some(c) = value.chars().find(|c| bad(*c)) {
        return Err(format!(
            "{} can't be part of a name",
            quoted(&c.to_string())
        ));
    }
    let (class, method) = match value.split_once('#') {
        Some(("", _)) => {
            return Err("the class is missing before \"#\"; * stands for any".to_owned());
        }
        Some((class, method)) => (class, Some(method)),
        None => match value.rsplit_once('.') {
            Some((class, method)) if is_method(class, method) => (class, Some(method)),
            _ => (value, None),
        },
    };
    if class.split('.').any(str::is_empty) {
        return Err(format!("{} has an empty part", quoted(class)));
    }
    if let Some(method) = method {
        if method.is_empty() {
            return Err("the method is missing after \"#\"".to_owned());
        }
        if let Some(c) = method.chars().find(|c| matches!(c, '.' | '#')) {
            return Err(format!(
                "{} can't be part of a method name",
                quoted(&c.to_string())
            ));
        }
    }
    Ok((class, method.filter(|m| m.chars().any(|c| c != '*'))))
}

fn is_method(class: &str, method: &str) -> bool {
    let letter = |part: &str| part.chars().find(|c| c.is_alphabetic());
    let stars = |part: &str| !part.is_empty() && part.chars().all(|c| c == '*');
    let owner = class.rsplit('.').next().unwrap_or(class);
    let lower = letter(method).is_some_and(char::is_lowercase);
    let upper = letter(owner).is_some_and(char::is_uppercase);
    (lower && (upper || stars(owner))) || (stars(method) && upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("*", &["", "a", "a.b"], &[]),
            ("a.B", &["a.B"], &["a.BC", "xa.B", "a.B$C", ""]),
            ("a.*", &["a.B", "a.b.C", "a."], &["a", "ab.C"]),
            ("*Test", &["Test", "a.MyTest"], &["a.Tests"]),
            ("*b*", &["b", "abc"], &["ac", ""]),
            ("a*c", &["ac", "abc"], &["a", "c", "acd"]),
            ("ab*ba", &["abba", "abxba"], &["aba"]),
            ("a*b*c", &["abc", "axbxc", "abbc"], &["ac", "acb", "a.c"]),
            ("*a*b*", &["ab", "xaxbx"], &["ba", "a"]),
            ("a**", &["a", "ab"], &["b"]),
            ("ü*", &["ü", "üa"], &["u"]),
        ];
        for (pattern, yes, no) in cases {
            let p = Pattern::new(pattern);
            for name in *yes {
                assert!(p.matches(name), "{pattern} should fit {name}");
            }
            for name in *no {
                assert!(!p.matches(name), "{pattern} should not fit {name}");
            }
        }
    }

    #[test]
    fn tptp_words() {
        for (pattern, text, generic) in [
            ("a.B", "a.B", "NONE"),
            ("org.a*", "org.a", "SUFFIX"),
            ("*Test", "Test", "PREFIX"),
            ("*", "", "PREFIX"),
            ("*a*", "*a", "SUFFIX"),
            ("a*b", "a*b", "NONE"),
            ("", "", "NONE"),
        ] {
            let p = Pattern::new(pattern);
            assert_eq!((p.text(), p.generic()), (text, generic), "{pattern}");
            assert_eq!(p.to_string(), pattern);
        }
    }

    #[test]
    fn class_and_method_are_distinguished() {
        for (value, class, method) in [
            ("com.acme.*", "com.acme.*", None),
            ("com.acme.Foo", "com.acme.Foo", None),
            ("com.acme.Foo.bar", "com.acme.Foo", Some("bar")),
            ("com.acme.Foo.<init>", "com.acme.Foo", Some("<init>")),
            ("com.acme.Foo.*", "com.acme.Foo", None),
            ("com.acme.Foo.get*", "com.acme.Foo", Some("get*")),
            ("com.acme.Foo.*Async", "com.acme.Foo.*Async", None),
            ("com.acme.Foo#*Async", "com.acme.Foo", Some("*Async")),
            ("com.acme.Foo$1.run", "com.acme.Foo$1", Some("run")),
            (
                "com.acme.Foo.lambda$main$0",
                "com.acme.Foo",
                Some("lambda$main$0"),
            ),
            ("com.acme.Foo._bar", "com.acme.Foo", Some("_bar")),
            ("com.acme.Outer.Inner", "com.acme.Outer.Inner", None),
            ("com.acme.foo", "com.acme.foo", None),
            ("com.acme.foo#bar", "com.acme.foo", Some("bar")),
            ("com.acme.foo#*", "com.acme.foo", None),
            ("*.toString", "*", Some("toString")),
            ("*#toString", "*", Some("toString")),
            ("com.*.run", "com.*", Some("run")),
            ("*.internal.*", "*.internal.*", None),
            ("com.*.*", "com.*.*", None),
            ("*Test", "*Test", None),
            ("*.Test", "*.Test", None),
            ("*Test.set*", "*Test", Some("set*")),
            ("Main.main", "Main", Some("main")),
            ("main", "main", None),
            ("*", "*", None),
        ] {
            assert_eq!(split_class_method(value), Ok((class, method)), "{value}");
        }
    }
}
