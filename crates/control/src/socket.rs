//! The socket, and the access to it.
//!
//! The socket has mode 0600. In addition, the agent accepts only clients of its own user or of
//! root, whatever the modes allow.
//!
//! Only one agent at a time creates a socket in a folder: it locks the folder before it examines an
//! existing file, and unlocks it when it listens. So an existing socket without a listener is
//! stale, and it can't change between its examination and its removal.

use crate::beacon::{find_agents, open_folder, within};
use crate::folder::{
    about, above, check_way, environment_folders, kind, make_folder, own_folders, refused,
    socket_name, stat,
};
#[cfg(target_os = "linux")]
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The maximum number of connections waiting to be accepted.
const BACKLOG: i32 = 128;

/// The time that an existing socket gets to accept or refuse a connection. After that, it counts as
/// in use.
const LOOK: Duration = Duration::from_millis(100);

/// The maximum time to wait for the folder's lock. In a folder for everybody, another user may hold
/// it forever.
const LOCK: Duration = Duration::from_secs(5);

/// The maximum number of processes with the same id, in different PID namespaces, that may have
/// their sockets in one folder.
const SAME_NUMBER: u32 = 100;

/// A socket to which clients connect. Dropping it removes its path.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// The device and inode of the socket's file. On drop, no other file at the path is removed.
    identity: (u64, u64),
}

impl Listener {
    /// Creates the socket. An existing socket without a listener is replaced. The folder must
    /// exist. Only the user or root may be able to write to it and to the folders above, unless a
    /// folder is sticky. If several processes want the same path at the same time, one of them gets
    /// it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] if another process listens at the path;
    /// [`io::ErrorKind::PermissionDenied`] if the path has another kind of file, or other users can
    /// change one of the folders; [`io::ErrorKind::TimedOut`] if the folder stays locked for 5 s;
    /// other errors if the path is too long, or the socket can't be created.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let uid = geteuid().as_raw();
        let folder = above(path);
        check_way(folder, uid)?;
        let _locked = lock(folder)?;
        remove_stale(path, uid)?;
        let address = SocketAddrUnix::new(path).map_err(about(path))?;
        // Child processes of the program must not inherit the socket.
        let socket = net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // The mode is set before the socket has a path, so that other users can never connect. The
        // path then gets this mode, reduced by the umask. Setting the mode by the path would follow
        // a link that somebody has put there meanwhile.
        fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        net::bind(&socket, &address).map_err(about(path))?;
        Self::listen(socket, path)
    }

    /// Creates the socket of this process in the first folder where this succeeds: see the table in
    /// `docs/control.md`.
    ///
    /// # Errors
    /// Those of [`Self::bind`], for all folders.
    pub fn bind_usual() -> io::Result<Self> {
        let mut problems = Vec::new();
        for folder in own_folders() {
            match make_folder(&folder).and_then(|()| Self::bind_in(&folder)) {
                Ok(listener) => return Ok(listener),
                Err(error) => problems.push(error.to_string()),
            }
        }
        Err(io::Error::other(problems.join("; ")))
    }

    /// Creates the socket in a folder. Containers may share the folder: if another process with the
    /// same id has a socket there, the new socket's name gets a suffix.
    fn bind_in(folder: &Path) -> io::Result<Self> {
        let pid = std::process::id();
        let mut result = Self::bind(&folder.join(socket_name(pid)));
        for n in 2..=SAME_NUMBER {
            match &result {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    result = Self::bind(&folder.join(format!("{pid}-{n}.sock")));
                }
                _ => break,
            }
        }
        result
    }

    fn listen(socket: OwnedFd, path: &Path) -> io::Result<Self> {
        let found = stat(path).map_err(about(path))?;
        net::listen(&socket, BACKLOG)?;
        let socket = UnixListener::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            path: path.to_owned(),
            identity: identity(&found),
        })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn socket(&self) -> &UnixListener {
        &self.socket
    }

    /// Accepts the next waiting client. Returns `None` if no client waits.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] for a client of another user, which is disconnected;
    /// other errors are the system's.
    pub fn accept(&self) -> io::Result<Option<UnixStream>> {
        let client = match self.socket.accept() {
            Ok((client, _)) => client,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        };
        let uid = peer(&client)?.uid;
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
        // The path is removed while this socket still listens. So no other agent can consider it
        // stale and replace it meanwhile.
        if stat(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            let _ = fs::unlink(&self.path); // an error can't be reported
        }
    }
}

fn may_come_in(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// The process at the other end of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    /// The process that connected or listens. `None` if it is in a PID namespace that is not
    /// visible from here, like a client outside of the agent's container.
    pub(crate) pid: Option<u32>,
}

/// Returns the process at the other end of a connection; `None` if it is in a PID namespace that is
/// not visible from here.
///
/// # Errors
/// If the system can't identify the process.
pub fn peer_pid(stream: &UnixStream) -> io::Result<Option<u32>> {
    Ok(peer(stream)?.pid)
}

/// Uses `nix`, because `rustix` returns an error for a process that is not visible.
#[cfg(target_os = "linux")]
pub(crate) fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let found = getsockopt(stream, PeerCredentials)?;
    Ok(Peer {
        uid: found.uid(),
        pid: u32::try_from(found.pid()).ok().filter(|pid| *pid != 0),
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn peer(_: &UnixStream) -> io::Result<Peer> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Connects, and waits at most `timeout` for a server that is slow to accept.
fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // Not 0, which would mean forever.
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

fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

/// Waits until no other process has the folder locked, and locks it. The lock ends when the result
/// is dropped, or with the process.
fn lock(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let open = fs::open(folder, flags, Mode::empty()).map_err(about(folder))?;
    let begun = Instant::now();
    loop {
        match fs::flock(&open, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(open),
            Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < LOCK => {
                sleep(Duration::from_millis(1));
            }
            Err(Errno::WOULDBLOCK) => {
                let message = format!("{} stays locked by another process", folder.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(error) => return Err(about(folder)(error)),
        }
    }
}

/// Removes a socket without a listener. The folder must be locked.
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
            // The path still has the examined socket, unless a program that ignores the lock has
            // changed it.
            match stat(path) {
                Ok(now) if identity(&now) == identity(&found) => {
                    fs::unlink(path).map_err(about(path))
                }
                _ => Err(refused(path, "was changed while it was looked at")),
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => {
            let message = format!("{} is in use", path.display());
            Err(io::Error::new(io::ErrorKind::AddrInUse, message))
        }
    }
}

/// Connects to the agent of a process, at the socket that the agent's beacon names. Without a
/// beacon, connects to the default path.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if no agent listens; other errors if the listener is not this
/// process.
pub(crate) fn connect_to_process(pid: u32, timeout: Duration) -> io::Result<UnixStream> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let owner = fs::stat(&process).map_err(|error| match error {
        Errno::NOENT => io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no process {pid}"),
        ),
        error => about(&process)(error),
    })?;
    let server = Server {
        pid,
        uid: owner.st_uid,
    };
    let mut without = None;
    for found in find_agents(pid).unwrap_or_default() {
        match found.socket {
            Some(path) => return server.connect_within(&path, timeout),
            None => without = Some(found.version),
        }
    }
    if let Some(version) = without {
        let message = format!(
            "the agent of process {pid} (jtrail {version}) has no command channel: it needs server=enabled, controlled or application, \
             and a path for its socket"
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    server.connect_by_default(timeout)
}

/// The process and user that must be at the other end of a connection.
#[derive(Clone, Copy)]
struct Server {
    pid: u32,
    uid: u32,
}

impl Server {
    /// Connects to a socket by its path in the process's file system.
    fn connect_within(self, path: &Path, timeout: Duration) -> io::Result<UnixStream> {
        let seen = within(self.pid, path);
        let failed = |e: io::Error| {
            let message = format!(
                "the agent of process {} can't be reached at {}: {e}",
                self.pid,
                seen.display()
            );
            io::Error::new(e.kind(), message)
        };
        // The socket is reached through the open folder: a path with `/proc/PID/root` may be too
        // long for a socket's address.
        let folder = open_folder(above(&seen))?;
        let name = path.file_name().unwrap_or_default();
        let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        let stream = match SocketAddrUnix::new(&short) {
            Ok(_) => connect(&short, timeout),
            // The name is too long even for this. The path itself works if it leads to the same
            // socket in this process's file system.
            Err(_) => connect(path, timeout),
        };
        self.check(stream.map_err(failed)?, &seen)
    }

    /// Connects to the default path of an agent in this environment.
    fn connect_by_default(self, timeout: Duration) -> io::Result<UnixStream> {
        let Self { pid, uid } = self;
        let mut tried = Vec::new();
        for folder in environment_folders(uid) {
            let path = folder.join(socket_name(pid));
            match connect(&path, timeout) {
                // The connection must be checked. Anybody can create a socket in the folder for
                // temporary files, and in another PID namespace, another process may have this id.
                Ok(stream) => return self.check(stream, &path),
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
            "the agent of process {pid} has no command channel, or there is no agent: the process holds no sign of one in /proc/{pid}/fd, \
             and nobody listens at {}",
            tried.join(" or ")
        );
        Err(io::Error::new(io::ErrorKind::NotFound, message))
    }

    /// Returns the connection if this process and user are at its other end.
    fn check(self, stream: UnixStream, path: &Path) -> io::Result<UnixStream> {
        match peer(&stream)?.pid {
            Some(pid) if pid == self.pid => Ok(stream),
            Some(pid) => Err(refused(path, &format!("is served by process {pid}"))),
            None => of_user(stream, self.uid, path),
        }
    }
}

/// Connects to the agent whose socket has this path.
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
    match peer(&stream)?.uid {
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

    /// The environment variable that tells a child process which path to bind.
    const PATH: &str = "JTRAIL_TEST_SOCKET";

    /// Creates a socket without a listener. If another test starts a child process at the same
    /// time, the child may hold the listener until its exec. So this function waits until the
    /// socket is stale.
    fn make_stale(path: &Path) {
        drop(UnixListener::bind(path).expect("std leaves the path behind"));
        let latest = Instant::now() + Duration::from_secs(60);
        let refused = || {
            let error = UnixStream::connect(path).err()?;
            (error.kind() == io::ErrorKind::ConnectionRefused).then_some(())
        };
        while refused().is_none() {
            assert!(Instant::now() < latest, "a listener stays");
            sleep(Duration::from_millis(1));
        }
    }

    /// Checks that exactly one of the results is a listener that clients reach at the path, and
    /// that all others are errors because the path is in use.
    fn assert_one_won(results: Vec<io::Result<Listener>>, path: &Path) {
        let mut won = Vec::new();
        for result in results {
            match result {
                Ok(listener) => won.push(listener),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}"),
            }
        }
        assert_eq!(won.len(), 1);
        let client = connect_to_path(path, SOON).expect("connected");
        assert!(won[0].accept().expect("ours").is_some());
        drop((client, won));
        assert!(!path.exists());
    }

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
        make_stale(&path);
        let second = Listener::bind(&path).expect("stale");
        // Another socket at the same path is not removed.
        std::fs::remove_file(&path).expect("ours");
        let third = Listener::bind(&path).expect("bound");
        drop(second);
        assert!(path.exists());
        drop(third);
        assert!(!path.exists());
    }

    #[test]
    fn one_of_many_gets_the_path() {
        const THREADS: usize = 4;
        let base = folder();
        let path = base.path().join("1.sock");
        for round in 0..200 {
            if round % 4 > 0 {
                make_stale(&path);
            }
            let ready = std::sync::Barrier::new(THREADS);
            let bind = || {
                ready.wait();
                Listener::bind(&path)
            };
            let results = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(bind)).collect();
                let results = threads.into_iter().map(|thread| thread.join());
                results.map(|result| result.expect("no panic")).collect()
            });
            assert_one_won(results, &path);
        }
    }

    /// Starts this test program again, to run [`bind_in_a_child`] as another process.
    fn child(path: &Path) -> std::process::Child {
        let program = std::env::current_exe().expect("a path");
        std::process::Command::new(program)
            .args([
                "--exact",
                "socket::tests::bind_in_a_child",
                "--ignored",
                "--nocapture",
            ])
            .env(PATH, path)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it starts")
    }

    /// Returns what a child reports about its socket.
    fn said(child: &mut std::process::Child) -> String {
        use std::io::{BufRead, BufReader};
        let out = child.stdout.as_mut().expect("a pipe");
        let mut lines = BufReader::new(out).lines().map(|line| line.expect("text"));
        let line =
            lines.find_map(|line| line.split_once("socket: ").map(|(_, said)| said.to_owned()));
        line.expect("it says something")
    }

    #[test]
    #[ignore = "what other tests start as a process of its own"]
    fn bind_in_a_child() {
        let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else {
            return;
        };
        rustix::process::umask(Mode::empty());
        let result = Listener::bind(&path);
        match &result {
            Ok(_) => println!(
                "socket: {:o}",
                path.metadata().expect("there").mode() & 0o7777
            ),
            Err(error) => println!("socket: {:?}", error.kind()),
        }
        let _ = io::stdin().read_line(&mut String::new()); // until the parent lets it end
    }

    /// One of two processes gets the path. Its mode is 0600 even with an empty umask.
    #[test]
    fn one_of_two_processes_gets_the_path() {
        let base = folder();
        let path = base.path().join("1.sock");
        for _ in 0..5 {
            make_stale(&path);
            let mut children = [child(&path), child(&path)];
            let mut all = children.each_mut().map(said);
            all.sort();
            assert_eq!(all, ["600", "AddrInUse"]);
            connect_to_path(&path, SOON).expect("it listens");
            for mut child in children {
                drop(child.stdin.take());
                assert!(child.wait().expect("it ends").success());
            }
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_folder_that_stays_locked_is_not_waited_for() {
        let base = folder();
        let path = base.path().join("1.sock");
        let locked = lock(base.path()).expect("nobody else");
        let error = Listener::bind(&path).expect_err("locked");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(
            error
                .to_string()
                .ends_with("stays locked by another process")
        );
        drop(locked);
        Listener::bind(&path).expect("bound");
    }

    /// Another thread puts links at the socket's path while the socket is created. No file is
    /// changed, created or removed through the links.
    #[test]
    fn links_are_not_followed() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let base = folder();
        let at = |name: &str| base.path().join(name);
        let path = at("1.sock");
        write(at("precious"), "precious").expect("a file");
        set_mode(&at("precious"), 0o644);
        let over = AtomicBool::new(false);
        let bound = std::thread::scope(|scope| {
            scope.spawn(|| {
                for target in ["precious", "nothing"].iter().cycle() {
                    let (other, path) = (at("link"), &path);
                    symlink(at(target), &other).expect("a link");
                    std::fs::rename(other, path).expect("ours");
                    std::thread::yield_now();
                    let _ = std::fs::remove_file(path); // the link, or the socket that has replaced it
                    std::thread::yield_now();
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            let bound = (0..3000).filter(|_| Listener::bind(&path).is_ok()).count();
            over.store(true, Ordering::Relaxed);
            bound
        });
        assert!(bound > 0, "it was always in the way");
        assert_eq!(
            std::fs::read_to_string(at("precious")).expect("there"),
            "precious"
        );
        assert_eq!(
            at("precious").metadata().expect("there").mode() & 0o7777,
            0o644
        );
        assert!(!at("nothing").exists());
    }

    #[test]
    fn a_folder_above_that_others_can_change_is_refused() {
        let base = folder();
        let folder = base.path().join("open/mid");
        std::fs::create_dir_all(&folder).expect("made");
        symlink(&folder, base.path().join("link")).expect("a link");
        set_mode(&base.path().join("open"), 0o777);
        for path in [folder.join("1.sock"), base.path().join("link/1.sock")] {
            let problem = problem(Listener::bind(&path));
            assert!(
                problem.ends_with("open can be changed by other users"),
                "{problem}"
            );
        }
        assert!(!folder.join("1.sock").exists());
        set_mode(&base.path().join("open"), 0o1777);
        Listener::bind(&folder.join("1.sock")).expect("bound");
    }

    #[test]
    fn one_that_takes_no_connections_is_alive_and_not_waited_for() {
        let base = folder();
        let path = base.path().join("1.sock");
        let listener = Listener::bind(&path).expect("bound");
        // Connections are not accepted, so at some point no more can wait.
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
    fn processes_without_an_agent_are_reported() {
        let message = problem(connect_to_process(std::process::id(), SOON));
        assert!(message.contains("nobody listens at"), "{message}");
        assert_eq!(
            problem(connect_to_process(u32::MAX - 7, SOON)),
            "there is no process 4294967288"
        );
    }
}
