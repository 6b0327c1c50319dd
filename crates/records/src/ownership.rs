//! Ownership of a trace file: a file belongs to the process that writes it. The process holds a
//! lock on the file, which ends with the process.
//!
//! The lock is that of `flock`, which the standard library offers as [`File::try_lock`]. It belongs
//! to the open file, so a program that opens and closes its own trace does not release it. Network
//! file systems pass the lock on to other machines. A file is not changed before it is locked.

use crate::spool::{self, MEMORY};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time to try to lock a file. A process that checks for a lock ([`is_locked`]) holds one
/// for a moment itself.
const MOMENT: Duration = Duration::from_millis(50);

/// Identity of a regular file, independent of its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Returns the identity of an open file, or `None` if it is not a regular one.
    pub fn of(file: &File) -> Option<Self> {
        Self::of_metadata(&file.metadata().ok()?)
    }

    fn of_metadata(found: &Metadata) -> Option<Self> {
        found.is_file().then(|| Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Returns the identity of the regular file at `path`, following links.
    pub fn at(path: &Path) -> Option<Self> {
        Self::of_metadata(&fs::metadata(path).ok()?)
    }

    /// Returns true if `path` leads to this file, following links.
    pub fn is_at(self, path: &Path) -> bool {
        Self::at(path) == Some(self)
    }
}

/// Returns the folder that contains `path`.
pub fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens `path` for a new trace and locks it. The contents of an existing file are removed only
/// once the lock is held. A file that is not regular, such as a pipe, is opened and not locked.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another process writes the file. The kind is the same if the
/// file exists on a file system without locks, because another writer can't be detected there.
/// Otherwise the error of opening the file.
pub fn open(path: &Path) -> io::Result<File> {
    loop {
        match create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result,
        }
        // `create` fails for a dangling link, because the link exists; it is followed here.
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let Some(id) = FileId::of(&file) else {
            return Ok(file);
        };
        lock(&file)?;
        if id.is_at(path) {
            file.set_len(0)?;
            return Ok(file);
        } // its owner deleted the file before it released the lock
    }
}

/// Creates `path` for a new trace and locks it.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the file exists. Otherwise the error of creating the file.
pub fn create(path: &Path) -> io::Result<File> {
    create_with_mode(path, 0o666)
}

/// Like [`create`], with the permissions of the file before the umask.
///
/// # Errors
/// The same as for [`create`].
pub fn create_with_mode(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path)?;
    match try_lock(&file) {
        // Another process found the new file in between, and takes it.
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::AlreadyExists.into()),
        // Without locks, it is enough that the file did not exist before.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Locks an existing file.
///
/// # Errors
/// Like [`open`].
pub fn lock(file: &File) -> io::Result<()> {
    try_lock(file).map_err(|error| match error {
        TryLockError::WouldBlock => taken(),
        TryLockError::Error(error) => io::Error::new(
            io::ErrorKind::WouldBlock,
            format!("it is there already, and can't be locked ({error})"),
        ),
    })
}

fn try_lock(file: &File) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begin.elapsed() < MOMENT => {
                sleep(MOMENT / 50);
            }
            result => return result,
        }
    }
}

/// Releases the lock on a file. Closing the file is not enough: a child of this process has it open
/// as well, from the fork until the child runs its own program.
pub fn release(file: &File) {
    let _ = file.unlock(); // if this fails, the lock ends when no process has the file open
}

/// Returns the error for a file that another process writes.
pub fn taken() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "another process writes it")
}

/// Returns the error for a name that was free until another process created a file there.
pub fn came_first() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "another process has written it")
}

/// Checks that no other process is known to write a trace to the file at `path`. Changes nothing.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if a process does.
pub fn check(path: &Path) -> io::Result<()> {
    match is_locked(path) {
        true => Err(taken()),
        false => Ok(()),
    }
}

/// Returns true if a process has locked the regular file at `path`.
pub fn is_locked(path: &Path) -> bool {
    lock_holder(path).is_some()
}

/// Returns the identity of the regular file at `path` if a process has locked it.
fn lock_holder(path: &Path) -> Option<FileId> {
    FileId::at(path)?; // opening a pipe would wait for its other end
    let file = File::open(path).ok()?;
    let id = FileId::of(&file)?;
    // A shared lock, because NFS has no exclusive lock for a file that is open for reading only.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(id),
        Ok(()) | Err(TryLockError::Error(_)) => {
            release(&file);
            None
        }
    }
}

/// Returns the identity of the memory file in the spool of the trace at `path`. Returns `None` if
/// no process, including this one, records into that spool.
pub fn spool_in_use(path: &Path) -> Option<FileId> {
    lock_holder(&spool::folder_of(path).join(MEMORY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    /// A descriptor that a child process has inherited does not keep the file locked.
    #[test]
    fn a_file_that_is_released_is_free() {
        let folder = folder();
        let path = folder.path().join("trace");
        let file = open(&path).expect("nobody writes there");
        let inherited = file.try_clone().expect("another descriptor");
        release(&file);
        drop(file);
        check(&path).expect("nobody writes there");
        open(&path).expect("nobody writes there");
        drop(inherited);
    }

    /// Clients check for locks all the time. Their short locks do not keep a process from opening
    /// the file.
    #[test]
    fn who_looks_for_a_lock_is_in_nobodys_way() {
        let folder = folder();
        let path = folder.path().join("trace");
        let file = open(&path).expect("nobody writes there");
        release(&file);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        is_locked(&path);
                        sleep(Duration::from_micros(50)); // otherwise the lock would never be free
                    }
                });
            }
            let opened: Vec<_> = (0..200).map(|_| open(&path).map(|f| release(&f))).collect();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            for result in opened {
                result.expect("nobody writes there");
            }
        });
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = folder();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        check(&path).expect("it is no file");
    }

    #[test]
    fn a_file_that_is_written_is_not_touched() {
        let folder = folder();
        let path = folder.path().join("trace");
        let mut first = open(&path).expect("nobody writes there");
        first.write_all(b"the first").expect("written");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        for path in [&path, &link] {
            let error = open(path).expect_err("the first one has it");
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(error.to_string(), taken().to_string());
            check(path).expect_err("the first one has it");
        }
        assert_eq!(fs::read_to_string(&path).expect("there"), "the first");
        // A second handle keeps the lock.
        let copy = first.try_clone().expect("a copy");
        drop(first);
        open(&path).expect_err("the copy has it");
        release(&copy);
        check(&path).expect("nobody writes there any more");
        open(&path).expect("nobody writes there any more");
        assert_eq!(fs::read_to_string(&path).expect("there"), "");
    }

    #[test]
    fn a_new_file_is_locked_and_an_old_one_stays() {
        let folder = folder();
        let path = folder.path().join("trace");
        fs::write(&path, "old").expect("written");
        let error = create(&path).expect_err("there is one");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).expect("there"), "old");
        let other = folder.path().join("other");
        let file = create(&other).expect("new");
        open(&other).expect_err("it is locked");
        drop(file);
    }

    #[test]
    fn a_file_is_known_by_any_name() {
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        let file = FileId::of(&open(&path("trace")).expect("it opens")).expect("regular");
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
        // The file at a name may change.
        fs::rename(path("trace"), path("moved")).expect("ours");
        assert!(file.is_at(&path("moved")) && !file.is_at(&path("link")));
    }

    #[test]
    fn links_to_nothing_and_what_is_no_file() {
        let folder = folder();
        let (path, link) = (folder.path().join("trace"), folder.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let file = open(&link).expect("the link is followed");
        assert!(FileId::of(&file).expect("regular").is_at(&path));
        for _ in 0..2 {
            let nowhere = open(Path::new("/dev/null")).expect("it opens");
            assert_eq!(FileId::of(&nowhere), None);
        }
        open(folder.path()).expect_err("a folder");
        for path in [folder.path(), Path::new("/dev/null"), Path::new("none")] {
            check(path).expect("nobody has it");
        }
    }

    #[test]
    fn of_many_that_come_at_once_one_gets_it() {
        let folder = folder();
        let path = folder.path().join("trace");
        for round in 0..50 {
            let begin = std::sync::Barrier::new(4);
            let opened: Vec<_> = std::thread::scope(|scope| {
                let open = || {
                    begin.wait();
                    open(&path)
                };
                let all: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
                all.into_iter()
                    .map(|one| one.join().expect("no panic"))
                    .collect()
            });
            let won = opened.iter().filter(|result| result.is_ok()).count();
            assert_eq!(won, 1, "round {round}");
            for error in opened.into_iter().filter_map(Result::err) {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
            }
        }
    }

    #[test]
    fn a_spool_is_in_use_as_long_as_its_memory_is_locked() {
        let folder = folder();
        let path = folder.path().join("trace");
        assert_eq!(spool_in_use(&path), None);
        let memory = spool::folder_of(&path).join(MEMORY);
        fs::create_dir(spool::folder_of(&path)).expect("made");
        let file = File::create(&memory).expect("made");
        assert_eq!(spool_in_use(&path), None);
        file.lock().expect("ours");
        assert_eq!(spool_in_use(&path), FileId::of(&file));
        release(&file);
        assert_eq!(spool_in_use(&path), None);
    }
}
