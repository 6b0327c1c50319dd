//! The binary form of TPTP traces. The [module above](super) specifies the format.
//!
//! | Module | Holds |
//! |---|---|
//! | `wire` | sizes and numbers of the stream |
//! | `message` | the table of messages: which fields, in which order |
//! | `value` | the types of fields |
//! | `call` | a fast path for method entries and exits |
//! | `charset` | the character sets that are understood |
//! | `encode`, `decode` | the stream around the messages |

mod call;
mod charset;
mod decode;
mod encode;
mod message;
mod value;
mod wire;

pub use decode::Decoder;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;

/// The first bytes of a binary trace.
pub const MAGIC: &[u8] = b"0TBF";

/// Name of the format in errors.
const FORMAT: &str = "binary";
