//! Tests the promises with the fuzz target's seeds and findings. The inputs are also truncated and
//! modified.

#[path = "common/promises.rs"]
#[allow(unreachable_pub, reason = "the fuzz target shares it")]
mod promises;

use std::fs;
use std::path::Path;

fn files(folder: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = fs::read_dir(root.join(folder).join("control")) else {
        return Vec::new();
    };
    entries
        .map(|entry| fs::read(entry.expect("a file").path()).expect("readable"))
        .collect()
}

#[test]
fn they_are_kept_with_seeds_and_findings() {
    let seeds = files("seeds");
    assert!(seeds.len() >= 3);
    for data in seeds.into_iter().chain(files("findings")) {
        for cut in 0..data.len() {
            promises::keep(&data[..cut], cut / 2);
        }
        for at in 0..data.len() {
            let mut data = data.clone();
            data[at] ^= 1 << (at % 8);
            promises::keep(&data, at);
        }
    }
}
