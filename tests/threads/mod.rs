//! Threads, platform and virtual.

mod lifecycle;
mod names_and_carriers;
