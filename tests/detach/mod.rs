//! An agent that leaves.

mod leaving;
mod moving_threads;
