//! Agents that are detached.

mod leaving;
mod moving_threads;
