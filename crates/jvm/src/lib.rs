//! The JVM's interfaces, made safe as far as they can be.
//!
//! | Module | Holds |
//! |---|---|
//! | [`jvmti`] | environments, capabilities, events, and what can be asked of the JVM |
//! | [`jni`] | references, strings, classes; the hook class as it is defined and bound |
//! | [`perf`] | what HotSpot keeps in memory for others to read: counters, flags, the heap's variables |
//! | [`weak`] | weak references that have numbers |

mod error;
pub mod jni;
pub mod jvmti;
pub mod perf;
pub mod weak;

pub use error::Error;
