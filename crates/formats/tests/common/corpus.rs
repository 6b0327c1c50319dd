//! Trace files of every format: the seeds of the fuzz targets. `fuzz/examples/seeds.rs` made most
//! of them.

use jtrail_formats::{Format, Import, Readable};
use std::fs;
use std::path::Path;

/// Returns all formats that are read.
pub fn formats() -> impl Iterator<Item = Readable> {
    let imports = Import::ALL.map(Readable::from);
    Format::ALL.map(Readable::from).into_iter().chain(imports)
}

/// Returns names and contents of a format's seed files. Panics if there are none.
pub fn files(format: impl Into<Readable>) -> Vec<(String, Vec<u8>)> {
    let format = format.into();
    let files = in_folder("seeds", format);
    assert!(!files.is_empty(), "no seeds of {format:?}");
    files
}

/// Returns the inputs with which fuzzing found bugs that were fixed since.
pub fn findings(format: impl Into<Readable>) -> Vec<(String, Vec<u8>)> {
    in_folder("findings", format.into())
}

fn in_folder(folder: &str, format: Readable) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = fs::read_dir(root.join(folder).join(format.name())) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("a file");
            let name = format!("{}/{}", format.name(), entry.file_name().display());
            (name, fs::read(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}
