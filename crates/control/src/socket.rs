//! The socket, and who may use it.
//!
//! It has mode 0600, and who connects must be of the same user, or root, whatever the modes say.

use crate::folder::{about, environment_folders, is_safe, kind, refused, socket_name, stat};
use rustix::fs::{self, FileType, Mode};
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::geteuid;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// How long a socket that is there already may take to show that it is alive.
const LOOK: Duration = Duration::from_millis(100);

/// A socket that clients connect to. Its path is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Device and inode of the path, so that no other's is removed.
    identity: (u64, u64),
}

impl Listener {
    /// Makes the socket. One at that path which nobody listens to any more is replaced. Its folder must be there, and only we
    /// or root may write to it, unless it is sticky.
    ///
    /// # Errors
    /// Somebody listens there ([`io::ErrorKind::AddrInUse`]); something else is there, or the folder can be changed by
    /// other users ([`io::ErrorKind::PermissionDenied`]); the path is too long, or can't be made.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let uid = geteuid().as_raw();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let found = fs::stat(folder).map_err(about(folder))?;
        if !is_safe(&found, uid) {
            return Err(refused(folder, "can be changed by other users"));
        }
        remove_stale(path, uid)?;
        let address = SocketAddrUnix::new(path).map_err(about(path))?;
        // A child of the program must not hold the socket.
        let socket = net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // Before it has a path, so that there is no moment in which others may connect.
        fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        net::bind(&socket, &address).map_err(about(path))?;
        let listener = Self::listen(socket, path)?;
        fs::chmod(path, Mode::RUSR | Mode::WUSR).map_err(about(path))?;
        Ok(listener)
    }

    fn listen(socket: OwnedFd, path: &Path) -> io::Result<Self> {
        let found = stat(path).map_err(about(path))?;
        net::listen(&socket, BACKLOG)?;
        let socket = UnixListener::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            path: path.to_owned(),
            identity: (found.st_dev, found.st_ino),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn socket(&self) -> &UnixListener {
        &self.socket
    }

    /// The next client that waits and may come in; none when nobody waits.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] for one of another user, which is sent away; everything else is the system's.
    pub fn accept(&self) -> io::Result<Option<UnixStream>> {
        let client = match self.socket.accept() {
            Ok((client, _)) => client,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        };
        let uid = peer(&client)?;
        if !may_come_in(uid) {
            let message = format!("a connection of the user with number {uid} was refused");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        client.set_nonblocking(true)?;
        Ok(Some(client))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if stat(&self.path).is_ok_and(|s| (s.st_dev, s.st_ino) == self.identity) {
            let _ = fs::unlink(&self.path); // there is nobody to tell
        }
    }
}

fn may_come_in(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// The user at the other end.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> io::Result<u32> {
    Ok(net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

#[cfg(not(target_os = "linux"))]
fn peer(_: &UnixStream) -> io::Result<u32> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Connects, and waits at most that long for a server that is slow to take the connection.
fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // At least something: 0 would mean for ever.
    let timeout = timeout.max(Duration::from_millis(1));
    net::sockopt::set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    match net::connect(&socket, &address) {
        Ok(()) => Ok(UnixStream::from(socket)),
        Err(Errno::AGAIN) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "it takes no connections",
        )),
        Err(error) => Err(error.into()),
    }
}

fn remove_stale(path: &Path, uid: u32) -> io::Result<()> {
    let found = match stat(path) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(about(path)(error)),
    };
    if kind(&found) != FileType::Socket {
        return Err(refused(path, "is there already, and is no socket"));
    }
    if found.st_uid != uid {
        return Err(refused(path, "is a socket of another user"));
    }
    match connect(path, LOOK) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            fs::unlink(path).map_err(about(path))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => {
            let message = format!("{} is in use", path.display());
            Err(io::Error::new(io::ErrorKind::AddrInUse, message))
        }
    }
}

/// Connects to the agent of a process, at its default path.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if no agent listens; what listens is not of the process's user.
pub(crate) fn connect_to_process(pid: u32, timeout: Duration) -> io::Result<UnixStream> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let owner = fs::stat(&process).map_err(|error| match error {
        Errno::NOENT => io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no process {pid}"),
        ),
        error => about(&process)(error),
    })?;
    let mut tried = Vec::new();
    for folder in environment_folders(owner.st_uid) {
        let path = folder.join(socket_name(pid));
        match connect(&path, timeout) {
            // The folder for temporary files is everybody's, so anybody could have made this one.
            Ok(stream) => return of_user(stream, owner.st_uid, &path),
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::TimedOut
                ) =>
            {
                return Err(io::Error::new(e.kind(), format!("{}: {e}", path.display())));
            }
            Err(_) => tried.push(path.display().to_string()),
        }
    }
    let message = format!(
        "the agent of process {pid} has no command channel, or there is no agent: nobody listens at {}",
        tried.join(" or ")
    );
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// Connects to the agent whose socket is at a path.
pub(crate) fn connect_to_path(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let stream = connect(path, timeout)
        .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    let own = geteuid().as_raw();
    if own == 0 {
        return Ok(stream);
    }
    of_user(stream, own, path)
}

fn of_user(stream: UnixStream, uid: u32, path: &Path) -> io::Result<UnixStream> {
    match peer(&stream)? {
        found if found == uid || found == 0 => Ok(stream),
        _ => Err(refused(path, "is served by another user")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{folder, problem, set_mode};
    use std::fs::write;
    use std::os::unix::fs::{MetadataExt, symlink};

    const SOON: Duration = Duration::from_millis(200);

    #[test]
    fn a_socket_is_private_and_goes_with_its_listener() {
        let base = folder();
        let path = base.path().join("1.sock");
        let listener = Listener::bind(&path).expect("bound");
        assert_eq!(path.metadata().expect("there").mode() & 0o7777, 0o600);
        let client = connect_to_path(&path, SOON).expect("connected");
        assert!(listener.accept().expect("ours").is_some());
        assert!(listener.accept().expect("nobody").is_none());
        drop((client, listener));
        assert!(!path.exists());
    }

    #[test]
    fn a_live_socket_stays_and_a_stale_one_is_replaced() {
        let base = folder();
        let path = base.path().join("1.sock");
        let first = Listener::bind(&path).expect("bound");
        let error = Listener::bind(&path).expect_err("in use");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(UnixStream::connect(&path).is_ok());
        drop(first);
        drop(UnixListener::bind(&path).expect("std leaves the path behind"));
        assert!(path.exists());
        let second = Listener::bind(&path).expect("stale");
        // Another one in its place is not removed with it.
        std::fs::remove_file(&path).expect("ours");
        let third = Listener::bind(&path).expect("bound");
        drop(second);
        assert!(path.exists());
        drop(third);
        assert!(!path.exists());
    }

    #[test]
    fn one_that_takes_no_connections_is_alive_and_not_waited_for() {
        let base = folder();
        let path = base.path().join("1.sock");
        let listener = Listener::bind(&path).expect("bound");
        // Nobody accepts, so at some time no more can wait.
        let mut waiting = Vec::new();
        let error = loop {
            match connect_to_path(&path, SOON) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10_000);
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = Listener::bind(&path).expect_err("in use");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
    }

    #[test]
    fn what_is_no_socket_of_ours_stays() {
        let base = folder();
        let path = base.path().join("1.sock");
        write(&path, "precious").expect("a file");
        assert!(problem(Listener::bind(&path)).ends_with("is no socket"));
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "precious");
        let link = base.path().join("2.sock");
        symlink(base.path().join("elsewhere.sock"), &link).expect("a link");
        assert!(problem(Listener::bind(&link)).ends_with("is no socket"));
        set_mode(base.path(), 0o777);
        let other = base.path().join("3.sock");
        assert!(problem(Listener::bind(&other)).ends_with("can be changed by other users"));
        assert!(Listener::bind(&base.path().join("no/4.sock")).is_err());
        assert!(Listener::bind(&base.path().join("x".repeat(200))).is_err());
    }

    #[test]
    fn processes_without_an_agent_are_told() {
        let message = problem(connect_to_process(std::process::id(), SOON));
        assert!(message.contains("nobody listens at"), "{message}");
        assert_eq!(
            problem(connect_to_process(u32::MAX - 7, SOON)),
            "there is no process 4294967288"
        );
    }
}
