//! The files that the agent writes. A file belongs to the process that locked it first
//! ([`jtrail_records::ownership`]). If another process writes the requested file, the trace goes
//! into a file beside it, with this process's id in its name.

use super::output::{Output, numbered};
use jtrail_guard::log;
use jtrail_records::ownership::{self, FileId};
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of one agent.
#[derive(Default)]
pub struct Names {
    all: Mutex<LockedFiles>,
}

/// The locked files of the agent. A file remains locked while names of further files are derived
/// from its name. Otherwise another process could overwrite the file once its trace has ended, as
/// if an ended process had left it.
#[derive(Default)]
struct LockedFiles {
    /// The agent's first file, until the agent leaves or the file is deleted.
    first: Option<RememberedFile>,
    /// The last file that was opened with an explicit name instead of a numbered one, unless that
    /// is the first file.
    last: Option<RememberedFile>,
    /// The memory file of the agent's own spool.
    spool: Option<FileId>,
    /// A name that did not exist when it was reserved.
    free: Option<PathBuf>,
    /// A name that another process uses, and the name that replaces it.
    instead: Option<(PathBuf, PathBuf)>,
}

struct RememberedFile {
    id: FileId,
    file: File,
}

impl RememberedFile {
    fn is_deleted(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.nlink() == 0)
    }
}

/// Releases the locks when the agent leaves. A file that is no longer remembered may still be
/// written. It remains locked until it is closed.
impl Drop for LockedFiles {
    fn drop(&mut self) {
        let kept = self.first.iter().chain(&self.last);
        kept.for_each(|kept| ownership::release(&kept.file));
    }
}

impl LockedFiles {
    /// Opens and empties the file at `path`, unless another process has it.
    fn open(&mut self, path: &Path) -> io::Result<File> {
        if let Some(kept) = self.kept_at(path) {
            let mut file = kept.file.try_clone()?;
            file.rewind()?;
            file.set_len(0)?;
            return Ok(file);
        }
        self.check_spool(path)?;
        let file = match self.free.as_deref() == Some(path) {
            // If the file exists now, another process has created it since the name was reserved.
            true => ownership::create(path)?,
            false => ownership::open(path)?,
        };
        self.free.take_if(|free| free == path);
        self.keep(&file)?;
        Ok(file)
    }

    fn kept_at(&self, path: &Path) -> Option<&RememberedFile> {
        let mut kept = self.first.iter().chain(&self.last);
        kept.find(|kept| kept.id.is_at(path))
    }

    /// Checks that no other process records into the spool of `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process does, because the name is reserved for its
    /// trace.
    fn check_spool(&self, path: &Path) -> io::Result<()> {
        match ownership::spool_in_use(path) {
            Some(spool) if self.spool != Some(spool) => Err(ownership::taken()),
            _ => Ok(()),
        }
    }

    /// Remembers a file that was opened with an explicit name instead of a numbered one.
    fn keep(&mut self, file: &File) -> io::Result<()> {
        self.close_deleted();
        if let Some(id) = FileId::of(file) {
            let file = file.try_clone()?;
            let kept = match self.first {
                None => &mut self.first,
                Some(_) => &mut self.last,
            };
            *kept = Some(RememberedFile { id, file });
        }
        Ok(())
    }

    /// Closes remembered files that were deleted, so that their disk space is freed.
    fn close_deleted(&mut self) {
        for kept in [&mut self.first, &mut self.last] {
            kept.take_if(|kept| kept.is_deleted());
        }
    }

    /// Notes that another process uses `path`, and reports that `instead` replaces it.
    fn replace_name(&mut self, path: &Path, why: &io::Error, instead: &Path) {
        log::say(&format!(
            "{}: {why}; the trace of this process goes to {}",
            path.display(),
            instead.display()
        ));
        self.instead = Some((path.to_owned(), instead.to_owned()));
    }

    /// Returns a name beside `path` that does not exist.
    fn free_beside(&self, path: &Path) -> PathBuf {
        let first = numbered(path, std::process::id().into());
        let others = (2..).map(|number| numbered(&first, number));
        let mut all = iter::once(first.clone()).chain(others);
        let is_free =
            |path: &PathBuf| fs::symlink_metadata(path).is_err() && self.check_spool(path).is_ok();
        all.find(is_free).unwrap_or(first)
    }

    fn create_numbered(&mut self, first: &Path, number: &mut u64) -> (PathBuf, io::Result<Output>) {
        loop {
            *number += 1;
            let path = match *number {
                1 => first.to_owned(),
                n => numbered(first, n),
            };
            // A name whose spool is in use is reserved for another trace.
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
                        if self.first.is_none() {
                            self.keep(&file)?;
                        }
                        Ok(Output::file(file, path.clone()))
                    });
                    return (path, output);
                }
            }
        }
    }
}

impl Names {
    /// Sets the memory file of the agent's own spool.
    pub fn set_spool(&self, memory: Option<FileId>) {
        self.all.lock().spool = memory;
    }

    /// Returns the name that replaces `path` if another process uses that; otherwise `path`.
    pub fn instead_of(&self, path: &Path) -> PathBuf {
        match &self.all.lock().instead {
            Some((taken, instead)) if taken == path => instead.clone(),
            _ => path.to_owned(),
        }
    }

    /// Reserves `path` for a trace that may be written later, without changing files. Returns the
    /// name that the trace will have, which differs if another process uses `path`.
    pub fn reserve(&self, path: &Path) -> PathBuf {
        let mut known = self.all.lock();
        let reserved = known.check_spool(path).and_then(|()| {
            if FileId::at(path).is_none() {
                return Ok(()); // nothing exists there, or a pipe that nobody reads yet
            }
            match File::options().write(true).open(path) {
                Ok(file) => {
                    ownership::lock(&file)?;
                    known.keep(&file)
                }
                Err(_) => Ok(()), // the error will be reported when the trace is written
            }
        });
        let name = match reserved {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let instead = known.free_beside(path);
                known.replace_name(path, &error, &instead);
                instead
            }
            _ => path.to_owned(),
        };
        if fs::symlink_metadata(&name).is_err() {
            known.free = Some(name.clone());
        }
        name
    }

    /// Checks that no other process writes a trace to the file at `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process does.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        match self.all.lock().kept_at(path) {
            Some(_) => Ok(()),
            None => ownership::check(path),
        }
    }

    /// Opens and empties a file for a trace. If another process uses the file, the trace gets
    /// another name.
    ///
    /// # Errors
    /// When the file can't be created or opened.
    pub fn open(&self, path: &Path) -> io::Result<Output> {
        let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        if is_special {
            // Opening a pipe waits for a reader, so this does not hold the lock.
            return ownership::open(path).map(|file| Output::file(file, path.to_owned()));
        }
        let mut known = self.all.lock();
        let error = match known.open(path) {
            Ok(file) => return Ok(Output::file(file, path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => error,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => ownership::came_first(),
            Err(error) => return Err(error),
        };
        let instead = numbered(path, std::process::id().into());
        let (instead, output) = known.create_numbered(&instead, &mut 0);
        known.replace_name(path, &error, &instead);
        output
    }

    /// Closes remembered files that were deleted.
    pub fn close_deleted(&self) {
        self.all.lock().close_deleted();
    }

    /// Creates the file with the next free number: `first` has the number 1, and the others are
    /// beside it. Existing files are skipped.
    pub fn create_numbered(&self, first: &Path, number: &mut u64) -> (PathBuf, io::Result<Output>) {
        self.all.lock().create_numbered(first, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    fn own(path: &Path) -> PathBuf {
        numbered(path, std::process::id().into())
    }

    fn open(names: &Names, path: &Path) -> PathBuf {
        let output = names.open(path).expect("it opens");
        output.path().expect("a file").to_owned()
    }

    /// A file that appears at a reserved name does not belong to an earlier run.
    #[test]
    fn a_file_that_came_later_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("app.xml");
        let both = [Names::default(), Names::default()];
        for names in &both {
            assert_eq!(names.reserve(&path), path);
        }
        let [first, second] = both;
        assert_eq!(open(&first, &path), path);
        drop(first);
        fs::write(&path, "the first one's").expect("ours");
        assert_eq!(open(&second, &path), own(&path));
        assert_eq!(second.instead_of(&path), own(&path));
        assert_eq!(fs::read_to_string(&path).expect("there"), "the first one's");
        // A file that existed before the reservation is replaced.
        let third = Names::default();
        assert_eq!(third.reserve(&path), path);
        ownership::check(&path).expect_err("it is reserved");
        assert_eq!(open(&third, &path), path);
        assert_eq!(fs::read_to_string(&path).expect("there"), "");
    }

    /// Process ids are reused, especially in containers.
    #[test]
    fn files_of_an_earlier_run_with_our_number_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("app.xml");
        let other = ownership::open(&path).expect("nobody has it");
        fs::write(own(&path), "earlier").expect("ours");
        let second = numbered(&own(&path), 2);
        for opens in [true, false] {
            let names = Names::default();
            let found = match opens {
                true => open(&names, &path),
                false => names.reserve(&path),
            };
            assert_eq!(found, second);
            assert_eq!(names.instead_of(&path), second);
            let _ = fs::remove_file(&second);
        }
        assert_eq!(fs::read_to_string(own(&path)).expect("there"), "earlier");
        drop(other);
    }

    /// The first and the last file with a name of its own remain locked; files in between do not.
    #[test]
    fn files_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let names = Names::default();
        for name in ["a", "b", "c"] {
            assert_eq!(open(&names, &path(name)), path(name));
        }
        let (numbered, output) = names.create_numbered(&path("c"), &mut 1);
        output.expect("created");
        let are_free = |names: &[&str]| {
            let is_free = |name: &&str| ownership::check(&path(name)).is_ok();
            names.iter().map(is_free).collect::<Vec<_>>()
        };
        assert_eq!(
            are_free(&["a", "b", "c", "c-2"]),
            [false, true, false, true]
        );
        assert_eq!(numbered, path("c-2"));
        for name in ["a", "c"] {
            names.check(&path(name)).expect("it is ours");
            assert_eq!(open(&names, &path(name)), path(name));
        }
        drop(names);
        assert_eq!(are_free(&["a", "c"]), [true, true]);
    }

    /// All descriptors of a file share its lock: closing one of them does not release the lock.
    #[test]
    fn a_file_that_is_written_stays_locked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let names = Names::default();
        open(&names, &path("a"));
        let written = names.open(&path("b")).expect("it opens");
        open(&names, &path("c"));
        ownership::check(&path("b")).expect_err("it is written");
        drop(written);
        ownership::check(&path("b")).expect("nobody writes there");
    }

    #[test]
    fn the_room_of_deleted_files_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("app.xml");
        let names = Names::default();
        open(&names, &path);
        let is_open = || {
            let all = fs::read_dir("/proc/self/fd").expect("ours").flatten();
            let deleted = format!("{} (deleted)", path.display());
            let mut links = all.filter_map(|entry| fs::read_link(entry.path()).ok());
            links.any(|link| link == Path::new(&deleted))
        };
        fs::remove_file(&path).expect("ours");
        assert!(is_open());
        names.close_deleted();
        assert!(!is_open());
        assert_eq!(open(&names, &path), path);
    }

    /// Opening a pipe waits for a reader. Opening another file does not wait for that.
    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        // The pipe is not created by a command: between fork and exec, a child process would have
        // the files of all other tests open, with their locks.
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, path("pipe"), FileType::Fifo, mode, 0).expect("made");
        let names = Names::default();
        std::thread::scope(|scope| {
            let (sender, opened) = mpsc::channel();
            let (names, pipe) = (&names, path("pipe"));
            scope.spawn(move || sender.send(names.open(&pipe).is_ok()));
            opened
                .recv_timeout(Duration::from_millis(50))
                .expect_err("nobody reads it");
            assert_eq!(open(names, &path("file")), path("file"));
            names.check(&path("pipe")).expect("no file");
            let _reader = File::open(path("pipe")).expect("it is there");
            assert!(opened.recv().expect("it is opened"));
        });
    }
}
