//! The tests of the command line, in one program: so that what they share is built once.

mod common;

mod compare;
mod convert;
mod odd;
mod recover;
mod report;
#[cfg(unix)]
mod run;
mod select;
mod subjects;
mod trail_dump;
mod usage;
mod verify;
