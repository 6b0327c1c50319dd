//! Garbage collections.

mod collections;
mod sizes;
