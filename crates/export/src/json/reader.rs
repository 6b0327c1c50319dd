//! A reader of JSON for tests. Numbers stay texts, so that tests see each digit.

/// A value of JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// `null`, `true`, `false` or a number, as it is written.
    Plain(String),
    Text(String),
    Array(Vec<Value>),
    /// The fields in their order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Returns the field of an object with a name, if the object has one.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let Value::Object(fields) = self else {
            panic!("{self:?} is no object");
        };
        let mut found = fields.iter().filter(|(field, _)| field == name);
        let first = found.next();
        assert!(found.next().is_none(), "{name} occurs twice");
        first.map(|(_, value)| value)
    }

    /// Returns the text of a field: as it is written if the field is no string, and empty if there
    /// is no such field.
    pub(crate) fn text(&self, name: &str) -> String {
        match self.get(name) {
            None => String::new(),
            Some(Value::Plain(text) | Value::Text(text)) => text.clone(),
            Some(other) => panic!("{name} is {other:?}"),
        }
    }

    /// Returns the elements of a field that is an array.
    pub(crate) fn elements(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Some(Value::Array(elements)) => elements,
            other => panic!("{name} is {other:?}"),
        }
    }
}

/// Reads a text that is one value.
pub(crate) fn read(json: &[u8]) -> Value {
    let text = std::str::from_utf8(json).expect("UTF-8");
    let mut reader = Reader { rest: text };
    let value = reader.value();
    reader.skip_blanks();
    assert_eq!(reader.rest, "", "text after the value");
    value
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\r', '\t']);
    }

    /// Skips a character, if it is the next one.
    fn skips(&mut self, c: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Value {
        if self.skips('{') {
            let mut fields = Vec::new();
            self.list('}', |reader| {
                assert!(reader.skips('"'), "a name at {}", reader.rest);
                let name = reader.string();
                assert!(reader.skips(':'), "a colon at {}", reader.rest);
                fields.push((name, reader.value()));
            });
            Value::Object(fields)
        } else if self.skips('[') {
            let mut elements = Vec::new();
            self.list(']', |reader| elements.push(reader.value()));
            Value::Array(elements)
        } else if self.skips('"') {
            Value::Text(self.string())
        } else {
            let end = self.rest.find([',', '}', ']', '\n']).expect("an end");
            let (plain, rest) = self.rest.split_at(end);
            self.rest = rest;
            let is_number = plain.parse::<f64>().is_ok_and(f64::is_finite);
            assert!(
                is_number || ["null", "true", "false"].contains(&plain),
                "{plain}"
            );
            Value::Plain(plain.to_owned())
        }
    }

    /// Reads elements and the commas between them.
    fn list(&mut self, end: char, mut element: impl FnMut(&mut Self)) {
        if self.skips(end) {
            return;
        }
        loop {
            element(self);
            if self.skips(end) {
                return;
            }
            assert!(self.skips(','), "a comma at {}", self.rest);
        }
    }

    /// Reads what follows the opening quote.
    fn string(&mut self) -> String {
        let mut text = String::new();
        loop {
            let mut chars = self.rest.chars();
            let c = chars.next().expect("a character");
            self.rest = chars.as_str();
            match c {
                '"' => return text,
                '\\' => text.push(self.escaped()),
                _ => {
                    assert!(c >= ' ', "a control character");
                    text.push(c);
                }
            }
        }
    }

    /// Reads what follows a backslash.
    fn escaped(&mut self) -> char {
        let (escape, rest) = self.rest.split_at(1);
        self.rest = rest;
        match escape {
            "u" => {
                let (code, rest) = self.rest.split_at(4);
                self.rest = rest;
                let code = u32::from_str_radix(code, 16).expect("four digits");
                char::from_u32(code).expect("no surrogate")
            }
            "n" => '\n',
            "\"" | "\\" => escape.chars().next().expect("a character"),
            _ => panic!("\\{escape}"),
        }
    }
}
