//! What is read of a trail when it is opened.

use jtrail_formats::trail::{SegmentItem, SegmentReader, Segments};
use jtrail_model::Timestamp;
use jtrail_model::names::Names;
use std::fs::File;
use std::io;
use std::path::Path;

/// Returns true if the segments of a trail list the calls that are open at their begins.
pub(crate) fn lists_open_calls(path: &Path, segments: &Segments) -> io::Result<bool> {
    let mut reader = SegmentReader::new(File::open(path)?)?;
    for number in (0..segments.count()).filter(|number| segments.events_of(*number) > 0) {
        // What is damaged is reported when it is shown.
        if reader.begin(segments, number)? {
            return Ok(reader.known_open_calls(segments)?.is_some());
        }
    }
    Ok(true)
}

/// Returns the smallest and the largest time in a segment. A time of 0 is unknown: definitions may
/// have it.
pub(crate) fn times(
    path: &Path,
    segments: &Segments,
    number: usize,
) -> io::Result<Option<[Timestamp; 2]>> {
    let Some([first, last]) = segments.times(number) else {
        return Ok(None);
    };
    if first.0 != 0 {
        return Ok(Some([first, last]));
    }
    let mut reader = SegmentReader::new(File::open(path)?)?;
    let mut first = last;
    if reader.begin(segments, number)? {
        let mut earlier = |time: Timestamp| {
            if time.0 != 0 {
                first = first.min(time);
            }
        };
        // What is damaged is reported when it is shown.
        let _ = reader.read(&mut |item| match item {
            SegmentItem::Row(row) => row.times.iter().for_each(|time| earlier(*time)),
            SegmentItem::Event(event) => event.time().into_iter().for_each(&mut earlier),
        });
    }
    Ok((last.0 != 0).then_some([first, last]))
}

/// Reads the definitions of the segments from a number on. Those whose copies are damaged are read
/// from the events. Returns false if there are any.
pub(crate) fn read_names(
    path: &Path,
    segments: &mut Segments,
    first: usize,
    names: &mut Names,
) -> io::Result<bool> {
    let mut reader = SegmentReader::new(File::open(path)?)?;
    let mut is_sound = true;
    for number in first..segments.count() {
        if let Some(copies) = reader.definitions(segments, number)? {
            copies.for_each(|event| names.event(&event));
        } else {
            segments.ignore_definitions(number);
            is_sound = false;
        }
        if segments.lacks_definitions(number) && reader.begin(segments, number)? {
            reader.read(&mut |item| {
                if let SegmentItem::Event(event) = item {
                    names.event(&event);
                }
            });
        }
    }
    Ok(is_sound)
}
