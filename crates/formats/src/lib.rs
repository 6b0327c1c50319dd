//! The trace formats of jtrail. Each format has an encoder and a decoder. All of them use one event
//! model. An [`Import`] is a format of another tool that has a decoder only.
//!
//! Encoders and decoders do no input or output. An encoder appends bytes to a buffer. A decoder
//! takes bytes and returns an event, a remark, or a request for more bytes. [`Reader`] drives a
//! decoder over anything that implements [`std::io::Read`], in bounded memory.
//!
//! Each format has its own folder, and the head of its `mod.rs` is the format's specification. The
//! specification of [`trail`] is `docs/formats/trail.md`.

#![forbid(unsafe_code)]

mod check;
mod chrome;
mod codec;
mod collapsed;
mod definitions;
mod detect;
mod hash;
mod import;
mod in_order;
pub mod jinsight;
pub mod join;
mod leb128;
pub mod mlpd;
mod packed;
pub mod profilerj;
mod quantity;
mod reader;
mod room;
mod short_calls;
mod tally;
#[cfg(test)]
mod testing;
pub mod tptp;
pub mod tracelog;
pub mod trail;
mod xml;

pub use check::*;
pub use codec::*;
pub use detect::*;
pub use import::{Import, Readable};
pub use in_order::InOrder;
pub use quantity::*;
pub use reader::*;
pub use short_calls::{Bounds, ShortCalls};
pub use tally::{DropCount, RemarkKind, dropped_message};
