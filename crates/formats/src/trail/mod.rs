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

/// Maximum time by which a call may be later than an event of another thread that follows the call
/// in the trace.
pub const CALLS_AHEAD: Duration = Duration(10_000);

pub use decode::Decoder;
pub use decode::parts::{Part, Parts};
pub use decode::row::{Row, RowStep};
pub use decode::scan::MissingPart;
pub use decode::segment_reader::{
    Counts, KnownOfThread, OpenOfThread, SegmentItem, SegmentReader, StartOfThread, ThreadState,
};
pub use decode::segments::{Ending, Segments};
pub use encode::Encoder;
pub use open::OpenCall;
pub(crate) use wire::MAGIC;
