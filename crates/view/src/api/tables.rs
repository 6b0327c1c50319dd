//! Tables about a span.

mod paths;
mod rows;

use super::longest::length;
use super::query::Query;
use super::session::Opened;
use super::{Answer, Fault, TIME, calls};
use crate::{Collection, Events, MethodSum, ThreadSum};
use jtrail_model::{Cost, ThreadId, Timestamp};
use rows::{Column, Table};
use serde_json::json;
use std::collections::BTreeMap;

/// Number of waits for which the object and what its owner does are looked up.
const MAX_SHOWN: usize = 200;

pub(super) fn table(opened: &Opened, query: &Query) -> Result<Answer, Fault> {
    let span = opened.span(query)?;
    let threads = opened.selected(query)?;
    let what = query.text("what").unwrap_or_default();
    // Without `net`, and in traces that do not have the time of recording, nothing is subtracted.
    let cost = match query.text("net") {
        Some("1") => opened.known().analysis.cost,
        _ => Cost::default(),
    };
    let (table, share) = match what {
        "methods" | "threads" => {
            let totals = opened.totals(span, &threads);
            let mut totals = totals.lock();
            totals.advance(&opened.trace, TIME)?;
            let table = match what {
                "methods" => methods(totals.all().iter().map(|(of, sum)| (of.0, sum.net(cost)))),
                _ => by_thread(opened, totals.threads(), cost),
            };
            (table, totals.share())
        }
        "callers" | "callees" => {
            let method: u32 = query.number("method")?;
            let edges = opened.edges(span, &threads);
            let mut edges = edges.lock();
            edges.advance(&opened.trace, TIME)?;
            let of_method = edges.all().iter().filter_map(|(edge, sum)| {
                let (own, other) = match what {
                    "callees" => (edge.caller, edge.callee),
                    _ => (edge.callee, edge.caller),
                };
                (own == method).then(|| (other, sum.net(cost)))
            });
            (methods(of_method), edges.share())
        }
        "tree" => {
            let sums = opened.sums(span, &threads);
            let mut sums = sums.lock();
            sums.advance(&opened.trace, TIME)?;
            return Ok(Answer::json(&paths::tree(&sums, cost, query)?));
        }
        "allocations" | "exceptions" => {
            let events = opened.events(span, &threads);
            let mut events = events.lock();
            events.advance(&opened.trace, TIME)?;
            let table = match what {
                "allocations" => allocations(opened, &events),
                _ => exceptions(opened, &events),
            };
            (table, events.share())
        }
        "collections" => match opened.trace.index() {
            Some(index) => {
                let all: Vec<Collection> = index.facts().collections(span).collect();
                (collections(opened, &all), 1.0)
            }
            None => {
                // Collections are the JVM's, and belong to no thread.
                let overview = opened.overview(span, 1, &[]);
                let mut overview = overview.lock();
                overview.advance(&opened.trace, TIME)?;
                let table = collections(opened, overview.collections());
                (table, overview.share())
            }
        },
        "waits" => waits(opened, span, &threads)?,
        _ => return Err(Fault::Request(format!("what: there is no table {what:?}"))),
    };
    let mut answer = table.answer(opened, query)?;
    answer["share"] = json!(share);
    Ok(Answer::json(&answer))
}

/// Returns the table of methods, the one with the most self time first.
fn methods(sums: impl Iterator<Item = (u32, MethodSum)>) -> Table {
    let sums = sums.filter(|(_, sum)| *sum != MethodSum::default());
    Table {
        columns: vec![
            Column::new("method", "method"),
            Column::new("calls", "count"),
            Column::new("self", "ns"),
            Column::new("total", "ns"),
        ],
        rows: sums
            .map(|(method, sum)| {
                vec![
                    json!(method),
                    json!(sum.calls),
                    json!(sum.self_time),
                    json!(sum.total),
                ]
            })
            .collect(),
        order: 2,
    }
}

fn by_thread(opened: &Opened, sums: &BTreeMap<ThreadId, ThreadSum>, cost: Cost) -> Table {
    Table {
        columns: vec![
            Column::new("thread", "thread"),
            Column::new("calls", "count"),
            Column::new("busy", "ns"),
        ],
        rows: sums
            .iter()
            .map(|(id, sum)| (opened.number(*id), sum.net(cost)))
            .map(|(thread, sum)| vec![json!(thread), json!(sum.calls), json!(sum.busy)])
            .collect(),
        order: 2,
    }
}

fn allocations(opened: &Opened, events: &Events) -> Table {
    let names = opened.trace.names();
    let rows = events.allocations().iter().map(|(class, allocated)| {
        vec![
            json!(names.class(*class)),
            json!(allocated.objects),
            json!(allocated.bytes),
        ]
    });
    Table {
        columns: vec![
            Column::new("class", "text"),
            Column::new("objects", "count"),
            Column::new("bytes", "bytes"),
        ],
        rows: rows.collect(),
        order: 2,
    }
}

fn exceptions(opened: &Opened, events: &Events) -> Table {
    let names = opened.trace.names();
    let rows = events.throws().iter().map(|((class, site), throws)| {
        let [first, last] = throws.times.map(|time| opened.since(time));
        vec![
            json!(names.class(*class)),
            json!(events.frames().readable_site(*site)),
            json!(throws.count),
            json!(first),
            json!(last),
        ]
    });
    Table {
        columns: vec![
            Column::new("exception", "text"),
            Column::new("thrown in", "text"),
            Column::new("thrown", "count"),
            Column::new("first", "time"),
            Column::new("last", "time"),
        ],
        rows: rows.collect(),
        order: 2,
    }
}

fn collections(opened: &Opened, collections: &[Collection]) -> Table {
    let rows = collections.iter().map(|collection| {
        let begin = opened.since(collection.begin).max(0);
        let used = (collection.used > 0).then_some(collection.used);
        vec![
            json!(begin),
            json!(opened.since(collection.end).saturating_sub(begin)),
            json!(collection.generation.name()),
            json!(collection.cause),
            json!(used),
        ]
    });
    Table {
        columns: vec![
            Column::new("begin", "time"),
            Column::new("length", "ns"),
            Column::new("part", "text"),
            Column::new("cause", "text"),
            Column::new("used after", "bytes"),
        ],
        rows: rows.collect(),
        order: 0,
    }
}

/// Returns the longest waits of some threads, or of all, and which share of what they are for is
/// known.
fn waits(
    opened: &Opened,
    span: [Timestamp; 2],
    threads: &[ThreadId],
) -> Result<(Table, f64), Fault> {
    let kept = opened.waits(span, threads);
    let mut kept = kept.lock();
    let all = kept.all(&opened.trace)?;
    let share = opened.find_classes(all.iter().take(MAX_SHOWN), TIME)?;
    let names = ["blocked on a monitor", "Object.wait", "parked"];
    let rows = all.iter().enumerate().map(|(place, wait)| {
        // Finding what the owner does takes a look at its calls: the longest waits have it.
        let shown = match place < MAX_SHOWN {
            true => calls::written(opened, wait)?,
            false => {
                json!({ "object": null, "owner": opened.number(wait.owner), "owner_in": null })
            }
        };
        let kind = usize::from(super::pictures::kind(wait.kind)).saturating_sub(2);
        Ok(vec![
            json!(opened.since(wait.begin).max(0)),
            json!(length(&opened.trace, wait)),
            json!(opened.number(wait.thread)),
            json!(names.get(kind)),
            shown["object"].clone(),
            shown["owner"].clone(),
            shown["owner_in"]["method"].clone(),
        ])
    });
    let table = Table {
        columns: vec![
            Column::new("begin", "time"),
            Column::new("length", "ns"),
            Column::new("thread", "thread"),
            Column::new("wait", "text"),
            Column::new("object", "text"),
            Column::new("held by", "thread"),
            Column::new("which was in", "method"),
        ],
        rows: rows.collect::<Result<_, Fault>>()?,
        order: 1,
    };
    Ok((table, share))
}
