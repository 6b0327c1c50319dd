//! Records of the agent's threads, and their translation to events.
//!
//! Application threads store *records*, words of 64 bits ([`record`]), in chunks of memory. Data
//! that is too long for a record is sent as a *definition* ([`definition`]). The writer reads the
//! words in order ([`read`]). A [`Translator`] turns them into events of [`jtrail_model`], which it
//! hands to the encoder of a format. The crate does no input or output, with two exceptions: it
//! reads a [`spool`] that a process left, and it locks files ([`ownership`]). It does not depend on
//! the JVM: the agent, `jtrail recover` and the tests run the same code.

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
