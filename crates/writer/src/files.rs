//! The files of a trace whose file size is limited.

use crate::dropped;
use crate::names::Names;
use crate::output::Output;
use jtrail_formats::DropCount;
use jtrail_guard::log;
use jtrail_options::{AtMaxSize, Options, size_text};
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Number of files in a ring. When the ring is full, the oldest file is deleted.
const RING: u64 = 8;
/// The end of a trace may take up to 1/`ENDING` of its file.
const ENDING: u64 = 16;

/// The files of one trace.
pub(super) struct Files {
    /// Maximum size of a file in bytes.
    most: u64,
    /// Maximum size of all files in bytes, if the oldest ones are deleted.
    all: Option<u64>,
    /// Path of the first file. The names of the others are derived from it.
    first: PathBuf,
    /// Number of the current file, from 1 on.
    number: u64,
    /// Size of the opening of the current file, in bytes.
    opening: u64,
    /// Earlier files that exist, the oldest one first.
    before: VecDeque<Complete>,
    /// Number of deleted files, and number of events in them.
    deleted: (u64, u64),
    /// What was dropped from all files.
    dropped: Vec<DropCount>,
    /// Number of lost events in all files.
    lost: u64,
    /// True if the current file is full. It ends when all records that existed when it became full
    /// are written.
    pub(super) is_ending: bool,
}

struct Complete {
    path: PathBuf,
    bytes: u64,
    events: u64,
}

impl Files {
    /// Returns the files of a trace that begins in `output`, or `None` if their size is not
    /// limited.
    pub(super) fn of(options: &Options, output: Option<&Output>) -> Option<Self> {
        let all = options.max_size.filter(|_| !options.is_of_sums())?;
        let first = output?.path()?.to_owned();
        let (most, all) = match options.at_max_size {
            AtMaxSize::Rotate => (all, None),
            AtMaxSize::Ring => (all / RING, Some(all)),
        };
        Some(Self {
            most,
            all,
            first,
            number: 1,
            opening: 0,
            before: VecDeque::new(),
            deleted: (0, 0),
            dropped: Vec::new(),
            lost: 0,
            is_ending: false,
        })
    }

    /// Notes that the current file has begun, with an opening of `opening` bytes.
    pub(super) fn has_begun(&mut self, opening: u64) {
        self.opening = opening;
    }

    /// Returns the size at which the current file is full, without the end of the trace. `later` is
    /// the maximum size of the records that are written to the file after it is full.
    pub(super) fn full_at(&self, later: u64) -> u64 {
        let most = self.most - self.most / ENDING;
        let most = most - later.min(most / 2);
        // With less, each file would contain little more than its opening.
        most.max(self.opening.saturating_mul(2))
    }

    /// Returns the slack: a file counts as full when at most this many bytes are left below
    /// [`Self::full_at`].
    pub(super) fn slack(&self) -> u64 {
        self.most / ENDING
    }

    /// Returns the number of the current file and the name of the preceding one, if there is one.
    pub(super) fn part(&self) -> Option<(u64, String)> {
        let before = self.before.back()?.path.file_name()?;
        Some((self.number, before.to_string_lossy().into_owned()))
    }

    /// Opens the next file.
    pub(super) fn next(&mut self, names: &Names) -> (PathBuf, io::Result<Output>) {
        names.create_numbered(&self.first, &mut self.number)
    }

    /// Adds what a file dropped and lost to the sums of all files. Sets `dropped` and `lost` to the
    /// sums.
    pub(super) fn add_dropped(&mut self, dropped: &mut Vec<DropCount>, lost: &mut u64) {
        dropped::add(&mut self.dropped, std::mem::take(dropped));
        dropped.clone_from(&self.dropped);
        self.lost += *lost;
        *lost = self.lost;
    }

    /// Notes that a file is complete, and deletes the oldest ones if the files take too much space.
    pub(super) fn complete(&mut self, names: &Names, path: PathBuf, bytes: u64, events: u64) {
        let file = Complete {
            path,
            bytes,
            events,
        };
        self.before.push_back(file);
        self.is_ending = false;
        let Some(all) = self.all else { return };
        while self.before.iter().map(|file| file.bytes).sum::<u64>() + self.most > all
            && let Some(oldest) = self.before.pop_front()
        {
            match fs::remove_file(&oldest.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => log::say(&format!(
                    "cannot delete {}: {error}; the files of the trace take more than maxsize={}",
                    oldest.path.display(),
                    size_text(all)
                )),
                _ => {
                    names.close_deleted();
                    self.deleted.0 += 1;
                    self.deleted.1 += oldest.events;
                }
            }
        }
    }

    /// Returns the message for the end of the trace, whose last file is `last`.
    pub(super) fn message(&self, last: &Path) -> Option<String> {
        let first = self.before.front()?.path.display();
        let (count, last) = (self.before.len() + 1, last.display());
        let mut text = format!("the trace is in {count} files, {first} to {last}");
        if let ((files, events), Some(all)) = (self.deleted, self.all)
            && files > 0
        {
            let all = size_text(all);
            text += &format!(
                "; {files} older ones, of {events} events, are deleted (atmaxsize=ring, maxsize={all})"
            );
        }
        Some(text)
    }
}
