//! Keys that belong to some formats: the format's name is before the dot, or `export` for all
//! formats of other tools.

use super::{put, text};
use crate::key::{KEY, Key, Subject};
use crate::value::{
    BOOLEANS, MlpdVersion, Weight, duration_text, interval_text, parse_boolean, parse_interval,
    parse_levels, parse_min, parse_writers,
};

pub(super) const SUBJECT: Subject = Subject {
    title: "Of some formats (no effect with others)",
    keys: &[
        Key {
            name: "mlpd.version",
            former: &["mlpd"],
            words: MlpdVersion::WORDS,
            help: "Data version of the log profile",
            set: |builder, value| put(&mut builder.options.mlpd, MlpdVersion::parse(value)),
            show: |options| text(options.mlpd),
            ..KEY
        },
        Key {
            name: "tracelog.every-sample",
            former: &["everysample"],
            words: BOOLEANS,
            help: "Write a line for each sample, instead of one for consecutive samples \
                   with the same stack",
            set: |builder, value| put(&mut builder.options.every_sample, parse_boolean(value)),
            show: |options| text(options.every_sample),
            ..KEY
        },
        Key {
            name: "tracelog.cpu-interval",
            former: &["cpuinterval"],
            values: "time like 10ms, 2s or 1m, from 1ms to 60m",
            help: "Minimum interval between two lines of CPU time, and interval of the sums \
                   of allocations",
            set: |builder, value| put(&mut builder.options.cpu_interval, parse_interval(value)),
            show: |options| text(interval_text(options.cpu_interval)),
            ..KEY
        },
        Key {
            name: "tracelog.visual-studio",
            former: &["visualstudio"],
            words: BOOLEANS,
            help: "Write the JVM's own lines so that the Visual Studio tools read them",
            set: |builder, value| put(&mut builder.options.visual_studio, parse_boolean(value)),
            show: |options| text(options.visual_studio),
            ..KEY
        },
        Key {
            name: "trail.spool",
            former: &["spool"],
            words: BOOLEANS,
            help: "For a trail in a file, with execdetails=true: keep the buffers in a folder \
                   beside the trace (FILE.spool), where jtrail recover finds what was not written \
                   yet when the process was killed",
            set: |builder, value| put(&mut builder.options.spool, parse_boolean(value)),
            show: |options| text(options.spool),
            ..KEY
        },
        Key {
            name: "trail.writers",
            former: &["writers"],
            values: "auto | number, from 0 to 8",
            default_note: "one for each four processors, 8 at most",
            help: "Number of threads that help the writer: they compress what it writes",
            set: |builder, value| put(&mut builder.options.writers, parse_writers(value)),
            show: |options| {
                let count = options.writers.map(|count| count.to_string());
                Some(count.unwrap_or_else(|| "auto".to_owned()))
            },
            ..KEY
        },
        Key {
            name: "export.min",
            values: "time like 500us, 10ms or 2s, from 1ns to 1h",
            help: "For perfetto, chrome, jfr and collapsed: write no calls and waits shorter than \
                   this; they become part of their callers (min makes sums of calls, which perfetto \
                   and chrome have no field for)",
            set: |builder, value| put(&mut builder.options.export_min, parse_min(value).map(Some)),
            show: |options| options.export_min.map(duration_text),
            ..KEY
        },
        Key {
            name: "export.depth",
            values: "number of levels, from 1 to 1000000",
            help: "For perfetto, chrome, jfr and collapsed: write only this number of levels of \
                   calls; deeper calls become part of their callers",
            set: |builder, value| {
                put(
                    &mut builder.options.export_depth,
                    parse_levels(value).map(Some),
                )
            },
            show: |options| options.export_depth.map(|levels| levels.to_string()),
            ..KEY
        },
        Key {
            name: "collapsed.weight",
            words: Weight::WORDS,
            help: "What call paths are weighted by. cpu, allocated and blocked need events=+cpu, \
                   +alloc and +monitors; waiting needs +monitors or +parks",
            set: |builder, value| put(&mut builder.options.weight, Weight::parse(value)),
            show: |options| text(options.weight),
            ..KEY
        },
        Key {
            name: "collapsed.threads",
            words: BOOLEANS,
            help: "Keep call paths of different threads apart",
            set: |builder, value| put(&mut builder.options.with_threads, parse_boolean(value)),
            show: |options| text(options.with_threads),
            ..KEY
        },
    ],
};
