//! Temporary files and folders, which are removed also if a signal ends the program.
//!
//! The first temporary file starts a thread that waits for the signals that end programs. On such a
//! signal, it removes what is there, and ends the program as the signal would have done.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The signals that end a program. SIGXFSZ is not among them: the write fails, and its error says
/// more.
const ENDING: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU];

/// What is to be removed.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    paths: Vec::new(),
    signals: None,
});

struct Registry {
    paths: Vec<PathBuf>,
    /// Ends the thread that waits for signals.
    signals: Option<Handle>,
}

/// Locks the registry. The thread that waits for signals keeps it locked while the program ends, so
/// that no further file is made.
fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder. It is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// `None` if there is nothing to remove any more.
    path: Option<PathBuf>,
}

impl Temporary {
    /// Makes a file or folder by `make`, which may also return a value for the caller.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn new<T>(make: impl FnOnce() -> io::Result<(PathBuf, T)>) -> io::Result<(Self, T)> {
        let mut registry = registry();
        if registry.signals.is_none() {
            // Without the thread, only a program that is ended by a signal leaves files.
            registry.signals = wait_for_signals().ok();
        }
        let (path, with) = make()?;
        registry.paths.push(path.clone());
        Ok((Self { path: Some(path) }, with))
    }

    /// Makes a folder for files of this user.
    ///
    /// # Errors
    /// If the folder can't be made.
    pub(crate) fn folder() -> io::Result<Self> {
        let made = Self::new(|| Ok((tempfile::tempdir()?.keep(), ())));
        made.map(|(folder, ())| folder)
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Gives a complete file its final name.
    ///
    /// # Errors
    /// If it can't be renamed. Then it is removed.
    pub(crate) fn rename(mut self, to: &Path) -> io::Result<()> {
        let mut registry = registry();
        fs::rename(self.path(), to)?;
        // Another process may use the temporary name from now on.
        if let Some(path) = self.path.take() {
            registry.paths.retain(|other| *other != path);
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut registry = registry();
            remove(&path);
            registry.paths.retain(|other| *other != path);
        }
    }
}

/// Removes an incomplete file or a folder, which is useless. If that fails, the name marks it as
/// temporary.
fn remove(path: &Path) {
    let _ = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

/// Leaves signals to other handlers, which must be there already. Temporary files are removed when
/// they are dropped.
pub(crate) fn leave_signals() {
    if let Some(signals) = registry().signals.take() {
        signals.close();
    }
}

/// Returns the signals that end this program: those that it does not ignore.
pub(crate) fn ending_signals() -> impl Iterator<Item = i32> {
    let ignored = ignored();
    let ends = move |number: &i32| ignored & bit(*number) == 0;
    ENDING.into_iter().filter(ends)
}

/// Starts the thread that waits for signals.
fn wait_for_signals() -> io::Result<Handle> {
    // A handler, of whatever kind, turns the signal into an error of the write.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new(ending_signals())?;
    let handle = signals.handle();
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            let registry = registry();
            registry.paths.iter().for_each(|path| remove(path));
            // The program ends here, and has not released the registry before.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(wait)?;
    Ok(handle)
}

/// Returns the signals that this process ignores, as bits: `nohup` has it ignore SIGHUP, and a
/// shell without job control has background processes ignore SIGINT. No bits on systems that don't
/// tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let bits = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = bits.map(|bits| u64::from_str_radix(bits.trim(), 16));
    bits.and_then(Result::ok).unwrap_or_default()
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}
