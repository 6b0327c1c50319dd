//! Another agent redefines a class: the program runs the new code, and the trace reports it.

use crate::support::classes::Classes;
use crate::support::compile::compile_with_harness;
use crate::support::java_agent::compiled_agent;
use crate::support::{Trace, agent, one_version, program};
use jtrail_testkit::{Jdk, temp_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// An agent that redefines a class with the bytes of a file.
const REDEFINER: &str = include_str!("Redefiner.java");

/// A class whose `BODY` differs between versions: what `answer` returns, and which method it calls.
const CHANGING: &str = include_str!("Changing.java");

/// The program. Its arguments are files: the versions that the class gets, one after the other. The
/// program makes some calls of each version.
const PROGRAM: &str = include_str!("Redefined.java");

/// Compiles a version of the class into a folder of its own, and returns its file.
fn version(folder: &Path, name: &str) -> PathBuf {
    let folder = folder.join(name);
    fs::create_dir(&folder).expect("made");
    let body = format!("{name}() + \" by {name}\"");
    let source = CHANGING.replace("BODY", &body);
    compile_with_harness("Changing", &source, &folder, Path::new(""));
    folder.join("Changing.class")
}

#[test]
fn a_redefined_class_runs_its_new_code_and_is_traced() {
    let folder = temp_dir();
    let jar = compiled_agent(folder.path(), "Redefiner", REDEFINER);
    let [first, second] = ["first", "second"].map(|name| version(folder.path(), name));
    let first_folder = first.parent().expect("a folder");
    let needed = std::env::join_paths([first_folder, &jar]).expect("paths");
    compile_with_harness("Redefined", PROGRAM, first_folder, Path::new(&needed));
    let size = |file: &Path| fs::metadata(file).expect("compiled").len() as i64;
    let reported = [&second, &first, &second].map(|file| ("Changing".to_owned(), size(file)));
    assert_ne!(reported[0], reported[1]);
    for jdk in Jdk::require(&one_version()) {
        for options in [
            "events=details",
            "events=methods+details",
            "events=methods+lines+details",
            "events=methods+details,engine=jvmti",
        ] {
            let what = format!("{options}, JDK {}", jdk.feature);
            let file = folder.path().join("trace");
            let text = format!("format=binary,{options},file={}", file.display());
            let run = program(&jdk, "Redefined")
                .class_path(first_folder)
                .agent(agent(), text)
                .jvm_arg(format!("-javaagent:{}", jar.display()));
            let run = [&second, &first, &second]
                .iter()
                .fold(run, |run, file| run.arg(*file));
            let output = run.output();
            output.assert_exit(0);
            let [one, two] = ["first by first\n", "2nd by second\n"];
            assert_eq!(output.stdout, [one, two, one, two].concat(), "{what}");

            assert_eq!(Classes::read(&file).redefined, reported, "{what}");
            let trace = Trace::read(&file).expect("sound");
            trace.assert_sound(&output);
            let calls = |name: &str| {
                let key = format!("Changing.{name}()Ljava/lang/String;");
                trace.calls.get(&key).copied().unwrap_or(0)
            };
            let expected = match options.contains("methods") {
                true => [3 + 3 * 5, 3 + 5, 2 * 5],
                false => [0; 3],
            };
            let seen = ["answer", "first", "second"].map(calls);
            assert_eq!(seen, expected, "{what}");
        }
    }
}
