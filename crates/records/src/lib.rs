//! What the agent's threads record, and how it becomes events.
//!
//! Application threads store *records*, words of 64 bits ([`record`]), in chunks of memory; what is
//! too long for a record is a *definition* ([`definition`]). The writer reads the words in order
//! ([`read`]), and a [`Translator`] makes of them the events of [`jtrail_model`], which it hands to
//! the encoder of a format. There is no input or output here but that of a [`spool`] which a
//! process left behind and the locks of [`ownership`], and no JVM: the agent, `jtrail recover` and
//! the tests run the same code.

#![forbid(unsafe_code)]

pub mod definition;
mod numbers;
pub mod ownership;
pub mod read;
pub mod record;
pub mod spool;
mod timeline;
mod translate;

pub use definition::Definition;
pub use numbers::NumberSet;
pub use timeline::Timeline;
pub use translate::{
    Followed, Follower, LineCounters, Named, OpenCalls, Saved, Settings, Translator,
};
