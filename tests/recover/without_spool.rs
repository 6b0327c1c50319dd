//! A program that is killed at any moment leaves a trail from which everything that was written is
//! recovered, even without a spool.

use crate::support::cli::{events, jtrail, verify};
use crate::support::compile::compile;
use crate::support::{agent, one_version, program};
use jtrail_testkit::Jdk;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, thread};

/// Kills a JVM with busy threads, when they have been busy for `after`. The JVM's trail stays.
fn killed(jdk: &Jdk, classes: &Path, file: &Path, after: Duration) {
    let options = format!("format=trail,trail.spool=false,file={}", file.display());
    let run = program(jdk, "Crowd").class_path(classes);
    let mut running = run.agent(agent(), options).spawn().expect("it starts");
    running.wait_ready();
    thread::sleep(after);
    running.signal("KILL").expect("it is there");
    running.wait().expect("it ends");
}

/// Recovers a trail that is incomplete. Returns the output, and what `verify` says about the new
/// trail.
fn recovered(file: &Path, out: &Path) -> (String, String) {
    let [from, to] = [file, out].map(|path| path.to_str().expect("text"));
    let (code, _, said) = jtrail(&["recover", from, "-o", to]);
    let expected = format!("{:?}", ExitCode::from(3));
    assert_eq!(format!("{code:?}"), expected, "{said}");
    let (_, verdict) = verify(out);
    assert!(verdict.contains(": truncated (trail, "), "{verdict}");
    (said, verdict)
}

/// Returns how many events are lost according to `recover`.
fn lost(said: &str) -> String {
    let (_, time_after) = said.rsplit_once("lost: ").expect("it says so");
    let (lost, _) = time_after
        .split_once(", calls open")
        .expect("and what is open");
    lost.to_owned()
}

/// Returns how many definitions are taken from their copies according to `recover`.
fn copied(said: &str) -> usize {
    let Some((before, _)) = said.split_once(" definitions are taken from their copies") else {
        return 0;
    };
    let (_, count) = before.rsplit_once(' ').expect("it says how many");
    count.replace(',', "").parse().expect("a number")
}

/// Returns the events of a truncated trail, without those that report losses.
fn recorded(file: &Path) -> Vec<String> {
    let mut events = events(file, true);
    events.retain(|event| !event.contains("jtrail lost"));
    events
}

#[test]
fn what_a_killed_program_wrote_is_recovered() {
    let folder = jtrail_testkit::temp_dir();
    compile("Crowd", include_str!("Crowd.java"), folder.path());
    let [file, out] = ["killed.trail", "out.trail"].map(|name| folder.path().join(name));
    for jdk in Jdk::require(&one_version()) {
        let mut most = 0;
        for after in [0, 40, 130, 411] {
            killed(&jdk, folder.path(), &file, Duration::from_millis(after));
            let (said, verdict) = recovered(&file, &out);
            assert!(said.contains("the trace is truncated"), "{said}");
            // If the kill has cut a write in the middle, the events of this write are lost. The
            // header of the segment says how many they are.
            let lost = lost(&said);
            assert_eq!(lost != "0", said.contains(" are missing"), "{said}");
            assert!(
                verdict.contains(&format!("events lost: {lost})")),
                "{verdict}"
            );
            // Definitions in the truncated segment also have copies before this segment.
            let (written, found) = (recorded(&file), recorded(&out));
            assert_eq!(found[..written.len()], written);
            assert_eq!(found.len() - written.len(), copied(&said), "{said}");
            most = most.max(written.len());
        }
        assert!(most > 10_000, "JDK {}: {most} events", jdk.feature);

        let (whole, bytes) = (recorded(&file), fs::read(&file).expect("a trail"));
        let damaged_file = folder.path().join("damaged.trail");
        for part in 1..6 {
            let mut damaged = bytes.clone();
            let at = bytes.len() * part / 7;
            damaged[at..bytes.len().min(at + 4096)].fill(0);
            fs::write(&damaged_file, damaged).expect("written");
            let (said, _) = recovered(&damaged_file, &out);
            assert!(said.contains(" bytes are damaged, "), "{said}");
            let mut all = whole.iter();
            for event in recorded(&out) {
                assert!(all.any(|one| *one == event), "made up: {event}");
            }
        }
    }
}
