#![doc = include_str!("../../../../docs/formats/trail.md")]

mod calls;
mod columns;
mod decode;
mod encode;
mod huffman;
mod index;
mod open;
mod record;
pub mod recover;
mod symbols;
mod times;
mod value;
mod wire;

use jtrail_model::Duration;

/// Name of the format in errors.
const FORMAT: &str = "trail";

/// How far calls may stand before what other threads did earlier.
pub const CALLS_AHEAD: Duration = Duration(10_000);

pub use decode::Decoder;
pub use decode::parts::{Part, Parts};
pub use decode::row::{Row, RowStep};
pub use decode::segments::{Counts, Found, OpenOfThread, SegmentReader, Segments, ThreadState};
pub use encode::Encoder;
pub use open::OpenCall;
pub(crate) use wire::MAGIC;
