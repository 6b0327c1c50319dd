//! Measures time and memory of the two expensive parts of a report: a heap dump with dominators,
//! and the table of objects.
//!
//! `cargo run --release -p jtrail-cli --example report_speed [million objects of each]`

#![forbid(unsafe_code)]

use jtrail_analysis::{Heap, Objects};
use jtrail_model::{
    ClassId, Event, GcRoot, HeapDump, HeapDumpEnd, HeapDumpId, HeapObject, ObjectAlloc, ObjectFree,
    ObjectId, ObjectReference, ThreadId,
};
use std::time::Instant;

/// Returns a memory figure of this process in MiB, or 0 if the system does not provide it.
fn resident(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(what));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) >> 10
}

fn main() {
    let millions = std::env::args().nth(1).and_then(|n| n.parse::<u64>().ok());
    let millions = millions.unwrap_or(5);
    heap(millions * 1_000_000, 1_000);
    heap(millions * 1_000_000, u64::MAX);
    objects(millions * 1_000_000);
}

/// Measures a heap dump.
///
/// Each object is referenced by a slightly older object. It also refers to one of the next `near`
/// objects. A small `near` resembles the heap of a program. A large `near` is the worst case for
/// caches.
fn heap(n: u64, near: u64) {
    let objects = Objects::default();
    let mut heap = Heap::new(true);
    let dump = HeapDumpId(1);
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let begin = Instant::now();
    heap.event(
        &Event::HeapDump(HeapDump {
            dump,
            ..HeapDump::default()
        }),
        &objects,
    );
    let reference = |source: u64, target: u64| {
        Event::ObjectReference(ObjectReference {
            source: ObjectId(source),
            target: ObjectId(target),
            dump,
        })
    };
    for id in 1..=n {
        let object = HeapObject {
            dump,
            object: ObjectId(id),
            class: ClassId(1 + id % 1_000),
            size: 24,
        };
        heap.event(&Event::HeapObject(object), &objects);
        if id % 1_000 == 1 {
            let root = GcRoot {
                object: ObjectId(id),
                ..GcRoot::default()
            };
            heap.event(&Event::GcRoot(root), &objects);
        } else {
            heap.event(&reference(id - 1 - random(id.min(100)), id), &objects);
        }
        heap.event(&reference(id, 1 + (id + random(near.min(n))) % n), &objects);
    }
    let read = begin.elapsed();
    let begin = Instant::now();
    let end = HeapDumpEnd {
        dump,
        ..HeapDumpEnd::default()
    };
    heap.event(&Event::HeapDumpEnd(end), &objects);
    let done = &heap.dumps[0];
    println!(
        "heap: {} objects, {} references, near {near}: read in {read:.1?}, summed up in {:.1?}, peak {} MiB",
        done.all.objects,
        done.references,
        begin.elapsed(),
        resident("VmHWM")
    );
}

/// Measures the table of objects: all are allocated, every second one is freed.
fn objects(n: u64) {
    let before = resident("VmRSS");
    let mut objects = Objects::default();
    let begin = Instant::now();
    for id in 1..=n {
        let alloc = ObjectAlloc {
            thread: ThreadId(1 + id % 8),
            object: ObjectId(id),
            class: ClassId(1 + id % 1_000),
            size: 24,
            ..ObjectAlloc::default()
        };
        objects.event(&Event::ObjectAlloc(alloc), true);
        if id % 2 == 0 {
            let free = ObjectFree {
                object: ObjectId(id),
                ..ObjectFree::default()
            };
            objects.event(&Event::ObjectFree(free), true);
        }
    }
    let took = begin.elapsed();
    let live: u64 = objects.live_by_class().map(|(_, a)| a.objects).sum();
    println!(
        "objects: {n} in {took:.1?}, {live} alive, {} MiB",
        resident("VmRSS").saturating_sub(before)
    );
}
