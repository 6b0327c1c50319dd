//! Which methods are traced, their numbers, and the rewriting of their classes.

mod classes;
pub(crate) mod lines;
mod loader;
mod never;
pub(crate) mod parks;

pub(crate) use classes::Classes;
pub(crate) use loader::Loader;
