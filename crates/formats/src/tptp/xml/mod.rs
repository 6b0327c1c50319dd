//! The XML spelling: see the [format's specification](super).
//!
//! | Module | Holds |
//! |---|---|
//! | `element` | the table of elements: which attributes, in which order |
//! | `value` | the types of attributes |
//! | `names` | what is spelled otherwise: constructors and class initialisers |
//! | `call` | a short way for method entries and exits |
//! | `encode`, `decode` | the document around the elements; findings |

mod call;
mod decode;
mod element;
mod encode;
mod names;
mod value;

pub use decode::Decoder;
pub(crate) use element::PASSED_OVER;
pub use encode::Encoder;

/// Name of the format in errors.
const FORMAT: &str = "xml";
