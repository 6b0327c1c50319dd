//! The memory that readers take is in proportion to what they read, whatever that is. The one test goes
//! through all of it, since memory is measured for the whole process.

#[path = "common/corpus.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "other tests share it"
)]
mod corpus;
#[path = "common/decoding.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "other tests share it"
)]
mod decoding;
#[path = "common/memory.rs"]
#[allow(missing_docs, unreachable_pub, reason = "other tests share it")]
mod memory;

use decoding::drain;
use jtrail_formats::{Checker, Format};
use jtrail_model::*;
use memory::{bounded, unpacked};

/// Reads and checks a trace.
fn read(format: Format, bytes: &[u8]) {
    bounded(bytes.len() + unpacked(format), || {
        let mut checker = Checker::of(format);
        drain(format, bytes, |offset, event| checker.event(offset, event));
        checker.finish();
    });
}

#[test]
fn memory_is_in_proportion_to_the_input() {
    for format in Format::ALL {
        for (_, mut bytes) in corpus::files(format) {
            for at in 0..bytes.len() {
                read(format, &bytes[..at]);
                for flip in [0x01, 0x80, 0xff] {
                    bytes[at] ^= flip;
                    read(format, &bytes);
                    bytes[at] ^= flip;
                }
            }
        }
    }
    for what in [threads, classes, calls] {
        let events = what();
        for format in Format::ALL {
            let mut encoder = format.encoder();
            let mut out = Vec::new();
            encoder.begin(&mut out);
            events
                .iter()
                .for_each(|event| encoder.event(event, &mut out));
            encoder.end(&mut out);
            read(format, &out);
        }
    }
}

/// Traces that look sound, with more of one thing than a program has.
const MANY: u64 = 100_000;

fn threads() -> Vec<Event<'static>> {
    let thread = |n: u64| {
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(n),
            time: Timestamp(n as i64),
            ..Default::default()
        })
    };
    (1..=MANY).map(thread).collect()
}

/// As many methods, each in a class of its own.
fn classes() -> Vec<Event<'static>> {
    let class = |n: u64| {
        let class = ClassDef {
            class: ClassId(n),
            name: format!("C{n}").into(),
            ..Default::default()
        };
        let method = MethodDef {
            method: MethodId(n),
            class: ClassId(n),
            name: "m".into(),
            signature: "()V".into(),
            ..Default::default()
        };
        [Event::ClassDef(class), Event::MethodDef(method)]
    };
    (1..=MANY).flat_map(class).collect()
}

/// Calls that never end, inside of each other.
fn calls() -> Vec<Event<'static>> {
    let call = |n: u64| {
        Event::MethodEnter(MethodEnter {
            thread: ThreadId(1),
            time: Timestamp(n as i64),
            method: MethodId(1),
            class: ClassId(1),
            ticket: n as u32,
            stack_depth: n as i64,
            ..Default::default()
        })
    };
    let definitions = [threads().swap_remove(0)]
        .into_iter()
        .chain(classes().into_iter().take(2));
    definitions.chain((1..=MANY).map(call)).collect()
}
