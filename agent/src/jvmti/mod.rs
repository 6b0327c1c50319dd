//! The JVM Tool Interface.

pub(crate) mod abi;
mod env;

pub(crate) use env::{Failure, Jvmti, Phase, ThreadNames, text};
