//! Text and JSON output of the agent's answers.

use crate::output::{bytes, count, time};
use jtrail_control::{Answer, Destination, Ended, Figures, Status, StreamUse, Trace};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::Duration;

fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

fn target(trace: &Trace) -> &str {
    match trace.to {
        Destination::Ring => "the newest events",
        _ => trace.file.as_deref().unwrap_or("a client"),
    }
}

/// Returns the summary of an ended trace:
/// `app.trcbin: binary, events: 48,213, lost: 0, 4.0 MiB in 1.250 s`.
pub(crate) fn ended_text(name: &str, ended: &Ended) -> String {
    let Figures {
        elapsed,
        events,
        lost,
        bytes: size,
    } = ended.figures;
    format!(
        "{name}: {}, events: {}, lost: {}, {} in {}",
        ended.trace.format,
        count(events),
        count(lost),
        bytes(size),
        time(ns(elapsed))
    )
}

/// Like [`ended_text`], but for an active trace.
///
/// For a ring, the text is
/// `the newest events: trail, of the last 12.100 s; recorded before: 48,213, saved: 4.0 MiB`.
fn active_text(trace: &Ended) -> String {
    let name = target(&trace.trace);
    if trace.trace.to != Destination::Ring {
        return ended_text(name, trace);
    }
    let Figures {
        elapsed,
        events,
        bytes: saved,
        ..
    } = trace.figures;
    format!(
        "{name}: {}, of the last {}; recorded before: {}, saved: {}",
        trace.trace.format,
        time(ns(elapsed)),
        count(events),
        bytes(saved)
    )
}

/// Writes an answer as text.
pub(super) fn text(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let started = |trace: &Trace| format!("recording {} to {}", trace.format, target(trace));
    let ended = |ended: &Ended| ended_text(target(&ended.trace), ended);
    match answer {
        Answer::EnabledOutputFormat(format) => writeln!(out, "{format}"),
        Answer::Done => writeln!(out, "done"),
        Answer::Started(trace) => writeln!(out, "{}", started(trace)),
        Answer::Ended(last) | Answer::Saved(last) => writeln!(out, "{}", ended(last)),
        Answer::Rotated {
            ended: last,
            started: next,
        } => writeln!(out, "{}\n{}", ended(last), started(next)),
        Answer::Snapshot { file, .. } => {
            writeln!(
                out,
                "{}",
                file.as_deref().unwrap_or("the snapshot is in the trace")
            )
        }
        Answer::Filters { retransformed } => {
            writeln!(out, "classes retransformed: {}", count(*retransformed))
        }
        Answer::Status(status) => status_text(status, out),
        other => writeln!(out, "{other:?}"),
    }
}

fn status_text(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:<10}{value}");
    line("state", status.state.to_string())?;
    if let Some(trace) = &status.trace {
        line("trace", active_text(trace))?;
    }
    line(
        "process",
        format!("{}, agent {}", status.pid, status.version),
    )?;
    line("uptime", time(ns(status.uptime)))?;
    let buffers = format!("{} of {}", bytes(status.buffered), bytes(status.buffer));
    line("buffered", buffers)?;
    if let Some(memory) = status.memory {
        line("memory", bytes(memory))?;
    }
    if let Some(overhead) = status.overhead {
        line(
            "overhead",
            format!("{:.2} %", f64::from(overhead) / 10_000.0),
        )?;
    }
    let stream = match status.stream {
        StreamUse::Free => "stream free",
        StreamUse::Taken | StreamUse::Yours => "stream taken",
    };
    line("clients", format!("{}, {stream}", status.clients))?;
    for (name, counts) in [("events", &status.counts), ("lost", &status.losses)] {
        for (kind, events) in counts {
            line(name, format!("{}  {kind}", count(*events)))?;
        }
    }
    Ok(())
}

fn trace_json(trace: &Trace) -> Value {
    json!({
        "format": trace.format.word(),
        "to": trace.to.word(),
        "file": trace.file,
    })
}

fn ended_json(ended: &Ended) -> Value {
    let mut value = trace_json(&ended.trace);
    value["elapsed_ns"] = json!(ns(ended.figures.elapsed));
    value["events"] = json!(ended.figures.events);
    value["lost"] = json!(ended.figures.lost);
    value["bytes"] = json!(ended.figures.bytes);
    value
}

fn counts_json(counts: &[(String, u64)]) -> Value {
    let pairs = counts
        .iter()
        .map(|(kind, events)| (kind.clone(), json!(events)));
    Value::Object(pairs.collect())
}

/// Writes an answer as one JSON object. The answer's name is under `answer`, times are in ns, sizes
/// in bytes.
pub(super) fn json(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let (name, mut value) = match answer {
        Answer::EnabledOutputFormat(format) => {
            ("enabledOutputFormat", json!({"format": format.word()}))
        }
        Answer::Started(trace) => ("started", trace_json(trace)),
        Answer::Ended(ended) => ("ended", ended_json(ended)),
        Answer::Saved(saved) => ("saved", ended_json(saved)),
        Answer::Rotated { ended, started } => (
            "rotated",
            json!({"ended": ended_json(ended), "started": trace_json(started)}),
        ),
        Answer::Snapshot { kind, file } => ("snapshot", json!({"kind": kind.word(), "file": file})),
        Answer::Filters { retransformed } => ("filters", json!({"retransformed": retransformed})),
        Answer::Status(status) => (
            "status",
            json!({
                "state": status.state.word(),
                "pid": status.pid,
                "version": status.version,
                "uptime_ns": ns(status.uptime),
                "trace": status.trace.as_ref().map(ended_json),
                "buffer": status.buffer,
                "buffered": status.buffered,
                "memory": status.memory,
                "overhead_ppm": status.overhead,
                "clients": status.clients,
                "stream": status.stream.word(),
                "counts": counts_json(&status.counts),
                "losses": counts_json(&status.losses),
            }),
        ),
        Answer::Error(failure) => (
            "error",
            json!({
                "code": failure.code.word(),
                "where": failure.place,
                "message": failure.message,
            }),
        ),
        _ => ("done", json!({})),
    };
    value["answer"] = json!(name);
    serde_json::to_writer(&mut *out, &value).map_err(io::Error::from)?;
    writeln!(out)
}
