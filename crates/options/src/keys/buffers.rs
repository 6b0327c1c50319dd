//! Keys of the memory between the program and the writer.

use super::{put, text};
use crate::key::{KEY, Key, Subject};
use crate::options::Options;
use crate::value::{Overflow, Priority, parse_buffer, size_text};

pub(super) const SUBJECT: Subject = Subject {
    title: "Buffers and writing",
    keys: &[
        Key {
            name: "buffer",
            values: "size of all buffers together, from 1m to 64g",
            help: "Memory between the program and the writer",
            set: |builder, value| put(&mut builder.options.buffer_bytes, parse_buffer(value)),
            show: |options| text(size_text(options.buffer_bytes)),
            ..KEY
        },
        Key {
            name: "overflow",
            words: Overflow::WORDS,
            help: "When all buffers are full: wait and lose nothing, drop events and count \
                   them, or keep only the newest events until `save` writes them",
            set: |builder, value| put(&mut builder.options.overflow, Overflow::parse(value)),
            show: |options| text(options.overflow),
            ..KEY
        },
        Key {
            name: "save",
            values: "exit request oom, call:METHOD[:N], slow:METHOD:TIME, exception:CLASS, joined \
                     with +",
            help: "With overflow=ring: write what is in the buffers when the program ends, when \
                   the JVM is asked for it (jtrail request PID), when it is out of memory; when a \
                   method is called, a call takes longer, or an exception is thrown, once in 10 s",
            set: |builder, value| builder.set_save(value),
            show: save_text,
            matters: |options| options.overflow == Overflow::Ring,
            ..KEY
        },
        Key {
            name: "priority",
            words: Priority::WORDS,
            help: "Priority of the threads that write the trace; with low, the program gets \
                   the processors first, and may wait longer for free buffers",
            set: |builder, value| put(&mut builder.options.priority, Priority::parse(value)),
            show: |options| text(options.priority),
            ..KEY
        },
    ],
};

/// Returns the moments of `save`, followed by its triggers.
fn save_text(options: &Options) -> Option<String> {
    let moments = (!options.save.is_empty()).then(|| options.save.to_string());
    let triggers = options.bursts.iter().map(|burst| burst.trigger.to_string());
    let all: Vec<String> = moments.into_iter().chain(triggers).collect();
    Some(all.join("+"))
}
