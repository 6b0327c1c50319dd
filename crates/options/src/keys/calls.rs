//! Keys about calls: how they are recorded, timed and written.

use super::{put, text};
use crate::key::{KEY, Key, Subject};
use crate::value::{
    BOOLEANS, Clock, Engine, Trivial, duration_text, parse_boolean, parse_min, parse_rate,
    parse_tick,
};

pub(super) const SUBJECT: Subject = Subject {
    title: "Calls",
    keys: &[
        Key {
            name: "execdetails",
            words: BOOLEANS,
            help: "Write each call, or with false the sums of each thread and call path",
            set: |builder, value| put(&mut builder.options.exec_details, parse_boolean(value)),
            show: |options| text(options.exec_details),
            ..KEY
        },
        Key {
            name: "min",
            values: "time like 500us, 10ms or 2s, from 1ns to 1h",
            help: "Record calls shorter than this only as sums, by method and caller",
            set: |builder, value| put(&mut builder.options.min, parse_min(value).map(Some)),
            show: |options| options.min.map(duration_text),
            ..KEY
        },
        Key {
            name: "maxrate",
            values: "calls a second, from 10 to 1000000000000",
            help: "Record a method's calls only as such sums once it is called more often \
                   than this; the trace names these methods",
            set: |builder, value| put(&mut builder.options.max_rate, parse_rate(value).map(Some)),
            show: |options| options.max_rate.map(|rate| rate.to_string()),
            ..KEY
        },
        Key {
            name: "trivial",
            words: Trivial::WORDS,
            help: "Calls of short methods without calls, loops and monitors (accessors): record \
                   them, or leave them out and name the methods",
            set: |builder, value| put(&mut builder.options.trivial, Trivial::parse(value)),
            show: |options| text(options.trivial),
            ..KEY
        },
        Key {
            name: "engine",
            words: Engine::WORDS,
            help: "How calls are recorded: by rewritten classes, or by the JVM's own slow \
                   events",
            set: |builder, value| put(&mut builder.options.engine, Engine::parse(value)),
            show: |options| text(options.engine),
            ..KEY
        },
        Key {
            name: "clock",
            words: Clock::WORDS,
            help: "How calls get their time: from the clock at each enter and leave, or only \
                   where the clock has ticked since the thread's last event, which costs far less",
            set: |builder, value| put(&mut builder.options.clock, Clock::parse(value)),
            show: |options| text(options.clock),
            ..KEY
        },
        Key {
            name: "tick",
            values: "time like 50us or 1ms, from 10us to 10ms",
            help: "With clock=tick: how often the clock ticks",
            set: |builder, value| put(&mut builder.options.tick, parse_tick(value)),
            show: |options| text(duration_text(options.tick)),
            matters: |options| options.has_ticks(),
            ..KEY
        },
    ],
};
