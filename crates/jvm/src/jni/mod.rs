//! The Java Native Interface: the running thread's environment, references to objects, and the few
//! Java calls that the agent makes.
//!
//! An [`Env`] is created once per callback. Code that has one runs on a thread that is attached to
//! the JVM, so all functions that take an [`Env`] are safe. The reference types in [`refs`] can't
//! be used after their frame has ended, or on another thread.

mod classes;
mod env;
mod loaders;
mod objects;
pub mod refs;
mod text;
mod threads;

pub use classes::Native;
pub use env::{Env, Vm};
pub use loaders::LoaderOutcome;
pub use objects::{Continuations, ObjectArrays};
pub use refs::{
    ClassRef, GlobalRef, Handle, LoaderRef, ObjectArrayRef, ObjectRef, TextRef, ThreadRef, WeakRef,
    WeakSlot, kind,
};
