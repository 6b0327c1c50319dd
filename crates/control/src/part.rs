//! Parts of documents, and what is wrong with them.

use jtrail_options::{duration_text, parse_duration, parse_size, size_text};
use jtrail_xml::Element;
use std::fmt;
use std::time::Duration;

/// What kind of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorCode {
    /// The agent knows no such command.
    Unrecognized,
    /// The document is not well formed.
    Malformed,
    /// An element, an attribute or a value is wrong.
    Invalid,
    /// It can't be done while the agent is in this state.
    State,
    /// Another client has it, or there are too many.
    Busy,
    /// This agent, as it was started, can't do it.
    Unavailable,
    /// It was tried, and failed.
    Failed,
    /// The frames are wrong, or too slow. The connection ends.
    Frame,
}

impl ErrorCode {
    /// Every code.
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

    /// The word for it in a document.
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

/// Why a command was not carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}{}", if place.is_empty() { String::new() } else { format!(" ({place})") })]
pub struct Failure {
    /// What kind of thing went wrong.
    pub code: ErrorCode,
    /// Where in the document: `byte 17`, `start`, `start/@format`,
    /// `setFilters/include[2]/@pattern`; else empty.
    pub place: String,
    /// A sentence.
    pub message: String,
}

impl Failure {
    /// A failure without a place.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            place: String::new(),
            message: message.into(),
        }
    }

    /// A failure at a place in the document.
    pub fn at(code: ErrorCode, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            place: place.into(),
            message: message.into(),
        }
    }
}

/// Most levels of elements in a document.
const DEEPEST: usize = 8;

/// Reads a document.
pub(crate) fn parse(bytes: &[u8]) -> Result<Element, Failure> {
    Element::parse(bytes, DEEPEST).map_err(|e| {
        let place = format!("byte {}", e.offset);
        Failure::at(ErrorCode::Malformed, place, e.message)
    })
}

/// An element whose attributes and children are known, and where it stands.
pub(crate) struct Part<'e> {
    pub(crate) element: &'e Element,
    place: String,
}

impl<'e> Part<'e> {
    /// The root of a document of the agent, which may hold more than is known.
    pub(crate) fn root(element: &'e Element) -> Self {
        let place = element.name.clone();
        Self { element, place }
    }

    /// The element, if it has no attributes and children but these, and no text unless that is
    /// allowed.
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

    /// The same, and there may be no text.
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

    /// A fault at `place` below this element.
    pub(crate) fn invalid(&self, place: &str, message: impl Into<String>) -> Failure {
        Failure::at(
            ErrorCode::Invalid,
            format!("{}/{place}", self.place),
            message,
        )
    }

    /// The children, each with its place: `start/include[2]`. What they hold was not looked at.
    pub(crate) fn children(&self) -> impl Iterator<Item = Self> {
        let children = self.element.children.iter().enumerate();
        children.map(|(n, element)| Self {
            element,
            place: format!("{}/{}[{}]", self.place, element.name, n + 1),
        })
    }

    /// The first child of a name.
    pub(crate) fn needed_child(&self, name: &str) -> Result<Self, Failure> {
        let mut found = self.children().filter(|child| child.element.name == name);
        let missing = || self.invalid(name, "the element is missing");
        found.next().ok_or_else(missing)
    }

    /// This part, if it has no attributes and children but these.
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

    /// The attribute, read by `read`.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let wrong = |problem: String| self.invalid(&format!("@{name}"), problem);
        self.get(name).map(read).transpose().map_err(wrong)
    }

    /// The same, and it must be there.
    pub(crate) fn needed_as<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let value = self.needed(name)?;
        read(value).map_err(|problem| self.invalid(&format!("@{name}"), problem))
    }
}

/// A value of an attribute.
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

/// An enum whose cases are words of the documents.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// Every case.
            pub const ALL: &'static [Self] = &[$(Self::$case),*];

            /// The word for it in a document.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)*
                }
            }

            /// The case with this word.
            ///
            /// # Errors
            /// A sentence that says which words there are.
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
