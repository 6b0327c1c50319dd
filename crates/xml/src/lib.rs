//! XML without input or output.
//!
//! TPTP traces, ProfilerJ snapshots and the documents of the command channel are read with this
//! crate.
//!
//! | Module | Holds |
//! |---|---|
//! | `scan` | [`Scanner`]: bytes to tokens, where the bytes may come in parts |
//! | `element` | [`Element`]: a small document as a tree, read and written |
//! | `escape` | [`escape`]: text to what stands for it in a document |
//!
//! All input is treated as hostile. Nothing panics. A token is bounded in its bytes
//! ([`Scanner::new`]) and in its attributes ([`MOST_ATTRIBUTES`]). The scanner keeps no open
//! elements: a reader that does bounds their depth, as [`Element::parse`] does.

#![forbid(unsafe_code)]

mod element;
mod escape;
mod scan;

pub use element::Element;
pub use escape::escape;
pub use scan::{
    Attribute, Error, LONGEST_TOKEN, MOST_ATTRIBUTES, Scanner, Tag, Text, Token, is_allowed,
    white_space,
};
