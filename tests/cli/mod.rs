//! The command line, with traces of real programs.

mod report;
mod run_and_convert;
mod stream;
mod top;
