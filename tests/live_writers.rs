//! Threads that help the writer.

use crate::common::{agent, few_versions, program};
use crate::source::compile;
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// The process's threads whose names begin so, with the signals that they block.
fn threads(pid: u32, prefix: &str) -> BTreeMap<String, u64> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return BTreeMap::new(); // it has ended
    };
    let told = tasks.flatten().filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let blocked = u64::from_str_radix(field("SigBlk:")?.trim(), 16).ok()?;
        Some((field("Name:")?.trim().to_owned(), blocked))
    });
    told.filter(|(name, _)| name.starts_with(prefix)).collect()
}

/// As many as are asked for, with all signals blocked; they are no threads of Java's.
#[test]
fn they_are_as_many_as_asked_for_and_the_jvm_does_not_know_them() {
    // SIGKILL and SIGSTOP can't be blocked, nor what the C library keeps for itself.
    const NEVER: u64 = 1 << 8 | 1 << 18 | 1 << 31 | 1 << 32;
    let folder = temp_dir();
    compile("Many", include_str!("java/Many.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        for (count, format) in [(0, "trail"), (3, "trail"), (3, "binary")] {
            let file = folder.path().join("trace");
            let options = format!(
                "format={format},writers={count},include=Many.outer,file={}",
                file.display()
            );
            let mut running = program(&jdk, "Many")
                .class_path(folder.path())
                .arg("20000000")
                .agent(agent(), options)
                .spawn()
                .expect("it starts");
            let expected = if format == "trail" { count } else { 0 };
            let begin = Instant::now();
            let mut found = BTreeMap::new();
            let is_begun = || threads(running.pid(), "many-").len() == 4;
            while (found.len() < expected || !is_begun()) && begin.elapsed() < PATIENCE {
                found = threads(running.pid(), "jtrail encoder");
            }
            let names = (1..=expected).map(|n| format!("jtrail encoder{n}"));
            assert!(found.keys().cloned().eq(names), "{found:?}");
            for (name, blocked) in &found {
                assert_eq!(blocked | NEVER, u64::MAX, "{name}");
            }
            // The JVM lists its threads, those of agents that are attached to it as well.
            running.signal("QUIT").expect("it runs");
            running.wait_for("JNI global ref");
            running.signal("KILL").expect("it runs");
            let output = running.wait().expect("it ends");
            assert!(!output.stdout.contains("jtrail"), "{output}");
        }
    }
}
