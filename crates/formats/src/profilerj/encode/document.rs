//! Sums to the document.

use super::Encoder;
use super::threads::{Calls, Hits};
use super::tree::{Place, Tree, Visit};
use crate::profilerj::text::{attribute, attribute_of, boolean, number};
use crate::xml::write_unsigned;
use jtrail_model::MethodId;

/// What stands before everything else.
pub(super) const HEAD: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc>\n";

const MICROSECOND: u64 = 1000;

/// Bytes that are appended at a time, and a few more.
const PART: usize = 1 << 20;

const SECTIONS: [(&str, Content); 4] = [
    ("profile", Content::Calls),
    ("sampler", Content::Samples),
    ("memory", Content::Objects),
    ("coverage", Content::Lines),
];

#[derive(Clone, Copy, Debug)]
enum Content {
    Calls,
    Samples,
    Objects,
    Lines,
}

/// How much of what stands behind [`HEAD`] is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Sections that are whole.
    sections: usize,
    /// Threads or classes of the next one that are whole, if it has begun.
    rows: Option<usize>,
    /// Where in the tree of the next thread.
    at: Option<(Visit, Place)>,
}

impl Written {
    /// Appends the next part. Answers whether more follows.
    pub(super) fn write(&mut self, sums: &Encoder, out: &mut Vec<u8>) -> bool {
        let full = out.len().saturating_add(PART);
        while out.len() < full {
            let Some((name, content)) = SECTIONS.get(self.sections) else {
                if self.sections == SECTIONS.len() {
                    out.extend_from_slice(b"</doc>\n");
                    self.sections += 1;
                }
                return false;
            };
            let Some(row) = self.rows else {
                out.extend_from_slice(format!("<{name}>\n").as_bytes());
                self.rows = Some(0);
                continue;
            };
            let more = match content {
                Content::Calls => self.calling_thread(sums, row, out),
                Content::Samples => self.sampled_thread(sums, row, out),
                Content::Objects => allocating_thread(sums, row, out),
                Content::Lines => class(sums, row, out),
            };
            if self.at.is_some() {
                continue;
            }
            self.rows = more.then_some(row + 1);
            if !more {
                out.extend_from_slice(format!("</{name}>\n").as_bytes());
                self.sections += 1;
            }
        }
        true
    }

    /// Begins a thread, or goes on with it. Answers whether there is one.
    fn calling_thread(&mut self, sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
        let Some(id) = sums.calling.get(row) else {
            return false;
        };
        let Some(thread) = sums.threads.get(*id) else {
            return true;
        };
        if self.at.is_some() {
            let begin = |at, out: &mut Vec<u8>| {
                call(sums, at, out);
                true
            };
            self.node(&sums.calls, thread.calls, begin, out);
        } else {
            out.extend_from_slice(b"<thread");
            attribute("name", &thread.name, out);
            number("cpuTime", thread.cpu, out);
            boolean("isAlive", thread.end.is_none(), out);
            out.extend_from_slice(b">\n");
            self.at = sums.calls.first(thread.calls);
        }
        self.end_thread(out);
        true
    }

    fn sampled_thread(&mut self, sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
        let Some(id) = sums.sampled.get(row) else {
            return false;
        };
        let Some(thread) = sums.threads.get(*id) else {
            return true;
        };
        let [runnable, all] = sums.samples.node(thread.samples).sums.all;
        if all == 0 {
            return true;
        }
        if self.at.is_some() {
            let begin = |at, out: &mut Vec<u8>| frame(sums, at, out);
            self.node(&sums.samples, thread.samples, begin, out);
        } else {
            out.extend_from_slice(b"<thread");
            attribute("name", &thread.name, out);
            number("cumulated", runnable, out);
            number("cpuTime", thread.cpu, out);
            number("cumulatedElapsed", all, out);
            number("elapsedTime", thread.sampled_for(sums.last()), out);
            boolean("isAlive", thread.end.is_none(), out);
            out.extend_from_slice(b">\n");
            self.at = sums.samples.first(thread.samples);
        }
        self.end_thread(out);
        true
    }

    /// Writes the begin or end of a node. `begin` answers whether there is anything to write of it.
    fn node<S: Default>(
        &mut self,
        tree: &Tree<S>,
        root: Place,
        begin: impl Fn(Place, &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) {
        let Some((visit, at)) = self.at else { return };
        let inside = match visit {
            Visit::Begin => begin(at, out),
            Visit::End => {
                out.extend_from_slice(b"</profile>\n");
                true
            }
        };
        self.at = tree.next(root, (visit, at), inside);
    }

    fn end_thread(&self, out: &mut Vec<u8>) {
        if self.at.is_none() {
            out.extend_from_slice(b"</thread>\n");
        }
    }
}

/// Writes a node's begin.
///
/// Each sum with callees is rounded down once, and what is without them is the difference. As
/// nanoseconds add up, that is never negative.
fn call(sums: &Encoder, at: Place, out: &mut Vec<u8>) {
    let node = sums.calls.node(at);
    let (name, signature) = sums.names.call_by_number(node.name);
    let both = |time: fn(&Calls) -> u64| {
        let with = time(&node.sums) / MICROSECOND;
        let callees = sums.calls.children(at).map(|c| time(&c.sums) / MICROSECOND);
        (with - callees.sum::<u64>(), with)
    };
    let (method_elapsed, cumulated_elapsed) = both(|sums| sums.elapsed);
    let (method, cumulated) = both(|sums| sums.cpu);
    let (overhead_method, overhead_cumulated) = both(|sums| sums.overhead);
    let count = node.sums.count.min(i64::MAX as u64); // readers take no more
    out.extend_from_slice(b"<profile");
    attribute_of("name", &name, out);
    attribute("signature", signature, out);
    number("count", count, out);
    number("methodElapsed", method_elapsed, out);
    number("method", method, out);
    number("cumulatedElapsed", cumulated_elapsed, out);
    number("cumulated", cumulated, out);
    number("overheadCumulated", overhead_cumulated, out);
    number("overheadMethod", overhead_method, out);
    number("exceptions", node.sums.exceptions.min(count), out);
    out.push(b'>');
}

/// Writes a frame's begin, if any sample ended there or below.
fn frame(sums: &Encoder, at: Place, out: &mut Vec<u8>) -> bool {
    let node = sums.samples.node(at);
    let Hits { own, all } = node.sums;
    if all[1] == 0 {
        return false;
    }
    out.extend_from_slice(b"<profile");
    attribute("name", sums.names.frame_by_number(node.name), out);
    number("hits", own[0], out);
    number("elapsed", own[1], out);
    number("cumulated", all[0], out);
    number("cumulatedElapsed", all[1], out);
    out.push(b'>');
    true
}

/// Writes what a thread allocated. Answers whether there is such a thread.
fn allocating_thread(sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
    let Some((id, rows)) = sums.objects.threads.get(row) else {
        return false;
    };
    let rows = sums
        .objects
        .sorted(rows, |class| sums.names.class_by_number(class));
    if rows.is_empty() {
        return true;
    }
    out.extend_from_slice(b"<thread");
    let name = sums.threads.get(*id).map_or("", |thread| &thread.name);
    attribute("name", name, out);
    out.extend_from_slice(b">\n");
    for (class, row) in rows {
        out.extend_from_slice(b"<memory");
        attribute("class", class, out);
        number("count", row.live, out);
        number("max", row.peak, out);
        out.extend_from_slice(b"/>\n");
    }
    out.extend_from_slice(b"</thread>\n");
    true
}

/// Writes the lines of a class. Answers whether there is one.
fn class(sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
    let Some((class, methods)) = sums.coverage.classes.get(row) else {
        return false;
    };
    let Some(class) = sums.names.class(*class) else {
        return true;
    };
    out.extend_from_slice(b"<class");
    attribute("name", &class.name, out);
    if !class.source.is_empty() {
        attribute("source", &class.source, out);
    }
    out.extend_from_slice(b">\n");
    methods.iter().for_each(|id| footprints(sums, *id, out));
    out.extend_from_slice(b"</class>\n");
    true
}

fn footprints(sums: &Encoder, id: MethodId, out: &mut Vec<u8>) {
    let (Some(method), Some(lines)) = (sums.names.method(id), sums.coverage.lines(id)) else {
        return;
    };
    let counts = &lines.counts;
    let ends = counts.first_key_value().zip(counts.last_key_value());
    let (first, after) = ends.map_or((0, 0), |((first, _), (last, _))| (*first, *last + 1));
    out.extend_from_slice(b"<method");
    attribute("name", &method.name, out);
    attribute("signature", &method.signature, out);
    number("firstline", first.into(), out);
    number("count", lines.calls, out);
    out.extend_from_slice(b"><footprints>");
    for line in first..after {
        match counts.get(&line) {
            Some(count) => write_unsigned(*count, out),
            None => out.extend_from_slice(b"-1"),
        }
        out.push(b' ');
    }
    out.extend_from_slice(b"</footprints></method>\n");
}
