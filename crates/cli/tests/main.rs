//! All tests of the command line as one program, so that common code is built only once.

mod common;

mod compare;
mod convert;
#[cfg(unix)]
mod documents;
mod export;
mod index;
mod odd;
mod open;
mod recover;
mod report;
#[cfg(unix)]
mod run;
mod select;
#[cfg(unix)]
mod signals;
mod subjects;
mod trail_dump;
mod usage;
mod verify;
mod view;
mod view_parts;
