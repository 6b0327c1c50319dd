//! What an agent could break in a JVM's start: ahead-of-time caches, the static TLS block, and the
//! count of local references.

use crate::support::attach::{AttachedRun, rounds};
use crate::support::{FILTER, VERSIONS, agent, at_once, harness, program, traced_before};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ALL: &str = "methods+threads+alloc+free+gc+monitors+parks+exceptions+lines+jit+cpu+samples+\
                   heap+details+mounts+classes";

/// The first JVM version that creates an ahead-of-time cache in one step.
const WITH_CACHE: u32 = 25;

/// Builds a jar of the harness, because caches support only jars.
fn jar(jdk: &Jdk, folder: &Path) -> String {
    let jar = folder.join("harness.jar").display().to_string();
    let tool = jdk.javac.as_ref().expect("a JDK").with_file_name("jar");
    let mut command = Command::new(tool);
    command.args(["cf", &jar]);
    for classes in std::env::split_paths(&harness().class_path(jdk)) {
        command.arg("-C").arg(classes).arg(".");
    }
    assert!(command.status().is_ok_and(|status| status.success()));
    jar
}

/// The JVM uses its cache although the agent is loaded, and prints no complaint. All calls are in
/// the trace, even those of classes that come from the cache.
#[test]
fn an_ahead_of_time_cache_stays_in_use() {
    let with_cache = |jdk: &Jdk| jdk.feature >= WITH_CACHE && jdk.javac.is_some();
    for jdk in Jdk::require(&VERSIONS).into_iter().filter(with_cache) {
        let folder = temp_dir();
        let jar = jar(&jdk, folder.path());
        let cache = folder.path().join("cache").display().to_string();
        let main = "harness.Constructors";
        let run = |arg: String| Run::new(&jdk, main).class_path(&jar).jvm_arg(arg);
        run(format!("-XX:AOTCacheOutput={cache}"))
            .output()
            .assert_exit(0);
        let cached = || run(format!("-XX:AOTCache={cache}")).jvm_arg("-XX:AOTMode=on");
        let alone = cached().output();
        alone.assert_exit(0);
        for options in [
            format!("format=binary,{FILTER}"),
            format!("format=binary,events={ALL},{FILTER}"),
            format!("format=binary,events=details,{FILTER}"),
        ] {
            let run = traced_before(cached(), &options, &[]);
            run.output.assert_exit(0);
            assert_eq!(run.output.stdout, alone.stdout, "{options}");
            run.trace.assert_sound(&run.output);
            if !options.contains("=details") {
                let counts = run.output.counts();
                counts.assert_matches(
                    &run.trace.calls,
                    &run.trace.uninstrumented,
                    &["harness."],
                    &[],
                );
            }
        }
    }
}

/// With -Xcheck:jni, JVMs up to 17 count local references, and print warnings on standard output.
#[test]
fn no_more_local_references_than_the_jvm_knows_of() {
    at_once(|jdk| {
        for options in [
            format!("events={ALL},heap=gc+exit"),
            "events=methods+alloc+free,alloc=sites".to_owned(),
            "events=methods+details,server=enabled".to_owned(),
        ] {
            let folder = temp_dir();
            let file = folder.path().join("trace").display().to_string();
            let output = program(jdk, "harness.Exceptions")
                .jvm_arg("-Xcheck:jni")
                .agent(agent(), format!("{options},{FILTER},file={file}"))
                .output();
            output.assert_exit(0);
            let has = |text| output.stdout.contains(text) || output.stderr.contains(text);
            let warns = has("JNI local refs") || has("WARNING in native method");
            assert!(!warns, "JDK {}, {options}\n{output}", jdk.feature);
        }
    });
}

/// Creates a build of the agent whose hook class differs: one of its methods has another name.
fn another_build(folder: &Path) -> PathBuf {
    let (from, to) = (b"leaveByException", b"leaveByExceptiom");
    let mut bytes = fs::read(agent()).expect("there");
    let ends = bytes.len() - from.len();
    let places: Vec<usize> = (0..ends)
        .filter(|&at| bytes[at..].starts_with(from))
        .collect();
    // The agent has the name at least twice: in the class file, and where it names the method.
    assert!(places.len() >= 2, "{places:?}");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    let library = folder.join("libjtrail-other.so");
    fs::write(&library, bytes).expect("written");
    library
}

/// The agent is upgraded in one JVM again and again: two builds with different hook classes
/// alternate. There are more upgrades than a build has hook classes.
#[test]
fn builds_with_other_hooks_come_in_turn() {
    at_once(|jdk| {
        let mut app = AttachedRun::new(jdk, "harness.Attached");
        let folder = temp_dir();
        let libraries = [another_build(folder.path()), agent()];
        let ticks: &[&str] = &["--clock", "tick"];
        let names = (0..20).map(|number| format!("trace{number}"));
        let names: Vec<String> = names.collect();
        for (number, name) in names.iter().enumerate() {
            // Hook classes are numbered. In this order of the builds, each build uses each number.
            let library = &libraries[number % 3 % 2];
            let options = if number % 4 < 2 { ticks } else { &[] };
            let said = app.attach_library(library, name, options);
            said.unwrap_or_else(|error| panic!("JDK {}, {number}: {error}", jdk.feature));
            app.work();
            app.detach();
        }
        let texts: Vec<String> = names.iter().map(|name| app.text(name)).collect();
        let (_folder, output) = app.end();
        let rounds: Vec<u64> = texts
            .iter()
            .map(|t| rounds(Path::new(t), &output))
            .collect();
        assert!(
            rounds[0] > 0 && rounds.iter().all(|found| *found == rounds[0]),
            "{rounds:?}"
        );
    });
}

/// Copies of the agent are attached one after the other: first at different paths, then at one path
/// whose file is replaced. They need no room in the static TLS block. There, glibc reserves only
/// some 1,600 bytes for libraries that are opened later.
#[test]
fn other_builds_of_the_agent_come_in_turn() {
    at_once(|jdk| {
        let run = program(jdk, "harness.Attached")
            .env("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=128");
        let mut app = AttachedRun::of(run);
        let folder = temp_dir();
        for number in 0..5 {
            // The third library's file is replaced twice.
            let library = folder.path().join(format!("libjtrail{}.so", number.min(2)));
            let new = folder.path().join("new");
            fs::copy(agent(), &new).expect("copied");
            fs::rename(&new, &library).expect("renamed");
            let file = format!("trace{number}");
            let said = app.attach_library(&library, &file, &[]);
            said.unwrap_or_else(|error| panic!("JDK {}, {number}: {error}", jdk.feature));
            app.work();
            app.detach();
        }
        let texts: Vec<String> = (0..5).map(|n| app.text(&format!("trace{n}"))).collect();
        let (_folder, output) = app.end();
        for text in texts {
            assert!(rounds(Path::new(&text), &output) > 0, "{text}");
        }
    });
}
