//! Reports of saved analyses equal those of the traces.

#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../../../../../formats/tests/common/random.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "this file needs only whole traces"
)]
mod random;

use super::super::{Report, run_with};
use super::*;
use crate::analyse::analyse;
use crate::input::Input;
use crate::outcome::{SOUND, Streams};
use crate::output::write;
use crate::select::Span;
use clap::{Parser, ValueEnum};
use common::rich::rich;
use common::{Folder, closing, encode, enter, in_time, leave, opening, sample, thread_start};
use jtrail_analysis::Subjects;
use jtrail_analysis::saved::SUBJECTS;
use jtrail_formats::Format;
use jtrail_model::{Event, TraceOption};
use proptest::prelude::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn parsed(file: &str, options: &str) -> Args {
    let words = ["report", file]
        .into_iter()
        .chain(options.split_whitespace());
    Line::try_parse_from(words).expect("an argument").args
}

/// Exit code, standard output, standard error or the error.
type Written = (Option<u8>, String, String);

fn report(args: &Args, saved: impl FnOnce(&Path) -> Option<Vec<u8>>) -> Written {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams = Streams {
        out: &mut out,
        err: &mut err,
    };
    let done = run_with(args, &mut streams, saved);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    match done {
        Ok(code) => (Some(code), text(out), text(err)),
        Err(error) => (None, text(out), format!("{error:#}")),
    }
}

fn saved_analysis(file: &str) -> Vec<u8> {
    let mut input = Input::open(Path::new(file), false).expect("a trace");
    let (analysis, ending) =
        analyse(&mut input, &Span::default(), &[], SUBJECTS).expect("analysed");
    assert_eq!((ending.code(), ending.infos), (SOUND, 0));
    saved::save(analysis).expect("can be saved")
}

/// Calls with 24 levels and hundreds of small branches, and the time of recording.
fn deep() -> Vec<Event<'static>> {
    let mut events = opening();
    events.push(Event::Option(TraceOption {
        key: "recordOverhead".into(),
        value: "40".into(),
    }));
    events.extend([thread_start(1, 0, "main"), thread_start(2, 0, "other")]);
    let (mut now, mut ticket) = (10_000, 0);
    for thread in [1, 2] {
        let mut open = Vec::new();
        for level in 0..24 {
            ticket += 1;
            events.push(enter(thread, now, 1 + level % 5, ticket, open.len() as i64));
            open.push((1 + level % 5, ticket));
            for branch in 0..20 {
                ticket += 1;
                events.push(enter(thread, now, 100 + branch, ticket, open.len() as i64));
                now += 300 * branch as i64 * branch as i64 + 60;
                events.push(leave(thread, now, 100 + branch, ticket));
                now += 90;
            }
        }
        for (method, ticket) in open.into_iter().rev() {
            now += 100_000;
            events.push(leave(thread, now, method, ticket));
        }
    }
    events.extend(closing(now + 1_000));
    events
}

/// Returns the paths of trails.
fn trails(folder: &Folder) -> Vec<String> {
    let real = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/real/trail/everything"
    );
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/trail/shop");
    let made = [("rich", rich()), ("sample", sample()), ("deep", deep())];
    let made = made.map(|(name, events)| {
        let bytes = encode(Format::Trail, &in_time(events));
        folder.put(&format!("{name}.trail"), &bytes)
    });
    made.into_iter()
        .chain([real, shop].map(str::to_owned))
        .collect()
}

/// Options that change only what is shown of the whole trace.
const SHOWN: &[&str] = &[
    "",
    "--format tsv",
    "--format json",
    "--sort total --top 2",
    "--sort cpu --top 0",
    "--sort calls --format tsv",
    "--sort name --top 0",
    "--top 0 --format json",
    "--depth 0",
    "--depth 1",
    "--depth 3 --format tsv",
    "--depth 16 --top 0",
    "--min 0.1%",
    "--min 5% --format json",
    "--min 60%",
    "--min 10ms --format tsv",
    "--net",
    "--net --min 0.1% --format json",
    "--net --sort total --top 0 --format tsv",
    "--only methods --top 0",
    "--only tree,trace --min 0.2%",
    "--allocations --top 0",
    "--live",
    "--gc --format json",
    "--monitors --top 0 --format tsv",
    "--exceptions",
    "--code",
    "--samples",
    "--coverage --lines --format tsv",
];

/// Options that need more than what is saved.
const MORE: &[&str] = &["--classes", "--heap", "--depth 17", "--only heap,methods"];

#[test]
fn the_report_is_that_of_the_trace() {
    let folder = Folder::new();
    for file in trails(&folder) {
        let saved = saved_analysis(&file);
        let no_index = |_: &Path| None;
        let of_tables = Table::value_variants().iter().map(|table| {
            let needs_more =
                matches!(table.name(), "classes" | "members") || table.name().starts_with("heap");
            (format!("--only {} --top 0", table.name()), !needs_more)
        });
        let shown = SHOWN.iter().map(|options| ((*options).to_owned(), true));
        let more = MORE.iter().map(|options| ((*options).to_owned(), false));
        for (options, is_enough) in shown.chain(more).chain(of_tables) {
            let args = parsed(&file, &options);
            assert_eq!(
                analysis(&args, &saved).is_some(),
                is_enough,
                "{file}: {options}"
            );
            let expected = report(&args, no_index);
            let found = report(&args, |_| Some(saved.clone()));
            assert_eq!(found, expected, "{file}: {options}");
        }
    }
}

/// Small branches of the call tree were omitted, so that the trace must be read to show them.
#[test]
fn smaller_branches_are_read_from_the_trace() {
    let folder = Folder::new();
    let file = folder.put("x.trail", &encode(Format::Trail, &in_time(deep())));
    let saved = saved_analysis(&file);
    for (options, is_enough) in [
        ("--min 0.1%", true),
        ("--min 0.05%", false),
        ("--min 0", false),
        ("--min 1ns --net", false),
        ("--min 0 --only methods", true),
    ] {
        let args = parsed(&file, options);
        assert_eq!(analysis(&args, &saved).is_some(), is_enough, "{options}");
        let found = report(&args, |_| Some(saved.clone()));
        assert_eq!(found, report(&args, |_| None), "{options}");
    }
}

/// The report of another trace's analysis shows where the figures come from.
#[test]
fn the_trace_is_not_read_if_its_analysis_is_saved() {
    let folder = Folder::new();
    let [first, second] = [("a.trail", sample()), ("b.trail", deep())]
        .map(|(name, events)| folder.put(name, &encode(Format::Trail, &in_time(events))));
    let other = saved_analysis(&second);
    let found = report(&parsed(&first, ""), |_| Some(other.clone()));
    assert_eq!(found, report(&parsed(&second, ""), |_| None));
    let expected = report(&parsed(&first, ""), |_| None);
    assert_ne!(found, expected);
    let corrupt = report(&parsed(&first, ""), |_| {
        Some(other[..other.len() / 2].to_vec())
    });
    assert_eq!(corrupt, expected);
    for options in ["--from 1ms", "--until 5ms", "--thread main"] {
        let found = report(&parsed(&first, options), |_| unreachable!("{options}"));
        assert_eq!(
            found,
            report(&parsed(&first, options), |_| None),
            "{options}"
        );
    }
}

fn analysed(events: &[Event<'_>], subjects: Subjects) -> Analysis {
    let mut analysis = Analysis::new(subjects);
    for event in events {
        analysis.event(event, |_, _| true);
    }
    analysis
}

fn shown(args: &Args, mut analysis: Analysis) -> String {
    analysis.finish();
    if args.net {
        analysis.without_cost();
    }
    let mut report = Report {
        args,
        analysis: &mut analysis,
        format: "trail",
    };
    let sections = report.sections();
    let mut out = Vec::new();
    write(args.format, &sections, &mut out).expect("written");
    String::from_utf8(out).expect("UTF-8")
}

proptest! {
    #[test]
    fn any_events_are_reported_equally(events in random::trace()) {
        let saved = saved::save(analysed(&events, SUBJECTS)).expect("can be saved");
        for options in SHOWN {
            let args = parsed("x", options);
            let Some(loaded) = analysis(&args, &saved) else {
                // The minimum of the report is below that of the saved tree.
                prop_assert!(options.contains("--min"), "{}", options);
                continue;
            };
            let expected = shown(&args, analysed(&events, args.subjects()));
            prop_assert_eq!(shown(&args, loaded), expected, "{}", options);
        }
    }

    #[test]
    fn corrupt_analyses_are_reported(
        events in random::trace(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let saved = saved::save(analysed(&events, SUBJECTS)).expect("can be saved");
        let mut plain = zstd::stream::decode_all(&saved[1..]).expect("a frame");
        for (at, byte) in changes {
            let at = at.index(plain.len());
            plain[at] ^= byte;
        }
        let frame = zstd::stream::encode_all(plain.as_slice(), 1).expect("compressed");
        let saved = [&saved[..1], &frame].concat();
        for options in SHOWN {
            let args = parsed("x", options);
            if let Some(loaded) = analysis(&args, &saved) {
                shown(&args, loaded);
            }
        }
    }
}
