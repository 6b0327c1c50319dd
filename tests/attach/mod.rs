//! An agent that is loaded into a running JVM, and what a start depends on.

mod startup;
mod while_running;
