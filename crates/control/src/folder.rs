//! The folder of the socket, which only the user can access.
//!
//! By default, the socket is `PID.sock` in the folder `jtrail` of the user's runtime directory. The
//! runtime directory is `$XDG_RUNTIME_DIR`, else `/run/user/UID`. It must belong to the user, and
//! nobody else may be able to write to it. Without a runtime directory, the folder is `jtrail-UID`
//! in the directory for temporary files. The folder must be a real folder of the user with mode
//! 0700. Then nobody else can create or replace files in it.

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the folder in a runtime directory.
const FOLDER: &str = "jtrail";

pub(crate) fn refused(path: &Path, why: &str) -> io::Error {
    let message = format!("{} {why}", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

pub(crate) fn about(path: &Path) -> impl Fn(Errno) -> io::Error {
    move |error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    }
}

/// Returns the file information of the path itself, without following a link.
pub(crate) fn stat(path: &Path) -> Result<Stat, Errno> {
    fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(crate) fn mode(stat: &Stat) -> u32 {
    Mode::from_raw_mode(stat.st_mode).bits() & 0o7777
}

/// Returns true if the file belongs to `uid` or root.
fn is_trusted(stat: &Stat, uid: u32) -> bool {
    stat.st_uid == uid || stat.st_uid == 0
}

/// Returns true if it is a folder in which only `uid` and root can replace the files of `uid` and
/// root.
fn is_safe(stat: &Stat, uid: u32) -> bool {
    const STICKY: u32 = 0o1000;
    let closed = mode(stat) & 0o022 == 0 || mode(stat) & STICKY != 0;
    kind(stat) == FileType::Directory && is_trusted(stat, uid) && closed
}

/// Checks that no other user can replace this folder or files of `uid` in it. All folders on the
/// path to it, and on the paths to which links lead, must pass the same check. The result remains
/// valid, because only `uid` and root can change these folders.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if a folder fails the check. Other errors if a folder does
/// not exist or can't be examined.
pub(crate) fn check_way(folder: &Path, uid: u32) -> io::Result<()> {
    /// The maximum number of links in a path, as in the Linux kernel.
    const MAX_LINKS: u32 = 40;
    let mut ahead: Vec<OsString> = Vec::new();
    let push = |ahead: &mut Vec<OsString>, path: &Path| {
        ahead.extend(path.iter().rev().map(ToOwned::to_owned));
    };
    push(&mut ahead, &std::path::absolute(folder)?);
    let (mut here, mut links) = (PathBuf::new(), 0);
    while let Some(name) = ahead.pop() {
        if name == "." {
            continue;
        }
        if name == ".." {
            here.pop(); // `here` contains no link
            continue;
        }
        let next = here.join(&name);
        let found = stat(&next).map_err(about(&next))?;
        if kind(&found) != FileType::Symlink {
            if !is_safe(&found, uid) {
                return Err(refused(&next, "can be changed by other users"));
            }
            here = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(about(folder)(Errno::LOOP));
        }
        // In a sticky folder, the owner of a link can replace it.
        if !is_trusted(&found, uid) {
            return Err(refused(&next, "is a link of another user"));
        }
        push(&mut ahead, &std::fs::read_link(&next)?);
    }
    Ok(())
}

/// Returns the folders in which a user's agents may have their sockets, the preferred one first.
/// `runtime` and `temporary` are the directories that the environment names.
fn folders(uid: u32, runtime: Option<&Path>, temporary: &Path) -> Vec<PathBuf> {
    let ours = |folder: &Path| {
        let found = stat(folder);
        found.is_ok_and(|s| s.st_uid == uid && mode(&s) & 0o022 == 0)
            && check_way(folder, uid).is_ok()
    };
    let user = PathBuf::from(format!("/run/user/{uid}"));
    let runtime = runtime
        .filter(|path| path.is_absolute())
        .map(Path::to_owned);
    let mut folders: Vec<PathBuf> = runtime
        .into_iter()
        .chain([user])
        .filter(|folder| ours(folder))
        .map(|folder| folder.join(FOLDER))
        .collect();
    folders.push(temporary.join(format!("{FOLDER}-{uid}")));
    folders.dedup();
    folders
}

pub(crate) fn environment_folders(uid: u32) -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    folders(uid, runtime.as_deref(), &std::env::temp_dir())
}

/// Returns the folders in which an agent of this process may create its socket: first those that
/// the environment names, last the one in `/tmp`.
pub(crate) fn own_folders() -> Vec<PathBuf> {
    let uid = geteuid().as_raw();
    let mut folders = environment_folders(uid);
    let last = Path::new("/tmp").join(format!("{FOLDER}-{uid}"));
    if !folders.contains(&last) {
        folders.push(last);
    }
    folders
}

pub(crate) fn socket_name(pid: u32) -> String {
    format!("{pid}.sock")
}

/// Returns the folder of a path.
pub(crate) fn above(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a folder for sockets, or checks an existing one.
///
/// # Errors
/// If the folder can't be created; if it is a link or another kind of file; if it belongs to
/// another user; or if other users can use or replace it.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let uid = geteuid().as_raw();
    check_way(above(folder), uid)?;
    match fs::mkdir(folder, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(about(folder)(error)),
    }
    // The checks are made on the open folder. So it does not matter if its path is changed
    // meanwhile.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let open = fs::open(folder, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOTDIR | Errno::LOOP => refused(folder, "is not a folder, or is a link to one"),
        error => about(folder)(error),
    })?;
    let found = fs::fstat(&open).map_err(about(folder))?;
    if found.st_uid != uid {
        return Err(refused(folder, "belongs to another user"));
    }
    if mode(&found) & 0o077 != 0 {
        let why = format!("has mode {:04o}, and must have 0700", mode(&found));
        return Err(refused(folder, &why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{folder, problem, set_mode};
    use std::fs::{create_dir, write};
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn the_folder_is_ours_alone() {
        let base = folder();
        let path = base.path().join("jtrail");
        make_folder(&path).expect("made");
        assert_eq!(path.metadata().expect("there").mode() & 0o7777, 0o700);
        make_folder(&path).expect("it is there");
        for mode in [0o701, 0o710, 0o770, 0o777, 0o755] {
            set_mode(&path, mode);
            assert!(
                problem(make_folder(&path)).contains("and must have 0700"),
                "{mode:o}"
            );
        }
        set_mode(&path, 0o700);
        let link = base.path().join("link");
        symlink(&path, &link).expect("a link");
        assert!(problem(make_folder(&link)).ends_with("is not a folder, or is a link to one"));
        let file = base.path().join("file");
        write(&file, "").expect("a file");
        assert!(problem(make_folder(&file)).ends_with("is not a folder, or is a link to one"));
        set_mode(base.path(), 0o777);
        assert!(problem(make_folder(&path)).ends_with("can be changed by other users"));
        set_mode(base.path(), 0o1777);
        make_folder(&path).expect("sticky, as the one for temporary files");
        set_mode(base.path(), 0o777);
        create_dir(base.path().join("mid")).expect("made");
        let below = base.path().join("mid/jtrail");
        assert!(problem(make_folder(&below)).ends_with("can be changed by other users"));
        assert!(!below.exists());
    }

    #[test]
    fn no_one_else_can_change_the_way() {
        let uid = geteuid().as_raw();
        let base = folder();
        let path = |name: &str| base.path().join(name);
        std::fs::create_dir_all(path("open/mid/leaf")).expect("made");
        std::fs::create_dir_all(path("closed")).expect("made");
        symlink(path("open/mid/leaf"), path("to-leaf")).expect("a link");
        symlink("open/mid/../../closed", path("through")).expect("a link");
        symlink("../closed", path("open/link")).expect("a link");
        symlink("closed", path("to-closed")).expect("a link");
        symlink("loop", path("loop")).expect("a link");
        symlink("nowhere", path("dangling")).expect("a link");
        write(path("file"), "").expect("a file");
        let check = |name: &str| check_way(&path(name), uid);
        let all = ["open/mid/leaf", "to-leaf", "through", "open/link"];
        for name in ["closed", "to-closed", "closed/../closed/.", "."]
            .iter()
            .chain(&all)
        {
            check(name).expect(name);
        }
        set_mode(&path("open"), 0o777);
        let expected = format!("{} can be changed by other users", path("open").display());
        for name in all {
            assert_eq!(problem(check(name)), expected, "{name}");
        }
        // Members of the group are other users, too.
        set_mode(&path("open"), 0o770);
        assert_eq!(problem(check("to-leaf")), expected);
        check("closed").expect("beside it");
        check("to-closed").expect("beside it");
        set_mode(&path("open"), 0o1777);
        for name in all {
            check(name).expect(name);
        }
        assert!(problem(check("loop")).contains("symbolic links"));
        for name in ["dangling", "closed/none"] {
            let error = check(name).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
        assert!(problem(check("file")).ends_with("can be changed by other users"));
    }

    /// In a folder such as `/tmp`, other users have their own folders and links.
    #[test]
    fn others_have_no_part_in_the_way() {
        use std::os::unix::fs::{chown, lchown};
        let uid = geteuid().as_raw();
        if uid != 0 {
            return; // only root can create them
        }
        let base = folder();
        set_mode(base.path(), 0o1777);
        let path = |name: &str| base.path().join(name);
        std::fs::create_dir_all(path("theirs/ours")).expect("made");
        create_dir(path("ours")).expect("made");
        symlink("ours", path("link")).expect("a link");
        check_way(&path("link"), uid).expect("ours");
        check_way(&path("theirs/ours"), uid).expect("ours still");
        chown(path("theirs"), Some(12_345), None).expect("root");
        lchown(path("link"), Some(12_345), None).expect("root");
        assert!(problem(check_way(&path("link"), uid)).ends_with("is a link of another user"));
        let theirs = problem(check_way(&path("theirs/ours"), uid));
        assert!(
            theirs.ends_with("theirs can be changed by other users"),
            "{theirs}"
        );
        check_way(&path("theirs"), 12_345).expect("it is theirs");
    }

    #[test]
    fn another_users_folder_is_refused() {
        if geteuid().as_raw() != 0 {
            return; // only root can create one
        }
        let base = folder();
        let path = base.path().join("jtrail");
        create_dir(&path).expect("made");
        set_mode(&path, 0o700);
        std::os::unix::fs::chown(&path, Some(12_345), None).expect("root");
        assert!(problem(make_folder(&path)).ends_with("belongs to another user"));
    }

    #[test]
    fn folders_of_the_environment_must_be_ours() {
        let uid = geteuid().as_raw();
        let (runtime, temporary) = (folder(), folder());
        let last = temporary.path().join(format!("jtrail-{uid}"));
        let found = |runtime: Option<&Path>| {
            let mut all = folders(uid, runtime, temporary.path());
            all.retain(|f| !f.starts_with("/run/user"));
            all
        };
        let first = runtime.path().join("jtrail");
        assert_eq!(found(Some(runtime.path())), [first, last.clone()]);
        let only = [last];
        assert_eq!(found(None), only);
        assert_eq!(found(Some(Path::new("relative"))), only);
        assert_eq!(found(Some(&runtime.path().join("missing"))), only);
        set_mode(runtime.path(), 0o777);
        assert_eq!(found(Some(runtime.path())), only);
    }
}
