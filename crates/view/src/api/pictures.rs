//! Pictures: the slices of a thread, and what happens by interval of time.

use super::query::Query;
use super::session::Opened;
use super::{Answer, Fault, TIME};
use crate::overview::Counts;
use crate::slice::{EARLIER, LATER};
use crate::{Kind, Tile};
use jtrail_model::{ThreadId, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;

/// The first bytes of a picture: `JTTL`.
const MAGIC: u32 = 0x4c54_544a;

/// Time after which a picture stays coarse, and the page asks again.
const TILE_TIME: Duration = Duration::from_millis(15);

/// Maximum width of a picture in pixels.
const MAX_WIDTH: u32 = 16_384;

/// Maximum number of missing parts that are listed.
pub(super) const MAX_MISSING: usize = 1000;

/// Returns the picture of a thread's slices.
pub(super) fn tile(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let span = opened.span(query)?;
    let thread = opened.thread(query.number("thread")?)?;
    let width: u32 = query.number("width")?;
    let width = width.min(MAX_WIDTH);
    let tile = opened.trace.tile(thread, span, width, TILE_TIME)?;
    let is_coarse = tile.is_coarse();
    Ok(Answer::binary(encode(opened, tile), is_coarse))
}

/// Writes a picture: its size, and columns that are padded to multiples of 8 bytes.
fn encode(opened: &Opened, tile: Tile) -> Vec<u8> {
    /// Sizes of the values of the columns in bytes.
    const WIDTHS: [usize; 6] = [8, 8, 4, 4, 2, 1];
    let count = tile.count();
    let size = WIDTHS.map(|width| (count * width).next_multiple_of(8));
    let mut out = Vec::with_capacity(16 + size.iter().sum::<usize>());
    for number in [
        MAGIC,
        count as u32,
        tile.levels(),
        u32::from(tile.is_coarse()),
    ] {
        out.extend(number.to_le_bytes());
    }
    // A picture has a hundred thousand rectangles, so there is no list of them in between.
    let mut places = WIDTHS.map(|width| {
        let begin = out.len();
        out.resize((begin + count * width).next_multiple_of(8), 0);
        begin
    });
    let [first, last] = opened.trace.span();
    let since = |time: Timestamp| match time {
        EARLIER => 0.0,
        LATER => opened.since(last) as f64,
        time => time.since(first).0 as f64,
    };
    tile.each_rectangle(|r| {
        let mut values = places.iter_mut();
        let mut put = |value: &[u8]| {
            if let Some(place) = values.next() {
                out[*place..*place + value.len()].copy_from_slice(value);
                *place += value.len();
            }
        };
        put(&since(r.begin).to_le_bytes());
        put(&since(r.end).to_le_bytes());
        put(&r.method.to_le_bytes());
        put(&r.count.to_le_bytes());
        put(&(r.level as u16).to_le_bytes());
        put(&[kind(r.kind)]);
    });
    out
}

/// Returns the number of a kind in pictures.
pub(crate) fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::Call => 0,
        Kind::Thrown => 1,
        Kind::Blocked => 2,
        Kind::Waiting => 3,
        Kind::Parked => 4,
        Kind::Missing => 5,
    }
}

/// Returns what happens by interval of time, on all threads together.
pub(super) fn lanes(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let (span, count) = (opened.span(query)?, Opened::intervals(query)?);
    let overview = opened.counts(span, count)?;
    let mut overview = overview.lock();
    overview.advance(&opened.trace, TIME)?;
    let threads = opened.selected(query)?;
    let all = overview.all(&threads);
    let column = |of: fn(&Counts) -> u64| -> Vec<u64> { all.iter().map(of).collect() };
    let collections = overview.collections().iter().map(|collection| {
        let begin = opened.since(collection.begin).max(0);
        let name = format!("{} collection", collection.generation.name());
        let end = opened.since(collection.end);
        json!([begin, end, name, collection.cause, collection.used])
    });
    let bursts = overview.analysis().bursts.iter();
    let bursts = bursts.map(|burst| json!([opened.since(burst.time), burst.trigger]));
    let lost = overview.analysis().lost.iter();
    let lost = lost.map(|lost| [lost.from, lost.to]);
    let gaps = opened.trace.gaps().iter().map(|gap| gap.span);
    let gaps = gaps.filter(|[first, last]| *first < span[1] && *last > span[0]);
    let missing = lost.chain(gaps.take(MAX_MISSING));
    let missing = missing.map(|times| json!(times.map(|time| opened.since(time))));
    let missing = missing.collect::<Vec<Value>>();
    Ok(Answer::json(&json!({
        "from": opened.since(span[0]),
        "until": opened.since(span[1]),
        "bins": count,
        "share": overview.share(),
        "calls": column(|c| c.calls),
        "allocated": column(|c| c.bytes),
        "cpu": if overview.has_cpu() { column(|c| c.cpu) } else { Vec::new() },
        "blocked": column(|c| c.blocked),
        "parked": column(|c| c.waiting),
        "exceptions": column(|c| c.exceptions),
        "heap": overview.heap(),
        "collections": collections.collect::<Vec<Value>>(),
        "marks": bursts.collect::<Vec<Value>>(),
        "bursts": [],
        "live_threads": [],
        "missing": missing,
        "shares": {},
    })))
}

/// Returns a value by thread and interval. The threads with the most of it have rows of their own.
pub(super) fn heat(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let (span, count) = (opened.span(query)?, Opened::intervals(query)?);
    let rows: usize = query.optional("rows")?.unwrap_or(16).clamp(1, 512);
    let value: fn(&Counts) -> u64 = match query.text("value").unwrap_or("calls") {
        "calls" => |c| c.calls,
        "allocated" => |c| c.bytes,
        "cpu" => |c| c.cpu,
        other => return Err(Fault::Request(format!("value: there is no {other:?}"))),
    };
    let overview = opened.counts(span, count)?;
    let mut overview = overview.lock();
    overview.advance(&opened.trace, TIME)?;
    let all = overview.threads().map(|(id, counts)| (id, value(&counts)));
    let mut threads: Vec<(ThreadId, u64)> = all.filter(|(_, sum)| *sum > 0).collect();
    threads.sort_by_key(|(id, sum)| (std::cmp::Reverse(*sum), *id));
    let own = if threads.len() > rows { rows - 1 } else { rows };
    let rest = threads.split_off(own.min(threads.len()));
    let mut labels = Vec::new();
    let mut values: Vec<Vec<u64>> = Vec::new();
    let values_of = |threads: &[ThreadId]| overview.all(threads).iter().map(value).collect();
    for (id, _) in threads {
        let name = opened.trace.names().thread(id);
        labels.push(json!({ "label": name, "threads": [opened.number(id)] }));
        values.push(values_of(&[id]));
    }
    if !rest.is_empty() {
        let rest: Vec<ThreadId> = rest.into_iter().map(|(id, _)| id).collect();
        let numbers: Vec<_> = rest.iter().map(|id| opened.number(*id)).collect();
        labels.push(json!({ "label": format!("{} others", rest.len()), "threads": numbers }));
        values.push(values_of(&rest));
    }
    let max = values.iter().flatten().max().copied().unwrap_or(0);
    let share = overview.share();
    Ok(Answer::json(
        &json!({ "rows": labels, "values": values, "max": max, "share": share }),
    ))
}

/// Returns how often a method is called by interval of time, and its slowest call.
pub(super) fn occurrences(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let (span, count) = (opened.span(query)?, Opened::intervals(query)?);
    let occurrences = opened.occurrences(query.number("method")?, span, count);
    let mut occurrences = occurrences.lock();
    occurrences.advance(&opened.trace, TIME)?;
    let slowest = occurrences
        .slowest()
        .map(|found| super::calls::found(opened, found));
    Ok(Answer::json(&json!({
        "calls": occurrences.counts(),
        "interval": occurrences.interval(),
        "share": occurrences.share(),
        "slowest": slowest,
    })))
}
