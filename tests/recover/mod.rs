//! Killed programs, and what is recovered of their traces.

mod spool;
mod without_spool;
