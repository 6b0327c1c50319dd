//! Joins the files of a trace to a temporary trail.

use super::parts::Parts;
use crate::input::{Ending, Input};
use crate::outcome::Streams;
use crate::output::OutputFile;
use crate::transcode;
use jtrail_formats::Format;
use jtrail_formats::join::Joiner;
use jtrail_model::Event;
use std::io::Write;
use std::path::Path;

/// Number of encoded bytes that are collected before they are written.
const CHUNK: usize = 256 << 10;

/// Writes all parts as one trail.
pub(super) fn join(parts: &Parts, trail: &Path, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    let mut joiner = Joiner::default();
    let mut encoder = Format::Trail.encoder();
    let mut file = OutputFile::create(trail)?;
    let mut buffer = Vec::with_capacity(CHUNK + (CHUNK >> 2));
    encoder.begin(&mut buffer);
    let mut ending = Ending::default();
    for (place, (path, missing)) in parts.files.iter().zip(&parts.missing).enumerate() {
        let name = |path: &Path| match path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => path.display().to_string(),
        };
        let missing = match missing {
            Some(before) => Some(format!("{before} is missing")),
            None if place > 0 && ending.truncated => {
                Some(format!("{} is truncated", name(&parts.files[place - 1])))
            }
            None if place > 0 && (ending.faults > 0 || ending.error.is_some()) => {
                Some(format!("{} is damaged", name(&parts.files[place - 1])))
            }
            None => None,
        };
        joiner.begin_part(missing, &mut |event: &Event<'_>| {
            encoder.event(event, &mut buffer)
        });
        let mut input = Input::open(path, true)?.in_order();
        ending = input.events(|event| {
            joiner.event(event, &mut |event: &Event<'_>| {
                encoder.event(event, &mut buffer)
            });
            if buffer.len() >= CHUNK {
                file.write_all(&buffer)?;
                buffer.clear();
            }
            Ok(())
        })?;
        ending.print(path, streams)?;
    }
    joiner.end(&mut |event: &Event<'_>| encoder.event(event, &mut buffer));
    file.write_all(&buffer)?;
    transcode::end(&ending, &mut *encoder, &mut file)?;
    file.patch(&encoder.patches())?;
    file.finish()?;
    Ok(())
}
