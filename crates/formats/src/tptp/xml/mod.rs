//! The XML form of TPTP traces. The [module above](super) specifies the format.
//!
//! | Module | Holds |
//! |---|---|
//! | `wire` | what stands around the elements, and frames |
//! | `element` | the table of elements: which attributes, in which order |
//! | `value` | the types of attributes |
//! | `names` | names with a spelling of their own: constructors and class initialisers |
//! | `call` | a fast path for method entries and exits |
//! | `encode`, `decode` | the document around the elements; remarks |

mod call;
mod decode;
mod element;
mod encode;
mod names;
mod value;
mod wire;

pub use decode::Decoder;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;

/// Name of the format in errors.
const FORMAT: &str = "xml";
