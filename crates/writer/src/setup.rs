//! The setup of the writer.

use crate::names::Names;
use crate::output::Output;
use crate::program::{Observer, Program};
use crossbeam_channel::Receiver;
use jtrail_model::Cost;
use jtrail_options::{self as options, Options, OutputFormat};
use jtrail_recorder::buffer::{Full, Returns};
use jtrail_recorder::bursts::Bursts;
use jtrail_recorder::clock::Reading;
use jtrail_recorder::message::Message;
use jtrail_recorder::spool::Commits;
use jtrail_recorder::ticks::Ticks;
use jtrail_records::ownership;
use rustix::fs::Access;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The setup of the writer.
pub struct Setup {
    /// Options of the current trace.
    pub options: Arc<Options>,
    /// Output of the trace.
    pub target: Target,
    /// The files that the agent writes.
    pub names: Arc<Names>,
    /// The clocks.
    pub clocks: Clocks,
    /// Channels from the recording threads.
    pub input: Input,
    /// The spool, which outlives the process; `None` without a spool.
    pub commits: Option<Commits>,
    /// The triggers that begin bursts.
    pub bursts: Option<Arc<Bursts>>,
    /// The traced program.
    pub program: Arc<dyn Program>,
    /// The observer of the trace.
    pub observer: Arc<dyn Observer>,
}

/// The clocks, and the cost of reading them.
pub struct Clocks {
    /// Returns the current tick.
    pub now: fn() -> u64,
    /// The clocks' readings when the agent was loaded.
    pub loaded: Reading,
    /// The time that recording takes.
    pub cost: Cost,
    /// The coarse clock, if calls are stamped with it.
    pub ticks: Option<Arc<Ticks>>,
}

/// Channels from and to the recording threads.
pub struct Input {
    /// Receives new buffers and definitions. Each definition comes before the records that need it.
    pub definitions: Receiver<Message>,
    /// Receives chunks to be read.
    pub full: Receiver<Full>,
    /// Receives a message if several chunks are waiting, or if a thread waits for a chunk.
    pub woken: Receiver<()>,
    /// Takes chunks that were read.
    pub empty: Returns,
}

/// Output of a trace.
pub struct Target {
    /// The open output; `None` if nothing is written, or after an error.
    pub(crate) output: Option<Output>,
    /// Path of the first trace's file before it is opened.
    pub(crate) pending: Option<PathBuf>,
    /// Name for messages.
    pub(crate) name: String,
    /// Error that prevented the flight recorder's events from being saved.
    pub(crate) unsaved: Option<io::Error>,
}

impl Target {
    /// Returns the output that the options name. The contents of a regular file are not changed
    /// yet.
    ///
    /// # Errors
    /// When the output can't be written.
    pub fn of(target: &options::Target, names: &Names) -> io::Result<Self> {
        let path = match target {
            options::Target::Stdout => {
                return Ok(Self::open(Output::stdout(), "standard output".into()));
            }
            options::Target::Path(path) => path,
        };
        match fs::metadata(path) {
            Ok(found) if found.is_file() => {
                OpenOptions::new().write(true).open(path)?;
                return Ok(Self::later(path.clone()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The path may be a dangling link. The file is created where the link leads.
                let mut end = path.clone();
                while let Ok(next) = fs::read_link(&end) {
                    end = ownership::parent_folder(&end).join(next);
                }
                let folder = ownership::parent_folder(&end);
                rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
                return Ok(Self::later(path.clone()));
            }
            _ => {}
        }
        let output = names.open(path)?;
        Ok(Self::open(output, path.display().to_string()))
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if an output is open.
    pub fn is_open(&self) -> bool {
        self.output.is_some()
    }

    /// Returns the path of the file, even before it is opened. Returns `None` if there is no
    /// output, or if it is not a regular file.
    pub fn path(&self) -> Option<&Path> {
        let open = self.output.as_ref().and_then(Output::path);
        open.or(self.pending.as_deref())
    }

    /// Returns an output that writes nothing, unless a trace begins later. `name` is for messages.
    pub fn none(name: String) -> Self {
        Self {
            output: None,
            pending: None,
            name,
            unsaved: None,
        }
    }

    /// Returns an open output. `name` is for messages.
    pub fn open(output: Output, name: String) -> Self {
        Self {
            output: Some(output),
            ..Self::none(name)
        }
    }

    /// Returns an output for a regular file. The file is opened only when the JVM starts the
    /// program, because the JVM may fail to start.
    pub fn later(path: PathBuf) -> Self {
        Self {
            name: path.display().to_string(),
            pending: Some(path),
            ..Self::none(String::new())
        }
    }
}

impl Setup {
    /// Returns the current tick. No later record is earlier, unless its thread is in the middle of
    /// recording.
    pub(crate) fn now(&self) -> u64 {
        match &self.clocks.ticks {
            Some(ticks) => ticks.advance(),
            None => (self.clocks.now)(),
        }
    }

    /// Returns true if there is a trace now or may be one later.
    pub(crate) fn may_write(&self) -> bool {
        self.options.format != OutputFormat::None || self.options.begins_idle()
    }
}
