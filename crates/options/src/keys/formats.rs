//! Keys that belong to one format, with the format's name before the dot.

use super::{put, text};
use crate::key::{KEY, Key, Subject};
use crate::value::{
    BOOLEANS, MlpdVersion, interval_text, parse_boolean, parse_interval, parse_writers,
};

pub(super) const SUBJECT: Subject = Subject {
    title: "Of one format (no effect with another)",
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
    ],
};
