//! One call: its caller, what it waits for, and other calls of its method.

use super::pictures::kind;
use super::query::Query;
use super::session::Opened;
use super::{Answer, Fault, TIME};
use crate::Kind;
use crate::slice::LATER;
use crate::{Found, Slice, Trace, Wait};
use jtrail_model::{ThreadId, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;

/// Number of segments up to which a call's self time and all of its waits are found. Longer calls
/// have the first waits only.
const MAX_SEGMENTS: usize = 8;
/// Maximum number of waits of a call that are listed.
const MAX_WAITS: usize = 200;
/// Maximum time in which the classes of the objects that a call waits for are searched for: the
/// page does not ask again.
const CLASS_TIME: Duration = Duration::from_millis(600);

/// Writes a slice. What never ends has the end of the trace.
fn slice(opened: &Opened, slice: &Slice) -> Value {
    let [first, last] = opened.trace.span();
    let begin = slice.begin.max(first);
    let end = if slice.end == LATER { last } else { slice.end };
    json!({
        "method": slice.method,
        "begin": opened.since(begin),
        "end": opened.since(end),
        "level": slice.level,
        "kind": kind(slice.kind),
        "exception": slice.kind == Kind::Thrown,
    })
}

/// Returns the first call of a level that begins in a span.
fn first_call(
    trace: &Trace,
    thread: ThreadId,
    level: u32,
    span: [Timestamp; 2],
) -> Result<Option<Slice>, Fault> {
    let mut first: Option<Slice> = None;
    trace.slices(thread, span, |slice| {
        let is_first = first.is_none_or(|other| slice.begin < other.begin);
        if slice.level == level && slice.begin >= span[0] && is_first {
            first = Some(*slice);
        }
    })?;
    Ok(first
        .map(|slice| trace.with_end(thread, slice))
        .transpose()?)
}

/// Returns the time of a call without its callees, in ns.
fn self_time(trace: &Trace, thread: ThreadId, call: &Slice) -> Result<i64, Fault> {
    let [_, end] = trace.ended([call.begin, call.end]);
    let mut rest = end.since(call.begin).0;
    trace.slices(thread, [call.begin, end], |slice| {
        let is_callee = slice.level.checked_sub(1) == Some(call.level) && slice.kind.is_call();
        if is_callee && slice.begin >= call.begin {
            let time = slice.end.min(end).since(slice.begin).0;
            rest = rest.saturating_sub(time);
        }
    })?;
    Ok(rest.max(0))
}

/// Writes a call with its thread.
pub(super) fn found(opened: &Opened, (thread, call): Found) -> Value {
    let mut value = slice(opened, &call);
    value["thread"] = json!(opened.number(thread));
    value
}

pub(super) fn call(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let trace = &opened.trace;
    let thread = opened.thread(query.number("thread")?)?;
    let level: u32 = query.number("level")?;
    let time = opened.time(query.number("time")?);
    let until = query.optional("until")?.map(|until| opened.time(until));
    let call = match (trace.slice_at(thread, time, level)?, until) {
        (None, Some(until)) => first_call(trace, thread, level, [time, until])?,
        (call, _) => call,
    };
    let Some(call) = call else {
        return Err(Fault::Missing("there is no such call".to_owned()));
    };
    let caller = match level.checked_sub(1) {
        Some(level) => trace.slice_at(thread, call.begin, level)?,
        None => None,
    };
    let key = (thread, call.method);
    let next = trace.next_call(key, call.begin, TIME)?;
    let previous = trace.previous_call(key, call.begin, TIME)?;
    let span = [call.begin, call.end];
    let waits = trace.waits_within(thread, span, MAX_SEGMENTS)?;
    let waits = waits.iter().filter(|wait| wait.level > level);
    let waits: Vec<&Wait> = waits.take(MAX_WAITS).collect();
    opened.find_classes(waits.iter().copied(), CLASS_TIME)?;
    let waits = waits.into_iter().map(|wait| written(opened, wait));
    let mut answer = found(opened, (thread, call));
    let other =
        |other: Option<Slice>| other.map_or(Value::Null, |other| found(opened, (thread, other)));
    answer["caller"] = other(caller);
    answer["next"] = other(next);
    answer["previous"] = other(previous);
    answer["self"] = match trace.segments_of(thread, span).len() <= MAX_SEGMENTS {
        true => json!(self_time(trace, thread, &call)?),
        false => Value::Null,
    };
    answer["waits"] = waits.collect::<Result<Vec<Value>, Fault>>()?.into();
    Ok(Answer::json(&answer))
}

/// Writes a wait, with who holds the monitor and what that thread does meanwhile.
pub(super) fn written(opened: &Opened, wait: &Wait) -> Result<Value, Fault> {
    Ok(described(opened, wait, owner_in(opened, wait)?))
}

/// Returns the innermost call of the thread that holds the monitor when a wait begins.
pub(crate) fn owner_in(opened: &Opened, wait: &Wait) -> std::io::Result<Option<Slice>> {
    let mut owner_in: Option<Slice> = None;
    if !wait.owner.is_none() {
        let span = [wait.begin, Timestamp(wait.begin.0.saturating_add(1))];
        opened.trace.slices(wait.owner, span, |slice| {
            let is_deeper = owner_in.is_none_or(|other| slice.level >= other.level);
            if slice.kind.is_call() && is_deeper {
                owner_in = Some(*slice);
            }
        })?;
    }
    Ok(owner_in)
}

/// Writes a wait with the call in which its owner is, if that is known.
pub(crate) fn described(opened: &Opened, wait: &Wait, owner_in: Option<Slice>) -> Value {
    let end = if wait.end == LATER {
        opened.trace.span()[1]
    } else {
        wait.end
    };
    let object = match wait.object.is_none() {
        true => Value::Null,
        false => json!(match opened.class_of(wait.object) {
            Some(class) => {
                let class = opened.trace.names().readable_class(class);
                format!("{class} (object {})", wait.object)
            }
            None => format!("object {}", wait.object),
        }),
    };
    json!({
        "kind": kind(wait.kind),
        "begin": opened.since(wait.begin).max(0),
        "end": opened.since(end),
        "level": wait.level,
        "object": object,
        "owner": opened.number(wait.owner),
        "owner_in": owner_in.map(|call| slice(opened, &call)),
    })
}
