//! Which methods are traced, their numbers, and the rewriting of their classes.

mod classes;
mod loader;
mod never;

pub(crate) use classes::Classes;
pub(crate) use loader::Loader;
