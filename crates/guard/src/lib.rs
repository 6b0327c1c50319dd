//! What the agent does to be no trouble in the process of another.
//!
//! | Module | Holds |
//! |---|---|
//! | [`guard`] | no panic crosses into the JVM |
//! | [`lend`] | a thread's own things, for another thread while it waits |
//! | [`log`] | messages for the user |
//! | [`threads`] | threads of the agent's own |

pub mod guard;
pub mod lend;
pub mod log;
pub mod threads;
