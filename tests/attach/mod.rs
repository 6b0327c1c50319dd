//! The agent is loaded into a running JVM; and what a JVM's start depends on.

mod startup;
mod while_running;
