//! The JVM Tool Interface.

pub(crate) mod abi;
mod env;
mod heap;
mod objects;

pub(crate) use env::{Failure, Jvmti, Lines, Phase, ThreadNames, text};
pub(crate) use heap::Reference;
