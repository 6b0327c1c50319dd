//! ProfilerJ snapshots: the specification's example, and what the sums of a trace become.

mod common;

use common::{decode, decode_pieces, encoded, recoded};
use jtrail_formats::Format;

const EXAMPLE: &str = include_str!("profilerj/example.xml");

#[test]
fn the_example_comes_back_byte_for_byte() {
    let decoding = decode(Format::ProfilerJ, EXAMPLE.as_bytes());
    assert!(decoding.is_clean(), "{decoding:#?}");
    for e in &decoding.events { println!("{e}"); }
    let again = recoded(Format::ProfilerJ, EXAMPLE.as_bytes(), Format::ProfilerJ);
    assert_eq!(String::from_utf8(again).unwrap(), EXAMPLE);
}
