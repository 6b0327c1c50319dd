//! The files of a trace of bounded file size.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the files of a trace whose first file is `first`, in order.
pub(crate) fn files(first: &Path) -> Vec<PathBuf> {
    let stem = first.file_stem().expect("a name").to_str().expect("text");
    let extension = first.extension().expect("one");
    let number = |path: &PathBuf| -> Option<u64> {
        if path.extension() != Some(extension) {
            return None;
        }
        match path.file_stem()?.to_str()?.strip_prefix(stem)? {
            "" => Some(1),
            rest => rest.strip_prefix('-')?.parse().ok(),
        }
    };
    let folder = fs::read_dir(first.parent().expect("a folder")).expect("there");
    let mut all: Vec<_> = folder
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    all.sort();
    all.into_iter().map(|(_, path)| path).collect()
}
