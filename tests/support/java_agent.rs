//! Agents in Java.

use jtrail_testkit::Jdk;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the jar of the agent `Neighbour` in `folder`. That agent transforms classes, too.
pub(crate) fn java_agent(folder: &Path) -> PathBuf {
    compiled_agent(folder, "Neighbour", include_str!("Neighbour.java"))
}

/// Builds the jar of a Java agent in `folder`. The agent may retransform and redefine classes.
pub(crate) fn compiled_agent(folder: &Path, class: &str, source_text: &str) -> PathBuf {
    let home = Jdk::all()
        .into_iter()
        .rev()
        .find(|j| j.javac.is_some())
        .expect("a JDK with a compiler");
    let source = folder.join(format!("{class}.java"));
    fs::write(&source, source_text).expect("written");
    let manifest = folder.join("manifest");
    fs::write(
        &manifest,
        format!(
            "Premain-Class: {class}\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n"
        ),
    )
    .expect("written");
    let classes = folder.join("classes");
    let run = |command: &mut Command| {
        let output = command.output().expect("it starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let javac = home.javac.as_ref().expect("chosen for it");
    run(Command::new(javac)
        .args(["--release", "11", "-d"])
        .arg(&classes)
        .arg(&source));
    let jar = folder.join("agent.jar");
    run(Command::new(javac.with_file_name("jar"))
        .arg("cfm")
        .arg(&jar)
        .arg(&manifest)
        .arg("-C")
        .arg(&classes)
        .arg("."));
    jar
}
