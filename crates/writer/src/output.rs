//! Outputs to which bytes are written.

use jtrail_formats::Patch;
use jtrail_records::ownership::{self, FileId};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An open file, the standard output, or a client.
pub struct Output {
    to: To,
    /// Number of bytes written so far.
    written: u64,
}

enum To {
    File(File, PathBuf),
    Stdout(io::Stdout),
    Client(Box<dyn Write + Send>),
}

impl Output {
    /// Returns the standard output.
    pub fn stdout() -> Self {
        Self::to(To::Stdout(io::stdout()))
    }

    /// Returns an output for a file that was opened at `path`.
    pub fn file(file: File, path: PathBuf) -> Self {
        Self::to(To::File(file, path))
    }

    fn to(to: To) -> Self {
        Self { to, written: 0 }
    }

    /// Returns an output to a client.
    pub fn stream(stream: impl Write + Send + 'static) -> Self {
        Self::to(To::Client(Box::new(stream)))
    }

    /// Returns true for an output to a client. A client that disconnects is no error of the agent
    /// or the system.
    pub fn is_stream(&self) -> bool {
        matches!(self.to, To::Client(_))
    }

    /// Returns the identity of the file, if it is a regular one.
    pub fn file_id(&self) -> Option<FileId> {
        match &self.to {
            To::File(file, _) => FileId::of(file),
            _ => None,
        }
    }

    /// Returns the path of the file, if it is a regular one.
    pub fn path(&self) -> Option<&Path> {
        match &self.to {
            To::File(_, path) if self.file_id().is_some() => Some(path),
            _ => None,
        }
    }

    /// Returns the number of bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes all of `bytes`. If a file takes only some of the bytes, they are removed again. So
    /// the file ends with the bytes of the preceding call. With `keep`, they remain, because the
    /// format can be read up to any point.
    ///
    /// # Errors
    /// When the system does not take the bytes.
    pub fn write(&mut self, bytes: &[u8], keep: bool) -> io::Result<()> {
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
                    let _ = file.set_len(self.written); // has no effect on a pipe
                }
            }
        }
        result
    }

    /// Overwrites earlier bytes, if the output is a regular file.
    ///
    /// # Errors
    /// When the system does not take the bytes.
    pub fn patch(&mut self, patches: &[Patch]) -> io::Result<()> {
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

    /// Writes a separate file beside this one, such as `trace-1.xml` beside `trace.xml`. Its number
    /// is `number`, or the next free one. The file appears when it is complete. Returns its path.
    ///
    /// # Errors
    /// When the trace does not go into a regular file, or the new file can't be written.
    pub fn write_beside(&self, number: u64, bytes: &[u8]) -> io::Result<PathBuf> {
        let trace = self
            .path()
            .ok_or_else(|| io::Error::other("the trace does not go into a file"))?;
        let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let mut names = (number..).map(|number| numbered(trace, number));
        let path = names.find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
        write_whole(&path, bytes).map(|()| path)
    }
}

/// Writes a file that appears when it is complete.
///
/// # Errors
/// When the file can't be written, or another process is writing a file with the same name.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = part(path);
    let mut file = ownership::open(&part)?;
    let result = file.write_all(bytes).and_then(|()| fs::rename(&part, path));
    if result.is_err() {
        let _ = fs::remove_file(&part); // removes the incomplete file
    }
    result
}

/// Returns the path of a file while it is incomplete.
pub fn part(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// Returns the path of a numbered file: `trace-7.xml` beside `trace.xml`.
pub(super) fn numbered(path: &Path, number: u64) -> PathBuf {
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
            assert_eq!(numbered(Path::new(path), 7), Path::new(expected));
        }
    }

    #[test]
    fn a_document_takes_no_file_of_an_earlier_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let file = ownership::open(&path("t.xml")).expect("it opens");
        let output = Output::file(file, path("t.xml"));
        fs::write(path("t-1.xml"), "earlier").expect("written");
        for (number, expected) in [(1, "t-2.xml"), (2, "t-3.xml")] {
            let found = output.write_beside(number, b"new").expect("written");
            assert_eq!(found, path(expected));
        }
        assert_eq!(
            fs::read_to_string(path("t-1.xml")).expect("there"),
            "earlier"
        );
        // The incomplete file of another process is not touched; that of an ended process is
        // overwritten.
        let part = ownership::open(&part(&path("t-4.xml"))).expect("it opens");
        let error = output.write_beside(4, b"new").expect_err("in use");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(part);
        output.write_beside(4, b"new").expect("written");
    }
}
