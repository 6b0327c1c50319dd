//! Elements of documents, and the errors in them.

use jtrail_options::{duration_text, parse_duration, parse_size, size_text};
use jtrail_xml::Element;
use std::fmt;
use std::time::Duration;

/// The kind of an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorCode {
    /// The agent does not know the command.
    Unrecognized,
    /// The document is not well formed.
    Malformed,
    /// An element, an attribute or a value is wrong.
    Invalid,
    /// The command is not possible in the agent's current state.
    State,
    /// Another client has the data stream, or there are too many clients.
    Busy,
    /// The agent does not support the command with the options with which it was started.
    Unavailable,
    /// The command was attempted and failed.
    Failed,
    /// A frame is invalid or arrives too slowly. The connection ends.
    Frame,
}

impl ErrorCode {
    /// All codes.
    pub const ALL: [Self; 8] = [
        Self::Unrecognized,
        Self::Malformed,
        Self::Invalid,
        Self::State,
        Self::Busy,
        Self::Unavailable,
        Self::Failed,
        Self::Frame,
    ];

    /// Returns the code's word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unrecognized => "unrecognized",
            Self::Malformed => "malformed",
            Self::Invalid => "invalid",
            Self::State => "state",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Frame => "frame",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The reason why a command was not executed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}{}", if place.is_empty() { String::new() } else { format!(" ({place})") })]
pub struct Failure {
    /// The kind of error.
    pub code: ErrorCode,
    /// The position in the document: `byte 17`, `start`, `start/@format`,
    /// `setFilters/include[2]/@pattern`; empty if there is none.
    pub place: String,
    /// A description of the error, as a sentence.
    pub message: String,
}

impl Failure {
    /// Creates a failure without a position.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            place: String::new(),
            message: message.into(),
        }
    }

    /// Creates a failure at a position in the document.
    pub fn at(code: ErrorCode, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            place: place.into(),
            message: message.into(),
        }
    }
}

/// The maximum depth of elements in a document.
const MAX_DEPTH: usize = 8;

/// Parses a document.
pub(crate) fn parse(bytes: &[u8]) -> Result<Element, Failure> {
    Element::parse(bytes, MAX_DEPTH).map_err(|e| {
        let place = format!("byte {}", e.offset);
        Failure::at(ErrorCode::Malformed, place, e.message)
    })
}

/// An element with its position in the document.
pub(crate) struct Part<'e> {
    pub(crate) element: &'e Element,
    place: String,
}

impl<'e> Part<'e> {
    /// Wraps the root of an agent's document, which may contain unknown parts.
    pub(crate) fn root(element: &'e Element) -> Self {
        let place = element.name.clone();
        Self { element, place }
    }

    /// Wraps an element. Fails if it has attributes or children other than these.
    pub(crate) fn new(
        element: &'e Element,
        place: String,
        attributes: &[&str],
        children: &[&str],
    ) -> Result<Self, Failure> {
        let part = Self { element, place };
        let unknown = element
            .attributes
            .iter()
            .find(|(n, _)| !attributes.contains(&n.as_str()));
        if let Some((name, _)) = unknown {
            return Err(part.invalid(&format!("@{name}"), "no such attribute"));
        }
        if let Some(child) = element
            .children
            .iter()
            .find(|c| !children.contains(&c.name.as_str()))
        {
            return Err(part.invalid(&child.name, "no such element"));
        }
        Ok(part)
    }

    /// Returns this part. Fails if the element has text.
    pub(crate) fn without_text(self) -> Result<Self, Failure> {
        if self.element.text.is_empty() {
            return Ok(self);
        }
        Err(Failure::at(
            ErrorCode::Invalid,
            self.place,
            "it has no text",
        ))
    }

    /// Creates a failure at `place` below this element.
    pub(crate) fn invalid(&self, place: &str, message: impl Into<String>) -> Failure {
        Failure::at(
            ErrorCode::Invalid,
            format!("{}/{place}", self.place),
            message,
        )
    }

    /// Returns the children, with positions such as `start/include[2]`. Their contents are not
    /// checked.
    pub(crate) fn children(&self) -> impl Iterator<Item = Self> {
        let children = self.element.children.iter().enumerate();
        children.map(|(n, element)| Self {
            element,
            place: format!("{}/{}[{}]", self.place, element.name, n + 1),
        })
    }

    /// Returns the first child with this name. Fails if there is none.
    pub(crate) fn needed_child(&self, name: &str) -> Result<Self, Failure> {
        let mut found = self.children().filter(|child| child.element.name == name);
        let missing = || self.invalid(name, "the element is missing");
        found.next().ok_or_else(missing)
    }

    /// Returns this part. Fails if the element has attributes or children other than these.
    pub(crate) fn of(self, attributes: &[&str], children: &[&str]) -> Result<Self, Failure> {
        Self::new(self.element, self.place, attributes, children)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'e str> {
        self.element.get(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&'e str, Failure> {
        self.get(name)
            .ok_or_else(|| self.invalid(&format!("@{name}"), "the attribute is missing"))
    }

    /// Returns the attribute's value, parsed by `read`, if the attribute exists.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let wrong = |problem: String| self.invalid(&format!("@{name}"), problem);
        self.get(name).map(read).transpose().map_err(wrong)
    }

    /// Like [`Self::parsed`], but fails if the attribute does not exist.
    pub(crate) fn needed_as<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let value = self.needed(name)?;
        read(value).map_err(|problem| self.invalid(&format!("@{name}"), problem))
    }
}

/// A type of attribute values.
pub(crate) trait Value: Sized {
    fn read(text: &str) -> Result<Self, String>;
    fn show(&self) -> String;
}

impl Value for u64 {
    fn read(text: &str) -> Result<Self, String> {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.ok_or_else(|| "it is not a whole number".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for u32 {
    fn read(text: &str) -> Result<Self, String> {
        u64::read(text).and_then(|n| n.try_into().map_err(|_| "it is too large".to_owned()))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Duration {
    fn read(text: &str) -> Result<Self, String> {
        parse_duration(text)
    }

    fn show(&self) -> String {
        duration_text(*self)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Size(pub(crate) u64);

impl Value for Size {
    fn read(text: &str) -> Result<Self, String> {
        parse_size(text).map(Self)
    }

    fn show(&self) -> String {
        size_text(self.0)
    }
}

/// Defines an enum whose cases are words in documents.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// All cases.
            pub const ALL: &'static [Self] = &[$(Self::$case),*];

            /// Returns the case's word in documents.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)*
                }
            }

            /// Returns the case whose word is `word`.
            ///
            /// # Errors
            /// If no case has the word: a sentence that lists the valid words.
            pub fn parse(word: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|case| case.word() == word);
                found.copied().ok_or_else(|| {
                    let words: Vec<_> = Self::ALL.iter().map(|case| case.word()).collect();
                    format!("no such value; allowed are {}", words.join(", "))
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(crate) use words;
