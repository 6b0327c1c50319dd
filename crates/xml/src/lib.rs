//! XML scanning and writing in memory, without input or output.
//!
//! It is used for TPTP traces, ProfilerJ snapshots and the documents of the command channel.
//!
//! | Module | Holds |
//! |---|---|
//! | `scan` | [`Scanner`]: splits bytes into tokens; the bytes may arrive in parts |
//! | `element` | [`Element`]: a small document as a tree; parses and writes it |
//! | `escape` | [`escape`]: escapes text for a document |
//!
//! All input is treated as hostile, and nothing panics. A token has a maximum number of bytes
//! ([`Scanner::new`]) and of attributes ([`MAX_ATTRIBUTES`]). The scanner does not track open
//! elements. A reader that tracks them must limit their depth, like [`Element::parse`].

#![forbid(unsafe_code)]

mod element;
mod escape;
mod scan;

pub use element::Element;
pub use escape::escape;
pub use scan::{
    Attribute, Error, MAX_ATTRIBUTES, MAX_TOKEN_BYTES, Scanner, Tag, Text, Token, is_allowed,
    white_space,
};
