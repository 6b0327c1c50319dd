//! The JVM Tool Interface.

pub(crate) mod abi;
mod env;
mod events;
mod heap;
mod members;
mod objects;
mod threads;

pub(crate) use env::{Failure, Jvmti, Lines, Phase, Result, ThreadNames, text};
pub(crate) use heap::{Onward, Passed, Reference};
pub(crate) use threads::{ExtensionFunction, frames};
