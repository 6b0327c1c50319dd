//! Trace files: their bounds and owners, and what becomes of them when the program ends or the disk
//! is full.

mod bounded_files;
mod file_ownership;
mod helpers;
mod overload;
mod program_ends;
mod write_failures;
