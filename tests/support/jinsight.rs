//! JinsightLive files, record by record: a reader, and the rules of the format.

#[allow(dead_code, reason = "other tests write with it too")]
#[path = "../../crates/formats/tests/jinsight/raw.rs"]
pub(crate) mod raw;
#[allow(dead_code, reason = "other tests ask for more of what it finds")]
#[path = "../../crates/formats/tests/jinsight/rules.rs"]
pub(crate) mod rules;
