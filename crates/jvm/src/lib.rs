//! The JVM's interfaces, as safe Rust as far as possible.
//!
//! | Module | Holds |
//! |---|---|
//! | [`jvmti`] | environments, capabilities, events, and queries |
//! | [`jni`] | references, strings, classes, and the few Java calls that the agent makes |
//! | [`perf`] | data that HotSpot keeps in memory for tools: counters, flags, variables of the heap |
//! | [`weak`] | weak references with numbers |

mod error;
pub mod jni;
pub mod jvmti;
pub mod perf;
pub mod weak;

pub use error::Error;
