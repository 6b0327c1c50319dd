//! The memory that readers take is in proportion to what they read, whatever that is. The one test goes
//! through all of it, since memory is measured for the whole process.

#[path = "common/corpus.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "other tests share it"
)]
mod corpus;
#[path = "common/decoding.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "other tests share it"
)]
mod decoding;
#[path = "common/memory.rs"]
#[allow(missing_docs, unreachable_pub, reason = "other tests share it")]
mod memory;

use decoding::drain;
use jtrail_formats::{Checker, Format};
use memory::bounded;

/// Reads and checks a trace.
fn read(format: Format, bytes: &[u8]) {
    bounded(bytes.len(), || {
        let mut checker = Checker::of(format);
        drain(format, bytes, |offset, event| checker.event(offset, event));
        checker.finish();
    });
}

#[test]
fn memory_is_in_proportion_to_the_input() {
    for format in Format::ALL {
        for (_, mut bytes) in corpus::files(format) {
            for at in 0..bytes.len() {
                read(format, &bytes[..at]);
                for flip in [0x01, 0x80, 0xff] {
                    bytes[at] ^= flip;
                    read(format, &bytes);
                    bytes[at] ^= flip;
                }
            }
        }
    }
}
