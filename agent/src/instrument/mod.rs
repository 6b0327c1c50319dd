//! Which methods are traced, their numbers, and the rewriting of their classes.

mod changes;
mod classes;
mod known;
pub(crate) mod lines;
mod loader;
mod never;
pub(crate) mod parks;
mod plan;
pub(crate) mod sites;

pub(crate) use classes::{Classes, FrameMethod, class_name, has_triggers};
pub(crate) use loader::Loader;
