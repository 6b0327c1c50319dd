//! Sources of events. Each source has its own file, which says what the source needs from the JVM,
//! and records the events.
//!
//! [`table`] lists all sources, in the order in which they begin and end. Loops over the table
//! request capabilities, enable the JVM's events, begin and end the trace, and report unloaded
//! classes. The functions that the JVM calls are in [`crate::callbacks`].

pub(crate) mod allocations;
pub(crate) mod calls;
pub(crate) mod capabilities;
pub(crate) mod classes;
pub(crate) mod cpu;
mod details;
pub(crate) mod exceptions;
pub(crate) mod exhaustion;
pub(crate) mod frees;
pub(crate) mod gc;
pub(crate) mod heap;
pub(crate) mod initialisations;
pub(crate) mod jit;
pub(crate) mod late;
pub(crate) mod monitors;
pub(crate) mod own_threads;
pub(crate) mod parks;
mod pending;
pub(crate) mod program;
pub(crate) mod requests;
pub(crate) mod sampler;
pub(crate) mod sites;
mod source;
mod stack;
mod state;
pub(crate) mod switch;
mod table;
pub(crate) mod threads;
pub(crate) mod trace;
mod tracer;
pub(crate) mod triggers;
pub(crate) mod virtual_threads;

pub(crate) use source::Environment;
use source::{Need, Source};
pub(crate) use tracer::Tracer;
