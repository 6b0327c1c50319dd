//! The verbs: for each its arguments, and what it does.

pub(crate) mod attach;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod dump;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod verify;
