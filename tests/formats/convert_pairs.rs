//! Converts real traces between every pair of formats, and through three formats in a row.

use crate::support::cli::jtrail;
use crate::support::{FILTER, agent, newest_of, one_version, program};
use jtrail_formats::{Format, Item, Reader};
use jtrail_model::Event;
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs `jtrail`, which must succeed. Returns its standard error.
fn succeed(args: &[&str]) -> String {
    let (code, out, err) = jtrail(args);
    assert_eq!(code, ExitCode::SUCCESS, "{args:?}\n{out}{err}");
    err
}

/// What every format contains in one form or another.
#[derive(PartialEq, Eq, Debug, Default)]
struct Counts {
    /// Calls that began, single or aggregated.
    calls: u64,
    /// Calls that ended by an exception, if the format distinguishes them.
    thrown: u64,
}

fn counts(file: &Path) -> Counts {
    let mut counts = Counts::default();
    let mut reader = Reader::new(File::open(file).expect("there")).expect("a trace");
    let end = reader.for_each(|item| {
        match item {
            Item::Event { event, .. } => match event {
                Event::MethodEnter(_) => counts.calls += 1,
                Event::MethodLeave(e) => counts.thrown += u64::from(e.by_exception),
                Event::AggregatedEnter(e) => counts.calls += e.calls as u64,
                Event::AggregatedDetail(e) => counts.thrown += e.exceptions,
                _ => {}
            },
            Item::Remark(remark) => return ControlFlow::Break(remark),
        }
        ControlFlow::Continue(())
    });
    assert_eq!(end.expect("sound"), None, "{}", file.display());
    counts
}

/// Returns true for formats with single calls, which can be converted into every other format.
fn has_calls(format: Format) -> bool {
    format != Format::ProfilerJ
}

/// Returns true if the calls of a trace in the first format survive conversion to the second.
fn keeps_calls(from: Format, to: Format) -> bool {
    let lossless = |f| matches!(f, Format::TptpXml | Format::TptpBinary | Format::Trail);
    has_calls(from) || lossless(to) || to == Format::ProfilerJ
}

fn has_exceptions(format: Format) -> bool {
    matches!(format, Format::Mlpd | Format::ProfilerJ | Format::Trail)
}

/// Returns true if the second format needs sizes of all objects, and the first one has only sizes
/// of arrays.
fn lacks_sizes(from: Format, to: Format) -> bool {
    from == Format::Jinsight && !matches!(to, Format::Jinsight | Format::ProfilerJ)
}

/// Converts a trace, and checks the result.
fn convert(from: (&Path, Format), to: Format, out: &Path) -> Counts {
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let (input, output) = (text(from.0), text(out));
    let said = succeed(&["convert", &input, &output, "--to", to.name()]);
    let verified = succeed(&["verify", &output]);
    assert_eq!(verified, "", "{} to {}", from.1.name(), to.name());
    for line in said.lines() {
        let dropped = format!("jtrail: {}: dropped: ", to.name());
        let sizes = format!("jtrail: {}: missing: sizes of ", from.1.name());
        assert!(
            line.starts_with(&dropped) || (line.starts_with(&sizes) && lacks_sizes(from.1, to)),
            "{} to {}: {line}",
            from.1.name(),
            to.name()
        );
    }
    counts(out)
}

/// Converts a trace into every format, and each result into every format. With `deep`, converts
/// these results once more.
fn every_pair(first: &Path, deep: bool) {
    let folder = first.parent().expect("a folder");
    let path = |names: &[Format]| -> PathBuf {
        let names: Vec<_> = names.iter().map(|f| f.name()).collect();
        folder.join(names.join("-"))
    };
    let whole = counts(first);
    assert!(whole.calls > 1000);
    for a in Format::ALL {
        let one = path(&[a]);
        let there = convert((first, Format::TptpBinary), a, &one);
        assert_eq!(there.calls, whole.calls, "binary to {}", a.name());
        for b in Format::ALL {
            let two = path(&[a, b]);
            let through = convert((&one, a), b, &two);
            let (from, to) = (a.name(), b.name());
            let calls = if keeps_calls(a, b) { whole.calls } else { 0 };
            assert_eq!(through.calls, calls, "{from} to {to}");
            if has_exceptions(a) && has_exceptions(b) && keeps_calls(a, b) {
                assert_eq!(through.thrown, there.thrown, "{from} to {to}");
            }
            if deep {
                for c in Format::ALL {
                    let three = path(&[a, b, c]);
                    let last = convert((&two, b), c, &three);
                    // A call tree stays a call tree: it can't become single calls.
                    let tree = !(has_calls(a) && has_calls(b));
                    let keeps = match tree {
                        true => keeps_calls(a, b) && keeps_calls(Format::ProfilerJ, c),
                        false => true,
                    };
                    let calls = if keeps { whole.calls } else { 0 };
                    assert_eq!(last.calls, calls, "{from} to {to} to {}", c.name());
                    std::fs::remove_file(three).expect("removed");
                }
            }
            std::fs::remove_file(two).expect("removed");
        }
        std::fs::remove_file(one).expect("removed");
    }
}

fn traced(run: Run, options: &str, deep: bool) {
    let folder = temp_dir();
    let file = folder.path().join("first");
    let options = format!("format=binary,{options},file={}", file.display());
    run.agent(agent(), options).output().assert_exit(0);
    every_pair(&file, deep);
}

#[test]
fn the_sample_application_through_every_pair() {
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let run = program(&jdk, "org.example.shop.Main").arg("1");
        let options = "events=all,interval=20ms,allocsites=true,include=org.*";
        traced(run, options, false);
    }
}

#[test]
fn every_kind_of_event_through_every_pair() {
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let run = program(&jdk, "harness.Everything");
        let run = ["1", "5", "4", "7", "20"]
            .iter()
            .fold(run, |run, arg| run.arg(*arg));
        let options = "events=all,interval=20ms,allocsites=true,heap=exit,include=harness.*";
        traced(run, options, false);
    }
}

#[test]
fn calls_are_the_same_through_three_formats() {
    for jdk in Jdk::require(&one_version()) {
        traced(program(&jdk, "harness.Exceptions"), FILTER, true);
    }
}
