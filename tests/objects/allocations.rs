//! Allocated and freed objects, compared with what the programs know.

use crate::support::truth::{everywhere, with_each_collector};

#[test]
fn allocations() {
    with_each_collector("harness.Allocations", "threads+alloc", &[]);
    with_each_collector("harness.Implicit", "threads+alloc", &[]);
    everywhere("harness.RecordAllocations", "threads+alloc");
}

#[test]
fn frees() {
    with_each_collector("harness.Frees", "threads+gc+alloc+free", &[]);
}
