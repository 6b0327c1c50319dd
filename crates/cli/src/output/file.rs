//! Files that verbs write.

use anyhow::Context;
use jtrail_formats::Patch;
use jtrail_records::ownership;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An output file that has a temporary name until it is complete.
pub(crate) struct OutputFile {
    file: File,
    /// The temporary path. `None` for special files such as pipes.
    part: Option<PathBuf>,
    path: PathBuf,
}

impl OutputFile {
    /// Creates an output file.
    ///
    /// # Errors
    /// If the file can't be created, or if another process writes a trace to this path.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        let part = (!special).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        });
        let create = || {
            ownership::check(path)?; // an agent may be writing a trace
            ownership::open(part.as_deref().unwrap_or(path))
        };
        let file = create().with_context(|| format!("can't write {}", path.display()))?;
        Ok(Self {
            file,
            part,
            path: path.to_owned(),
        })
    }

    /// Overwrites bytes that were written before. Has no effect on special files such as pipes.
    pub(crate) fn patch(&mut self, patches: &[Patch]) -> anyhow::Result<()> {
        if self.part.is_some() {
            for patch in patches {
                self.file.seek(SeekFrom::Start(patch.offset))?;
                self.file.write_all(&patch.bytes)?;
            }
        }
        Ok(())
    }

    /// Renames the complete file from its temporary to its final name.
    ///
    /// # Errors
    /// If the file can't be renamed.
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
            // An incomplete file is useless. If it can't be removed, its temporary name marks it as
            // incomplete.
            let _ = fs::remove_file(part);
        }
    }
}
