//! Events as flat lists of fields, taken from their `Debug` text, so that all kinds are treated
//! alike and no field is forgotten.

use jtrail_model::Event;

/// An event as a list of fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Leaves {
    /// Name of the variant.
    pub(crate) kind: String,
    /// Each field with its values; a field of a list's items has a value for each item.
    pub(crate) fields: Vec<(String, Vec<Value>)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Value {
    /// An id: its type and number.
    Id(String, u64),
    /// A point or a length of time, in nanoseconds.
    Time(i64),
    Other(String),
}

impl Value {
    /// True if the value is empty, so that a conversion can't drop it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Id(_, id) => *id == 0,
            Self::Time(ns) => *ns == 0,
            Self::Other(text) => matches!(text.as_str(), "0" | "\"\"" | "false" | "-1"),
        }
    }
}

/// Splits an event into its fields.
pub(crate) fn leaves(event: &Event<'_>) -> Leaves {
    let shown = format!("{event:?}");
    let (kind, payload) = shown.split_once('(').expect("a variant");
    let mut fields = Vec::new();
    let mut parser = Parser { rest: payload };
    parser.value("", &mut fields);
    assert_eq!(parser.rest, ")", "{shown}");
    Leaves {
        kind: kind.to_owned(),
        fields,
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, path: &str, fields: &mut Vec<(String, Vec<Value>)>) {
        if self.eat("[") {
            while !self.eat("]") {
                self.value(path, fields);
                self.eat(", ");
            }
            return;
        }
        let end = if self.rest.starts_with('"') {
            let mut escaped = false;
            let closing = self.rest[1..].find(|c| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            });
            2 + closing.expect("a closing quotation mark")
        } else {
            let part = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
            self.rest.find(part).unwrap_or(self.rest.len())
        };
        let (word, rest) = self.rest.split_at(end);
        let word = word.to_owned();
        self.rest = rest;
        if self.eat(" { ") {
            while !self.eat(" }") {
                let (name, rest) = self.rest.split_once(": ").expect("a field");
                let name = match path {
                    "" => name.to_owned(),
                    path => format!("{path}.{name}"),
                };
                self.rest = rest;
                self.value(&name, fields);
                self.eat(", ");
            }
            return;
        }
        let value = if self.eat("(") {
            let (inner, rest) = self.rest.split_once(')').expect("a bracket");
            self.rest = rest;
            match word.as_str() {
                "Timestamp" | "Duration" => Value::Time(inner.parse().expect("a time")),
                _ if word.ends_with("Id") => Value::Id(word, inner.parse().expect("an id")),
                _ => Value::Other(inner.to_owned()),
            }
        } else {
            Value::Other(word)
        };
        match fields.iter_mut().find(|(name, _)| name == path) {
            Some((_, values)) => values.push(value),
            None => fields.push((path.to_owned(), vec![value])),
        }
    }
}
