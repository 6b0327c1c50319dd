//! Heap snapshots.

mod eliminated_allocations;
mod graph;
mod jvm_tools;
mod snapshots;
mod unfinished_threads;
