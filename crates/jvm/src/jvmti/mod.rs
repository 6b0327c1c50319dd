//! The JVM Tool Interface.

pub mod abi;
mod env;
mod events;
mod heap;
mod members;
mod objects;
mod threads;

pub use env::{Failure, Jvmti, Lines, Phase, Result, ThreadNames, text};
pub use heap::{Onward, Passed, Reference};
pub use members::Member;
pub use threads::{ExtensionFunction, frames};
