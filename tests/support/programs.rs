//! Programs that several tests trace, and their classes.

use super::{harness, of_project};
use jtrail_testkit::{Jdk, Run};
use std::fs;
use std::path::{Path, PathBuf};

/// Gives the JVM a heap so small that the program's garbage causes collections.
pub(crate) fn small_heap(run: Run) -> Run {
    run.jvm_arg("-Xmx24m").jvm_arg("-XX:+UseSerialGC")
}

/// Returns the sources of the sample application.
pub(crate) fn shop_sources() -> Vec<PathBuf> {
    java_files("java-harness/src11/org")
}

/// Prepares a run of the JDK's compiler on these sources.
pub(crate) fn java_compiler(jdk: &Jdk, classes: &Path, sources: &[PathBuf]) -> Run {
    let run = Run::new(jdk, "com.sun.tools.javac.Main").jvm_arg("-XX:+UseSerialGC");
    let run = ["-proc:none", "-nowarn", "-d"]
        .iter()
        .fold(run, |run, arg| run.arg(*arg));
    sources
        .iter()
        .fold(run.arg(classes), |run, file| run.arg(file))
}

/// Limits the JVM to its quick compiler. In a program of some seconds, the other compiler costs
/// more than it saves.
pub(crate) fn quick(run: Run) -> Run {
    run.jvm_arg("-XX:TieredStopAtLevel=1")
}

/// Returns all Java files of a folder of this project, in order.
pub(crate) fn java_files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![of_project(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "java") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Copies the harness classes for that JVM to a folder that another user can read.
pub(crate) fn copy_classes(jdk: &Jdk, to: &Path) {
    for from in std::env::split_paths(&harness().class_path(jdk)) {
        let folder = to.join("harness");
        fs::create_dir_all(&folder).expect("ours");
        for class in fs::read_dir(from.join("harness")).expect("compiled") {
            let class = class.expect("ours").path();
            let copy = folder.join(class.file_name().expect("a name"));
            // Of several classes with one name, the first one is copied: the JVM would load it,
            // too.
            if class.is_file() && !copy.exists() {
                fs::copy(&class, copy).expect("ours");
            }
        }
    }
}
