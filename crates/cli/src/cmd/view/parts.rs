//! Finds the files of a trace that the agent divided (`maxsize`).

use jtrail_formats::{Item, Reader};
use jtrail_model::Event;
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The files of one trace, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) files: Vec<PathBuf>,
    /// For each file, the name of the preceding one if that is missing.
    pub(super) missing: Vec<Option<String>>,
}

/// What the opening of a trace tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Opening {
    /// The machine, the process, and when the agent was loaded there.
    run: (String, i32, i64),
    /// When the trace began.
    start: i64,
    /// The number of the part, and the name of the preceding file.
    part: Option<(u64, String)>,
}

impl Opening {
    fn read(path: &Path) -> io::Result<Self> {
        let mut opening = Self::default();
        let (mut number, mut before) = (None, None);
        let mut reader = Reader::new(File::open(path)?).map_err(io::Error::other)?;
        let visit = |item: Item<'_>| {
            let Item::Event { event, .. } = item else {
                return ControlFlow::Continue(());
            };
            match &event {
                Event::Node(node) => {
                    opening.run.0 = node.node_id.to_string();
                    opening.run.2 = node.time.0;
                }
                Event::TraceStart(start) => opening.start = start.time.0,
                Event::ProcessCreate(process) => opening.run.1 = process.pid,
                Event::Option(option) if option.key == "part" => number = option.value.parse().ok(),
                Event::Option(option) if option.key == "before" => {
                    before = Some(option.value.to_string());
                }
                _ => {}
            }
            match event.is_opening() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        reader.for_each(visit).map_err(io::Error::other)?;
        opening.part = number.zip(before);
        Ok(opening)
    }
}

impl Parts {
    /// Returns the files of the trace that a file belongs to, if there are several, or if files
    /// before it are missing.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let own = Opening::read(path).ok()?;
        let (stem, extension) = (path.file_stem()?.to_str()?, path.extension());
        // The first file has the name that was asked for; a number is added to that of others.
        let first = match &own.part {
            Some((number, _)) => stem.strip_suffix(&format!("-{number}"))?,
            None => stem,
        };
        let number_of = |file: &Path| -> Option<u64> {
            let stem = file.file_stem()?.to_str()?;
            let number = stem.strip_prefix(first)?;
            match number.strip_prefix('-') {
                None => number.is_empty().then_some(1),
                Some(number) => number.parse().ok().filter(|number| *number > 1),
            }
        };
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
        let mut files: Vec<(u64, PathBuf, Opening)> = entries
            .filter_map(|entry| {
                let file = path.with_file_name(entry.ok()?.file_name());
                let number = number_of(&file)?;
                let opening = match file.extension() == extension {
                    true => Opening::read(&file).ok()?,
                    false => return None,
                };
                let is_part = match &opening.part {
                    Some((part, _)) => *part == number,
                    None => number == 1,
                };
                (is_part && opening.run == own.run).then_some((number, file, opening))
            })
            .collect();
        files.sort_by_key(|(number, ..)| *number);
        // Later parts begin later; others are of an earlier trace with the same name.
        let mut latest = i64::MAX;
        let mut later = Vec::new();
        for file in files.into_iter().rev() {
            if file.2.start <= latest {
                latest = file.2.start;
                later.push(file);
            }
        }
        later.reverse();
        let mut parts = Self {
            files: Vec::new(),
            missing: Vec::new(),
        };
        for (_, file, opening) in later {
            let last = parts.files.last().and_then(|last| last.file_name());
            let before = opening.part.map(|(_, before)| before);
            let is_missing = before
                .as_ref()
                .is_some_and(|before| last.is_none_or(|last| last != &**before));
            parts.missing.push(before.filter(|_| is_missing));
            parts.files.push(file);
        }
        // A file that none goes on from is another trace of the same run.
        let is_one = parts.files.len() > 1 || parts.missing.iter().any(Option::is_some);
        let has_own = parts.files.iter().any(|file| file == path);
        (is_one && has_own).then_some(parts)
    }
}
