#![doc = include_str!("../../../../docs/formats/trail.md")]

mod block;
mod calls;
mod columns;
mod copies;
mod decode;
mod earlier;
mod encode;
mod filling;
mod huffman;
mod index;
mod kept;
mod open;
mod packing;
mod parts;
mod queue;
mod record;
pub mod recover;
mod row;
mod segment;
mod segments;
mod symbols;
mod times;
mod value;

use jtrail_model::Duration;

/// How far calls may stand before what other threads did earlier.
pub const CALLS_AHEAD: Duration = Duration(10_000);

pub use decode::Decoder;
pub use encode::Encoder;
pub use open::OpenCall;
pub use parts::{Part, Parts};
pub use row::{Row, RowStep};
pub(crate) use segment::MAGIC;
pub use segments::{Counts, Found, OpenOfThread, SegmentReader, Segments, ThreadState};
