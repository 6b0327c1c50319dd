//! Reading XML, for the formats that are documents of it: the tokenizer, and what stands around the elements.

pub(crate) mod document;
pub(crate) mod scan;

/// Characters of a name that are shown.
const LONGEST_NAME: usize = 80;

/// A name, short enough to be shown.
pub(crate) fn cut(name: &str) -> &str {
    name.char_indices()
        .nth(LONGEST_NAME)
        .map_or(name, |(end, _)| &name[..end])
}
