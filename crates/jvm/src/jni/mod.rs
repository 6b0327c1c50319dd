//! The Java Native Interface: the running thread's environment, references, and the few things that
//! the agent asks of Java.
//!
//! [`Env`] is created once per callback. Whoever has one is on a thread that the JVM knows, so all
//! functions that take it are safe. The types of references ([`refs`]) keep them from being used
//! after their frame, or on another thread.

mod classes;
mod env;
mod loaders;
mod objects;
pub mod refs;
mod text;
mod threads;

pub use classes::Native;
pub use env::{Env, Vm};
pub use loaders::Answer;
pub use objects::{Continuations, ObjectArrays};
pub use refs::{
    ClassRef, GlobalRef, Handle, LoaderRef, ObjectArrayRef, ObjectRef, TextRef, ThreadRef, WeakRef,
    WeakSlot, kind,
};
