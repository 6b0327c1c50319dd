//! The folder of a spool. It gets its name when the JVM starts the program. So a JVM that fails to
//! start leaves nothing, and does not destroy what an earlier process left beside the trace.

use jtrail_records::ownership;
use jtrail_records::spool::{DEFINITIONS, MEMORY, NAMED, folder_of, state_name};
use rustix::fs::{AtFlags, CWD};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time to wait for other processes that name or remove spools in the same folder.
const PATIENCE: Duration = Duration::from_secs(1);

/// The folder with the files of a spool.
pub(super) struct Folder(State);

enum State {
    /// The files have no names yet and vanish with the process. Later they get the names given
    /// here, in one folder.
    Unnamed(Vec<(&'static str, File)>),
    /// A folder with a temporary name, for file systems without unnamed files. If the JVM fails to
    /// start, the folder remains; the next JVM that writes the same trace removes it.
    Temporary(PathBuf),
    /// A folder with the name that belongs to the trace.
    Named(PathBuf),
}

/// The files of a spool, open for reading and writing.
pub(super) struct Files {
    pub(super) memory: File,
    pub(super) defined: File,
    pub(super) named: File,
    pub(super) states: [File; 2],
}

impl Folder {
    /// Creates the files in the file system of the trace at `path`.
    ///
    /// # Errors
    /// When the files can't be created there.
    pub(super) fn create(path: &Path) -> io::Result<(Self, Files)> {
        Self::unnamed(ownership::parent_folder(path)).or_else(|_| Self::temporary(path))
    }

    /// Creates files without names.
    ///
    /// # Errors
    /// When the file system has no unnamed files, or can't name them later.
    fn unnamed(beside: &Path) -> io::Result<(Self, Files)> {
        let mut created = Vec::new();
        let mut create = |name| {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_TMPFILE)
                .open(beside)?;
            fs::symlink_metadata(by_number(&file))?;
            created.push((name, file.try_clone()?));
            Ok(file)
        };
        let files = Files::create(&mut create)?;
        Ok((Self(State::Unnamed(created)), files))
    }

    fn temporary(path: &Path) -> io::Result<(Self, Files)> {
        let _turn = Turn::take(path);
        clear_abandoned(path);
        let folder = temporary_name(path, &std::process::id().to_string());
        fs::create_dir(&folder)?;
        let create = |name| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            options.open(folder.join(name))
        };
        match Files::create(create) {
            Ok(files) => {
                let _ = files.memory.try_lock(); // shows that the folder is in use
                Ok((Self(State::Temporary(folder)), files))
            }
            Err(error) => {
                clear(&folder);
                Err(error)
            }
        }
    }

    /// Names the folder after the trace at `path`. The folder may have had another name before. If
    /// an ended process left a spool with this name, that spool is deleted, because its trace is
    /// overwritten, too.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process records there. Other kinds if the folder
    /// can't get the name.
    pub(super) fn go_to(&mut self, path: &Path) -> io::Result<()> {
        let folder = folder_of(path);
        if matches!(&self.0, State::Named(now) if *now == folder) {
            return Ok(());
        }
        let _turn = Turn::take(path);
        if ownership::spool_in_use(path).is_some() {
            let why = format!("another process records into {}", folder.display());
            return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
        }
        clear(&folder);
        match &self.0 {
            State::Unnamed(files) => {
                fs::create_dir_all(&folder)?;
                for (name, file) in files {
                    let to = folder.join(name);
                    let named =
                        rustix::fs::linkat(CWD, by_number(file), CWD, &to, AtFlags::SYMLINK_FOLLOW);
                    if let Err(error) = named {
                        clear(&folder);
                        return Err(error.into());
                    }
                }
            }
            State::Temporary(now) | State::Named(now) => fs::rename(now, &folder)?,
        }
        self.0 = State::Named(folder);
        Ok(())
    }

    /// Removes the folder.
    pub(super) fn remove(&self) {
        if let State::Temporary(folder) | State::Named(folder) = &self.0 {
            clear(folder);
        }
    }
}

/// A lock on the folder that contains the trace. Processes hold the lock while they name their
/// spools in that folder or remove abandoned spools.
struct Turn {
    folder: Option<File>,
}

impl Turn {
    /// Waits for the lock, but not for long, because other programs may lock folders as well.
    fn take(path: &Path) -> Self {
        let begin = Instant::now();
        let folder = File::open(ownership::parent_folder(path)).ok();
        while let Some(folder) = &folder
            && matches!(folder.try_lock(), Err(TryLockError::WouldBlock))
            && begin.elapsed() < PATIENCE
        {
            sleep(PATIENCE / 1000);
        }
        Self { folder }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.folder.iter().for_each(ownership::release);
    }
}

impl Files {
    fn create(mut create: impl FnMut(&'static str) -> io::Result<File>) -> io::Result<Self> {
        Ok(Self {
            memory: create(MEMORY)?,
            defined: create(DEFINITIONS)?,
            named: create(NAMED)?,
            states: [create(state_name(0))?, create(state_name(1))?],
        })
    }
}

/// Returns the temporary name of a spool: `.app.trail.spool-4711` for the spool of `app.trail`.
fn temporary_name(path: &Path, process: &str) -> PathBuf {
    let spool = folder_of(path);
    let name = spool.file_name().unwrap_or_default().to_string_lossy();
    spool.with_file_name(format!(".{name}-{process}"))
}

/// Removes the temporary folders of ended processes, which were JVMs that failed to start. Such a
/// JVM exits without notifying its agents.
fn clear_abandoned(path: &Path) {
    let temporary = temporary_name(path, "");
    let Some(prefix) = temporary.file_name() else {
        return;
    };
    let beside = fs::read_dir(ownership::parent_folder(path));
    for entry in beside.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.as_bytes().strip_prefix(prefix.as_bytes());
        let process = process.and_then(|digits| str::from_utf8(digits).ok()?.parse::<u32>().ok());
        if let Some(process) = process {
            let folder = entry.path();
            // The folder may belong to a process on another machine, which holds a lock on the
            // file.
            let is_there =
                process != std::process::id() && Path::new(&format!("/proc/{process}")).exists();
            if !is_there && !ownership::is_locked(&folder.join(MEMORY)) {
                clear(&folder);
            }
        }
    }
}

/// Deletes the files of a spool, and the folder if nothing else is in it.
fn clear(folder: &Path) {
    let states = [0, 1].map(state_name);
    for name in [MEMORY, DEFINITIONS, NAMED].into_iter().chain(states) {
        let _ = fs::remove_file(folder.join(name)); // the file may not exist
    }
    let _ = fs::remove_dir(folder);
}

/// Returns a path by which the system finds an open file.
fn by_number(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    fn entries(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    /// Tests files with and without names. Data that is written before the files get their names is
    /// kept, and the files move with the folder.
    #[test]
    fn a_folder_gets_its_name_later() {
        type Create = fn(&Path) -> io::Result<(Folder, Files)>;
        let unnamed: Create = |path| Folder::unnamed(ownership::parent_folder(path));
        for (create, before) in [(unnamed, 0), (Folder::temporary, 1)] {
            let base = tempfile::tempdir().expect("a folder");
            let path = base.path().join("app.trail");
            let (mut folder, mut files) = create(&path).expect("created");
            files.memory.write_all(b"early").expect("written");
            assert_eq!(entries(base.path()).len(), before);
            folder.go_to(&path).expect("named");
            assert_eq!(entries(base.path()), ["app.trail.spool"]);
            let all = ["definitions", "memory", "named", "state-0", "state-1"];
            assert_eq!(entries(&folder_of(&path)), all);
            files.memory.write_all_at(b"later", 5).expect("written");
            let next = base.path().join("app-2.trail");
            folder.go_to(&next).expect("named");
            folder.go_to(&next).expect("it is there");
            assert_eq!(entries(base.path()), ["app-2.trail.spool"]);
            let memory = fs::read(folder_of(&next).join(MEMORY)).expect("there");
            assert_eq!(memory, b"earlylater");
            folder.remove();
            assert_eq!(entries(base.path()).len(), 0);
        }
    }

    #[test]
    fn what_another_process_records_stays() {
        let base = tempfile::tempdir().expect("a folder");
        let path = base.path().join("app.trail");
        let (mut first, files) = Folder::create(&path).expect("created");
        files.memory.lock().expect("ours");
        first.go_to(&path).expect("named");
        let (mut second, _files) = Folder::create(&path).expect("created");
        let error = second.go_to(&path).expect_err("in use");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(
            error
                .to_string()
                .starts_with("another process records into ")
        );
        drop((first, files));
        second.go_to(&path).expect("its process is gone");
    }

    /// All processes find the spool of a process that has ended.
    #[test]
    fn of_many_that_come_at_once_one_gets_the_name() {
        for round in 0..20 {
            let base = tempfile::tempdir().expect("a folder");
            let path = base.path().join("app.trail");
            let (mut left, files) = Folder::create(&path).expect("created");
            left.go_to(&path).expect("named");
            drop((left, files));
            let begin = std::sync::Barrier::new(4);
            let come = || {
                let (mut folder, files) = Folder::create(&path).expect("created");
                files.memory.lock().expect("ours");
                begin.wait();
                (folder.go_to(&path), folder, files)
            };
            let all: Vec<_> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..4).map(|_| scope.spawn(come)).collect();
                all.into_iter()
                    .map(|one| one.join().expect("no panic"))
                    .collect()
            });
            let won: Vec<_> = all.iter().filter(|(result, ..)| result.is_ok()).collect();
            assert_eq!(won.len(), 1, "round {round}");
            assert_eq!(entries(&folder_of(&path)).len(), 5, "round {round}");
            assert_eq!(
                ownership::spool_in_use(&path),
                ownership::FileId::of(&won[0].2.memory)
            );
            assert_eq!(entries(base.path()), ["app.trail.spool"]);
            for (error, ..) in all.iter().filter(|(result, ..)| result.is_err()) {
                let kind = error.as_ref().expect_err("lost").kind();
                assert_eq!(kind, io::ErrorKind::WouldBlock, "{error:?}");
            }
        }
    }

    #[test]
    fn what_a_start_that_failed_has_left_goes() {
        /// A process id that no process has.
        const NO_PROCESS: u32 = i32::MAX as u32;
        let base = tempfile::tempdir().expect("a folder");
        let path = base.path().join("app.trail");
        let created = Folder::temporary(&path).expect("created");
        let process = std::process::id().to_string();
        let [ours, left, foreign] = [
            temporary_name(&path, &process),
            temporary_name(&path, &NO_PROCESS.to_string()),
            temporary_name(&path, "x"),
        ];
        fs::rename(&ours, &left).expect("renamed");
        fs::create_dir(&foreign).expect("made");
        drop(created);
        Folder::temporary(&path).expect("created");
        assert!(!left.exists() && ours.exists() && foreign.exists());
        // A locked folder belongs to a process on another machine.
        fs::rename(&ours, &left).expect("renamed");
        let memory = File::open(left.join(MEMORY)).expect("there");
        memory.lock().expect("ours");
        Folder::temporary(&path).expect("created");
        assert!(left.exists());
    }

    #[test]
    fn without_a_folder_there_is_no_spool() {
        let base = tempfile::tempdir().expect("a folder");
        assert!(Folder::create(&base.path().join("none/app.trail")).is_err());
        assert_eq!(entries(base.path()).len(), 0);
    }
}
