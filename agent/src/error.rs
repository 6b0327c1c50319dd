//! Why the agent can't do something.

use jtrail_jvm::jvmti::Failure;
use std::borrow::Cow;
use std::io;

/// Why the agent can't do something. Its text is for users, begins in small letters, and may be
/// followed by what becomes of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("it is loaded twice into one JVM; give one -agentpath only")]
    LoadedTwice,
    #[error("it is in this JVM already")]
    Present,
    #[error(transparent)]
    Jvm(#[from] jtrail_jvm::Error),
    /// The JVM does not give what is needed to do that.
    #[error("this JVM can't {0}; another agent may have taken it")]
    MissingCapability(&'static str),
    #[error("{0}; or it can be had from the start of a JVM only, with -agentpath")]
    OnlyFromTheStart(Box<Self>),
    /// The system has no memory for something.
    #[error("no memory for {0}: {1}")]
    Memory(Cow<'static, str>, #[source] io::Error),
    /// The system has no thread for something.
    #[error("no thread for {0}: {1}")]
    Thread(&'static str, #[source] io::Error),
    #[error("no memory or thread for clock=tick: {0}")]
    Ticks(#[source] io::Error),
    #[error("cannot write {0}: {1}")]
    Output(String, #[source] io::Error),
    #[error("cannot use the hook class: {0}")]
    HookClass(#[source] Box<Self>),
    /// Something is not as it has to be.
    #[error("{0}")]
    State(&'static str),
    /// What was asked for can't be done.
    #[error("{0}")]
    Request(String),
}

impl Error {
    pub(crate) fn memory(what: impl Into<Cow<'static, str>>) -> impl FnOnce(io::Error) -> Self {
        |error| Self::Memory(what.into(), error)
    }

    /// As an error of the hook class.
    pub(crate) fn of_hook_class(error: impl Into<Self>) -> Self {
        Self::HookClass(Box::new(error.into()))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Jvm(failure.into())
    }
}

impl From<&'static str> for Error {
    fn from(problem: &'static str) -> Self {
        Self::State(problem)
    }
}

impl From<String> for Error {
    fn from(problem: String) -> Self {
        Self::Request(problem)
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}
