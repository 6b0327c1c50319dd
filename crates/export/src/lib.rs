//! Traces in the formats of other tools.
//!
//! A **target** is such a format. It is written and not read, and holds what its tool can show.
//! Each target is a folder whose `mod.rs` begins with the specification of what is written.
//!
//! | Module | Contents |
//! |---|---|
//! | `target` | the targets, their names and extensions |
//! | `filter` | which calls are exported |
//! | `slices` | calls and waits as nested slices of their threads |
//! | `protobuf` | the encoding of protocol buffers, which several targets share |
//! | `perfetto` | the targets |

mod filter;
mod perfetto;
mod protobuf;
mod slices;
mod target;

pub use filter::CallFilter;
pub use target::Target;
