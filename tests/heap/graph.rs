//! Objects and references of heap snapshots, compared with what the program knows.

use crate::support::truth::with_each_collector;

#[test]
fn heaps() {
    with_each_collector("harness.HeapGraph", "threads+heap", &[]);
}
