//! What the process that wrote a trail had recorded and not written: from the spool beside it.

use jtrail_formats::trail::recover::More;
use jtrail_formats::{Item, Reader};
use jtrail_model::Event;
use jtrail_records::NumberSet;
use jtrail_records::spool::{Spool, SpoolError, folder_of};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

/// A spool, and what it has to know of the trace.
pub(super) struct Spooled {
    spool: Option<Spool>,
    /// Bytes of the file that are followed by what the spool has.
    pub(super) length: u64,
    defined: NumberSet,
}

impl Spooled {
    /// The spool beside a trail; `None` where there is none, or nothing is in it.
    ///
    /// # Errors
    /// A sentence that says why it is of no use.
    pub(super) fn of(trail: &Path) -> Result<Option<Self>, String> {
        let folder = folder_of(trail);
        let unused = |why: String| {
            format!(
                "{}: {why}; what was not written yet is not recovered",
                folder.display()
            )
        };
        let spool = match Spool::open(&folder) {
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
        let length = trace.length;
        let is_of = File::open(trail)
            .and_then(|file| is_of(&file, length, &trace.agent_id))
            .map_err(|error| unused(error.to_string()))?;
        if !is_of {
            return Err(unused(format!(
                "it is of another trace than {}",
                trail.display()
            )));
        }
        Ok(Some(Self {
            spool: Some(spool),
            length,
            defined: NumberSet::default(),
        }))
    }
}

/// Whether the file has so many bytes, and is the trace of that agent.
fn is_of(file: &File, length: u64, agent_id: &str) -> io::Result<bool> {
    if file.metadata()?.len() < length {
        return Ok(false);
    }
    let Ok(mut reader) = Reader::new(file.take(length)) else {
        return Ok(false);
    };
    // It is among the first events.
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

/// The first bytes of something.
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
            // Its end is where the first bytes end.
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
