//! Allocated, freed and live objects.

mod ages;
mod allocation_buffers;
mod allocation_sites;
mod allocations;
mod native_code;
