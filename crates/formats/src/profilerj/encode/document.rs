//! Writes the sums as a document.

use super::Encoder;
use super::threads::{Calls, Hits};
use super::tree::{Place, Tree, Visit};
use super::value::{attribute, attribute_of, begin, boolean, end, number};
use crate::profilerj::wire::{
    ALLOCATING, CALL, CALLING, CLASS, COVERAGE, COVERED_CLASS, COVERED_METHOD, END, FOOTPRINTS,
    FRAME, MEMORY, METHOD, MICROSECOND, NO_CODE, NODE, OBJECTS, PROFILE, ROW, SAMPLED, SAMPLER,
    THREAD,
};
use crate::xml::write_unsigned;
use jtrail_model::MethodId;

/// Approximate number of bytes that one call of [`Written::write`] appends.
const PART: usize = 1 << 20;

const SECTIONS: [(&str, Content); 4] = [
    (PROFILE, Content::Calls),
    (SAMPLER, Content::Samples),
    (MEMORY, Content::Objects),
    (COVERAGE, Content::Lines),
];

#[derive(Clone, Copy, Debug)]
enum Content {
    Calls,
    Samples,
    Objects,
    Lines,
}

/// Progress in writing the document after [`HEAD`].
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Number of complete sections.
    sections: usize,
    /// Number of complete threads or classes of the next section; `None` if this section has not
    /// begun.
    rows: Option<usize>,
    /// Position in the tree of the next thread.
    at: Option<(Visit, Place)>,
}

impl Written {
    /// Appends the next part. Returns true if more follows.
    pub(super) fn write(&mut self, sums: &Encoder, out: &mut Vec<u8>) -> bool {
        let full = out.len().saturating_add(PART);
        while out.len() < full {
            let Some((name, content)) = SECTIONS.get(self.sections) else {
                if self.sections == SECTIONS.len() {
                    out.extend_from_slice(END);
                    self.sections += 1;
                }
                return false;
            };
            let Some(row) = self.rows else {
                begin(name, out);
                out.extend_from_slice(b">\n");
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
                end(name, out);
                out.push(b'\n');
                self.sections += 1;
            }
        }
        true
    }

    /// Begins or continues a thread with calls. Returns false if there is no thread `row`.
    fn calling_thread(&mut self, sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
        let Some(id) = sums.calling.get(row) else {
            return false;
        };
        let Some(thread) = sums.threads.get(*id) else {
            return true;
        };
        if self.at.is_some() {
            let begins = |at, out: &mut Vec<u8>| {
                call(sums, at, out);
                true
            };
            self.node(&sums.calls, thread.calls, begins, out);
        } else {
            let &[name, cpu_time, is_alive] = CALLING;
            begin(THREAD, out);
            attribute(name, &thread.name, out);
            number(cpu_time, thread.cpu, out);
            boolean(is_alive, thread.end.is_none(), out);
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
            let begins = |at, out: &mut Vec<u8>| frame(sums, at, out);
            self.node(&sums.samples, thread.samples, begins, out);
        } else {
            let &[
                name,
                cumulated,
                cpu_time,
                cumulated_elapsed,
                elapsed,
                is_alive,
            ] = SAMPLED;
            begin(THREAD, out);
            attribute(name, &thread.name, out);
            number(cumulated, runnable, out);
            number(cpu_time, thread.cpu, out);
            number(cumulated_elapsed, all, out);
            number(elapsed, thread.sampled_for(sums.last()), out);
            boolean(is_alive, thread.end.is_none(), out);
            out.extend_from_slice(b">\n");
            self.at = sums.samples.first(thread.samples);
        }
        self.end_thread(out);
        true
    }

    /// Writes the start or end tag of a node. `begins` writes the start tag; it returns false if
    /// the node is omitted.
    fn node<S: Default>(
        &mut self,
        tree: &Tree<S>,
        root: Place,
        begins: impl Fn(Place, &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) {
        let Some((visit, at)) = self.at else { return };
        let inside = match visit {
            Visit::Begin => begins(at, out),
            Visit::End => {
                end(NODE, out);
                out.push(b'\n');
                true
            }
        };
        self.at = tree.next(root, (visit, at), inside);
    }

    fn end_thread(&self, out: &mut Vec<u8>) {
        if self.at.is_none() {
            end(THREAD, out);
            out.push(b'\n');
        }
    }
}

/// Writes the start tag of a call.
///
/// Each sum with callees is rounded down once. The sum without callees is the difference between
/// this sum and the sums of the children. It is never negative, because the sums in nanoseconds are
/// exact.
fn call(sums: &Encoder, at: Place, out: &mut Vec<u8>) {
    let node = sums.calls.node(at);
    let (name, signature) = sums.definitions.call_by_number(node.name);
    let both = |time: fn(&Calls) -> u64| {
        let with = time(&node.sums) / MICROSECOND;
        let callees = sums.calls.children(at).map(|c| time(&c.sums) / MICROSECOND);
        (with - callees.sum::<u64>(), with)
    };
    let (method_elapsed, cumulated_elapsed) = both(|sums| sums.elapsed);
    let (method, cumulated) = both(|sums| sums.cpu);
    let (overhead_method, overhead_cumulated) = both(|sums| sums.overhead);
    let count = node.sums.count.min(i64::MAX as u64); // readers take no more
    let &[name_of, signature_of, numbers @ ..] = CALL;
    begin(NODE, out);
    attribute_of(name_of, &name, out);
    attribute(signature_of, signature, out);
    let values = [
        count,
        method_elapsed,
        method,
        cumulated_elapsed,
        cumulated,
        overhead_cumulated,
        overhead_method,
        node.sums.exceptions.min(count),
    ];
    for (name, value) in numbers.into_iter().zip(values) {
        number(name, value, out);
    }
    out.push(b'>');
}

/// Writes the start tag of a frame. Returns false if no sample ended in the frame or its callees.
fn frame(sums: &Encoder, at: Place, out: &mut Vec<u8>) -> bool {
    let node = sums.samples.node(at);
    let Hits { own, all } = node.sums;
    if all[1] == 0 {
        return false;
    }
    let &[name, hits, elapsed, cumulated, cumulated_elapsed] = FRAME;
    begin(NODE, out);
    attribute(name, sums.definitions.frame_by_number(node.name), out);
    number(hits, own[0], out);
    number(elapsed, own[1], out);
    number(cumulated, all[0], out);
    number(cumulated_elapsed, all[1], out);
    out.push(b'>');
    true
}

/// Writes the allocations of a thread. Returns false if there is no thread `row`.
fn allocating_thread(sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
    let Some((id, rows)) = sums.objects.threads.get(row) else {
        return false;
    };
    let rows = sums
        .objects
        .sorted(rows, |class| sums.definitions.class_by_number(class));
    if rows.is_empty() {
        return true;
    }
    let &[name] = ALLOCATING;
    begin(THREAD, out);
    let thread = sums.threads.get(*id);
    attribute(name, thread.map_or("", |thread| &thread.name), out);
    out.extend_from_slice(b">\n");
    let &[class_of, count, max] = OBJECTS;
    for (class, row) in rows {
        begin(ROW, out);
        attribute(class_of, class, out);
        number(count, row.live, out);
        number(max, row.peak, out);
        out.extend_from_slice(b"/>\n");
    }
    end(THREAD, out);
    out.push(b'\n');
    true
}

/// Writes the lines of a class. Returns false if there is no class `row`.
fn class(sums: &Encoder, row: usize, out: &mut Vec<u8>) -> bool {
    let Some((class, methods)) = sums.coverage.classes.get(row) else {
        return false;
    };
    let Some(class) = sums.definitions.class(*class) else {
        return true;
    };
    let &[name, source, _] = COVERED_CLASS;
    begin(CLASS, out);
    attribute(name, &class.name, out);
    if !class.source.is_empty() {
        attribute(source, &class.source, out);
    }
    out.extend_from_slice(b">\n");
    methods.iter().for_each(|id| footprints(sums, *id, out));
    end(CLASS, out);
    out.push(b'\n');
    true
}

fn footprints(sums: &Encoder, id: MethodId, out: &mut Vec<u8>) {
    let (Some(method), Some(lines)) = (sums.definitions.method(id), sums.coverage.lines(id)) else {
        return;
    };
    let counts = &lines.counts;
    let ends = counts.first_key_value().zip(counts.last_key_value());
    let (first, after) = ends.map_or((0, 0), |((first, _), (last, _))| (*first, *last + 1));
    let &[name, signature, first_line, count] = COVERED_METHOD;
    begin(METHOD, out);
    attribute(name, &method.name, out);
    attribute(signature, &method.signature, out);
    number(first_line, first.into(), out);
    number(count, lines.calls, out);
    out.push(b'>');
    begin(FOOTPRINTS, out);
    out.push(b'>');
    for line in first..after {
        match counts.get(&line) {
            Some(count) => write_unsigned(*count, out),
            None => out.extend_from_slice(NO_CODE.as_bytes()),
        }
        out.push(b' ');
    }
    end(FOOTPRINTS, out);
    end(METHOD, out);
    out.push(b'\n');
}
