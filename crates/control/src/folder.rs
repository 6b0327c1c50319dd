//! Where the socket is: a folder that is the user's alone.
//!
//! By default it is `PID.sock` in a folder `jtrail` of the user's runtime directory: `$XDG_RUNTIME_DIR`, else
//! `/run/user/UID`, each only if it is a folder of ours that nobody else can write to; else in `jtrail-UID` of the
//! directory for temporary files. The folder must be a real folder of ours with mode 0700: then nobody else can put
//! anything there, so no path in it can change under our hands.

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the folder in a runtime directory.
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

/// What is at the path itself, without following a link.
pub(crate) fn stat(path: &Path) -> Result<Stat, Errno> {
    fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(crate) fn mode(stat: &Stat) -> u32 {
    Mode::from_raw_mode(stat.st_mode).bits() & 0o7777
}

/// Whether nobody but `uid` and root can put things into the folder, or take others' away from it.
pub(crate) fn is_safe(stat: &Stat, uid: u32) -> bool {
    const STICKY: u32 = 0o1000;
    let owned = stat.st_uid == uid || stat.st_uid == 0;
    let closed = mode(stat) & 0o022 == 0 || mode(stat) & STICKY != 0;
    kind(stat) == FileType::Directory && owned && closed
}

/// Folders that a user's agents may have their sockets in, the preferred one first. `runtime` and `temporary` are
/// what the environment says.
fn folders(uid: u32, runtime: Option<&Path>, temporary: &Path) -> Vec<PathBuf> {
    let ours = |folder: &Path| {
        let found = stat(folder);
        found.is_ok_and(|s| s.st_uid == uid && is_safe(&s, uid) && mode(&s) & 0o022 == 0)
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

/// The socket's path for this process, in a folder that is there and ours alone; it is made if need be.
///
/// # Errors
/// The folder can't be made, or is not ours alone.
pub fn default_path() -> io::Result<PathBuf> {
    let uid = geteuid().as_raw();
    let folders = environment_folders(uid);
    // There is always the one for temporary files.
    let folder = folders.first().cloned().unwrap_or_default();
    make_folder(&folder)?;
    Ok(folder.join(socket_name(std::process::id())))
}

pub(crate) fn socket_name(pid: u32) -> String {
    format!("{pid}.sock")
}

/// Makes a folder for sockets, or checks the one that is there.
///
/// # Errors
/// It can't be made; it is a link or no folder; it is someone else's, or others may use it; or others can put another
/// one in its place.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let uid = geteuid().as_raw();
    let parent = folder.parent().unwrap_or(Path::new("/"));
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    // Links on the way are the user's own affair, what they lead to is not.
    let above = fs::stat(parent).map_err(about(parent))?;
    if !is_safe(&above, uid) {
        return Err(refused(parent, "can be changed by other users"));
    }
    match fs::mkdir(folder, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(about(folder)(error)),
    }
    // Once open, it is this folder that is looked at, whatever happens to its name.
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
    }

    #[test]
    fn another_users_folder_is_refused() {
        if geteuid().as_raw() != 0 {
            return; // only root can make one
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
