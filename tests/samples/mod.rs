//! Stack samples.

mod deep_stacks;
mod stacks;
mod thread_states;
