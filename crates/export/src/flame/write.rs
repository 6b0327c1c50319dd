//! The page.

use super::base::Base;
use super::data::data;
use super::prune::prune;
use super::tree::Tree;
use crate::profile::{Profile, WriteProfile};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use jtrail_model::names::Names;
use std::io::Write;
use std::sync::Arc;

/// Maximum number of call paths in a page. A browser opens that many in some two seconds.
const MAX_PATHS: usize = 1_000_000;
/// Maximum size of a page in bytes.
const MAX_SIZE: usize = 5_000_000;

const PAGE: &str = include_str!("page.html");
pub(super) const STYLE: &str = include_str!("page.css");

/// The script, whose files share their names.
pub(super) const SCRIPT: [&str; 17] = [
    include_str!("page/names.js"),
    include_str!("page/data.js"),
    include_str!("page/tree.js"),
    include_str!("page/totals.js"),
    include_str!("page/views.js"),
    include_str!("page/search.js"),
    include_str!("page/format.js"),
    include_str!("page/colours.js"),
    include_str!("page/paint.js"),
    include_str!("page/graph.js"),
    include_str!("page/details.js"),
    include_str!("page/table.js"),
    include_str!("page/menu.js"),
    include_str!("page/header.js"),
    include_str!("page/app.js"),
    include_str!("page/input.js"),
    include_str!("page/main.js"),
];

/// SHA-256 of the script and of the style sheet in base64. A test compares them with the files.
pub(super) const HASHES: &str = include_str!("page.sha256");

/// Writes flame graphs.
#[derive(Debug)]
pub(crate) struct Writer {
    title: String,
    base: Option<Arc<Base>>,
    max_paths: usize,
    max_size: usize,
}

impl Writer {
    /// Creates a writer of a trace of this name, compared with `base`.
    pub(crate) fn new(title: String, base: Option<Arc<Base>>) -> Self {
        Self {
            title,
            base,
            max_paths: MAX_PATHS,
            max_size: MAX_SIZE,
        }
    }

    /// Sets the maximum number of call paths and the maximum size of the page in bytes.
    #[cfg(test)]
    pub(super) fn with_limits(mut self, max_paths: usize, max_size: usize) -> Self {
        (self.max_paths, self.max_size) = (max_paths, max_size);
        self
    }

    /// Returns the data in base64, without the smallest call paths if there are too many.
    fn packed(&self, tree: &Tree) -> String {
        let room = self.max_size.saturating_sub(page("").len());
        let all = tree.paths.len() - 1;
        let mut keep = all.min(self.max_paths);
        loop {
            let pruned = (keep < all).then(|| prune(tree, keep));
            let packed = base64(&deflate(&data(pruned.as_ref().unwrap_or(tree))));
            if packed.len() <= room || keep == 0 {
                return packed;
            }
            // The nodes for what was left out take room, too: so a little less than the part that
            // fits.
            let part = room as f64 / packed.len() as f64;
            keep = (keep as f64 * part * 0.95) as usize;
        }
    }
}

impl WriteProfile for Writer {
    fn write(&mut self, profile: Profile, names: &Names, out: &mut Vec<u8>) {
        let mut tree = Tree::new(std::mem::take(&mut self.title), &profile, names);
        drop(profile);
        if let Some(base) = self.base.take() {
            tree = tree.compare(&base.0);
        }
        out.extend(page(&self.packed(&tree)).bytes());
    }
}

/// Returns the script of the page.
pub(super) fn script() -> String {
    format!("'use strict';\n{}", SCRIPT.concat())
}

/// Returns the page with the data in base64.
fn page(packed: &str) -> String {
    let mut hashes = HASHES.lines();
    let mut hash = || hashes.next().unwrap_or_default();
    let replacements = [
        ("@SCRIPT-HASH@", hash()),
        ("@STYLE-HASH@", hash()),
        ("@STYLE@", STYLE),
        ("@PROFILE@", packed),
        ("@SCRIPT@", &script()),
    ];
    let mut page = String::with_capacity(packed.len() + (1 << 17));
    let mut rest = PAGE;
    for (place, text) in replacements {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to a Vec can't fail.
    let _ = encoder.write_all(data);
    encoder.finish().unwrap_or_default()
}

/// Returns bytes in base64 (RFC 4648).
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}
