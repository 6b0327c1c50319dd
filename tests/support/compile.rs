//! Compiles Java programs whose source is in a test.

use jtrail_testkit::Jdk;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles a class into a folder. All JVMs that tests run on can load it.
pub(crate) fn compile(class: &str, source: &str, folder: &Path) {
    compile_with(&[], class, source, folder, Path::new(""));
}

/// Like [`compile`], without line tables and the name of the source file.
pub(crate) fn compile_without_lines(class: &str, source: &str, folder: &Path) {
    compile_with(&["-g:none"], class, source, folder, Path::new(""));
}

/// Like [`compile`], with the classes of the folder `harness` on the class path.
pub(crate) fn compile_with_harness(class: &str, source: &str, folder: &Path, harness: &Path) {
    compile_with(&[], class, source, folder, harness);
}

fn compile_with(options: &[&str], class: &str, source: &str, folder: &Path, harness: &Path) {
    let file = folder.join(format!("{class}.java"));
    fs::write(&file, source).expect("the folder can be written");
    let jdks = Jdk::all();
    let javac = jdks.iter().find_map(|jdk| jdk.javac.as_ref());
    let output = Command::new(javac.expect("a compiler"))
        .args(["-nowarn", "-Xlint:-options", "--release", "11"])
        .args(options)
        .arg("-cp")
        .arg(harness)
        .arg("-d")
        .args([folder, &file])
        .output()
        .expect("javac runs");
    assert!(output.status.success(), "{output:?}");
}
