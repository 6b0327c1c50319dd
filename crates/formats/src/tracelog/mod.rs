//! Spec placeholder.
mod clock;
mod decode;
mod encode;
mod names;
mod record;
mod settings;
mod tally;
mod text;

pub use decode::Decoder;
pub use encode::Encoder;
pub use settings::{Collection, Settings};

const FORMAT: &str = "tracelog";

/// Bytes of the longest line that is read.
const LONGEST_LINE: usize = 16 << 20;

/// Types of records, and their sub-types.
const KINDS: [(&str, &str); 11] = [
    ("prf", "stm cfg tps trs"),
    ("prc", "cpu"),
    ("thr", "crt aos dst cpu"),
    ("apd", "crf"),
    ("asm", "ldf"),
    ("mod", "ldf ata"),
    ("cls", "ldf nam"),
    ("fun", "inf nam"),
    ("jit", "cms cmf css csf"),
    ("gch", "gcs gcf alt gen"),
    ("sam", "str mem"),
];

/// Whether there is such a record.
fn is_known(kind: &[u8], sub: &[u8]) -> bool {
    let of_kind = KINDS.iter().find(|(word, _)| word.as_bytes() == kind);
    of_kind.is_some_and(|(_, subs)| subs.split(' ').any(|word| word.as_bytes() == sub))
}

/// Whether a trace that starts so looks like one of these: its first line is a record.
pub(crate) fn is_begin(head: &[u8]) -> bool {
    let mut words = record::Words::new(head.trim_ascii_start());
    match (words.word(), words.word()) {
        (Some(kind), Some(sub)) => is_known(kind, sub),
        _ => false,
    }
}
