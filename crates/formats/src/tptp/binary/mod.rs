//! The binary spelling: see the [format's specification](super).
//!
//! | Module | Holds |
//! |---|---|
//! | `message` | the table of messages: which fields, in which order |
//! | `field` | the types of fields |
//! | `call` | a short way for method entries and exits |
//! | `charset` | the character sets that are understood |
//! | `encode`, `decode` | the stream around the messages |

mod call;
mod charset;
mod decode;
mod encode;
mod field;
mod message;
mod system;

pub use decode::Decoder;
pub(crate) use decode::PASSED_OVER;
pub use encode::Encoder;

/// The first bytes of a binary trace.
pub const MAGIC: &[u8] = b"0TBF";

/// Name of the format in errors.
const FORMAT: &str = "binary";
/// Major version: the only one there is.
const MAJOR: u8 = 1;
/// Bytes of the stream's header.
const HEADER_SIZE: usize = 12;
/// Bytes of a message's id and size.
const MESSAGE_HEAD: usize = 6;
/// First id of data messages; those below are the system's.
const DATA: u16 = 1001;
/// Last id of data messages.
const LAST_ID: u16 = 0x7fff;
