//! Real traces, converted into every format, have the same figures in `compare`, as far as the
//! formats can hold them.

use crate::support::cli::{jtrail, write_mlpd};
use crate::support::programs::{java_compiler, quick, shop_sources, small_heap};
use crate::support::{agent, newest_of, program};
use jtrail_formats::{Format, Quantity, Recorded};
use jtrail_testkit::{Jdk, Run, temp_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// The JVMs of these tests; each takes a while.
const JVMS: [u32; 2] = [17, 25];

/// Traces a program, and converts its trace into all formats. Returns the formats and file names,
/// the original first.
fn in_all_formats(run: Run, options: &str, folder: &Path) -> Vec<(Format, String)> {
    let path = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let original = path("original.trcbin");
    let options = format!("format=binary,{options},file={original}");
    run.agent(agent(), options).output().assert_exit(0);
    let mut files = vec![(Format::TptpBinary, original.clone())];
    for format in Format::ALL {
        let file = path(format.name());
        let (code, out, err) = jtrail(&["convert", &original, &file, "--to", format.name()]);
        assert_eq!(code, ExitCode::SUCCESS, "{out}{err}");
        files.push((format, file));
    }
    let last = path("mlpd-17");
    write_mlpd(Path::new(&original), Path::new(&last), "17");
    files.push((Format::Mlpd, last));
    files
}

/// Compares all files, prints the table, and fails unless each file has what its format can hold.
/// Returns the sum of each quantity in the first file.
fn assert_same(files: &[(Format, String)]) -> BTreeMap<&'static str, u64> {
    let names: Vec<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
    let (code, table, err) = jtrail(&[&["compare"][..], &names].concat());
    println!("{table}");
    assert_eq!((code, err.as_str()), (ExitCode::SUCCESS, ""), "{table}");
    let (_, json, _) = jtrail(&[&["compare", "--format", "json"][..], &names].concat());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let mut rows = json["comparison"].as_array().expect("rows").iter();
    let mut sums = BTreeMap::new();
    for quantity in Quantity::ALL {
        for (format, name) in files {
            let row = rows.next().expect("a row for each");
            let reported = row["result"] != "not comparable";
            let recorded = match format.recorded(quantity) {
                Recorded::Nothing(_) => false,
                // Yes, if a collection found dead objects.
                Recorded::AfterCollections => sums["frees"] > 0,
                _ => true,
            };
            assert_eq!(reported, recorded, "{quantity:?} {name}\n{table}");
            if reported {
                let sum = row["sum"].as_u64().expect("a figure");
                sums.entry(quantity.name()).or_insert(sum);
            }
        }
    }
    sums
}

#[test]
fn the_sample_application_in_all_formats() {
    for jdk in Jdk::require(&newest_of(&JVMS)) {
        let folder = temp_dir();
        let run = small_heap(program(&jdk, "org.example.shop.Main").arg("5"));
        let options = "events=all,include=org.*,allocsites=true,interval=20ms";
        let sums = assert_same(&in_all_formats(run, options, folder.path()));
        let some = [
            "threads", "calls", "elapsed", "objects", "bytes", "frees", "live",
        ];
        let more = ["collections", "throws", "catches"];
        for quantity in some.iter().chain(&more) {
            assert!(sums[quantity] > 0, "no {quantity}: {sums:?}");
        }
    }
}

/// All kinds of waits and exceptions, and calls that stay open.
#[test]
fn everything_in_all_formats() {
    for jdk in Jdk::require(&newest_of(&JVMS)) {
        let folder = temp_dir();
        // The arguments are seconds, size, threads, seed and pause.
        let args = ["1", "10", "4", "7", "20"];
        let run = args.iter().fold(
            small_heap(program(&jdk, "harness.Everything")),
            |run, arg| run.arg(*arg),
        );
        let sums = assert_same(&in_all_formats(
            run,
            "events=all,include=harness.*",
            folder.path(),
        ));
        for quantity in ["calls", "waits", "throws"] {
            assert!(sums[quantity] > 0, "no {quantity}: {sums:?}");
        }
    }
}

/// Millions of calls, and a heap that is collected several times.
#[test]
fn the_java_compiler_in_all_formats() {
    for jdk in Jdk::require(&newest_of(&JVMS)) {
        let folder = temp_dir();
        let run = java_compiler(&jdk, folder.path(), &shop_sources()).jvm_arg("-Xmn8m");
        let run = quick(run);
        let packages = ["comp", "jvm"].map(|p| format!("include=com.sun.tools.javac.{p}.*"));
        let options = format!("events=+alloc+free+exceptions,{}", packages.join(","));
        let sums = assert_same(&in_all_formats(run, &options, folder.path()));
        assert!(
            sums["calls"] > 500_000 && sums["frees"] > 100_000,
            "{sums:?}"
        );
    }
}
