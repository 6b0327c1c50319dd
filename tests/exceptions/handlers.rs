//! Each catch names its handler in the method, compared with a program that prints which of its
//! handlers run.

use crate::support::compile::compile;
use crate::support::observed::read;
use crate::support::{VERSIONS, agent, program};
use jtrail_model::{CatchDetail, Event};
use jtrail_testkit::{Jdk, temp_dir};
use std::path::Path;

/// Handlers as the program prints them: method, first entry in its exception table, and whether it
/// catches everything.
type Ran = Vec<(String, u64, bool)>;

fn printed(output: &str) -> Ran {
    let handler = |line: &str| {
        let [method, entry, takes_all] = line
            .strip_prefix("handler ")?
            .split(' ')
            .collect::<Vec<_>>()
            .try_into()
            .ok()?;
        Some((
            method.to_owned(),
            entry.parse().ok()?,
            takes_all.parse().ok()?,
        ))
    };
    output.lines().filter_map(handler).collect()
}

/// Returns the program's catches in the order of the trace, with their handlers.
fn traced(file: &Path) -> Vec<(String, Option<(u64, bool)>)> {
    let mut reported = Vec::new();
    let mut detail: Option<CatchDetail> = None;
    read(file, |event| {
        // A catch's detail precedes it directly, with the same thread and time.
        let Event::ExceptionCatch(e) = event else {
            assert_eq!(detail, None, "before {event:?}");
            if let Event::CatchDetail(e) = event {
                detail = Some(*e);
            }
            return;
        };
        let detail = detail.take();
        assert!(detail.is_none_or(|d| (d.thread, d.time) == (e.thread, e.time)));
        let name = e.frame.method.split_once('(').expect("a method").0;
        if let Some(method) = name.strip_prefix("Handlers.") {
            reported.push((method.to_owned(), detail.map(|d| (d.entry, d.takes_all))));
        }
    });
    reported
}

/// Which class files the agent sees in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shows {
    All,
    None,
}

#[test]
fn catches_have_their_handlers() {
    let classes = temp_dir();
    let source = include_str!("Handlers.java");
    compile("Handlers", source, classes.path());
    let runs = [
        (
            "format=trail,events=methods+exceptions,include=Handlers*",
            Shows::All,
        ),
        (
            "format=trail,events=methods+exceptions+lines+alloc,include=Handlers*",
            Shows::All,
        ),
        (
            "format=xml,events=exceptions+lines,include=Handlers*",
            Shows::All,
        ),
        (
            "format=binary,events=methods+exceptions,include=Handlers.main",
            Shows::All,
        ),
        (
            "format=trail,events=methods+exceptions,include=elsewhere.*",
            Shows::All,
        ),
        ("format=trail,events=exceptions+details", Shows::All),
        (
            "format=trail,events=methods+exceptions+details,engine=jvmti",
            Shows::All,
        ),
        ("format=trail,events=exceptions", Shows::None),
        (
            "format=mlpd,events=methods+exceptions,include=Handlers*",
            Shows::All,
        ),
        (
            "format=mlpd,mlpd.version=17,events=exceptions+details",
            Shows::All,
        ),
        ("format=mlpd,events=exceptions", Shows::None),
    ];
    for jdk in Jdk::require(&VERSIONS) {
        for (options, shows) in runs {
            let case = format!("{options}, JDK {}", jdk.feature);
            let folder = temp_dir();
            let file = folder.path().join("trace");
            let output = program(&jdk, "Handlers")
                .class_path(classes.path())
                .agent(agent(), format!("{options},file={}", file.display()))
                .output();
            output.assert_exit(0);
            let ran = printed(&output.stdout);
            assert_eq!(ran.len(), 69, "{case}: {output}");
            let is_written = |entry: u64, takes_all: bool| {
                // A log profile can't distinguish the first handler from an unknown one.
                shows == Shows::All && !(options.contains("mlpd") && entry == 0 && !takes_all)
            };
            let expected: Vec<_> = ran
                .into_iter()
                .map(|(method, entry, takes_all)| {
                    let handler = is_written(entry, takes_all).then_some((entry, takes_all));
                    (method, handler)
                })
                .collect();
            assert_eq!(traced(&file), expected, "{case}");
        }
    }
}
