//! What a verb answers with: where it writes, and its exit code.

use std::io::Write;

/// Done, and the trace is sound.
pub const SOUND: u8 = 0;
/// The trace has faults, or traces differ.
pub const FAULTY: u8 = 1;
/// The command line is wrong, or something failed.
pub const FAILED: u8 = 2;
/// The trace breaks off, or something of it is missing; what is there is sound.
pub const TRUNCATED: u8 = 3;

/// Exit codes, the better before the worse.
const BY_BADNESS: [u8; 4] = [SOUND, TRUNCATED, FAULTY, FAILED];

/// The worse of two exit codes.
pub(crate) fn worse(a: u8, b: u8) -> u8 {
    let badness = |code| BY_BADNESS.iter().position(|c| *c == code);
    if badness(b) > badness(a) { b } else { a }
}

/// Where a verb writes.
pub(crate) struct Streams<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) err: &'a mut dyn Write,
}
