//! Messages of the agent to the user: single lines on standard error, each with the agent's name.

use std::io::Write;

/// Writes a message as one line.
pub fn say(message: &str) {
    let line = format!("jtrail: {message}\n");
    // A single call, so that lines of several threads don't mix. A closed stream is not an error.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
