#![doc = include_str!("../../../../docs/formats/trail.md")]

mod block;
mod calls;
mod columns;
mod copies;
mod decode;
mod encode;
mod filling;
mod huffman;
mod index;
mod parts;
mod record;
pub mod recover;
mod segment;
mod segments;
mod steps;
mod symbols;
mod times;
mod value;

use jtrail_model::Duration;

/// How far calls may stand before what other threads did earlier.
pub const CALLS_AHEAD: Duration = Duration(10_000);

pub use decode::Decoder;
pub use encode::Encoder;
pub use parts::{Part, Parts};
pub(crate) use segment::MAGIC;
pub use segments::{Counts, SegmentReader, Segments, ThreadState};
