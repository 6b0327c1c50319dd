//! Damaged files.

use super::common::{decode, every_event};
use super::raw::turned;
use super::{FORMAT, encode};
use jtrail_formats::Severity;

fn files() -> [Vec<u8>; 2] {
    let bytes = encode(&every_event()).bytes;
    [turned(&bytes, 33), bytes]
}

#[test]
fn a_file_cut_anywhere_is_truncated_there() {
    for bytes in files() {
        let whole = decode(FORMAT, &bytes);
        for cut in 0..bytes.len() {
            let decoding = decode(FORMAT, &bytes[..cut]);
            assert_eq!(decoding.error.is_some(), cut < 45, "{cut}");
            assert_eq!(decoding.count(Severity::Fault), 0, "{cut}");
            assert_eq!(decoding.count(Severity::Truncated), usize::from(cut >= 45));
            // What comes last may read otherwise without what follows: a leave that is made up, an
            // object whose making is cut off.
            let told = decoding.events.len().saturating_sub(1);
            assert_eq!(decoding.events[..told], whole.events[..told], "{cut}");
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_does_no_harm() {
    for bytes in files() {
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x08, 0x20, 0x80, 0xff] {
                damaged[at] ^= flip;
                let decoding = decode(FORMAT, &damaged);
                let before = decode(FORMAT, &bytes[..at]).events.len();
                // A flip in the header may change all times.
                if at >= 45 {
                    assert!(decoding.events.len() + 2 >= before, "{at} {flip:#x}");
                }
                damaged[at] = bytes[at];
            }
        }
    }
}
