//! The client in Python, written from docs/control.md alone.

use super::of_project;
use jtrail_control::{Answer, ErrorCode, Reply};
use jtrail_testkit::{Dialogue, python};
use std::path::Path;

/// Starts the client, connected to a socket. Returns `None` without Python.
pub(crate) fn client(socket: &Path) -> Option<Dialogue> {
    let script = of_project("crates/control/tests/client.py");
    Some(Dialogue::with(python(script)?.arg(socket)))
}

/// Returns the answer to a command, which must not be an error.
pub(crate) fn good(client: &mut Dialogue, command: &str) -> Answer {
    let text = client.ask(command);
    let reply = Reply::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
    if let Answer::Error(failure) = &reply.answer {
        panic!("{command}: {failure:?}");
    }
    reply.answer
}

/// Returns the code of the error that answers a command.
pub(crate) fn refused(client: &mut Dialogue, command: &str) -> ErrorCode {
    let text = client.ask(command);
    let reply = Reply::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
    match reply.answer {
        Answer::Error(failure) => failure.code,
        answer => panic!("{command}: {answer:?}"),
    }
}
