//! Opens a trace, drives the decoder, and shows progress.

use crate::outcome::{FAULTY, SOUND, Streams, TRUNCATED};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use jtrail_analysis::ahead;
use jtrail_formats::trail::{Part, Parts};
use jtrail_formats::{Bulk, Format, InOrder, Item, ReadError, Readable, Reader, Remark, Severity};
use jtrail_model::{Calls, Event};
use jtrail_records::ownership::FileId;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Result of reading a trace.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Number of events passed to the visitor.
    pub(crate) events: u64,
    /// Number of damaged ranges. At each of them, a part of the trace is missing.
    pub(crate) faults: u64,
    /// Number of remarks of severity info: about kinds of things that were skipped or are unusual.
    pub(crate) infos: u64,
    /// True if the trace is truncated.
    pub(crate) truncated: bool,
    /// The first remarks. If there are more than [`REMARKS_KEPT`], faults replace remarks of
    /// severity info.
    pub(crate) remarks: Vec<Remark>,
    /// Reason why the trace could not be read to its end.
    pub(crate) error: Option<String>,
}

/// Maximum number of remarks that are kept. All remarks are counted.
const REMARKS_KEPT: usize = 100;

impl Ending {
    pub(crate) fn remark(&mut self, remark: Remark) {
        match remark.severity {
            Severity::Fault => self.faults += 1,
            Severity::Truncated => self.truncated = true,
            Severity::Info => self.infos += 1,
        }
        if self.remarks.len() < REMARKS_KEPT {
            self.remarks.push(remark);
        } else if remark.severity > Severity::Info {
            // A fault or truncation replaces a remark of severity info.
            if let Some(place) = self
                .remarks
                .iter_mut()
                .find(|r| r.severity == Severity::Info)
            {
                *place = remark;
            }
        }
    }

    /// Stores an error that prevents further reading. If no event was read or the stream failed,
    /// the error is returned instead.
    fn with_error(mut self, error: ReadError, named: &str) -> anyhow::Result<Self> {
        if self.events == 0 || matches!(error, ReadError::Io(_)) {
            return Err(error).context(named.to_owned());
        }
        self.error = Some(error.to_string());
        Ok(self)
    }

    /// Returns the exit code for this result.
    pub(crate) fn code(&self) -> u8 {
        if self.faults > 0 || self.error.is_some() {
            FAULTY
        } else if self.truncated {
            TRUNCATED
        } else {
            SOUND
        }
    }

    /// Reports to the user which parts of the trace could not be read.
    pub(crate) fn print(&self, path: &Path, streams: &mut Streams<'_>) -> io::Result<()> {
        const SHOWN: usize = 5;
        let path = path.display();
        let bad = || self.remarks.iter().filter(|r| r.severity > Severity::Info);
        for remark in bad().take(SHOWN) {
            writeln!(
                streams.err,
                "jtrail: {path}: at byte {}: {}",
                remark.offset, remark.message
            )?;
        }
        if let Some(error) = &self.error {
            writeln!(
                streams.err,
                "jtrail: {path}: {error}; what came before is used"
            )?;
        }
        let more = self.faults.saturating_sub(SHOWN as u64);
        if more > 0 {
            writeln!(
                streams.err,
                "jtrail: {path}: {more} more; `jtrail verify` lists them"
            )?;
        }
        if self.infos > 0 {
            writeln!(
                streams.err,
                "jtrail: {path}: skipped or unusual: {} kinds of content; `jtrail verify` lists them",
                self.infos
            )?;
        }
        Ok(())
    }
}

/// Element of a trace that may be read in parts.
pub(crate) enum Selected<'a> {
    Event(&'a Event<'a>),
    /// Consecutive calls of one thread. Each enter and leave counts as an event. Calls are only
    /// passed together if the whole trace is read.
    Calls(Calls<'a>),
    /// A part that can be skipped, and its definitions. If the part is skipped, its definitions are
    /// still passed as events.
    Part(&'a Part, &'a [Event<'static>]),
}

/// A trace to read.
pub(crate) struct Input {
    reader: Reader<Progress<Box<dyn Read + Send>>>,
    /// Path of the trace, if it is a regular file that is not packed.
    file: Option<PathBuf>,
    /// True if the trace may be written while it is read.
    is_pipe: bool,
    /// Start of error messages: `can't read PATH`.
    named: String,
    is_in_order: bool,
}

/// Returns the newest file whose name is that of the missing file with a process id:
/// `app-4711.trail` for `app.trail`. `jtrail run` adds the process id for commands other than
/// `java`.
fn with_process_id(missing: &Path) -> Option<PathBuf> {
    let (stem, extension) = (missing.file_stem()?.to_str()?, missing.extension()?);
    let is_similar = |path: &Path| {
        let name = path.file_stem().and_then(|name| name.to_str());
        let id = name.and_then(|name| name.strip_prefix(stem)?.strip_prefix('-'));
        path.extension() == Some(extension)
            && id.is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
    };
    let folder = match missing.parent()? {
        folder if folder == Path::new("") => Path::new("."),
        folder => folder,
    };
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let newest = entries
        .filter(|entry| is_similar(Path::new(&entry.file_name())))
        .max_by_key(|entry| entry.metadata().and_then(|about| about.modified()).ok())?;
    Some(missing.with_file_name(newest.file_name()))
}

impl Input {
    /// Opens a file, or standard input for `-`. If `progress` is true, slow reading shows a
    /// progress bar.
    pub(crate) fn open(path: &Path, progress: bool) -> anyhow::Result<Self> {
        let named = || format!("can't read {}", path.display());
        let (source, size): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).with_context(|| match with_process_id(path) {
                Some(other) => format!("{} (did you mean {}?)", named(), other.display()),
                None => named(),
            })?;
            let about = file.metadata().with_context(named)?;
            if about.is_dir() {
                bail!("{}: it is a directory; name the trace file in it", named());
            }
            (Box::new(file), about.is_file().then_some(about.len()))
        };
        let reader = Reader::new(Progress::new(source, size, progress)).with_context(named)?;
        Ok(Self {
            // Nothing can be skipped in a packed file.
            file: size
                .filter(|_| !reader.is_packed())
                .map(|_| path.to_owned()),
            is_pipe: size.is_none(),
            reader,
            named: named(),
            is_in_order: false,
        })
    }

    /// Returns an input that passes the events of all threads in the order of time (see
    /// [`Reader::in_order`]).
    pub(crate) fn in_order(self) -> Self {
        Self {
            reader: self.reader.in_order(),
            is_in_order: true,
            ..self
        }
    }

    /// Returns the path of the trace, if it is a regular file that is not packed.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the trace's format.
    pub(crate) fn format(&self) -> Readable {
        self.reader.format()
    }

    /// Passes all events to `visit`. Reading ends when `visit` returns `Err`.
    ///
    /// # Errors
    /// Errors of `visit`, and failures of the stream. Faults of the trace are in the result.
    pub(crate) fn events(
        &mut self,
        mut visit: impl FnMut(&Event<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Ending> {
        self.bulks(|bulk| {
            let take = |item: Item<'_>| match item {
                Item::Event { event, .. } => match visit(&event) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                },
                Item::Remark(_) => ControlFlow::Continue(()), // `bulks` keeps remarks
            };
            match bulk.items(take) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(error) => Err(error),
            }
        })
    }

    /// Like [`Self::events`], but allows the visitor to skip parts of the trace.
    ///
    /// For a part, `visit` returns true if the part must be read. If `is_whole` is true, or if the
    /// trace has no parts that can be skipped, all events are passed.
    ///
    /// # Errors
    /// The same as for [`Self::events`].
    pub(crate) fn parts(
        &mut self,
        is_whole: bool,
        mut visit: impl FnMut(Selected<'_>) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Ending> {
        let parts = match (&self.file, self.format()) {
            (Some(file), Readable::Trace(Format::Trail)) if !is_whole => {
                Parts::open(open_file(file)?).with_context(|| self.named.clone())?
            }
            _ => None,
        };
        let Some(mut parts) = parts else {
            return self.bulks(|bulk| into_result(show(bulk, is_whole, &mut visit)));
        };
        let mut ending = Ending {
            truncated: parts.is_truncated(),
            ..Ending::default()
        };
        let mut is_first = true;
        let mut order = self.is_in_order.then(InOrder::default);
        while let Some(part) = parts.next_part() {
            // The first part contains the start of the trace, the last part contains the end.
            if !std::mem::take(&mut is_first) && !part.is_last {
                let definitions = parts.definitions(&part);
                let definitions = definitions.with_context(|| self.named.clone())?;
                let definitions: Vec<_> = definitions.collect();
                if !visit(Selected::Part(&part, &definitions))? {
                    if let Some(order) = &mut order {
                        into_result(order.flush(|bulk| show(bulk, is_whole, &mut visit)))?;
                    }
                    for event in &definitions {
                        ending.events += 1;
                        visit(Selected::Event(event))?;
                    }
                    continue;
                }
            }
            parts.events(&part, |event| {
                ending.events += 1;
                let Some(order) = &mut order else {
                    return visit(Selected::Event(event)).map(drop);
                };
                let item = Item::Event {
                    offset: 0,
                    event: event.clone(),
                };
                into_result(order.take(Bulk::Item(item), |bulk| show(bulk, is_whole, &mut visit)))
            })?;
        }
        if let Some(order) = &mut order {
            into_result(order.flush(|bulk| show(bulk, is_whole, &mut visit)))?;
        }
        Ok(ending)
    }

    /// Like [`Self::events`], but passes consecutive calls together.
    ///
    /// Each element has its position in the trace. White space and headers before an element belong
    /// to it.
    ///
    /// # Errors
    /// The same as for [`Self::events`].
    pub(crate) fn bulks(
        &mut self,
        mut visit: impl FnMut(Bulk<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Ending> {
        let mut ending = Ending::default();
        let mut take = |bulk: Bulk<'_>| {
            match &bulk {
                Bulk::Item(Item::Event { .. }) => ending.events += 1,
                Bulk::Item(Item::Remark(remark)) => ending.remark(remark.clone()),
                Bulk::Calls { calls, .. } => ending.events += calls.steps.len() as u64,
            }
            match visit(bulk) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        };
        // Events from a pipe are passed without delay.
        let result = match self.is_pipe {
            false => ahead::for_each(&mut self.reader, take),
            true => self.reader.for_each(|item| take(Bulk::Item(item))),
        };
        match result {
            Ok(None) => Ok(ending),
            Ok(Some(error)) => Err(error),
            Err(error) => ending.with_error(error, &self.named),
        }
    }
}

/// Passes one element to the visitor. Consecutive calls are passed together if the trace is read
/// whole, and one by one if the visitor selects events.
fn show(
    bulk: Bulk<'_>,
    is_whole: bool,
    visit: &mut impl FnMut(Selected<'_>) -> anyhow::Result<bool>,
) -> ControlFlow<anyhow::Error> {
    let shown = match &bulk {
        Bulk::Item(Item::Event { event, .. }) => visit(Selected::Event(event)).map(drop),
        Bulk::Calls { calls, .. } if is_whole => visit(Selected::Calls(*calls)).map(drop),
        Bulk::Calls { calls, .. } => calls
            .events()
            .try_for_each(|event| visit(Selected::Event(&event)).map(drop)),
        Bulk::Item(Item::Remark(_)) => Ok(()), // kept by `bulks`
    };
    match shown {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Converts a break into an error.
fn into_result(flow: ControlFlow<anyhow::Error>) -> anyhow::Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Opens a regular file for reading and seeking. Reading that takes longer than a second shows a
/// progress bar on a terminal.
///
/// # Errors
/// If the file can't be opened, or is not a regular file.
pub(crate) fn open_file(path: &Path) -> anyhow::Result<impl Read + Seek + use<>> {
    let named = || format!("can't read {}", path.display());
    let file = File::open(path).with_context(named)?;
    let about = file.metadata().with_context(named)?;
    if !about.is_file() {
        bail!("{}: it is no file", named());
    }
    Ok(Progress::new(file, Some(about.len()), true))
}

/// Checks that a subcommand does not write to a file that it reads. `-` stands for a standard
/// stream, which may be a file too.
///
/// # Errors
/// If an input leads to the same file as the output.
pub(crate) fn check_distinct(inputs: &[&Path], output: &Path) -> anyhow::Result<()> {
    let is_standard = |path: &Path| path == Path::new("-");
    let id = |path: &Path, standard: BorrowedFd<'_>| match is_standard(path) {
        true => FileId::of(&File::from(standard.try_clone_to_owned().ok()?)),
        false => FileId::at(path),
    };
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let (written, real) = (id(output, stdout.as_fd()), output.canonicalize().ok());
    for input in inputs {
        let is_same_file = written.is_some() && id(input, stdin.as_fd()) == written;
        // Files that are not regular, like pipes, have no other names.
        if is_same_file || (real.is_some() && input.canonicalize().ok() == real) {
            let name = match is_standard(input) {
                true => "standard input".to_owned(),
                false => input.display().to_string(),
            };
            bail!("{name} can't be read and written at once");
        }
    }
    Ok(())
}

/// Progress bar on a terminal, which appears after a second and is removed at the end.
pub(crate) struct Bar {
    size: Option<u64>,
    begin: Instant,
    bar: Option<ProgressBar>,
    is_visible: bool,
}

const SHOWN_AFTER: Duration = Duration::from_secs(1);

impl Bar {
    pub(crate) fn new(size: Option<u64>, is_visible: bool) -> Self {
        Self {
            size,
            begin: Instant::now(),
            bar: None,
            is_visible: is_visible && io::stderr().is_terminal(),
        }
    }

    /// Sets the number of processed bytes.
    pub(crate) fn is_at(&mut self, done: u64) {
        if !self.is_visible || self.begin.elapsed() < SHOWN_AFTER {
            return;
        }
        let (size, begin) = (self.size, self.begin);
        let bar = self.bar.get_or_insert_with(|| {
            let (bar, style) = match size {
                Some(size) => (
                    ProgressBar::new(size),
                    "{wide_bar} {binary_bytes} of {binary_total_bytes}, {elapsed}",
                ),
                None => (
                    ProgressBar::no_length(),
                    "{spinner} {binary_bytes}, {elapsed}",
                ),
            };
            // Both templates are valid constants.
            bar.set_style(
                ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()),
            );
            bar.with_elapsed(begin.elapsed())
        });
        bar.set_position(done);
    }

    /// Removes the bar at the end.
    fn is_over(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.is_over();
    }
}

/// Stream with a progress bar.
struct Progress<R> {
    inner: R,
    done: u64,
    bar: Bar,
}

impl<R> Progress<R> {
    fn new(inner: R, size: Option<u64>, is_visible: bool) -> Self {
        Self {
            inner,
            done: 0,
            bar: Bar::new(size, is_visible),
        }
    }
}

impl<R: Seek> Seek for Progress<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.done = self.inner.seek(to)?;
        Ok(self.done)
    }
}

impl<R: Read> Read for Progress<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.done += n as u64;
        self.bar.is_at(self.done);
        if n == 0 {
            self.bar.is_over();
        }
        Ok(n)
    }
}
