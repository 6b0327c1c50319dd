//! Everything that keeps the agent from harming the process that it runs in.
//!
//! | Module | Holds |
//! |---|---|
//! | [`guard`] | keeps panics from crossing into the JVM |
//! | [`lend`] | lends a thread's values to another thread while the first one waits |
//! | [`log`] | messages for the user |
//! | [`threads`] | settings of agent threads |

pub mod guard;
pub mod lend;
pub mod log;
pub mod threads;
