//! Shared helpers for tests of folders and sockets.

use std::fs::set_permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, PermissionsExt::from_mode(mode)).expect("ours");
}

pub(crate) fn problem<T: std::fmt::Debug>(result: io::Result<T>) -> String {
    result.expect_err("refused").to_string()
}
