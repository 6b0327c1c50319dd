//! Where the bytes go.

use jtrail_control::DataStream;
use jtrail_formats::Patch;
use jtrail_options::Target;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An open file, the standard output, or a client.
pub(crate) struct Output {
    to: To,
    /// Bytes written so far.
    written: u64,
}

/// Which regular file it is, whatever its names are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(found: &Metadata) -> Option<Self> {
        found.is_file().then(|| Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Whether it is what one gets at that path, or through the links there.
    pub(crate) fn is_at(self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| Self::of(&found) == Some(self))
    }
}

enum To {
    File(File, PathBuf),
    Stdout(io::Stdout),
    Client(DataStream),
}

impl Output {
    /// A new file.
    ///
    /// # Errors
    /// When it can't be made, or there is one.
    fn create(path: &Path) -> io::Result<Self> {
        let to = To::File(File::create_new(path)?, path.to_owned());
        Ok(Self { to, written: 0 })
    }

    /// A new file, with the next number: `first` itself has number 1, and the others are beside it. A file that was there stays, and its
    /// number is passed over.
    pub(crate) fn create_numbered(first: &Path, number: &mut u64) -> (PathBuf, io::Result<Self>) {
        loop {
            *number += 1;
            let path = Self::numbered(first, *number);
            match Self::create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                output => return (path, output),
            }
        }
    }

    /// What the file of that number is called.
    pub(crate) fn numbered(first: &Path, number: u64) -> PathBuf {
        match number {
            1 => first.to_owned(),
            n => beside(first, n),
        }
    }

    /// Opens `target` for writing; what an existing file held is gone.
    ///
    /// # Errors
    /// When the file can't be made or opened.
    pub(crate) fn open(target: &Target) -> io::Result<Self> {
        let to = match target {
            Target::Stdout => To::Stdout(io::stdout()),
            Target::Path(path) => To::File(File::create(path)?, path.clone()),
        };
        Ok(Self { to, written: 0 })
    }

    /// Data for a client.
    pub(crate) fn stream(stream: DataStream) -> Self {
        let to = To::Client(stream);
        Self { to, written: 0 }
    }

    /// A client's going away is no fault of ours, nor of the system's.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.to, To::Client(_))
    }

    /// Which file it is, if it is a regular one.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        match &self.to {
            To::File(file, _) => FileId::of(&file.metadata().ok()?),
            _ => None,
        }
    }

    /// Its path, if it is a regular file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.to {
            To::File(_, path) if self.file_id().is_some() => Some(path),
            _ => None,
        }
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Writes all of `bytes`. When a file takes only a part, that part is taken back, so that the file ends with
    /// what the last call wrote; unless the part can be read as it is, as `keep` says.
    ///
    /// # Errors
    /// When the system does not take them.
    pub(crate) fn write(&mut self, bytes: &[u8], keep: bool) -> io::Result<()> {
        let result = match &mut self.to {
            To::File(file, _) => file.write_all(bytes),
            To::Stdout(stdout) => stdout.write_all(bytes).and_then(|()| stdout.flush()),
            To::Client(stream) => stream.write_all(bytes),
        };
        match result {
            Ok(()) => self.written += bytes.len() as u64,
            Err(_) => {
                if let To::File(file, _) = &self.to
                    && !keep
                {
                    let _ = file.set_len(self.written); // does nothing to a pipe
                }
            }
        }
        result
    }

    /// Writes over earlier bytes, where there is a file in which that can be done.
    ///
    /// # Errors
    /// When the system does not take them.
    pub(crate) fn patch(&mut self, patches: &[Patch]) -> io::Result<()> {
        let To::File(file, _) = &mut self.to else {
            return Ok(());
        };
        if patches.is_empty() || !file.metadata()?.is_file() {
            return Ok(());
        }
        for patch in patches {
            file.seek(SeekFrom::Start(patch.offset))?;
            file.write_all(&patch.bytes)?;
        }
        file.seek(SeekFrom::End(0)).map(|_| ())
    }

    /// Writes a file of its own beside this one, `trace-1.xml` beside `trace.xml`, and answers with its name. The file
    /// appears when it is whole.
    ///
    /// # Errors
    /// When the trace does not go into a regular file, or the new one can't be written.
    pub(crate) fn write_beside(&self, number: u64, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = match &self.to {
            To::File(file, path) if file.metadata()?.is_file() => beside(path, number),
            _ => return Err(io::Error::other("the trace does not go into a file")),
        };
        write_whole(&path, bytes).map(|()| path)
    }
}

/// Writes a file that appears when it is whole.
///
/// # Errors
/// When it can't be written.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = part(path);
    let result = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if result.is_err() {
        let _ = fs::remove_file(&part); // half a file is of no use
    }
    result
}

/// What a file is called until it is whole.
pub(crate) fn part(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// The name of a further file: `trace-7.xml` beside `trace.xml`.
fn beside(path: &Path, number: u64) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_files_have_numbers() {
        for (path, expected) in [
            ("/a/trace.xml", "/a/trace-7.xml"),
            ("trace", "trace-7"),
            ("./a.b.xml", "./a.b-7.xml"),
        ] {
            assert_eq!(beside(Path::new(path), 7), Path::new(expected));
        }
    }

    #[test]
    fn a_file_is_known_by_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let output = Output::open(&Target::Path(path("trace"))).expect("it opens");
        let file = output.file_id().expect("a regular file");
        std::os::unix::fs::symlink(path("trace"), path("link")).expect("a link");
        fs::hard_link(path("trace"), path("other")).expect("a name");
        fs::write(path("more"), "").expect("a file");
        for (name, expected) in [
            ("trace", true),
            ("./trace", true),
            ("link", true),
            ("other", true),
            ("more", false),
            ("none", false),
        ] {
            assert_eq!(file.is_at(&path(name)), expected, "{name}");
        }
        // What is at a name may change.
        fs::rename(path("trace"), path("moved")).expect("ours");
        assert!(file.is_at(&path("moved")) && !file.is_at(&path("link")));
        let nowhere = Output::open(&Target::Path("/dev/null".into())).expect("it opens");
        assert_eq!(nowhere.file_id(), None);
    }
}
