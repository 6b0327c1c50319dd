//! The beacon by which clients find the agent of a process: a file in memory that the process holds
//! open.
//!
//! `/proc/PID/fd` shows the file only to the process's user and to root. The client finds it
//! whatever the environments and the PID, mount and network namespaces of the two processes are,
//! and without the JVM. The file's name is [`NAME`]. Its first line is `jtrail VERSION`. The rest
//! is the path of the socket in the process's view, or empty.

use crate::folder::{about, above};
use rustix::fs::{self, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of the file in memory.
const NAME: &str = "jtrail-agent";
/// The link target that `/proc/PID/fd` shows for the file.
const LINK: &str = "/memfd:jtrail-agent (deleted)";
/// The start of the first line.
const HEAD: &str = "jtrail ";
/// The maximum number of bytes that are read from a beacon: a version and a path.
const MAX_BEACON_BYTES: u64 = 16 << 10;

/// Makes this process's agent findable until the value is dropped.
#[derive(Debug)]
pub struct Beacon(#[expect(dead_code, reason = "held open, for /proc/PID/fd to show")] OwnedFd);

impl Beacon {
    /// Makes the agent findable. If `socket` is `None`, clients only learn that the process has an
    /// agent of this version.
    ///
    /// # Errors
    /// If the system does not support files in memory, or the socket's folder does not exist.
    pub fn publish(version: &str, socket: Option<&Path>) -> io::Result<Self> {
        // A system may forbid executable files in memory (`vm.memfd_noexec`). Before Linux 6.3, the
        // flag is unknown.
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL;
        let file = fs::memfd_create(NAME, flags).or_else(|error| match error {
            Errno::INVAL => fs::memfd_create(NAME, MemfdFlags::CLOEXEC),
            error => Err(error),
        })?;
        let mut content = format!("{HEAD}{version}\n").into_bytes();
        if let Some(socket) = socket {
            // The path must be absolute and have no links: a client in another mount namespace
            // would follow links to its own folders.
            let folder = above(socket).canonicalize()?;
            let name = socket.file_name().unwrap_or_default();
            content.extend(folder.join(name).into_os_string().into_vec());
        }
        let mut file = File::from(file);
        file.write_all(&content)?;
        Ok(Self(file.into()))
    }
}

/// The content of a process's beacon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundAgent {
    /// The agent's version.
    pub version: String,
    /// The agent's socket, as a path in the process's file system. `None` if it has no socket.
    pub socket: Option<PathBuf>,
    /// A number that no other agent has at the same time.
    pub identity: u64,
}

/// Returns the agents of a process: none or one. While one agent detaches and another one attaches,
/// there may be two.
///
/// # Errors
/// If the process does not exist, or belongs to another user.
pub fn find_agents(pid: u32) -> io::Result<Vec<FoundAgent>> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let failed =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    let mut all = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A descriptor may be closed during the iteration.
        if std::fs::read_link(&path).is_ok_and(|link| link == Path::new(LINK))
            && let Ok(Some(found)) = read(&path)
        {
            all.push(found);
        }
    }
    Ok(all)
}

fn read(path: &Path) -> io::Result<Option<FoundAgent>> {
    let file = File::open(path)?;
    let identity = file.metadata()?.ino();
    let mut content = Vec::new();
    file.take(MAX_BEACON_BYTES).read_to_end(&mut content)?;
    Ok(parse(&content).map(|(version, socket)| FoundAgent {
        version,
        socket,
        identity,
    }))
}

fn parse(content: &[u8]) -> Option<(String, Option<PathBuf>)> {
    let content = content.strip_prefix(HEAD.as_bytes())?;
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let version = String::from_utf8_lossy(&content[..end]).into_owned();
    let socket = &content[end + 1..];
    let socket = (!socket.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(socket)));
    Some((version, socket))
}

/// Returns the path by which this process reaches a file in the file system of the process `pid`.
pub fn within(pid: u32, path: &Path) -> PathBuf {
    let mut seen = OsString::from(format!("/proc/{pid}/root"));
    if !path.has_root() {
        seen.push("/");
    }
    seen.push(path);
    seen.into()
}

/// Opens a folder. Its contents can then be accessed as `/proc/self/fd/N/NAME`, however long the
/// folder's path is.
pub(crate) fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::PATH;
    fs::open(folder, flags, Mode::empty()).map_err(about(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folder;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_is_seen_as_long_as_it_is_held() {
        let own = std::process::id();
        let base = folder();
        let real = base.path().canonicalize().expect("there");
        symlink(&real, real.join("link")).expect("a link");
        let seen = |version: &str| {
            let all = find_agents(own).expect("our own process");
            let mut all = all.into_iter().filter(|found| found.version == version);
            all.next().map(|found| found.socket)
        };
        let first = Beacon::publish("1.test", Some(&real.join("link/1.sock"))).expect("made");
        assert_eq!(seen("1.test"), Some(Some(real.join("1.sock"))));
        drop(first);
        assert_eq!(seen("1.test"), None);
        let second = Beacon::publish("2.test", None).expect("made");
        assert_eq!(seen("2.test"), Some(None));
        drop(second);
        Beacon::publish("3.test", Some(&real.join("none/1.sock"))).expect_err("no folder");
    }

    #[test]
    fn what_is_no_beacon_is_passed_over() {
        for wrong in ["", "jtrail 1", "other 1\n/a"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
        let right = parse(b"jtrail 1\n/a\nb").expect("right");
        assert_eq!(right, ("1".to_owned(), Some(PathBuf::from("/a\nb"))));
    }

    #[test]
    fn paths_of_a_process() {
        assert_eq!(
            within(7, Path::new("/tmp/a")),
            Path::new("/proc/7/root/tmp/a")
        );
        assert_eq!(within(7, Path::new("a")), Path::new("/proc/7/root/a"));
    }
}
