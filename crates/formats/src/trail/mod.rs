#![doc = include_str!("../../../../docs/formats/trail.md")]

mod block;
mod calls;
mod columns;
mod copies;
mod decode;
mod encode;
mod filling;
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

pub use decode::Decoder;
pub use encode::Encoder;
pub use parts::{Part, Parts};
pub(crate) use segment::MAGIC;
pub use segments::{Counts, SegmentReader, Segments, ThreadState};
