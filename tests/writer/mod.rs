//! Trace files: their bounds and owners, and what becomes of them when a program or the disk ends.

mod bounded_files;
mod file_ownership;
mod helpers;
mod overload;
mod program_ends;
mod write_failures;
