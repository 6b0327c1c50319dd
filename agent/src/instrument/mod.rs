//! Which methods are traced, their numbers, and the rewriting of their classes.

mod changes;
mod classes;
mod handlers;
mod huge;
mod initiating;
mod known;
pub(crate) mod lines;
mod loader;
mod never;
mod plan;
pub(crate) mod sites;
pub(crate) mod special;

pub(crate) use classes::{Classes, class_name, has_triggers};
pub(crate) use handlers::FrameMethod;
pub(crate) use initiating::Origin;
pub(crate) use loader::Loader;
