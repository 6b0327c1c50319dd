//! Classes and their unloading, compared with what the program knows.

use crate::support::truth::with_each_collector;

#[test]
fn classes() {
    with_each_collector("harness.Unloading", "threads+details+alloc", &[]);
}
