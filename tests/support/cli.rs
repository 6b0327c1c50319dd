//! Runs the command line in the process of the test.

use jtrail_formats::{Item, Reader, Severity};
use jtrail_model::Event;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

/// Runs `jtrail` in this process. Returns its exit code, output, and messages.
pub(crate) fn jtrail(args: &[&str]) -> (ExitCode, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("jtrail")
        .chain(args.iter().copied())
        .map(Into::into);
    let code = jtrail_cli::main_with(args, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (code, text(out), text(err))
}

/// Runs a command. Returns its output and messages; as an error, its messages alone.
pub(crate) fn outcome(args: &[&str]) -> Result<String, String> {
    let (code, out, err) = jtrail(args);
    match code == ExitCode::SUCCESS {
        true => Ok(out + &err),
        false => Err(err),
    }
}

/// Returns all events of a trace, as text. The trace may be truncated only if `breaks_off` is true.
pub(crate) fn events(file: &Path, breaks_off: bool) -> Vec<String> {
    let mut all = Vec::new();
    let mut reader = Reader::new(std::fs::File::open(file).expect("there")).expect("a trace");
    reader
        .for_each(|item| {
            match item {
                Item::Event { event, .. } => all.push(format!("{event:?}")),
                Item::Remark(remark) => {
                    let allowed = breaks_off && remark.severity == Severity::Truncated;
                    assert!(allowed, "{remark:?}");
                }
            }
            ControlFlow::<()>::Continue(())
        })
        .expect("sound");
    all
}

/// Runs `jtrail verify`. Returns its exit code and output.
pub(crate) fn verify(file: &Path) -> (ExitCode, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let file = file.to_str().expect("text");
    let args = ["jtrail", "verify", file].map(Into::into);
    let code = jtrail_cli::main_with(args, &mut out, &mut err);
    (code, String::from_utf8_lossy(&out).into_owned())
}

pub(crate) fn assert_verified(file: &Path) {
    let (code, out) = verify(file);
    assert!(code == ExitCode::SUCCESS, "{out}");
}

/// Converts the trace to a log profile of the given data version.
pub(crate) fn write_mlpd(from: &Path, to: &Path, version: &str) {
    let (from, to) = (from.to_str().expect("text"), to.to_str().expect("text"));
    let (code, out, err) = jtrail(&[
        "convert",
        "--to",
        "mlpd",
        "--mlpd.version",
        version,
        from,
        to,
    ]);
    assert_eq!(code, ExitCode::SUCCESS, "{out}{err}");
}

/// A row of a table, by the names of its columns.
pub(crate) type Row = BTreeMap<String, String>;

/// Returns a table of a report, with all its rows.
pub(crate) fn table(file: &Path, arguments: &[&str], name: &str) -> Vec<Row> {
    let file = file.to_str().expect("text");
    let fixed = ["report", "--top", "0", "--format", "tsv"];
    let report = outcome(&[&fixed, arguments, &[file]].concat()).expect("sound");
    let title = format!("# {name}");
    let mut lines = report.lines().skip_while(|line| *line != title).skip(1);
    let columns: Vec<&str> = lines.next().expect(name).split('\t').collect();
    let row = |line: &str| -> Row {
        let names = columns.iter().map(ToString::to_string);
        names.zip(line.split('\t').map(str::to_owned)).collect()
    };
    lines.take_while(|line| !line.is_empty()).map(row).collect()
}

/// A thread's calls in a page that `jtrail view --html` writes, callers first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Viewed {
    /// Levels, from 0 on.
    pub(crate) levels: Vec<u64>,
    /// Lengths in ns.
    pub(crate) lengths: Vec<u64>,
}

/// Writes a page of a trace. Returns the calls of each thread by its name, and what the page says
/// of the trace.
pub(crate) fn viewed(file: &Path, args: &[&str]) -> (BTreeMap<String, Viewed>, Value) {
    let file = file.to_str().expect("text");
    let (code, page, said) = jtrail(&[&["view", "--html", "-", file], args].concat());
    assert!(code == ExitCode::SUCCESS, "{said}");
    let (_, rest) = page.split_once("id=\"jtrail-data\">").expect("data");
    let (json, _) = rest.split_once("</script").expect("an end");
    let mut page: Value = serde_json::from_str(json).expect("JSON");
    let trace = page["traces"][0].take();
    let numbers = |values: &Value| -> Vec<u64> {
        let values = values.as_array().into_iter().flatten();
        values.filter_map(Value::as_u64).collect()
    };
    let names = trace["info"]["threads"]["name"].as_array().expect("names");
    let named = names.iter().enumerate().map(|(number, name)| {
        let slices = &trace["slices"][number.to_string()];
        let viewed = Viewed {
            levels: numbers(&slices["level"]),
            lengths: numbers(&slices["length"]),
        };
        (name.as_str().expect("a name").to_owned(), viewed)
    });
    (named.collect(), trace["info"].clone())
}

/// Returns the times of the first and the last call of a trace, in ns since the agent was loaded,
/// as `--from` and `--until` take them.
pub(crate) fn times_of_calls(file: &Path) -> [i64; 2] {
    let (mut loaded, mut times) = (0, None);
    let mut reader = Reader::new(std::fs::File::open(file).expect("there")).expect("a trace");
    let visit = |item: Item<'_>| {
        if let Item::Event { event, .. } = item {
            if let Event::Node(node) = &event {
                loaded = node.time.0;
            }
            if let (Event::MethodEnter(_) | Event::MethodLeave(_), Some(time)) =
                (&event, event.time())
            {
                let [_, last] = times.get_or_insert([time.0; 2]);
                *last = time.0.max(*last);
            }
        }
        ControlFlow::<()>::Continue(())
    };
    reader.for_each(visit).expect("it can be read");
    times.expect("calls").map(|time| time - loaded)
}
