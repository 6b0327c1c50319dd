//! Transfer of files to and from a JVM that has a file system of its own.
//!
//! Files for the JVM are copied to the JVM's `/tmp`. Traces that the JVM has written there are
//! fetched. The folders used for this belong to the JVM's user and have mode 0700.

use crate::process::Process;
use anyhow::{Context, bail};
use jtrail_records::{ownership, spool};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown, lchown};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The process's `/tmp`, which remains usable after the process has ended.
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

    /// Returns this program's path of the file `name` in the folder.
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }

    /// Creates a folder that only the user can access, or accepts an existing one that only the
    /// user can access.
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

/// Makes the user the owner of a new folder.
fn own(path: &Path, user: u32) -> anyhow::Result<()> {
    if fs::symlink_metadata(path)?.uid() != user {
        lchown(path, Some(user), None).context("the JVM belongs to another user")?;
    }
    Ok(())
}

/// Copy of the agent's library, for a JVM that does not see the library itself.
///
/// The copy is deleted on drop, because a loaded library needs no file.
pub(crate) struct LibraryCopy {
    temp: Temp,
    folder: String,
    name: String,
}

impl LibraryCopy {
    /// Copies the library.
    ///
    /// For one JVM, the copy of a library always has the same path. So the JVM does not load the
    /// library twice, even if the earlier copy was deleted. The path depends on the JVM, so that
    /// clients of two JVMs with a common `/tmp` don't delete each other's copies.
    ///
    /// # Errors
    /// If the library can't be read, or if the copy can't be written.
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
        // The copy gets its final name when it is complete. Another client may make the JVM load
        // the file of this name at any time.
        let part = copy.seen().with_extension(std::process::id().to_string());
        let _ = fs::remove_file(&part); // left by a killed client
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o500)
            .open(&part);
        let result = made.and_then(|mut file| {
            io::Write::write_all(&mut file, &content)?;
            if file.metadata()?.uid() != process.user {
                fchown(&file, Some(process.user), None)?;
            }
            fs::rename(&part, copy.seen())
        });
        result.with_context(|| {
            format!(
                "the agent's library can't be copied to {}",
                copy.path().display()
            )
        })?;
        Ok(copy)
    }

    /// Returns the JVM's path of the copy.
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
        let _ = fs::remove_dir(self.temp.path(&self.folder)); // perhaps still in use
    }
}

/// A folder for a trace: the JVM writes the trace into it, and this program then fetches the files.
///
/// The folder belongs to the JVM's user, so its contents are not trusted. Only files of a trace are
/// fetched, and links are not followed.
pub(crate) struct Parcel {
    temp: Temp,
    name: String,
    /// Name of the trace's first file.
    file: String,
    /// Folder for the fetched files.
    to: PathBuf,
}

impl Parcel {
    /// Creates the folder for a trace whose first file is named `file`. The fetched files will be
    /// in the folder `to`.
    ///
    /// # Errors
    /// If one of the folders does not exist, or can't be written.
    pub(crate) fn make(process: &Process, to: &Path, file: &str) -> anyhow::Result<Self> {
        if !to.is_dir() {
            bail!("no folder {}", to.display());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_nanos());
        let parcel = Self {
            temp: Temp::of(process)?,
            name: format!("jtrail-record-{}-{now:x}", std::process::id()),
            file: file.to_owned(),
            to: to.to_owned(),
        };
        parcel.temp.make_folder(&parcel.name)?;
        Ok(parcel)
    }

    /// Returns the JVM's path of the trace file.
    pub(crate) fn path(&self) -> String {
        self.path_of(&self.file)
    }

    fn path_of(&self, name: &str) -> String {
        format!("/tmp/{}/{name}", self.name)
    }

    /// Returns the final path of a file that the JVM has written.
    pub(crate) fn destination(&self, file: &str) -> String {
        let name = file.strip_prefix(&self.path_of(""));
        name.map_or_else(
            || file.to_owned(),
            |name| self.to.join(name).display().to_string(),
        )
    }

    /// Fetches the trace's files.
    ///
    /// # Errors
    /// If a file can't be read or written, or if the folder contains other files. Files that were
    /// not fetched remain in the folder.
    pub(crate) fn fetch(&self) -> anyhow::Result<()> {
        self.fetch_all().with_context(|| {
            format!(
                "what is not fetched stays in {}, as the JVM sees it",
                self.path_of("")
            )
        })
    }

    fn fetch_all(&self) -> anyhow::Result<()> {
        let folder = open_folder(&self.temp.folder, &self.name)?;
        let mut others = Vec::new();
        for name in names_in(&folder)? {
            let spool = name.strip_suffix(spool::SPOOL);
            if is_file_of(&self.file, &name) {
                let taken = UntrustedFile::of(&folder, &name, self.temp.user)?;
                taken.put(&self.to.join(&name), name == self.file)?;
            } else if spool.is_some_and(|name| is_file_of(&self.file, name)) {
                self.fetch_spool(&folder, &name)?;
            } else {
                others.push(name);
            }
        }
        match others.first() {
            None => Ok(()),
            Some(name) => bail!("{name:?} is no file of the trace"),
        }
    }

    fn fetch_spool(&self, folder: &OwnedFd, name: &str) -> anyhow::Result<()> {
        let spool = open_folder(folder, name)?;
        let to = self.to.join(name);
        fs::create_dir_all(&to).with_context(|| to.display().to_string())?;
        let files = [spool::MEMORY, spool::DEFINITIONS, spool::NAMED];
        let states = [0, 1].map(spool::state_name);
        for file in names_in(&spool)? {
            if !files.iter().chain(&states).any(|known| **known == *file) {
                bail!("{name}/{file:?} is no file of a spool");
            }
            UntrustedFile::of(&spool, &file, self.temp.user)?.put(&to.join(&file), true)?;
        }
        Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
    }
}

/// Returns true if a trace whose first file is `first` may have a file `name`: `first` itself, or
/// `first` with numbers after the stem, like `app-4711-2.trail`.
fn is_file_of(first: &str, name: &str) -> bool {
    let (first, name) = (Path::new(first), Path::new(name));
    let stem = |path: &Path| path.file_stem()?.to_str().map(str::to_owned);
    let (Some(stem), Some(other)) = (stem(first), stem(name)) else {
        return false;
    };
    let Some(numbers) = other.strip_prefix(&stem) else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let are_numbers = numbers
        .strip_prefix('-')
        .is_some_and(|numbers| numbers.split('-').all(is_number));
    first.extension() == name.extension() && (numbers.is_empty() || are_numbers)
}

/// Opens the folder `name` in the folder `parent`. Does not follow a link.
fn open_folder(parent: &OwnedFd, name: &str) -> anyhow::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(parent, name, flags, Mode::empty());
    folder.with_context(|| name.to_owned())
}

fn names_in(folder: &OwnedFd) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// File in a folder of the JVM's user.
struct UntrustedFile<'a> {
    folder: &'a OwnedFd,
    name: &'a str,
    file: File,
}

impl<'a> UntrustedFile<'a> {
    /// Opens the file if it belongs to the user. Does not follow a link.
    fn of(folder: &'a OwnedFd, name: &'a str, user: u32) -> anyhow::Result<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, name, flags, Mode::empty());
        let file = File::from(file.with_context(|| name.to_owned())?);
        let about = file.metadata()?;
        if !about.is_file() || about.uid() != user {
            bail!("{name} is no file of the JVM's user");
        }
        Ok(Self { folder, name, file })
    }

    /// Moves the file to a path. An existing file is replaced if `replaces` is true, and is an
    /// error otherwise.
    fn put(self, target: &Path, replaces: bool) -> anyhow::Result<()> {
        let open = match replaces {
            true => ownership::open,
            false => ownership::create,
        };
        let put = open(target).and_then(|target| copy(self.file, target));
        put.with_context(|| format!("can't write {}", target.display()))?;
        Ok(rustix::fs::unlinkat(
            self.folder,
            self.name,
            AtFlags::empty(),
        )?)
    }
}

/// Copies a file. Blocks of zeros become holes, as in the files of a spool.
fn copy(mut source: File, mut target: File) -> io::Result<()> {
    const PIECE: usize = 1 << 20;
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
        // Removes the folder only if it is empty. Files that could not be fetched remain.
        let _ = fs::remove_dir(self.temp.path(&self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(to: &Path) -> Parcel {
        let own = Process::find(std::process::id()).expect("ourselves");
        Parcel::make(&own, to, "a.trail").expect("made")
    }

    #[test]
    fn all_that_was_written_is_fetched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let parcel = parcel(folder.path());
        assert_eq!(
            parcel.destination(&parcel.path()),
            path("a.trail").display().to_string()
        );
        fs::write(path("a.trail"), "of an earlier run").expect("ours");
        let mut content = vec![0; 3 << 20];
        content[2_000_000] = 7;
        fs::write(parcel.path(), &content).expect("ours");
        fs::write(parcel.path_of("a-2.trail"), "more").expect("ours");
        fs::create_dir(parcel.path_of("a.trail.spool")).expect("ours");
        fs::write(parcel.path_of("a.trail.spool/memory"), "b").expect("ours");
        parcel.fetch().expect("fetched");
        assert_eq!(fs::read(path("a.trail")).expect("there"), content);
        assert_eq!(fs::read(path("a-2.trail")).expect("there"), b"more");
        assert!(path("a.trail.spool/memory").is_file());
        let left = parcel.path_of("");
        drop(parcel);
        assert!(!Path::new(&left).exists());
    }

    /// The folder belongs to the JVM's user, who is not trusted.
    #[test]
    fn nothing_else_is_fetched() {
        let (folder, other) = [(); 2]
            .map(|()| tempfile::tempdir().expect("a folder"))
            .into();
        let victim = other.path().join("memory");
        fs::write(&victim, "of somebody").expect("ours");
        let names = [
            "a.trail",
            "b.trail",
            ".bashrc",
            "a.trail.spool",
            "a-x.trail",
        ];
        for (name, prepare) in [
            (
                "a.trail",
                (|path, victim| std::os::unix::fs::symlink(victim, path))
                    as fn(&str, &Path) -> io::Result<()>,
            ),
            ("a.trail.spool", |path, victim| {
                std::os::unix::fs::symlink(victim.parent().expect("a folder"), path)
            }),
            (".bashrc", |path, _| fs::write(path, "evil")),
            ("b.trail", |path, _| fs::write(path, "another trace")),
            ("a-x.trail", |path, _| fs::write(path, "another trace")),
            ("a.trail", |path, _| fs::create_dir(path)),
        ] {
            let parcel = parcel(folder.path());
            prepare(&parcel.path_of(name), &victim).expect("ours");
            let error = parcel.fetch().expect_err(name);
            assert!(format!("{error:#}").contains(name), "{error:#}");
            for name in names {
                assert!(!folder.path().join(name).exists(), "{name}");
            }
            assert!(fs::symlink_metadata(parcel.path_of(name)).is_ok());
            assert_eq!(fs::read_to_string(&victim).expect("there"), "of somebody");
            fs::remove_dir_all(parcel.path_of("")).expect("ours");
        }
    }

    #[test]
    fn further_files_of_earlier_runs_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let earlier = folder.path().join("a-2.trail");
        fs::write(&earlier, "earlier").expect("ours");
        let parcel = parcel(folder.path());
        fs::write(parcel.path_of("a-2.trail"), "new").expect("ours");
        parcel.fetch().expect_err("it is there");
        assert_eq!(fs::read_to_string(earlier).expect("there"), "earlier");
        let new = fs::read_to_string(parcel.path_of("a-2.trail"));
        assert_eq!(new.expect("there"), "new");
        fs::remove_dir_all(parcel.path_of("")).expect("ours");
    }

    #[test]
    fn names_of_further_files() {
        for (name, expected) in [
            ("a.trail", true),
            ("a-2.trail", true),
            ("a-4711-2.trail", true),
            ("a-.trail", false),
            ("a-2-.trail", false),
            ("a2.trail", false),
            ("a-2.xml", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(is_file_of("a.trail", name), expected, "{name}");
        }
        assert!(is_file_of("a", "a-2"));
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
