//! Files that a JVM with a file system of its own can't share with this program: what it is to read is brought to its `/tmp`, and what
//! it has written there is fetched. Folders there are the JVM's user's alone (0700).

use crate::process::Process;
use anyhow::{Context, bail};
use jtrail_records::ownership;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown, lchown};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The process's `/tmp`. It can be used when the process has ended, too.
struct Temp {
    folder: OwnedFd,
    user: u32,
}

impl Temp {
    fn of(process: &Process) -> anyhow::Result<Self> {
        let path = process.within("/tmp");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty());
        let folder = folder.with_context(|| format!("can't use {}", path.display()))?;
        let user = process.user;
        Ok(Self { folder, user })
    }

    /// What is called so there.
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }

    /// Makes a folder of the user's alone. It may be there already, as one like that.
    fn make_folder(&self, name: &str) -> anyhow::Result<()> {
        let path = self.path(name);
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => own(&path, self.user)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("/tmp/{name} can't be made for the JVM"));
            }
        }
        let found = fs::symlink_metadata(&path)?;
        if !found.is_dir() || found.uid() != self.user || found.mode() & 0o077 != 0 {
            bail!("/tmp/{name}, as the JVM sees it, is not a folder of its user alone (mode 0700)");
        }
        Ok(())
    }
}

/// Gives a new folder to the user, if it is not that user's already.
fn own(path: &Path, user: u32) -> anyhow::Result<()> {
    if fs::symlink_metadata(path)?.uid() != user {
        lchown(path, Some(user), None).context("the JVM belongs to another user")?;
    }
    Ok(())
}

/// A copy of the agent's library, for a JVM that does not see the library itself. It goes with this value: a library that is loaded
/// needs no file.
pub(crate) struct LibraryCopy {
    temp: Temp,
    folder: String,
    name: String,
}

impl LibraryCopy {
    /// Copies the library. For one JVM, the copy of a library always has the same path: the JVM then takes it for the one that it has loaded
    /// before, also if that copy is gone, and does not load it a second time. Another JVM has another one: clients of two JVMs that share
    /// a `/tmp` don't take away each other's.
    ///
    /// # Errors
    /// It can't be read, or not be written.
    pub(crate) fn make(process: &Process, library: &Path) -> anyhow::Result<Self> {
        let content = fs::read(library).with_context(|| library.display().to_string())?;
        let copy = Self {
            temp: Temp::of(process)?,
            folder: format!("jtrail-library-{}-{}", process.user, process.own_pid),
            name: format!(
                "libjtrail-{:08x}-{:x}.so",
                crc32c::crc32c(&content),
                content.len()
            ),
        };
        copy.temp.make_folder(&copy.folder)?;
        let path = copy.seen();
        let _ = fs::remove_file(&path); // left by one that was killed
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o500)
            .open(&path);
        let result = made.and_then(|mut file| {
            io::Write::write_all(&mut file, &content)?;
            match file.metadata()?.uid() == process.user {
                true => Ok(()),
                false => fchown(&file, Some(process.user), None),
            }
        });
        result.with_context(|| {
            format!(
                "the agent's library can't be copied to {}",
                copy.path().display()
            )
        })?;
        Ok(copy)
    }

    /// As the JVM sees it.
    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/tmp").join(&self.folder).join(&self.name)
    }

    fn seen(&self) -> PathBuf {
        self.temp.path(&self.folder).join(&self.name)
    }
}

impl Drop for LibraryCopy {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.seen());
        let _ = fs::remove_dir(self.temp.path(&self.folder)); // somebody else may use it
    }
}

/// A folder that a JVM writes into, and whose files are fetched.
pub(crate) struct Parcel {
    temp: Temp,
    name: String,
    /// Where they come to.
    to: PathBuf,
}

impl Parcel {
    /// Makes the folder; its files are to come to the folder `to`.
    ///
    /// # Errors
    /// One of the folders is not there, or can't be written.
    pub(crate) fn make(process: &Process, to: &Path) -> anyhow::Result<Self> {
        if !to.is_dir() {
            bail!("no folder {}", to.display());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_nanos());
        let parcel = Self {
            temp: Temp::of(process)?,
            name: format!("jtrail-record-{}-{now:x}", std::process::id()),
            to: to.to_owned(),
        };
        parcel.temp.make_folder(&parcel.name)?;
        Ok(parcel)
    }

    /// The path that the JVM has for a file in it.
    pub(crate) fn name_of(&self, file: &str) -> String {
        format!("/tmp/{}/{file}", self.name)
    }

    /// Where a file comes to that the JVM has written.
    pub(crate) fn destination(&self, file: &str) -> String {
        let name = file.strip_prefix(&self.name_of(""));
        name.map_or_else(
            || file.to_owned(),
            |name| self.to.join(name).display().to_string(),
        )
    }

    /// Fetches what is there.
    ///
    /// # Errors
    /// It can't be read, or not be written; what was not fetched is still there.
    pub(crate) fn fetch(&self) -> anyhow::Result<()> {
        let from = self.temp.path(&self.name);
        fetch(&from, &self.to).with_context(|| {
            format!(
                "the trace stays in {}, as the JVM sees it",
                self.name_of("")
            )
        })
    }
}

/// Moves the files of a folder.
fn fetch(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target).with_context(|| target.display().to_string())?;
            fetch(&path, &target)?;
            fs::remove_dir(&path)?;
            continue;
        }
        // No link is followed: the folder is another user's, maybe.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let source = OpenOptions::new()
            .read(true)
            .custom_flags(flags.cast_signed())
            .open(&path)?;
        if !source.metadata()?.is_file() {
            bail!("{} is no file", entry.file_name().display());
        }
        copy(source, &target).with_context(|| format!("can't write {}", target.display()))?;
        fs::remove_file(&path)?;
    }
    Ok(())
}

/// Copies a file; the holes of a spool stay such.
fn copy(mut source: File, target: &Path) -> io::Result<()> {
    const PIECE: usize = 1 << 20;
    let mut target = ownership::open(target)?;
    let (mut piece, mut length) = (vec![0; PIECE], 0);
    loop {
        let mut count = 0;
        while count < PIECE {
            match source.read(&mut piece[count..])? {
                0 => break,
                n => count += n,
            }
        }
        if count == 0 {
            target.set_len(length)?;
            ownership::release(&target);
            return Ok(());
        }
        length += count as u64;
        match piece[..count].iter().all(|byte| *byte == 0) {
            true => _ = target.seek(io::SeekFrom::Start(length))?,
            false => io::Write::write_all(&mut target, &piece[..count])?,
        }
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        // It is empty, or holds what could not be fetched.
        let _ = fs::remove_dir(self.temp.path(&self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_was_written_is_fetched() {
        let own = Process::find(std::process::id()).expect("ourselves");
        let folder = tempfile::tempdir().expect("a folder");
        let parcel = Parcel::make(&own, folder.path()).expect("made");
        let there = parcel.name_of("a.trail");
        assert_eq!(
            parcel.destination(&there),
            folder.path().join("a.trail").display().to_string()
        );
        let mut content = vec![0; 3 << 20];
        content[2_000_000] = 7;
        fs::write(&there, &content).expect("ours");
        fs::create_dir(parcel.name_of("a.trail.spool")).expect("ours");
        fs::write(parcel.name_of("a.trail.spool/b"), "b").expect("ours");
        parcel.fetch().expect("fetched");
        assert_eq!(
            fs::read(folder.path().join("a.trail")).expect("there"),
            content
        );
        assert!(folder.path().join("a.trail.spool/b").is_file());
        let left = parcel.name_of("");
        drop(parcel);
        assert!(!Path::new(&left).exists());
    }

    #[test]
    fn links_are_not_fetched() {
        let own = Process::find(std::process::id()).expect("ourselves");
        let folder = tempfile::tempdir().expect("a folder");
        let parcel = Parcel::make(&own, folder.path()).expect("made");
        let link = parcel.name_of("a.trail");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("a link");
        parcel.fetch().expect_err("a link");
        assert!(!folder.path().join("a.trail").exists());
        fs::remove_file(link).expect("ours");
    }

    #[test]
    fn a_copy_of_the_library_goes() {
        let own = Process::find(std::process::id()).expect("ourselves");
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("l.so");
        fs::write(&library, "library of a test").expect("ours");
        let copy = LibraryCopy::make(&own, &library).expect("copied");
        let path = copy.path();
        assert_eq!(fs::read(&path).expect("there"), b"library of a test");
        drop(LibraryCopy::make(&own, &library).expect("again"));
        drop(copy);
        assert!(!path.exists());
    }
}
