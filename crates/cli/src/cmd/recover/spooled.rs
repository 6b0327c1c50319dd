//! Reads the spool beside a trail: the events that the process had recorded but not yet written to
//! the trail.

use jtrail_formats::trail::recover::More;
use jtrail_formats::{Item, Reader};
use jtrail_model::Event;
use jtrail_records::NumberSet;
use jtrail_records::spool::{SPOOL, Spool, SpoolError, folder_of};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The spool of a trail, with the facts about the trail that are needed to read the spool.
pub(super) struct Spooled {
    spool: Option<Spool>,
    /// Folder of the spool.
    pub(super) folder: PathBuf,
    pub(super) before: TracePrefix,
    defined: NumberSet,
}

/// The part of the trace that precedes the spool's events.
pub(super) enum TracePrefix {
    /// This number of bytes at the start of the file.
    File(u64),
    /// The opening events of a trace, encoded as a trail.
    ///
    /// Used for a process that kept only the newest events (`overflow=ring`) and had not written
    /// any of them.
    Opening(Vec<u8>),
}

impl Spooled {
    /// Returns the spool of a trail, or `None` if there is no spool or the spool is empty.
    ///
    /// # Errors
    /// If the spool exists but can't be used, with a sentence as the reason.
    pub(super) fn of(trail: &Path) -> Result<Option<Self>, String> {
        let own = folder_of(trail);
        let found = Self::in_folder(&own, trail);
        if let Ok(Some(found)) = found {
            return Ok(Some(found));
        }
        // When a trace continues in another file, the agent begins the new file first and renames
        // the spool later. So the spool of this trail may still have another name in the same
        // folder.
        let folder = trail.parent().filter(|folder| *folder != Path::new(""));
        let others = fs::read_dir(folder.unwrap_or(Path::new(".")));
        let others = others.into_iter().flatten().flatten();
        let others = others.map(|entry| entry.path());
        let mut others = others.filter(|path| {
            let is_spool = path
                .as_os_str()
                .as_encoded_bytes()
                .ends_with(SPOOL.as_bytes());
            is_spool && path.file_name() != own.file_name() && path.is_dir()
        });
        let of_trail = |folder: PathBuf| {
            let other = Self::in_folder(&folder, trail).ok()??;
            matches!(other.before, TracePrefix::File(_)).then_some(other)
        };
        match others.find_map(of_trail) {
            Some(other) => Ok(Some(other)),
            None => found,
        }
    }

    fn in_folder(folder: &Path, trail: &Path) -> Result<Option<Self>, String> {
        let unused = |why: String| {
            format!(
                "{}: {why}; what was not written yet is not recovered",
                folder.display()
            )
        };
        let spool = match Spool::open(folder) {
            Ok(Some(spool)) => spool,
            Ok(None) => return Ok(None),
            Err(SpoolError::InUse(pid)) => {
                return Err(unused(format!(
                    "process {pid} still records; wait until it has ended, or have it write the rest (jtrail ctl {pid} stop)"
                )));
            }
            Err(error) => return Err(unused(error.to_string())),
        };
        let Some(trace) = spool.trace() else {
            return Ok(None);
        };
        let before = match &trace.opening {
            Some(opening) => TracePrefix::Opening(opening.clone()),
            None => TracePrefix::File(trace.length),
        };
        if let TracePrefix::File(length) = before {
            let is_of = File::open(trail)
                .and_then(|file| is_of(&file, length, &trace.agent_id))
                .map_err(|error| unused(error.to_string()))?;
            if !is_of {
                return Err(unused(format!(
                    "it is of another trace than {}",
                    trail.display()
                )));
            }
        }
        Ok(Some(Self {
            spool: Some(spool),
            folder: folder.to_owned(),
            before,
            defined: NumberSet::default(),
        }))
    }
}

/// Returns true if the file has at least `length` bytes and is the trace of the agent.
fn is_of(file: &File, length: u64, agent_id: &str) -> io::Result<bool> {
    if file.metadata()?.len() < length {
        return Ok(false);
    }
    let Ok(mut reader) = Reader::new(file.take(length)) else {
        return Ok(false);
    };
    // The agent's id is in one of the opening events.
    let found = reader.for_each(|item| match item {
        Item::Event {
            event: Event::AgentCreate(agent),
            ..
        } => ControlFlow::Break(agent.agent_id == agent_id),
        Item::Event { event, .. } if event.is_opening() => ControlFlow::Continue(()),
        Item::Event { .. } => ControlFlow::Break(false),
        Item::Remark(_) => ControlFlow::Continue(()),
    });
    Ok(matches!(found, Ok(Some(true))))
}

impl More for Spooled {
    fn seen(&mut self, event: &Event<'_>) {
        let object = match event {
            Event::ObjectAlloc(e) => e.object,
            Event::ObjectDef(e) => e.object,
            _ => return,
        };
        self.defined.insert(object.0);
    }

    fn is_known(&self) -> bool {
        true
    }

    fn hand_out(&mut self, visit: &mut dyn FnMut(&Event<'_>) -> io::Result<()>) -> io::Result<()> {
        let Some(spool) = self.spool.take() else {
            return Ok(());
        };
        let Some(tail) = spool.tail(std::mem::take(&mut self.defined))? else {
            return Ok(());
        };
        let mut reader = Reader::new(tail).map_err(io::Error::other)?;
        let mut take = |item: Item<'_>| match item {
            Item::Event { event, .. } => match visit(&event) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
            Item::Remark(_) => ControlFlow::Continue(()),
        };
        let failed = reader.for_each_in_bulk(|bulk| bulk.items(&mut take));
        match failed.map_err(io::Error::other)? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Reader of the first bytes of a source.
pub(super) struct First<R> {
    source: R,
    length: u64,
    at: u64,
}

impl<R> First<R> {
    pub(super) fn new(source: R, length: u64) -> Self {
        Self {
            source,
            length,
            at: 0,
        }
    }
}

impl<R: Read> Read for First<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = to.len().min(left);
        let count = self.source.read(&mut to[..count])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Seek> Seek for First<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            // The end of the first bytes counts as the end of the source.
            SeekFrom::End(offset) => {
                let size = self.source.seek(SeekFrom::End(0))?.min(self.length);
                SeekFrom::Start(size.saturating_add_signed(offset))
            }
            other => other,
        };
        self.at = self.source.seek(to)?;
        Ok(self.at)
    }
}
