//! Files that verbs write.

use anyhow::Context;
use jtrail_formats::Patch;
use jtrail_records::ownership;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that gets its name when it is whole.
pub(crate) struct OutputFile {
    file: File,
    /// The name until then; none for what is no regular file, such as a pipe.
    part: Option<PathBuf>,
    path: PathBuf,
}

impl OutputFile {
    /// Begins to write a file of that name.
    ///
    /// # Errors
    /// When it can't be made, or another process writes a trace there.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        let part = (!special).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        });
        let create = || {
            ownership::check(path)?; // an agent may be writing its trace there
            ownership::open(part.as_deref().unwrap_or(path))
        };
        let file = create().with_context(|| format!("can't write {}", path.display()))?;
        Ok(Self {
            file,
            part,
            path: path.to_owned(),
        })
    }

    /// Writes over earlier bytes; not in a pipe.
    pub(crate) fn patch(&mut self, patches: &[Patch]) -> anyhow::Result<()> {
        if self.part.is_some() {
            for patch in patches {
                self.file.seek(SeekFrom::Start(patch.offset))?;
                self.file.write_all(&patch.bytes)?;
            }
        }
        Ok(())
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When that can't be done.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Some(part) = self.part.take() {
            fs::rename(&part, &self.path)
                .with_context(|| format!("can't give {} its name", self.path.display()))?;
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        ownership::release(&self.file);
        if let Some(part) = &self.part {
            // Half a file is of no use; if it can't be removed, its name tells what it is.
            let _ = fs::remove_file(part);
        }
    }
}
