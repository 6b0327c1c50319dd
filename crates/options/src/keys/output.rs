//! Keys of the trace and its files.

use super::{put, text};
use crate::file::FilePattern;
use crate::key::{KEY, Key, Subject};
use crate::value::{AtMaxSize, OnError, OutputFormat, parse_max_size, size_text};

pub(super) const SUBJECT: Subject = Subject {
    title: "The trace and its files",
    keys: &[
        Key {
            name: "format",
            words: OutputFormat::WORDS,
            help: "Format of the trace; none records everything and writes nothing",
            set: |builder, value| put(&mut builder.options.format, OutputFormat::parse(value)),
            show: |options| text(options.format),
            ..KEY
        },
        Key {
            name: "file",
            values: "path with %p process id, %t start time, %h host, %% percent sign; - for \
                     standard output",
            default_note: "the extension is the format's: trcxml, trcbin, trc, mlpd, log, xml, trail, \
                           pftrace, trace.json, jfr, collapsed",
            help: "File to write",
            is_path: true,
            set: |builder, value| put(&mut builder.file, FilePattern::parse(value).map(Some)),
            show: |options| text(options.file.text()),
            matters: |options| options.format != OutputFormat::None,
            ..KEY
        },
        Key {
            name: "maxsize",
            values: "size, from 1m; from 8m with atmaxsize=ring",
            help: "Maximum size of a file; then the trace continues in another one \
                   (trace-2.trcxml beside trace.trcxml)",
            set: |builder, value| {
                put(
                    &mut builder.options.max_size,
                    parse_max_size(value).map(Some),
                )
            },
            show: |options| options.max_size.map(size_text),
            ..KEY
        },
        Key {
            name: "atmaxsize",
            words: AtMaxSize::WORDS,
            help: "With maxsize: all files stay, each of that size at most; or all of them \
                   together take no more, and the oldest are deleted",
            set: |builder, value| put(&mut builder.options.at_max_size, AtMaxSize::parse(value)),
            show: |options| text(options.at_max_size),
            matters: |options| options.max_size.is_some(),
            ..KEY
        },
        Key {
            name: "onerror",
            words: OnError::WORDS,
            help: "When the trace can't be set up: don't start the program, or run it without a \
                   trace",
            set: |builder, value| put(&mut builder.options.on_error, OnError::parse(value)),
            show: |options| text(options.on_error),
            ..KEY
        },
    ],
};
