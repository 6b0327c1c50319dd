//! Keys about what is recorded: kinds of events, and methods.

use super::text;
use crate::key::{KEY, Key, Subject};
use crate::set::EventsChoice;

pub(super) const SUBJECT: Subject = Subject {
    title: "What is recorded",
    keys: &[
        Key {
            name: "events",
            values: "methods threads classes gc alloc free monitors parks exceptions jit cpu \
                     samples heap lines mounts details clinit, joined with +; with a + before the \
                     first, the default ones too; or all",
            default_note: "with details for jinsight, without gc for profilerj",
            help: "What to record; events that the format has no field for are dropped, and \
                   reported at the end",
            set: |builder, value| {
                builder.events = Some(EventsChoice::parse(value)?);
                Ok(())
            },
            show: |options| text(options.events),
            ..KEY
        },
        Key {
            name: "include",
            values: "class pattern, CLASS.METHOD or CLASS#METHOD, with *",
            help: "Trace these; the first rule that fits decides",
            set: |builder, value| Ok(builder.add_pattern(true, value)?),
            // This also lists the values of `exclude`, because the order of `include` and `exclude`
            // matters.
            show_each: Some(|options| {
                let name = |include: bool| if include { "include" } else { "exclude" };
                let patterns = options.patterns.iter();
                patterns
                    .map(|(include, value)| (name(*include), value.clone()))
                    .collect()
            }),
            ..KEY
        },
        Key {
            name: "exclude",
            values: "class pattern, CLASS.METHOD or CLASS#METHOD, with *",
            help: "Don't trace these; the first rule that fits decides",
            set: |builder, value| Ok(builder.add_pattern(false, value)?),
            show_each: Some(|_| Vec::new()),
            ..KEY
        },
        Key {
            name: "filters",
            values: "file of TPTP filter rules",
            help: "Read filter rules from a file, instead of include and exclude",
            is_path: true,
            set: |builder, value| builder.read_filters(value),
            show: |options| options.filters_file.clone(),
            ..KEY
        },
        Key {
            name: "options",
            aliases: &["profile"],
            values: "file of TPTP options",
            help: "Read further options from a file",
            is_path: true,
            set: |builder, value| builder.read_options(value),
            show: |options| options.options_file.clone(),
            ..KEY
        },
    ],
};
