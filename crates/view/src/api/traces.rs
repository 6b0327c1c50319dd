//! What the traces are, and the names of methods.

use super::pictures::MAX_MISSING;
use super::query::Query;
use super::session::{Known, Opened, Session};
use super::{Answer, Fault, TIME};
use crate::{MethodSum, ThreadSum};
use jtrail_formats::trail::Ending;
use serde_json::{Map, Value, json};

/// Maximum number of methods whose names are asked for at a time.
const MAX_NAMES: usize = 500;
/// Maximum number of methods that are found.
const MAX_FOUND: usize = 200;

pub(super) fn traces(session: &Session) -> Answer {
    session.grow();
    let traces = session.traces().iter();
    let traces: Vec<Value> = traces.map(|opened| trace(&opened.read())).collect();
    Answer::json(&json!({ "traces": traces }))
}

fn trace(opened: &Opened) -> Value {
    let [first, last] = opened.trace.span();
    let names = opened.trace.names();
    let of = |get: &dyn Fn(&jtrail_model::names::ThreadName) -> Value, none: Value| -> Vec<Value> {
        let threads = opened.threads.iter();
        threads
            .map(|id| names.threads.get(id).map_or(none.clone(), get))
            .collect()
    };
    let ids: Vec<String> = opened.threads.iter().map(ToString::to_string).collect();
    let thread_names: Vec<String> = opened.threads.iter().map(|id| names.thread(*id)).collect();
    let start = of(
        &|thread| json!(opened.since(thread.start).max(0)),
        json!(-1),
    );
    let end = of(
        &|thread| json!(thread.end.map_or(-1, |end| opened.since(end))),
        json!(-1),
    );
    let group = of(&|thread| json!(thread.group), json!(""));
    let is_virtual = of(
        &|thread| json!(u8::from(thread.group == "VirtualThreads")),
        json!(0),
    );
    let Known {
        analysis,
        threads: of_threads,
        share,
    } = opened.known();
    let missing = analysis.lost.iter().map(|lost| {
        json!({
            "from": opened.since(lost.from),
            "until": opened.since(lost.to),
            "events": lost.events,
            "text": format!("lost: {}", lost.reason),
        })
    });
    let gaps = opened.trace.gaps().iter().take(MAX_MISSING).map(|gap| {
        let [from, until] = gap.span.map(|time| opened.since(time));
        let text = match &gap.threads {
            Some(threads) if gap.events == 0 => {
                format!("damaged: calls of {} threads are not known", threads.len())
            }
            _ => "damaged: the file can't be read here".to_owned(),
        };
        json!({ "from": from, "until": until, "events": gap.events, "text": text })
    });
    let missing = missing.chain(gaps);
    let clock = match analysis.clock {
        Some(note) => format!(
            "coarse clock: times of calls may be early by up to {} ns",
            note.longest.0.max(note.tick.0)
        ),
        None => "exact clock".to_owned(),
    };
    let record = analysis.cost.record;
    let cost = (record > 0).then(|| {
        let ns = analysis.cost.of(2) as f64;
        json!({ "per_call_ns": ns, "text": format!("about {ns} ns for each call") })
    });
    let calls = of_threads.values().map(|sum| sum.calls);
    let calls = calls.fold(0, u64::saturating_add);
    let of_sums = |get: &dyn Fn(&ThreadSum) -> Value| -> Vec<Value> {
        let of = |id| of_threads.get(id).copied().unwrap_or_default();
        opened.threads.iter().map(|id| get(&of(id))).collect()
    };
    json!({
        "title": opened.title,
        "program": "",
        "start": first.0.to_string(),
        "duration": last.since(first).0,
        "events": opened.trace.events(),
        "calls": calls,
        "clock": clock,
        "missing": missing.collect::<Vec<Value>>(),
        "remarks": remarks(opened),
        "cost": cost,
        "indexed": share,
        "live": opened.is_live(),
        "growing": opened.may_grow(),
        "threads": {
            "id": ids,
            "name": thread_names,
            "group": group,
            "virtual": is_virtual,
            "start": start,
            "end": end,
            "calls": of_sums(&|sum| json!(sum.calls)),
            "busy": of_sums(&|sum| json!(sum.busy)),
            "levels": of_sums(&|sum| json!(sum.levels)),
        },
    })
}

/// Returns what people should know about a trace.
fn remarks(opened: &Opened) -> Vec<String> {
    let mut remarks = opened.remarks.clone();
    match opened.trace.ending() {
        Ending::Complete => {}
        Ending::Truncated => {
            remarks.push("the trace is truncated: its last events are missing".to_owned());
        }
        Ending::Missing if opened.is_live() => {}
        Ending::Missing => remarks.push(
            "the trace has no end: the process was killed or still runs, or the file is cut off"
                .to_owned(),
        ),
    }
    let gaps = opened.trace.gaps();
    if !gaps.is_empty() {
        let events = gaps.iter().map(|gap| gap.events);
        let events = events.fold(0, u64::saturating_add);
        let places = match gaps.len() {
            1 => "1 place".to_owned(),
            count => format!("{count} places"),
        };
        remarks.push(format!(
            "the file is damaged in {places}: at least {events} events are missing"
        ));
    }
    remarks
}

/// Returns class, name and readable parameters of a method.
pub(crate) fn method_name(opened: &Opened, number: u32) -> [String; 3] {
    let names = opened.trace.names();
    let Some(id) = opened.trace.method(number) else {
        return Default::default();
    };
    let Some(method) = names.method(id) else {
        return [String::new(), format!("method-{id}"), String::new()];
    };
    let signature = jtrail_model::names::readable_signature(&method.signature);
    [names.class(method.class), method.name.clone(), signature]
}

pub(super) fn methods(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let numbers = query.numbers("ids", u32::MAX)?;
    let named = numbers.iter().take(MAX_NAMES).map(|number| {
        let name = method_name(opened, *number);
        (number.to_string(), json!(name))
    });
    Ok(Answer::json(&Value::Object(named.collect::<Map<_, _>>())))
}

/// Finds methods whose names, with their classes, contain a text.
pub(super) fn find(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let text = query.text("text").unwrap_or_default().to_lowercase();
    let sums = opened.whole();
    let mut sums = sums.lock();
    sums.advance(&opened.trace, TIME)?;
    let all = sums.all().iter();
    let mut found: Vec<(u32, &MethodSum)> = all
        .map(|(method, sum)| (method.0, sum))
        .filter(|(method, _)| {
            let [class, name, _] = method_name(opened, *method);
            format!("{class}.{name}").to_lowercase().contains(&text)
        })
        .collect();
    found.sort_by_key(|(method, sum)| (std::cmp::Reverse(sum.total), *method));
    let methods: Vec<Value> = found
        .into_iter()
        .take(MAX_FOUND)
        .map(|(method, sum)| json!([method, sum.calls, sum.total, sum.self_time]))
        .collect();
    Ok(Answer::json(
        &json!({ "methods": methods, "share": sums.share() }),
    ))
}
