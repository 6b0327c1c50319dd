//! Keys of objects, heap snapshots, stacks and samples.

use super::{put, text};
use crate::key::{KEY, Key, Subject};
use crate::set::HeapMoments;
use crate::value::{
    AllocMode, BOOLEANS, interval_text, parse_boolean, parse_interval, parse_stack_depth,
};

pub(super) const SUBJECT: Subject = Subject {
    title: "Objects, heap, stacks and samples",
    keys: &[
        Key {
            name: "alloc",
            words: AllocMode::WORDS,
            help: "With events=alloc: the JVM reports every object, or cheap probes report those \
                   that code creates; with free and no other kind that names objects, their ends \
                   as well",
            set: |builder, value| put(&mut builder.options.alloc, AllocMode::parse(value)),
            show: |options| text(options.alloc),
            ..KEY
        },
        Key {
            name: "allocsites",
            words: BOOLEANS,
            help: "With events=alloc: record the method and the line that created each object",
            set: |builder, value| put(&mut builder.options.alloc_sites, parse_boolean(value)),
            show: |options| text(options.alloc_sites),
            ..KEY
        },
        Key {
            name: "heap",
            values: "exit request gc forced, joined with +: at the end, on request (jtrail \
                     request PID), after collections (those that finish before their snapshot \
                     begins share it), before and after each collection that a client forces \
                     (jtrail ctl PID gc)",
            help: "With events=heap: when a snapshot of the heap is taken",
            set: |builder, value| put(&mut builder.options.heap, HeapMoments::parse(value)),
            show: |options| text(options.heap),
            ..KEY
        },
        Key {
            name: "stackdepth",
            values: "number of frames, from 0 to 1024",
            default_note: "1024 for samples in tracelog and profilerj",
            help: "Frames of a stack taken with monitor events, parks, exceptions and samples: \
                   the innermost; of samples in tracelog and profilerj the outermost",
            set: |builder, value| {
                put(
                    &mut builder.options.stack_depth,
                    parse_stack_depth(value).map(Some),
                )
            },
            show: |options| text(options.sample_frames()),
            ..KEY
        },
        Key {
            name: "interval",
            values: "time like 10ms, 2s or 1m, from 1ms to 60m",
            help: "With events=samples: pause between two samples",
            set: |builder, value| put(&mut builder.options.interval, parse_interval(value)),
            show: |options| text(interval_text(options.interval)),
            ..KEY
        },
    ],
};
