//! Which files the agent writes. A name belongs to the process that came first
//! ([`jtrail_records::ownership`]): where another one writes a trace, ours goes into a file beside
//! it, with this process's id in its name.

use super::output::{Output, numbered};
use jtrail_guard::log;
use jtrail_records::ownership::{self, FileId};
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// See the module. There is one for each agent.
#[derive(Default)]
pub struct Names {
    all: Mutex<LockedFiles>,
}

/// A file stays locked while others get names that are made from its own, so that nobody takes it
/// for that of an earlier run once the trace in it has ended.
#[derive(Default)]
struct LockedFiles {
    /// The first file of ours, until the agent leaves or the file is deleted.
    first: Option<RememberedFile>,
    /// The last file that was opened under a name of its own, unless that is the first one.
    last: Option<RememberedFile>,
    /// The memory of our own spool.
    spool: Option<FileId>,
    /// A name under which there was nothing when it was reserved.
    free: Option<PathBuf>,
    /// What another process has, and what we have instead.
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

/// The agent leaves. Before, a file that is not kept any more may still be written, and stays
/// locked for as long.
impl Drop for LockedFiles {
    fn drop(&mut self) {
        let kept = self.first.iter().chain(&self.last);
        kept.for_each(|kept| ownership::release(&kept.file));
    }
}

impl LockedFiles {
    /// Opens the file at `path`, which is emptied, unless another process has it.
    fn open(&mut self, path: &Path) -> io::Result<File> {
        if let Some(kept) = self.kept_at(path) {
            let mut file = kept.file.try_clone()?;
            file.rewind()?;
            file.set_len(0)?;
            return Ok(file);
        }
        self.check_spool(path)?;
        let file = match self.free.as_deref() == Some(path) {
            // What has come there since is no earlier run's.
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

    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process records into the spool of `path`: then that
    /// name is to be its trace's.
    fn check_spool(&self, path: &Path) -> io::Result<()> {
        match ownership::spool_in_use(path) {
            Some(spool) if self.spool != Some(spool) => Err(ownership::taken()),
            _ => Ok(()),
        }
    }

    /// Keeps a file that was opened under a name of its own.
    fn keep(&mut self, file: &File) -> io::Result<()> {
        self.let_go_of_deleted();
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

    /// Gives up files that nobody finds any more: their room is to be free.
    fn let_go_of_deleted(&mut self) {
        for kept in [&mut self.first, &mut self.last] {
            kept.take_if(|kept| kept.is_deleted());
        }
    }

    /// Notes that another process has `path`, and says that `instead` takes its place.
    fn give_way(&mut self, path: &Path, why: &io::Error, instead: &Path) {
        log::say(&format!(
            "{}: {why}; the trace of this process goes to {}",
            path.display(),
            instead.display()
        ));
        self.instead = Some((path.to_owned(), instead.to_owned()));
    }

    /// Returns a name beside `path` under which there is nothing.
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
    /// From now on, that spool is ours.
    pub fn set_spool(&self, memory: Option<FileId>) {
        self.all.lock().spool = memory;
    }

    /// Returns the name that takes the place of `path` where another process has that.
    pub fn instead_of(&self, path: &Path) -> PathBuf {
        match &self.all.lock().instead {
            Some((taken, instead)) if taken == path => instead.clone(),
            _ => path.to_owned(),
        }
    }

    /// Finds out whether another process has `path`, for a trace that may be written there later:
    /// nothing is changed. Returns the name that the trace will have.
    pub fn reserve(&self, path: &Path) -> PathBuf {
        let mut known = self.all.lock();
        let reserved = known.check_spool(path).and_then(|()| {
            if FileId::at(path).is_none() {
                return Ok(()); // there is nothing, or a pipe that nobody reads yet
            }
            match File::options().write(true).open(path) {
                Ok(file) => {
                    ownership::lock(&file)?;
                    known.keep(&file)
                }
                Err(_) => Ok(()), // what is wrong shows when it is written
            }
        });
        let name = match reserved {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let instead = known.free_beside(path);
                known.give_way(path, &error, &instead);
                instead
            }
            _ => path.to_owned(),
        };
        if fs::symlink_metadata(&name).is_err() {
            known.free = Some(name.clone());
        }
        name
    }

    /// Checks that no other process writes a trace to what is at `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if one does.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        match self.all.lock().kept_at(path) {
            Some(_) => Ok(()),
            None => ownership::check(path),
        }
    }

    /// Opens a file for a trace; what an earlier run left there is gone. Where another process has
    /// it, the trace gets another name.
    ///
    /// # Errors
    /// When the file can't be made or opened.
    pub fn open(&self, path: &Path) -> io::Result<Output> {
        let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        if is_special {
            // A pipe is waited for until somebody reads it.
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
        known.give_way(path, &error, &instead);
        output
    }

    /// Gives up files of ours that were deleted.
    pub fn let_go_of_deleted(&self) {
        self.all.lock().let_go_of_deleted();
    }

    /// Creates a file with the next number that is free: `first` itself has number 1, and the
    /// others are beside it. What is there stays, and its number is passed over.
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

    /// What comes to a reserved name is not of an earlier run.
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
        // What was there before is replaced.
        let third = Names::default();
        assert_eq!(third.reserve(&path), path);
        ownership::check(&path).expect_err("it is reserved");
        assert_eq!(open(&third, &path), path);
        assert_eq!(fs::read_to_string(&path).expect("there"), "");
    }

    /// Process ids come again, in containers most of all.
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

    /// The first file and the last one with a name of its own are ours, and what lies between is
    /// not.
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

    /// The lock is one for all descriptors of a file: to give one of them up leaves it to the
    /// others.
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
        names.let_go_of_deleted();
        assert!(!is_open());
        assert_eq!(open(&names, &path), path);
    }

    /// A pipe is opened when somebody reads it. Nobody waits for that who opens something else.
    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        // No command makes it: until a child runs its program, it has the files of all other tests
        // open, with their locks.
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
