//! Output streams and exit codes of subcommands.

use std::io::Write;

/// Exit code: done, and the trace is sound.
pub const SOUND: u8 = 0;
/// Exit code: the trace has faults, or traces differ.
pub const FAULTY: u8 = 1;
/// Exit code: the command line is wrong, or something failed.
pub const FAILED: u8 = 2;
/// Exit code: the trace is truncated or parts are missing, but the remaining events are sound.
pub const TRUNCATED: u8 = 3;

/// Exit codes, from best to worst.
const BY_BADNESS: [u8; 4] = [SOUND, TRUNCATED, FAULTY, FAILED];

/// Returns the worse of two exit codes.
pub(crate) fn worse(a: u8, b: u8) -> u8 {
    let badness = |code| BY_BADNESS.iter().position(|c| *c == code);
    if badness(b) > badness(a) { b } else { a }
}

/// Output streams of a subcommand.
pub(crate) struct Streams<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) err: &'a mut dyn Write,
}
