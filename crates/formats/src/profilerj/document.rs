//! Sums to the document.

use super::encode::Encoder;
use super::text::{attribute, boolean, digits, number};
use super::threads::{Calls, Hits, Thread};
use super::tree::{Place, Tree, Visit};
use jtrail_model::MethodId;

/// What stands before everything else.
pub(super) const HEAD: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc>\n";

const MICROSECOND: u64 = 1000;

/// Appends all behind [`HEAD`].
pub(super) fn write(sums: &Encoder, out: &mut Vec<u8>) {
    section("profile", out, |out| profile(sums, out));
    section("sampler", out, |out| sampler(sums, out));
    section("memory", out, |out| memory(sums, out));
    section("coverage", out, |out| coverage(sums, out));
    out.extend_from_slice(b"</doc>\n");
}

fn section(name: &str, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    for part in ["<", name, ">\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    content(out);
    for part in ["</", name, ">\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn profile(sums: &Encoder, out: &mut Vec<u8>) {
    for thread in sums.calling.iter().filter_map(|id| sums.threads.get(*id)) {
        out.extend_from_slice(b"<thread");
        attribute("name", &thread.name, out);
        number("cpuTime", thread.cpu, out);
        boolean("isAlive", thread.end.is_none(), out);
        out.extend_from_slice(b">\n");
        sums.calls.walk(thread.calls, |visit, at| {
            match visit {
                Visit::Begin => call(sums, at, out),
                Visit::End => out.extend_from_slice(b"</profile>\n"),
            }
            true
        });
        out.extend_from_slice(b"</thread>\n");
    }
}

/// Writes a node's begin.
///
/// Each sum with callees is rounded down once, and what is without them is the difference. As nanoseconds
/// add up, that is never negative.
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
    out.extend_from_slice(b"<profile");
    attribute("name", name, out);
    attribute("signature", signature, out);
    number("count", node.sums.count, out);
    number("methodElapsed", method_elapsed, out);
    number("method", method, out);
    number("cumulatedElapsed", cumulated_elapsed, out);
    number("cumulated", cumulated, out);
    number("overheadCumulated", overhead_cumulated, out);
    number("overheadMethod", overhead_method, out);
    number("exceptions", node.sums.exceptions.min(node.sums.count), out);
    out.push(b'>');
}

fn sampler(sums: &Encoder, out: &mut Vec<u8>) {
    for thread in sums.sampled.iter().filter_map(|id| sums.threads.get(*id)) {
        let [runnable, all] = sums.samples.node(thread.samples).sums.all;
        if all == 0 {
            continue;
        }
        out.extend_from_slice(b"<thread");
        attribute("name", &thread.name, out);
        number("cumulated", runnable, out);
        number("cpuTime", thread.cpu, out);
        number("cumulatedElapsed", all, out);
        number("elapsedTime", thread.sampled_for(sums.last()), out);
        boolean("isAlive", thread.end.is_none(), out);
        out.extend_from_slice(b">\n");
        frames(sums, &sums.samples, thread, out);
        out.extend_from_slice(b"</thread>\n");
    }
}

fn frames(sums: &Encoder, tree: &Tree<Hits>, thread: &Thread, out: &mut Vec<u8>) {
    tree.walk(thread.samples, |visit, at| {
        if visit == Visit::End {
            out.extend_from_slice(b"</profile>\n");
            return true;
        }
        let node = tree.node(at);
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
    });
}

fn memory(sums: &Encoder, out: &mut Vec<u8>) {
    for (id, rows) in &sums.objects.threads {
        let rows = sums
            .objects
            .sorted(rows, |class| sums.names.class_by_number(class));
        if rows.is_empty() {
            continue;
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
    }
}

fn coverage(sums: &Encoder, out: &mut Vec<u8>) {
    for (class, methods) in &sums.coverage.classes {
        let Some(class) = sums.names.class(*class) else {
            continue;
        };
        out.extend_from_slice(b"<class");
        attribute("name", &class.name, out);
        if !class.source.is_empty() {
            attribute("source", &class.source, out);
        }
        out.extend_from_slice(b">\n");
        methods.iter().for_each(|id| footprints(sums, *id, out));
        out.extend_from_slice(b"</class>\n");
    }
}

fn footprints(sums: &Encoder, id: MethodId, out: &mut Vec<u8>) {
    let (Some(method), Some(lines)) = (sums.names.method(id), sums.coverage.lines(id)) else {
        return;
    };
    let counts = &lines.counts;
    let ends = counts.first_key_value().zip(counts.last_key_value());
    let (first, behind) = ends.map_or((0, 0), |((first, _), (last, _))| (*first, *last + 1));
    out.extend_from_slice(b"<method");
    attribute("name", &method.name, out);
    attribute("signature", &method.signature, out);
    number("firstline", first.into(), out);
    number("count", lines.calls, out);
    out.extend_from_slice(b"><footprints>");
    for line in first..behind {
        match counts.get(&line) {
            Some(count) => digits(*count, out),
            None => out.extend_from_slice(b"-1"),
        }
        out.push(b' ');
    }
    out.extend_from_slice(b"</footprints></method>\n");
}
