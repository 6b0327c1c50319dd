//! A file that appears, or replaces an earlier one, when it is complete.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Access rights before those that the umask takes away.
const MODE: u32 = 0o666;

/// A file that is being written.
pub(super) enum NewFile {
    /// A file without a name. If the process is killed, nothing of it remains.
    Unnamed(File),
    /// For file systems that have only files with names.
    Named(NamedTempFile),
}

impl NewFile {
    /// Creates a file in a folder.
    ///
    /// # Errors
    /// If the folder can't be written.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        match unnamed(folder) {
            Ok(file) => Ok(Self::Unnamed(file)),
            Err(_) => {
                let mut new = tempfile::Builder::new();
                let new = new.permissions(Permissions::from_mode(MODE));
                Ok(Self::Named(new.tempfile_in(folder)?))
            }
        }
    }

    pub(super) fn file(&mut self) -> &mut File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file_mut(),
        }
    }

    /// Gives the file a name in its folder. A file of that name is replaced.
    ///
    /// # Errors
    /// If the folder can't be written.
    pub(super) fn name(self, path: &Path, folder: &Path) -> io::Result<()> {
        let named = match self {
            Self::Named(file) => file.into_temp_path(),
            // A link replaces nothing, so the file has another name for a moment.
            Self::Unnamed(file) => {
                let new = tempfile::Builder::new().make_in(folder, |path| link(&file, path))?;
                new.into_temp_path()
            }
        };
        named.persist(path)?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(open(folder, flags, Mode::from_raw_mode(MODE))?.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, from, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}
