//! What the agent tells the user: single lines on standard error, each with the agent's name.

use std::io::Write;

/// Writes one line.
pub fn say(message: &str) {
    let line = format!("jtrail: {message}\n");
    // One call, so that lines of several threads don't mix. A closed stream is no reason to fail.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
