//! The output files of an export.

use super::Args;
use crate::output::{OutputFile, write_error};
use jtrail_export::Target;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files that an export writes: one, or several that are numbered. None has its final name
/// before all are complete.
pub(super) struct Files<'a> {
    path: &'a Path,
    target: Target,
    is_split: bool,
    stdout: Option<&'a mut dyn Write>,
    /// Complete files, and the current one at the end.
    files: Vec<(OutputFile, PathBuf)>,
}

impl<'a> Files<'a> {
    /// Creates no file yet: the first write does.
    pub(super) fn new(args: &'a Args, target: Target, stdout: &'a mut dyn Write) -> Self {
        Self {
            path: args.output(),
            target,
            is_split: args.split,
            stdout: (args.output() == Path::new("-")).then_some(stdout),
            files: Vec::new(),
        }
    }

    /// Begins the next file.
    pub(super) fn next(&mut self) -> anyhow::Result<()> {
        let path = match self.is_split {
            true => self.numbered(self.files.len() + 1),
            false => self.path.to_owned(),
        };
        self.files.push((OutputFile::create(&path)?, path));
        Ok(())
    }

    /// Returns the path with a number before the extension: `app-2.pftrace`.
    fn numbered(&self, number: usize) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let extensions = self.target.extensions().iter();
        let known = extensions
            .filter(|end| name.ends_with(**end))
            .max_by_key(|end| end.len());
        let (stem, end) = match known {
            Some(end) => name.split_at(name.len() - end.len()),
            None => name.split_at(name.find('.').unwrap_or(name.len())),
        };
        self.path.with_file_name(format!("{stem}-{number}{end}"))
    }

    /// Gives all files their final names. Returns these.
    pub(super) fn finish(self) -> anyhow::Result<Vec<PathBuf>> {
        let mut names = Vec::new();
        for (file, path) in self.files {
            file.finish()?;
            names.push(path);
        }
        Ok(names)
    }
}

impl Write for Files<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(stdout) = &mut self.stdout {
            let written = stdout.write(bytes);
            return written.map_err(|error| write_error(self.path, error));
        }
        if self.files.is_empty() {
            self.next().map_err(io::Error::other)?;
        }
        match self.files.last_mut() {
            Some((file, _)) => file.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(stdout) = &mut self.stdout {
            return stdout.flush();
        }
        match self.files.last_mut() {
            Some((file, _)) => file.flush(),
            None => Ok(()),
        }
    }
}
