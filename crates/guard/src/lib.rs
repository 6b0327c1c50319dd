//! Everything that keeps the agent from harming the process that it runs in, and settings of
//! threads and memory.
//!
//! | Module | Holds |
//! |---|---|
//! | [`guard`] | keeps panics from crossing into the JVM |
//! | [`lend`] | lends a thread's values to another thread while the first one waits |
//! | [`log`] | messages for the user |
//! | [`memory`] | settings of the process's memory |
//! | [`threads`] | settings of agent threads |

pub mod guard;
pub mod lend;
pub mod log;
pub mod memory;
pub mod threads;
