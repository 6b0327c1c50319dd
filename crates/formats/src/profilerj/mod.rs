//! ProfilerJ snapshots.

mod coverage;
mod decode;
mod document;
mod element;
mod encode;
mod findings;
mod ids;
mod losses;
mod names;
mod objects;
mod open;
mod queue;
mod registry;
mod text;
mod threads;
mod tree;

use crate::tptp::xml::scan::{Markup, Scanner};

pub use decode::Decoder;
pub use encode::Encoder;

/// Name of the format in errors.
const FORMAT: &str = "profilerj";

/// Whether a document that starts with `head` has the root of a snapshot, behind declaration and comments.
pub(crate) fn is_snapshot(head: &[u8]) -> bool {
    let mut scanner = Scanner::default();
    let mut rest = head.trim_ascii_start();
    loop {
        if let Some(name) = rest.strip_prefix(b"<doc") {
            let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'>' | b'/');
            return name.first().is_some_and(ends);
        }
        match scanner.scan(rest) {
            Ok(Some((Markup::Declaration { .. } | Markup::Passed, size))) => {
                rest = rest[size..].trim_ascii_start();
            }
            _ => return false,
        }
    }
}
