//! Threads that help the writer.

use crate::support::compile::compile;
use crate::support::{agent, few_versions, program};
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A thread of the process.
#[derive(PartialEq, Eq, Debug)]
struct Task {
    /// The signals that the thread blocks.
    blocked: u64,
    nice: i32,
}

/// Returns the threads of the process whose names begin with `prefix`.
fn threads(pid: u32, prefix: &str) -> BTreeMap<String, Task> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return BTreeMap::new(); // the process has ended
    };
    let reported = tasks.flatten().filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let blocked = u64::from_str_radix(field("SigBlk:")?.trim(), 16).ok()?;
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        // The nineteenth field of the line. The fields are counted from the end of the name,
        // because the name may contain anything.
        let nice = stat.rsplit_once(')')?.1.split_whitespace().nth(16)?;
        let nice = nice.parse().ok()?;
        Some((field("Name:")?.trim().to_owned(), Task { blocked, nice }))
    });
    reported
        .filter(|(name, _)| name.starts_with(prefix))
        .collect()
}

/// There are as many helpers as requested, with all signals blocked. They are unknown to Java.
#[test]
fn they_are_as_many_as_asked_for_and_the_jvm_does_not_know_them() {
    // SIGKILL and SIGSTOP can't be blocked, nor the signals that the C library reserves.
    const NEVER: u64 = 1 << 8 | 1 << 18 | 1 << 31 | 1 << 32;
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        for (count, format, priority) in [
            (0, "trail", "normal"),
            (3, "trail", "low"),
            (3, "binary", "low"),
        ] {
            let file = folder.path().join("trace");
            let options = format!(
                "format={format},trail.writers={count},priority={priority},include=Many.outer,file={}",
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
            found.extend(threads(running.pid(), "jtrail writer"));
            let nice = if priority == "low" { 10 } else { 0 };
            for (name, task) in &found {
                assert_eq!(
                    (task.blocked | NEVER, task.nice),
                    (u64::MAX, nice),
                    "{name}"
                );
            }
            let program = threads(running.pid(), "many-");
            assert!(program.values().all(|task| task.nice == 0), "{program:?}");
            // The JVM lists its threads, including those that agents have attached.
            running.signal("QUIT").expect("it runs");
            running.wait_for("JNI global ref");
            running.signal("KILL").expect("it runs");
            let output = running.wait().expect("it ends");
            assert!(!output.stdout.contains("jtrail"), "{output}");
        }
    }
}
