//! What the writer works on.

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

/// What the writer works on.
pub struct Setup {
    /// Those of the trace that is being written.
    pub options: Arc<Options>,
    /// Where it goes.
    pub target: Target,
    /// Which files may be written.
    pub names: Arc<Names>,
    /// What time it is.
    pub clocks: Clocks,
    /// What is recorded.
    pub input: Input,
    /// Where what is not written outlives the process.
    pub commits: Option<Commits>,
    /// Where bursts begin by themselves.
    pub bursts: Option<Arc<Bursts>>,
    /// The program that is traced.
    pub program: Arc<dyn Program>,
    /// Who wants to know how the trace gets on.
    pub observer: Arc<dyn Observer>,
}

/// What time it is, and what it takes to find out.
pub struct Clocks {
    /// The present tick.
    pub now: fn() -> u64,
    /// The clocks when the agent was loaded.
    pub loaded: Reading,
    /// What recording takes.
    pub cost: Cost,
    /// Where calls get a stamp only where the clock has ticked.
    pub ticks: Option<Arc<Ticks>>,
}

/// What comes from the threads that record.
pub struct Input {
    /// What is to be known before records that use it; and new buffers.
    pub definitions: Receiver<Message>,
    /// Chunks to be read.
    pub full: Receiver<Full>,
    /// Several chunks wait, or somebody waits for one.
    pub woken: Receiver<()>,
    /// Takes chunks that were read.
    pub empty: Returns,
}

/// Where a trace goes.
pub struct Target {
    /// None where nothing is written, and when it failed.
    pub(crate) output: Option<Output>,
    /// The regular file that the first trace goes to, before it is opened.
    pub(crate) pending: Option<PathBuf>,
    /// For messages.
    pub(crate) name: String,
    /// Why the newest events could not be saved.
    pub(crate) unsaved: Option<io::Error>,
}

impl Target {
    /// Where the options say. What is at the name of a regular file stays as it is so far.
    ///
    /// # Errors
    /// When it can't be written.
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
                // A link that leads nowhere: the file is to be made at its end.
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

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether an output is open.
    pub fn is_open(&self) -> bool {
        self.output.is_some()
    }

    /// The file, also before it is opened; none if there is no output, or it is no regular file.
    pub fn path(&self) -> Option<&Path> {
        let open = self.output.as_ref().and_then(Output::path);
        open.or(self.pending.as_deref())
    }

    /// Nothing is written, unless a trace is begun later; messages call it `name`.
    pub fn none(name: String) -> Self {
        Self {
            output: None,
            pending: None,
            name,
            unsaved: None,
        }
    }

    /// An output that is open; messages call it `name`.
    pub fn open(output: Output, name: String) -> Self {
        Self {
            output: Some(output),
            ..Self::none(name)
        }
    }

    /// A regular file. It is not opened before the JVM runs the program, since that may not come
    /// about.
    pub fn later(path: PathBuf) -> Self {
        Self {
            name: path.display().to_string(),
            pending: Some(path),
            ..Self::none(String::new())
        }
    }
}

impl Setup {
    /// The time now. What is recorded behind it is not earlier, where no thread is in the middle of
    /// recording.
    pub(crate) fn now(&self) -> u64 {
        match &self.clocks.ticks {
            Some(ticks) => ticks.advance(),
            None => (self.clocks.now)(),
        }
    }

    /// Whether there may ever be a trace: one is asked for, or may be later.
    pub(crate) fn may_write(&self) -> bool {
        self.options.format != OutputFormat::None || self.options.begins_idle()
    }
}
