//! The trace formats of jtrail: for each an encoder and a decoder of the one event model.
//!
//! Codecs do no input or output. An encoder appends bytes to a buffer; a decoder is handed bytes
//! and answers with an event, a remark, or that it needs more. [`Reader`] drives a decoder over
//! anything that implements [`std::io::Read`], in bounded memory.
//!
//! Each format lives in a folder of its own; the head of its `mod.rs` is its specification (that of
//! [`trail`] is `docs/formats/trail.md`).

#![forbid(unsafe_code)]

mod check;
mod codec;
mod detect;
mod hash;
mod in_order;
pub mod jinsight;
mod leb128;
pub mod mlpd;
pub mod profilerj;
mod quantity;
mod reader;
mod room;
mod short_calls;
mod tally;
pub mod tptp;
pub mod tracelog;
pub mod trail;
mod xml;

pub use check::*;
pub use codec::*;
pub use detect::*;
pub use in_order::InOrder;
pub use quantity::*;
pub use reader::*;
pub use short_calls::{Bounds, ShortCalls};
pub use tally::{DropCount, RemarkKind, dropped_message};
