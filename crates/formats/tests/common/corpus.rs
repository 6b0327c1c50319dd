//! Files of every format: the seeds of the fuzz targets. `fuzz/examples/seeds.rs` made most of them.

use jtrail_formats::Format;
use std::fs;
use std::path::Path;

/// Names and contents of the files of a format. A format without any is a failure.
pub fn files(format: Format) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let entries = fs::read_dir(folder.join(format.name())).expect("seeds of every format");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("a seed");
            let name = format!("{}/{}", format.name(), entry.file_name().display());
            (name, fs::read(entry.path()).expect("a seed"))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds of {format:?}");
    files
}
