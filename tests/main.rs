//! Tests that load the agent into real JVMs, all that are found.

mod bad_input;
mod common;
mod embed;
mod facts;
mod hprof;
mod live_classes;
mod live_cli;
mod live_counts;
mod live_cpu;
mod live_differential;
mod live_endings;
mod live_engines;
mod live_everything;
mod live_failures;
mod live_gc;
mod live_heap;
mod live_jit;
mod live_neighbours;
mod live_options;
mod live_recorder;
mod live_samples;
mod live_thread_events;
mod live_threads;
mod live_truth;
mod observe;
mod source;
