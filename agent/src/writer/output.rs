//! Where the bytes go.

use jtrail_options::Target;
use std::fs::File;
use std::io::{self, Write};

/// An open file, or the standard output.
pub(crate) struct Output {
    to: To,
    /// Bytes written so far.
    written: u64,
}

enum To {
    File(File),
    Stdout(io::Stdout),
}

impl Output {
    /// Opens `target` for writing; what an existing file held is gone.
    ///
    /// # Errors
    /// When the file can't be made or opened.
    pub(crate) fn open(target: &Target) -> io::Result<Self> {
        let to = match target {
            Target::Stdout => To::Stdout(io::stdout()),
            Target::Path(path) => To::File(File::create(path)?),
        };
        Ok(Self { to, written: 0 })
    }

    /// Writes all of `bytes`. When a file takes only a part, that part is taken back, so that the file ends with
    /// what the last call wrote.
    ///
    /// # Errors
    /// When the system does not take them.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let result = match &mut self.to {
            To::File(file) => file.write_all(bytes),
            To::Stdout(stdout) => stdout.write_all(bytes).and_then(|()| stdout.flush()),
        };
        match result {
            Ok(()) => self.written += bytes.len() as u64,
            Err(_) => {
                if let To::File(file) = &self.to {
                    let _ = file.set_len(self.written); // does nothing to a pipe
                }
            }
        }
        result
    }
}
