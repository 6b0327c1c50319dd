//! The JVM Tool Interface.

pub mod abi;
mod compiled;
mod env;
mod events;
mod heap;
mod members;
mod method;
mod objects;
mod threads;

pub use compiled::{CompiledCode, InlinedStack};
pub use env::{Failure, Jvmti, Lines, Phase, Result, ThreadNames, text};
pub use heap::{Reference, VisitControl, VisitedObject};
pub use members::Member;
pub use method::{Frame, Method, Stack};
pub use threads::{AgentThread, ThreadFunction};
