//! Which files the agent writes. A name belongs to the process that came first ([`jtrail_records::ownership`]): where another
//! one writes a trace, ours goes into a file beside it, with this process's id in its name.

use super::output::{Output, numbered};
use crate::log;
use jtrail_records::ownership::{self, FileId};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// See the module. There is one for each agent.
#[derive(Default)]
pub(crate) struct Names {
    all: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The first file of ours. It stays locked until the agent leaves, so that nobody takes it for that of an earlier run
    /// once its trace has ended: further files have names that are made from it.
    first: Option<(FileId, File)>,
    /// The memory of our own spool.
    spool: Option<FileId>,
    /// What another process has, and what we have instead.
    instead: Option<(PathBuf, PathBuf)>,
}

impl Known {
    /// Opens the file at `path`, which is emptied, unless another process has it.
    fn open(&mut self, path: &Path) -> io::Result<File> {
        if let Some((id, first)) = &self.first
            && id.is_at(path)
        {
            let mut file = first.try_clone()?;
            file.rewind()?;
            file.set_len(0)?;
            return Ok(file);
        }
        self.check_spool(path)?;
        let file = ownership::open(path)?;
        self.keep(&file)?;
        Ok(file)
    }

    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process records into the spool of `path`: then that name is to be its trace's.
    fn check_spool(&self, path: &Path) -> io::Result<()> {
        match ownership::spool_in_use(path) {
            Some(spool) if self.spool != Some(spool) => Err(ownership::taken()),
            _ => Ok(()),
        }
    }

    fn keep(&mut self, file: &File) -> io::Result<()> {
        if self.first.is_none()
            && let Some(id) = FileId::of(file)
        {
            self.first = Some((id, file.try_clone()?));
        }
        Ok(())
    }

    /// Notes that another process has `path`, and says so. Returns the name that takes its place.
    fn give_way(&mut self, path: &Path, why: &io::Error) -> PathBuf {
        let instead = numbered(path, std::process::id().into());
        log::say(&format!(
            "{}: {why}; the trace of this process goes to {}",
            path.display(),
            instead.display()
        ));
        self.instead = Some((path.to_owned(), instead.clone()));
        instead
    }

    fn create_numbered(&mut self, first: &Path, number: &mut u64) -> (PathBuf, io::Result<Output>) {
        loop {
            *number += 1;
            let path = match *number {
                1 => first.to_owned(),
                n => numbered(first, n),
            };
            // A name with a spool that is in use is to be that of another trace.
            let file = self
                .check_spool(&path)
                .and_then(|()| ownership::create(&path));
            let is_taken = |error: &io::Error| {
                matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::WouldBlock
                )
            };
            match file {
                Err(error) if is_taken(&error) => {}
                file => {
                    let output = file.and_then(|file| {
                        self.keep(&file)?;
                        Ok(Output::file(file, path.clone()))
                    });
                    return (path, output);
                }
            }
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        if let Some((_, file)) = &self.first {
            ownership::release(file);
        }
    }
}

impl Names {
    /// From now on, that spool is ours.
    pub(crate) fn set_spool(&self, memory: Option<FileId>) {
        self.all.lock().spool = memory;
    }

    /// Returns the name that takes the place of `path` where another process has that.
    pub(crate) fn instead_of(&self, path: &Path) -> PathBuf {
        match &self.all.lock().instead {
            Some((taken, instead)) if taken == path => instead.clone(),
            _ => path.to_owned(),
        }
    }

    /// Finds out whether another process has `path`, for a trace that may be written there later: nothing is changed. Returns the
    /// name that the trace will have.
    pub(crate) fn reserve(&self, path: &Path) -> PathBuf {
        let mut known = self.all.lock();
        let reserved = known.check_spool(path).and_then(|()| {
            match File::options().write(true).open(path) {
                Ok(file) if FileId::of(&file).is_some() => {
                    ownership::lock(&file)?;
                    known.keep(&file)
                }
                // There is none; or what is wrong shows when it is written.
                _ => Ok(()),
            }
        });
        match reserved {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => known.give_way(path, &error),
            _ => path.to_owned(),
        }
    }

    /// Checks that no other process writes a trace to what is at `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if one does.
    pub(crate) fn check(&self, path: &Path) -> io::Result<()> {
        let known = self.all.lock();
        if known.first.as_ref().is_some_and(|(id, _)| id.is_at(path)) {
            return Ok(());
        }
        ownership::check(path)
    }

    /// Opens a file for a trace; what an earlier run left there is gone. Where another process has it, the trace gets another name.
    ///
    /// # Errors
    /// When the file can't be made or opened.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Output> {
        let mut known = self.all.lock();
        match known.open(path) {
            Ok(file) => Ok(Output::file(file, path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let instead = known.give_way(path, &error);
                known.create_numbered(&instead, &mut 0).1
            }
            Err(error) => Err(error),
        }
    }

    /// Creates a file with the next number that is free: `first` itself has number 1, and the others are beside it. What is
    /// there stays, and its number is passed over.
    pub(crate) fn create_numbered(
        &self,
        first: &Path,
        number: &mut u64,
    ) -> (PathBuf, io::Result<Output>) {
        self.all.lock().create_numbered(first, number)
    }
}
