//! Heap snapshots of a program that knows which objects it keeps.

use crate::support::cli::outcome;
use crate::support::compile::compile;
use crate::support::heap_dumps::{Dump, dumps, wait_for};
use crate::support::jvm_tools::jcmd;
use crate::support::{Trace, agent, collectors, few_versions, one_version, program};
use jtrail_model::ObjectId;
use jtrail_testkit::{Jdk, Run};
use std::path::Path;

const SOURCE: &str = include_str!("Keeper.java");

const NODES: u64 = (1 << 10) - 1;

/// Prepares a run of [`SOURCE`], compiled into `folder`.
fn keeper(jdk: &Jdk, folder: &Path, options: &str) -> Run {
    compile("Keeper", SOURCE, folder);
    let options = format!(
        "format=binary,{options},file={}",
        folder.join("trace").display()
    );
    program(jdk, "Keeper")
        .class_path(folder)
        .agent(agent(), options)
}

/// Returns objects and bytes of a class in the JVM's own histogram.
fn in_histogram(histogram: &str, class: &str) -> (u64, u64) {
    let line = histogram.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(3) == Some(&class)).then(|| (words[1].to_owned(), words[2].to_owned()))
    });
    let (count, bytes) = line.unwrap_or_else(|| panic!("no {class} in\n{histogram}"));
    (
        count.parse().expect("a number"),
        bytes.parse().expect("a number"),
    )
}

impl Dump {
    /// Fails unless the snapshot has what the program keeps.
    fn assert_has_what_is_kept(&self) {
        assert!(self.complete, "{}", self.name);
        assert_eq!(self.count("Keeper$Node"), NODES);
        assert_eq!(self.count("Keeper$Leaf"), 300);
        assert_eq!(self.count("[LKeeper$Leaf;"), 1);
        assert_eq!(
            self.references("Keeper$Node", "Keeper$Node") as u64,
            NODES - 1
        );
        assert_eq!(self.references("[LKeeper$Leaf;", "Keeper$Leaf"), 300);
        assert_eq!(self.references("Keeper$Leaf", "Keeper$Leaf"), 1);
        // The references of the static fields.
        assert_eq!(self.references("java.lang.Class", "Keeper$Node"), 1);
        assert_eq!(self.references("java.lang.Class", "[LKeeper$Leaf;"), 1);
        assert!(self.count("java.lang.Class") > 300);
    }

    /// Fails unless the snapshot has what the program keeps, and all of it is reachable.
    fn assert_is_right(&self) {
        self.assert_has_what_is_kept();
        assert_eq!(self.count("Keeper$Dropped"), 0);
        assert_eq!(self.count("[[I"), self.references("[[I", "[I") as u64 / 7);
        let reached = self.reached();
        assert_eq!(reached.len(), self.objects.len());
        assert!(reached.iter().all(|o| self.objects.contains_key(o)));
    }
}

#[test]
fn snapshots_on_request_and_at_the_end_are_the_histogram_of_the_jvm() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("trace");
        let run = keeper(&jdk, folder.path(), "events=threads+gc+heap").arg("wait");
        let mut running = run.spawn().expect("it starts");
        running.wait_ready();
        jcmd(&jdk, &running, "JVMTI.data_dump");
        let histogram = jcmd(&jdk, &running, "GC.class_histogram");
        running.signal("QUIT").expect("a signal");
        wait_for(&file, "heapdump2");
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        Trace::read(&file).expect("sound").assert_sound(&output);
        let (dumps, _) = dumps(&file);
        let names: Vec<&str> = dumps.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["heapdump1", "heapdump2", "heapdump3"]);
        for dump in &dumps {
            dump.assert_is_right();
            let ours = dump.histogram();
            for class in ["Keeper$Node", "Keeper$Leaf", "[LKeeper$Leaf;"] {
                let theirs = in_histogram(&histogram, class);
                assert_eq!(ours[class], theirs, "{class}, JDK {}", jdk.feature);
            }
        }
    }
}

#[test]
fn objects_have_the_numbers_of_their_allocations() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let options = "events=threads+gc+free+heap,heap=exit";
        let output = keeper(&jdk, folder.path(), options)
            // The JVM reports allocations from a thread's next allocation area on, and a collection
            // makes the thread take one.
            .arg("early")
            .arg("gc")
            .output();
        output.assert_exit(0);
        let file = folder.path().join("trace");
        Trace::read(&file).expect("sound").assert_sound(&output);
        let (dumps, made) = dumps(&file);
        let [dump] = &dumps[..] else {
            panic!("{} dumps", dumps.len());
        };
        dump.assert_is_right();
        // The arrays are older than the first collection.
        let of_keeper = |class: &str| class.starts_with("Keeper$");
        for (object, (class, _)) in dump.objects.iter().filter(|(_, (c, _))| of_keeper(c)) {
            assert_eq!(made.get(object), Some(class), "JDK {}", jdk.feature);
        }
    }
}

#[test]
fn snapshots_after_collections() {
    for jdk in Jdk::require(&one_version()) {
        for collector in ["Serial", "G1"] {
            let folder = jtrail_testkit::temp_dir();
            let options = "events=threads+gc+heap,heap=gc";
            let run = keeper(&jdk, folder.path(), options)
                .jvm_arg(format!("-XX:+Use{collector}GC"))
                .arg("gc")
                .arg("gc");
            let output = run.output();
            output.assert_exit(0);
            let file = folder.path().join("trace");
            let trace = Trace::read(&file).expect("sound");
            trace.assert_sound(&output);
            assert!(!trace.threads.iter().any(|t| t.name.contains("jtrail")));
            let (dumps, _) = dumps(&file);
            // There are no snapshots after collections that the agent's snapshots caused.
            assert!(
                (2..=trace.collections).contains(&(dumps.len() as u64)),
                "{} dumps, {} collections, JDK {}",
                dumps.len(),
                trace.collections,
                jdk.feature
            );
            dumps.iter().for_each(Dump::assert_is_right);
        }
    }
}

/// The snapshots around a collection that a client forces show what the collection freed.
#[test]
fn a_forced_collection_stands_between_two_snapshots() {
    for jdk in Jdk::require(&one_version()) {
        for collector in collectors::all(&jdk) {
            let folder = jtrail_testkit::temp_dir();
            let socket = folder.path().join("socket").display().to_string();
            let options = format!("events=threads+gc+heap,heap=forced,control={socket}");
            let run = keeper(&jdk, folder.path(), &options)
                .jvm_arg("-XX:+UnlockExperimentalVMOptions")
                .jvm_arg(&collector)
                // With this heap, there is no collection before the forced ones.
                .jvm_arg("-Xms256m")
                .jvm_arg("-Xmn128m")
                .arg("wait");
            let mut running = run.spawn().expect("it starts");
            running.wait_ready();
            for _ in 0..2 {
                outcome(&["ctl", &socket, "gc"]).expect("garbage is collected");
            }
            let output = running.wait().expect("it ends");
            output.assert_exit(0);
            let file = folder.path().join("trace");
            Trace::read(&file).expect("sound").assert_sound(&output);
            let (dumps, _) = dumps(&file);
            let names: Vec<&str> = dumps.iter().map(|d| d.name.as_str()).collect();
            let what = format!("{collector}, JDK {}", jdk.feature);
            assert_eq!(
                names,
                [
                    "heapdump1-before-gc",
                    "heapdump2-after-gc",
                    "heapdump3-before-gc",
                    "heapdump4-after-gc"
                ],
                "{what}"
            );
            dumps.iter().for_each(Dump::assert_has_what_is_kept);
            // With these two collectors, walks find only reachable objects.
            let shows_garbage = !["Z", "Shenandoah"]
                .iter()
                .any(|name| collector.contains(name));
            let dropped = dumps.iter().map(|dump| dump.count("Keeper$Dropped"));
            let garbage = if shows_garbage { 50 } else { 0 };
            assert_eq!(dropped.collect::<Vec<_>>(), [garbage, 0, 0, 0], "{what}");
            for dump in &dumps {
                let reached = dump.reached();
                assert!(reached.iter().all(|o| dump.objects.contains_key(o)));
                let is_dropped = |o: &&ObjectId| dump.objects[o].0 == "Keeper$Dropped";
                assert_eq!(reached.iter().find(is_dropped), None, "{what}");
            }
        }
    }
}

#[test]
fn the_end_comes_while_snapshots_are_taken() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        // Snapshots follow one another as fast as possible, and the end waits for the current one.
        let options = "events=threads+gc+alloc+heap,heap=gc+exit,buffer=1m";
        let output = keeper(&jdk, folder.path(), options).arg("churn").output();
        output.assert_exit(0);
        let file = folder.path().join("trace");
        Trace::read(&file).expect("sound").assert_sound(&output);
        let (dumps, _) = dumps(&file);
        assert!(!dumps.is_empty());
        assert!(dumps.iter().all(|dump| dump.complete));
        let late = dumps.iter().map(|dump| dump.count("Keeper$Late")).max();
        assert!(late > Some(0), "JDK {}", jdk.feature);
    }
}
