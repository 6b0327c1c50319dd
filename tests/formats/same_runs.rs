//! Runs of one program, each traced in another format, have the same figures, as far as the program
//! behaves the same and the formats can hold them.

use crate::support::cli::{assert_verified, jtrail};
use crate::support::figures::Figures;
use crate::support::programs::{java_compiler, java_files, quick, shop_sources};
use crate::support::spellings::{SPELLINGS, Spelling};
use crate::support::{FILTER, agent, is_thorough, newest_of, program};
use jtrail_formats::{Format, Quantity, Recorded};
use jtrail_testkit::{Jdk, Run, differences, temp_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Records a trace of a program in each format, each by a run of its own.
fn recorded(run: impl Fn() -> Run, options: &str, folder: &Path) -> Vec<String> {
    let record = |(number, spelling): (usize, &Spelling)| {
        let file = folder.join(number.to_string());
        let options = format!("{},{options},file={}", spelling.options, file.display());
        run().agent(agent(), options).output().assert_exit(0);
        assert_verified(&file);
        file.to_str().expect("text").to_owned()
    };
    SPELLINGS.iter().enumerate().map(record).collect()
}

/// Compares runs of one program, each traced in a format of its own, and prints the table.
/// `quantities` names the quantities to compare.
fn compared(files: &[String], quantities: &str) -> (ExitCode, Value) {
    let mut args = vec![
        "compare", "--format", "json", "--top", "0", "--only", quantities,
    ];
    args.extend(files.iter().map(String::as_str));
    let (code, out, err) = jtrail(&args);
    assert_eq!(err, "");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    for (row, spelling) in rows(&json, "comparison").zip(SPELLINGS.iter().cycle()) {
        let (quantity, result) = (text(row, "quantity"), text(row, "result"));
        let [keys, sum] = ["keys", "sum"].map(|key| row[key].as_u64());
        println!(
            "{quantity:16} {:20} {result:14} {keys:?} {sum:?}",
            spelling.options
        );
        let quantity = Quantity::by_name(&quantity).expect("one of ours");
        let recorded = !matches!(spelling.format.recorded(quantity), Recorded::Nothing(_));
        assert_eq!(result != "not comparable", recorded, "{row}");
    }
    (code, json)
}

fn rows<'j>(json: &'j Value, table: &str) -> impl Iterator<Item = &'j Value> {
    json[table].as_array().expect("a table").iter()
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or("-").to_owned()
}

/// Checks the minimum of each quantity that a format can hold.
fn assert_at_least(json: &Value, least: impl Fn(&str) -> u64) {
    for row in rows(json, "comparison").filter(|row| row["result"] != "not comparable") {
        assert!(
            row["sum"].as_u64() >= Some(least(&text(row, "quantity"))),
            "{row}"
        );
    }
}

/// Checks the figures that both formats hold, for runs of one program: they must be the same, and
/// not zero. `quantities` names figures that do not depend on the run.
fn assert_same(files: &[String], quantities: &str) {
    let (code, json) = compared(files, quantities);
    assert!(code == ExitCode::SUCCESS, "{json:#}");
    assert_at_least(&json, |_| 1);
}

#[test]
fn runs_in_each_format_say_the_same() {
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        for name in ["harness.Exceptions", "harness.Constructors"] {
            let folder = temp_dir();
            let options = format!("events=+exceptions,{FILTER}");
            let files = recorded(|| program(&jdk, name), &options, folder.path());
            let all = "calls,thread-calls,exception-leaves,throws,catches";
            assert_same(&files, all);
        }
    }
}

/// Threads, calls, and the objects that the program's own code creates. With probes at allocation
/// sites, these do not depend on compilation.
#[test]
fn runs_of_the_sample_application_say_the_same() {
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let folder = temp_dir();
        let options = "events=+alloc,alloc=sites,include=org.example.*";
        let shop = || program(&jdk, "org.example.shop.Main").arg("5");
        let files = recorded(shop, options, folder.path());
        assert_same(&files, "calls,exception-leaves");
        let figures: Vec<Figures> = files
            .iter()
            .map(|file| Figures::read(Path::new(file)).expect("sound"))
            .collect();
        let own = |figures: &Figures| -> BTreeMap<String, u64> {
            let own = figures.objects.iter().filter(|(class, _)| {
                class.trim_start_matches("[L").starts_with("org.example.") && !class.contains("$$")
            });
            own.map(|(class, count)| (class.clone(), *count)).collect()
        };
        let expected = own(&figures[0]);
        assert!(expected.values().sum::<u64>() > 5_000, "{expected:?}");
        for (spelling, figures) in SPELLINGS.iter().zip(&figures) {
            if spelling.format != Format::ProfilerJ {
                let wrong = differences("objects", &expected, &own(figures));
                assert_eq!(wrong, [""; 0], "{}, JDK {}", spelling.options, jdk.feature);
            }
        }
    }
}

/// The program requests each collection, so all runs have the same number.
#[test]
fn runs_with_collections_say_the_same() {
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let folder = temp_dir();
        let frees = || {
            let run = program(&jdk, "harness.Frees");
            ["-XX:+UseSerialGC", "-Xms512m", "-Xmn256m"]
                .iter()
                .fold(run, |run, arg| run.jvm_arg(*arg))
        };
        let options = "events=threads+gc+alloc+free,include=harness.*";
        let files = recorded(frees, options, folder.path());
        assert_same(&files, "collections");
    }
}

/// Returns sources that the compilers of all JDKs here accept: a hundred if tests are thorough,
/// else those of the sample application.
fn sources() -> Vec<PathBuf> {
    if !is_thorough() {
        return shop_sources();
    }
    let folders = [
        "java-harness/src11",
        "java-harness/src17",
        "java-api",
        "crates/classfile/tests/java",
        "tests",
    ];
    let all = folders.into_iter().flat_map(java_files);
    // This file uses a feature of Java 22.
    let sources: Vec<_> = all
        .filter(|file| !file.ends_with("Flexible.java"))
        .collect();
    assert!(sources.len() >= 100, "{} sources", sources.len());
    sources
}

/// Returns the name of a class without the numbers and addresses of a hidden class, which differ
/// from run to run.
fn without_run_specific_parts(class: &str) -> &str {
    const HIDDEN: &str = "$$Lambda";
    let end = class
        .find(HIDDEN)
        .map_or(class.len(), |at| at + HIDDEN.len());
    &class[..end]
}

/// The Java compiler on a hundred files: the same threads, calls by method and thread, and objects
/// of its own classes.
///
/// Objects of the JDK's classes differ between runs, and are not compared. A concurrent map that
/// grows copies a number of nodes that depends on hash codes, which differ if they come from
/// addresses. And soft and weak references live as long as the heap allows. Times differ, too. The
/// compiler's own work is all on one thread, and depends on nothing but its input.
#[test]
fn runs_of_the_java_compiler_say_the_same() {
    let sources = sources();
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let folder = temp_dir();
        let classes = folder.path().join("classes");
        // Each run starts with an empty folder. Identity hash codes are taken from a counter
        // (`hashCode=3`).
        let compiler = || {
            let _ = fs::remove_dir_all(&classes);
            fs::create_dir(&classes).expect("a folder");
            quick(java_compiler(&jdk, &classes, &sources))
                .jvm_arg("-XX:+UnlockExperimentalVMOptions")
                .jvm_arg("-XX:hashCode=3")
        };
        let options = "events=+alloc,alloc=sites,include=com.sun.tools.javac.jvm.*";
        let files = recorded(compiler, options, folder.path());
        assert_same_work(&files);
    }
}

/// Like [`assert_same`], for the compiler: only objects of its own classes count.
fn assert_same_work(files: &[String]) {
    let (_, json) = compared(files, "threads,calls,thread-calls,exception-leaves,objects");
    // All differences are listed. Hidden classes may differ in their names only.
    let mut differences: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    for row in rows(&json, "differences") {
        assert_eq!(row["quantity"], "objects", "{row}");
        let key = text(row, "key");
        let class = without_run_specific_parts(&key);
        if class.trim_start_matches("[L").starts_with("com.sun.tools.") {
            let sums = differences.entry((text(row, "file"), class.to_owned()));
            for (sum, key) in sums.or_default().iter_mut().zip(["expected", "found"]) {
                *sum += row[key].as_u64().expect("a figure");
            }
        }
    }
    differences.retain(|_, [expected, found]| expected != found);
    assert!(differences.is_empty(), "{differences:#?}");
    assert_at_least(&json, |quantity| match quantity {
        "threads" => 2,
        "exception-leaves" => 0,
        _ if is_thorough() => 1_000_000,
        _ => 100_000,
    });
}
