//! Selects the methods that are traced, and rewrites their classes.

mod classes;
mod handlers;
mod huge;
mod initialiser;
mod initiating;
mod never;
mod plan;
pub(crate) mod sites;
pub(crate) mod special;

pub(crate) use classes::{CalledMethod, Instrument, has_triggers};
pub(crate) use handlers::FrameMethod;
pub(crate) use initialiser::INITIALISER;
pub(crate) use initiating::Origin;
