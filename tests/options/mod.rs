//! The agent's options.

mod chosen;
mod disabled_events;
