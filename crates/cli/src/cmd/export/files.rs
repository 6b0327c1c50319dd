//! The output files of an export.

use super::Args;
use crate::output::{OutputFile, write_error};
use anyhow::anyhow;
use jtrail_export::Target;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files that an export writes: one, or several that are numbered. None has its final name
/// before all are complete. Numbered files replace no files, because their names are not those that
/// the user gave.
pub(super) struct Files<'a> {
    path: &'a Path,
    target: Target,
    is_split: bool,
    stdout: Option<&'a mut dyn Write>,
    /// Complete files, and the current one at the end.
    files: Vec<(OutputFile, PathBuf)>,
    /// True if something was written.
    has_content: bool,
}

impl<'a> Files<'a> {
    /// Creates the first file.
    ///
    /// # Errors
    /// If the file can't be created, or if there already is a numbered file.
    pub(super) fn new(
        args: &'a Args,
        target: Target,
        stdout: &'a mut dyn Write,
    ) -> anyhow::Result<Self> {
        let mut files = Self {
            path: args.output(),
            target,
            is_split: args.split,
            stdout: (args.output() == Path::new("-")).then_some(stdout),
            files: Vec::new(),
            has_content: false,
        };
        if files.is_split
            && let Some(old) = files.old_number()
        {
            return Err(exists(&old));
        }
        if files.stdout.is_none() {
            files.next()?;
        }
        Ok(files)
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
        let (stem, end) = self.stem_and_end();
        let mut name = OsString::from(stem);
        name.push(format!("-{number}"));
        name.push(end);
        self.path.with_file_name(name)
    }

    /// Returns the parts of the output's name before and after the number.
    fn stem_and_end(&self) -> (&OsStr, &OsStr) {
        let name = self.path.file_name().unwrap_or_default().as_bytes();
        let extensions = self.target.extensions().iter();
        let known = extensions
            .filter(|end| name.ends_with(end.as_bytes()))
            .max_by_key(|end| end.len());
        let at = match known {
            Some(end) => name.len() - end.len(),
            None => name.iter().position(|c| *c == b'.').unwrap_or(name.len()),
        };
        let (stem, end) = name.split_at(at);
        (OsStr::from_bytes(stem), OsStr::from_bytes(end))
    }

    /// Returns an existing file that has the name of a numbered one: it would be replaced, or be
    /// taken for a part of this export.
    fn old_number(&self) -> Option<PathBuf> {
        let (stem, end) = self.stem_and_end();
        let number = |name: &OsStr| -> Option<usize> {
            let rest = name.as_bytes().strip_prefix(stem.as_bytes())?;
            let digits = rest.strip_prefix(b"-")?.strip_suffix(end.as_bytes())?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        let folder = jtrail_records::ownership::parent_folder(self.path);
        // A folder need not be readable. Then the files that would be replaced are still found.
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| number(&entry.file_name()));
        // A name like `app-01` is not that of a numbered file.
        let exists = |number: &usize| self.numbered(*number).symlink_metadata().is_ok();
        let first = numbers.filter(exists).min();
        first.map(|number| self.numbered(number))
    }

    /// Returns true if something was written.
    pub(super) fn has_content(&self) -> bool {
        self.has_content
    }

    /// Gives all files their final names. Returns these.
    pub(super) fn finish(self) -> anyhow::Result<Vec<PathBuf>> {
        let mut paths = self.files.iter().map(|(_, path)| path);
        if self.is_split
            && let Some(old) = paths.find(|path| path.symlink_metadata().is_ok())
        {
            return Err(exists(old));
        }
        let mut names = Vec::new();
        for (file, path) in self.files {
            file.finish()?;
            names.push(path);
        }
        Ok(names)
    }
}

fn exists(path: &Path) -> anyhow::Error {
    let path = path.display();
    anyhow!("{path} exists, and --split replaces no file; remove it, or choose another name")
}

impl Write for Files<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_content |= !bytes.is_empty();
        if let Some(stdout) = &mut self.stdout {
            let written = stdout.write(bytes);
            return written.map_err(|error| write_error(self.path, error));
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
