//! Numbers and names in files of the format.

/// The loader of all classes without a loader.
pub(super) const DEFAULT_LOADER: &str = "bootstrap";
/// Lowest id of classes and methods that only frames name.
pub(super) const MADE_UP: u64 = 1 << 63;
/// Bytes of the longest line that is read.
pub(super) const LONGEST_LINE: usize = 16 << 20;

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

/// True if the format has such a record.
pub(super) fn is_known(kind: &[u8], sub: &[u8]) -> bool {
    let of_kind = KINDS.iter().find(|(word, _)| word.as_bytes() == kind);
    of_kind.is_some_and(|(_, subs)| subs.split(' ').any(|word| word.as_bytes() == sub))
}
