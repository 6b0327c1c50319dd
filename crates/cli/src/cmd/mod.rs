//! The subcommands: arguments and implementation of each.

pub(crate) mod attach;
pub(crate) mod compare;
pub(crate) mod convert;
#[cfg(unix)]
pub(crate) mod ctl;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod index;
pub(crate) mod open;
#[cfg(unix)]
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod report;
#[cfg(unix)]
pub(crate) mod request;
pub(crate) mod run;
#[cfg(unix)]
pub(crate) mod stream;
#[cfg(unix)]
pub(crate) mod top;
pub(crate) mod verify;
pub(crate) mod view;
