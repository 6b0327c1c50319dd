//! Random traces.
