//! Files that subcommands write.
//!
//! A subcommand writes to a temporary file beside the output, and renames it once it is complete.
//! So an output is never incomplete, and a subcommand that fails leaves an earlier file as it was.
//! The temporary file is always a new one: whatever has its name already belongs to somebody else,
//! or is left from a process that was killed.

use super::temporary::Temporary;
use anyhow::Context;
use jtrail_formats::Patch;
use jtrail_records::ownership;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Maximum number of names that are tried for a temporary file.
const MAX_NAMES: u32 = 1_000;
/// Maximum number of symbolic links from an output to its file, like in Linux.
const MAX_LINKS: u32 = 40;
/// Permissions of a new file, before the umask.
const NEW_FILE: u32 = 0o666;

/// An output file that has a temporary name until it is complete.
pub(crate) struct OutputFile {
    file: File,
    /// The temporary name, and the one that the file gets. `None` for special files such as pipes.
    names: Option<Names>,
    /// The path that the user gave, for messages.
    path: PathBuf,
}

struct Names {
    temporary: Temporary,
    /// Where the links of the output lead, so that they remain.
    last: PathBuf,
}

/// Failure to write an output.
#[derive(Debug, thiserror::Error)]
#[error("can't write {path}")]
struct WriteError {
    path: String,
    source: io::Error,
}

/// Returns a failure that names its output.
pub(crate) fn write_error(path: &Path, source: io::Error) -> io::Error {
    let path = match path == Path::new("-") {
        true => "standard output".to_owned(),
        false => path.display().to_string(),
    };
    // The kind remains, so that callers can tell interruptions and closed pipes.
    io::Error::new(source.kind(), WriteError { path, source })
}

impl OutputFile {
    /// Creates an output file.
    ///
    /// # Errors
    /// If the file can't be created, or if another process writes to this path.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let (file, names) = create(path).map_err(|error| write_error(path, error))?;
        Ok(Self {
            file,
            names,
            path: path.to_owned(),
        })
    }

    /// Overwrites bytes that were written before. Has no effect on special files such as pipes.
    pub(crate) fn patch(&mut self, patches: &[Patch]) -> io::Result<()> {
        if self.names.is_some() {
            for patch in patches {
                let done = self.file.seek(SeekFrom::Start(patch.offset));
                done.and_then(|_| self.file.write_all(&patch.bytes))
                    .map_err(|error| write_error(&self.path, error))?;
            }
        }
        Ok(())
    }

    /// Renames the complete file from its temporary to its final name.
    ///
    /// # Errors
    /// If the file can't be renamed.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Some(Names { temporary, last }) = self.names.take() {
            let renamed = temporary.rename(&last);
            renamed.with_context(|| format!("can't give {} its name", self.path.display()))?;
        }
        Ok(())
    }
}

/// Creates the file for an output.
fn create(path: &Path) -> io::Result<(File, Option<Names>)> {
    // Names that are too long, links that are not allowed, and folders that can't be searched are
    // errors now, and not when the file is complete.
    let old = match fs::metadata(path) {
        Ok(about) => Some(about),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    ownership::check(path)?; // an agent may be writing a trace
    if old.as_ref().is_some_and(|about| !about.is_file()) {
        return Ok((ownership::open(path)?, None));
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let last = without_links(path)?;
    let name = last.file_name().ok_or(io::ErrorKind::NotFound)?;
    let mode = old.as_ref().map_or(NEW_FILE, |about| about.mode() & 0o777);
    let (temporary, file) = Temporary::new(|| create_beside(&last, name, mode))?;
    if let Some(old) = &old {
        keep_access(&file, old)?;
    }
    Ok((file, Some(Names { temporary, last })))
}

/// Follows the symbolic links of an output, which need not lead to a file.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = ownership::parent_folder(&path).join(target),
            Err(_) => return Ok(path), // no link
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Creates a temporary file beside an output. Each process tries the same names in the same order,
/// so it meets the file of another process that writes the same output.
fn create_beside(last: &Path, name: &OsStr, mode: u32) -> io::Result<(PathBuf, File)> {
    let sum = crc32c::crc32c(name.as_encoded_bytes());
    for start in [name, OsStr::new(&format!("jtrail-{sum:08x}"))] {
        for number in 1..=MAX_NAMES {
            let mut name = OsString::from(start);
            if number > 1 {
                name.push(format!("-{number}"));
            }
            name.push(".part");
            let temporary = last.with_file_name(name);
            match ownership::create_with_mode(&temporary, mode) {
                Ok(file) => return Ok((temporary, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    ownership::check(&temporary)?;
                }
                // The name is too long. A short one may not be.
                Err(error) if error.kind() == io::ErrorKind::InvalidFilename => break,
                Err(error) => return Err(error),
            }
        }
    }
    Err(io::Error::other("it has too many .part files beside it"))
}

/// Gives a new file the access rights of the one that it will replace.
fn keep_access(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root can give files away.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    let mode = old.mode() & 0o777;
    match new.mode() & 0o777 == mode {
        true => Ok(()),
        false => file.set_permissions(fs::Permissions::from_mode(mode)),
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.map_err(|error| write_error(&self.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // The name goes first: as long as it exists, the lock tells others who writes the output.
        self.names = None;
        ownership::release(&self.file);
    }
}
