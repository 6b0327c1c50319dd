//! The reasons why the agent can't do something.

use jtrail_jvm::jvmti::Failure;
use std::borrow::Cow;
use std::io;

/// The reason why the agent can't do something. Its text is for users. The text begins with a small
/// letter, and the caller may append the consequence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("it is loaded twice into one JVM; give one -agentpath only")]
    LoadedTwice,
    #[error("it is in this JVM already")]
    Present,
    #[error(transparent)]
    Jvm(#[from] jtrail_jvm::Error),
    /// The JVM does not grant a capability. The text says what the JVM can't do without it.
    #[error("this JVM can't {0}; another agent may have taken it")]
    MissingCapability(&'static str),
    #[error("{0}; or it is available only from the start of a JVM, with -agentpath")]
    OnlyFromTheStart(Box<Self>),
    /// The system has no memory for the named purpose.
    #[error("no memory for {0}: {1}")]
    Memory(Cow<'static, str>, #[source] io::Error),
    /// The system has no thread for the named purpose.
    #[error("no thread for {0}: {1}")]
    Thread(&'static str, #[source] io::Error),
    #[error("no memory or thread for clock=tick: {0}")]
    Ticks(#[source] io::Error),
    #[error("cannot write {0}: {1}")]
    Output(String, #[source] io::Error),
    #[error("cannot use the hook class: {0}")]
    HookClass(#[source] Box<Self>),
    /// Something is not in the state that the operation needs.
    #[error("{0}")]
    State(&'static str),
    /// A request that can't be carried out.
    #[error("{0}")]
    Request(String),
}

impl Error {
    pub(crate) fn memory(what: impl Into<Cow<'static, str>>) -> impl FnOnce(io::Error) -> Self {
        |error| Self::Memory(what.into(), error)
    }

    /// Wraps an error that concerns the hook class.
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
