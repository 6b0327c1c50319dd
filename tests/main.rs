//! Tests that load the agent into the real JVMs that are found.

mod attach;
mod bad_input;
mod calls;
mod classes;
mod cli;
mod control;
mod detach;
mod exceptions;
mod formats;
mod gc;
mod heap;
mod monitors;
mod objects;
mod options;
mod recover;
mod ring;
mod samples;
mod support;
mod threads;
mod writer;
