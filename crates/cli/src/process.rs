//! A process that may have its own file system and process id: a JVM in a container, or a service
//! with a private `/tmp`.

use anyhow::{Context, bail};
use jtrail_control::within;
use jtrail_options::{FilePattern, Target};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A running process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Process id that the process itself sees.
    pub(crate) own_pid: u32,
    pub(crate) user: u32,
}

impl Process {
    /// Returns the process with a process id.
    ///
    /// # Errors
    /// If the process does not exist or can't be inspected.
    pub(crate) fn find(pid: u32) -> anyhow::Result<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status = match fs::read_to_string(folder.join("status")) {
            Ok(status) => status,
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!("no process {pid}"),
            Err(error) => {
                return Err(error).with_context(|| format!("can't look at process {pid}"));
            }
        };
        Ok(Self {
            pid,
            own_pid: own_pid(&status).unwrap_or(pid),
            user: fs::metadata(&folder)?.uid(),
        })
    }

    /// Returns the path by which this program reaches a file of the process.
    pub(crate) fn within(&self, path: impl AsRef<Path>) -> PathBuf {
        within(self.pid, path.as_ref())
    }

    /// Returns true if the path leads to the same file for the process and for this program. Also
    /// returns true if this can't be determined.
    pub(crate) fn sees_same(&self, path: &Path) -> bool {
        if fs::metadata(self.within("/")).is_err() {
            return true;
        }
        identity(fs::metadata(path)) == identity(fs::metadata(self.within(path)))
    }

    /// Translates an absolute file pattern from this program's view to the process's view.
    ///
    /// `/proc/PID/root` is removed from the start of a path. Any other path is returned unchanged
    /// if its folder is the same for both. Returns `None` if the folder is not the same.
    pub(crate) fn name_of(&self, pattern: &str) -> Option<String> {
        if pattern == "-" {
            return Some(pattern.to_owned());
        }
        let own = pattern.strip_prefix(&format!("/proc/{}/root", self.pid));
        if let Some(own) = own.filter(|own| own.starts_with('/')) {
            return Some(own.to_owned());
        }
        let folder = self.expand(pattern);
        let folder = folder.parent().unwrap_or(Path::new("/"));
        self.sees_same(folder).then(|| pattern.to_owned())
    }

    /// Returns the path that the process gets from a file pattern by replacing the placeholders.
    fn expand(&self, pattern: &str) -> PathBuf {
        let parsed = FilePattern::parse(pattern);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        match parsed.map(|parsed| parsed.expand(self.own_pid, SystemTime::now(), host.trim())) {
            Ok(Target::Path(path)) => path,
            _ => PathBuf::from(pattern),
        }
    }

    /// Returns the path by which this program reaches a file that the process names.
    pub(crate) fn shown(&self, file: &str) -> String {
        let folder = Path::new(file).parent().unwrap_or(Path::new("/"));
        match self.sees_same(folder) {
            true => file.to_owned(),
            false => self.within(file).display().to_string(),
        }
    }

    /// Returns an error message with advice for a path that is a different file for the process.
    pub(crate) fn elsewhere(&self, file: &str) -> String {
        let name = Path::new(file).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let pid = self.pid;
        format!(
            "{file}: process {pid} has a file system of its own, where that is another folder; name one of its own, \
             like /proc/{pid}/root/tmp/{name}"
        )
    }
}

fn identity(found: io::Result<Metadata>) -> Option<(u64, u64)> {
    found.ok().map(|data| (data.dev(), data.ino()))
}

/// Returns the process id in the innermost container, from the text of `/proc/PID/status`.
fn own_pid(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_in_the_innermost_container_counts() {
        assert_eq!(own_pid("Name:\tjava\nNSpid:\t4711\t12\t7\n"), Some(7));
        assert_eq!(own_pid("NSpid:\t4711\n"), Some(4711));
        assert_eq!(own_pid("Name:\tjava\n"), None);
    }

    #[test]
    fn names_of_files() {
        let pid = std::process::id();
        let process = Process::find(pid).expect("ourselves");
        let own = format!("/proc/{pid}/root/tmp/a%%b-%p");
        for (file, expected) in [
            ("-", "-"),
            ("/tmp/a-%p", "/tmp/a-%p"),
            ("/nowhere/at/all", "/nowhere/at/all"),
            (&own, "/tmp/a%%b-%p"),
        ] {
            assert_eq!(process.name_of(file).as_deref(), Some(expected));
        }
        assert_eq!(process.shown("/tmp/a"), "/tmp/a");
    }
}
