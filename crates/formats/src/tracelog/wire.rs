//! Numbers and names in files of the format.

/// Name of the loader of classes whose loader is unknown.
pub(super) const DEFAULT_LOADER: &str = "bootstrap";
/// Lowest id of classes and methods that occur in frames only.
pub(super) const FIRST_SYNTHETIC_ID: u64 = 1 << 63;
/// Maximum bytes of a line; longer lines are skipped.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// Types of records, and their sub-types.
pub(super) const KINDS: [(&str, &str); 11] = [
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

/// True if [`KINDS`] has a record of this type and sub-type.
pub(super) fn is_known(kind: &[u8], sub: &[u8]) -> bool {
    let of_kind = KINDS.iter().find(|(word, _)| word.as_bytes() == kind);
    of_kind.is_some_and(|(_, subs)| subs.split(' ').any(|word| word.as_bytes() == sub))
}
