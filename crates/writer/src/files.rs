//! The files of a trace, where their size is bounded.

use crate::losses;
use crate::names::Names;
use crate::output::Output;
use jtrail_formats::Loss;
use jtrail_guard::log;
use jtrail_options::{AtMaxSize, Options, size_text};
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A ring has so many files: when it is full, one of them goes.
const RING: u64 = 8;
/// What ends a trace has so much of its file, one part in that.
const ENDING: u64 = 16;

/// See the module.
pub(super) struct Files {
    /// Most bytes of one.
    most: u64,
    /// Most bytes of all, where the oldest ones are deleted.
    all: Option<u64>,
    /// The others' names are made from it.
    first: PathBuf,
    /// Of the present one, from 1.
    number: u64,
    /// Bytes of what opens the present one.
    opening: u64,
    /// Those before it that are there, the oldest one first.
    before: VecDeque<Complete>,
    /// How many are not there any more, and how many events were in them.
    deleted: (u64, u64),
    /// What the format had no place for in all of them, and how many events were lost.
    losses: Vec<Loss>,
    lost: u64,
    /// The present one is full, and ends when all is written that was recorded by then.
    pub(super) is_ending: bool,
}

struct Complete {
    path: PathBuf,
    bytes: u64,
    events: u64,
}

impl Files {
    /// For a trace that begins in `output`; `None` where it is not bounded.
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
            losses: Vec::new(),
            lost: 0,
            is_ending: false,
        })
    }

    /// The present file has begun, with so many bytes.
    pub(super) fn has_begun(&mut self, opening: u64) {
        self.opening = opening;
    }

    /// With how many bytes the present file is full: what ends it comes on top. `later`: as much,
    /// at most, comes before that.
    pub(super) fn full_at(&self, later: u64) -> u64 {
        let most = self.most - self.most / ENDING;
        let most = most - later.min(most / 2);
        // Or else each file would hold little more than what all of them begin with.
        most.max(self.opening.saturating_mul(2))
    }

    /// What is left of a file where it is full all the same: it is not worth to go on for it.
    pub(super) fn slack(&self) -> u64 {
        self.most / ENDING
    }

    /// Number of the present one, and the name of the one before it, if there is one.
    pub(super) fn part(&self) -> Option<(u64, String)> {
        let before = self.before.back()?.path.file_name()?;
        Some((self.number, before.to_string_lossy().into_owned()))
    }

    /// Opens the next one.
    pub(super) fn next(&mut self, names: &Names) -> (PathBuf, io::Result<Output>) {
        names.create_numbered(&self.first, &mut self.number)
    }

    /// Adds what a file lacks; it is made what all of them lack so far.
    pub(super) fn add_losses(&mut self, losses: &mut Vec<Loss>, lost: &mut u64) {
        losses::add(&mut self.losses, std::mem::take(losses));
        losses.clone_from(&self.losses);
        self.lost += *lost;
        *lost = self.lost;
    }

    /// A file has got its end.
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
                    names.let_go_of_deleted();
                    self.deleted.0 += 1;
                    self.deleted.1 += oldest.events;
                }
            }
        }
    }

    /// What there is to say when the last one, at `last`, has got its end.
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
