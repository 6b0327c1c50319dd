//! Compares traces with the JVM's own tools on the same run: its class histogram and its heap dump.
//! It needs JVMs that have these tools.

use crate::support::agent;
use crate::support::heap_dumps::{dumps, wait_for};
use crate::support::hprof::Hprof;
use crate::support::jvm_tools::{Counts, SOURCES, jcmd, tool_program, with_tools_and};
use crate::support::observed::read;
use jtrail_model::{Event, ObjectId};
use jtrail_testkit::temp_dir;
use std::collections::{HashMap, HashSet};
use std::fs::{self};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the sources that the Java compiler compiles, for one collector only, because that takes
/// long.
fn sources(collector: &str) -> &'static str {
    match collector {
        "-XX:+UseG1GC" => SOURCES,
        _ => "-",
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock").as_nanos() as i64
}

/// Returns the name of a class without the part that distinguishes hidden classes: a separator, and
/// an address or a number. Each tool writes it differently.
pub(crate) fn plain(class: &str) -> String {
    let end = class.match_indices(['/', '.', '+']).find(|(at, _)| {
        let rest = class[at + 1..].trim_end_matches(';');
        !rest.is_empty() && (rest.starts_with("0x") || rest.bytes().all(|b| b.is_ascii_digit()))
    });
    class[..end.map_or(class.len(), |(at, _)| at)].to_owned()
}

/// Returns the number of objects of each class in the JVM's histogram.
fn histogram(text: &str) -> Counts {
    let mut counts = Counts::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [number, count, _, class, ..] = words[..]
            && number.ends_with(':')
        {
            *counts.entry(plain(class)).or_default() += count.parse::<i64>().expect(line);
        }
    }
    counts
}

/// Returns the innermost element class of an array; `None` for numbers.
fn element(class: &str) -> Option<&str> {
    match class.strip_prefix('[') {
        None => Some(class),
        Some(array) => array
            .trim_start_matches('[')
            .strip_prefix('L')
            .map(|name| name.trim_end_matches(';')),
    }
}

/// The objects of a trace, before and after a moment.
#[derive(Default)]
struct Alive {
    classes: HashMap<u64, String>,
    /// Classes that were prepared after Java code could run. All of their objects are younger than
    /// the trace.
    young: HashSet<String>,
    ready: bool,
    /// Class of each object, and true if the object was created before the moment.
    objects: HashMap<ObjectId, (u64, bool)>,
    allocated: u64,
    defined: u64,
    smallest: u64,
    largest: u64,
    /// The causes of collections.
    causes: Vec<String>,
}

impl Alive {
    fn take(&mut self, event: &Event<'_>, moment: i64) {
        match event {
            Event::GcDetail(e) => self.causes.push(e.cause.to_string()),
            Event::RuntimeInitDone(_) => self.ready = true,
            Event::ClassDef(e) => {
                self.classes.insert(e.class.0, e.name.to_string());
            }
            Event::ClassDetail(e) if self.ready => {
                self.young.insert(plain(&self.classes[&e.class.0]));
            }
            Event::ObjectAlloc(e) => {
                self.allocated += 1;
                self.number(e.object.0);
                let before = e.time.0 <= moment;
                self.objects.insert(e.object, (e.class.0, before));
            }
            Event::ObjectDef(e) => {
                self.defined += 1;
                self.number(e.object.0);
                self.objects.insert(e.object, (e.class.0, true));
            }
            Event::ObjectFree(e) => {
                self.objects.remove(&e.object);
            }
            _ => {}
        }
    }

    fn number(&mut self, number: u64) {
        if self.largest == 0 {
            self.smallest = number;
        }
        self.smallest = self.smallest.min(number);
        self.largest = self.largest.max(number);
    }

    /// Returns the number of objects by class: of those created before the moment, and of those
    /// created after it.
    fn counts(&self) -> [Counts; 2] {
        let mut counts = [Counts::new(), Counts::new()];
        for (class, before) in self.objects.values() {
            let name = plain(&self.classes[class]);
            *counts[usize::from(!before)].entry(name).or_default() += 1;
        }
        counts
    }
}

/// While the program is quiet, the JVM collects all garbage and counts what is left. For each class
/// whose objects are all younger than the trace, the count must be the objects created minus those
/// freed in the trace. This excludes arrays of numbers, classes that were prepared before Java code
/// could run, and arrays of these classes.
///
/// The tool itself makes the JVM create objects. So its count may be higher, by at most the number
/// of objects that were created after the moment of the count.
#[test]
fn live_counts_are_the_histogram() {
    let (mut runs, mut all_compared) = (0, 0);
    for (jdk, collector) in with_tools_and(&["Serial", "Parallel", "G1"]) {
        // JVM 21 does not report objects that are created while a virtual thread mounts or
        // unmounts.
        let without_virtual_threads = jdk.feature == 21;
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "format=binary,events=threads+gc+details+alloc+free,file={}",
            file.display()
        );
        let source = include_str!("Sleeping.java");
        let mut run = tool_program(&jdk, "Sleeping", source, folder.path())
            .agent(agent(), options)
            .arg(sources(&collector))
            .jvm_arg("-XX:+UnlockExperimentalVMOptions")
            .jvm_arg(&collector)
            // Otherwise full collections leave a few dead objects in place, to save work.
            .jvm_arg("-XX:MarkSweepDeadRatio=0");
        if without_virtual_threads {
            run = run.arg("plain");
        }
        let mut running = run.spawn().expect("it starts");
        running.wait_ready();
        sleep(Duration::from_millis(300));
        let moment = now();
        let theirs = histogram(&jcmd(&jdk, &running, "GC.class_histogram"));
        sleep(Duration::from_millis(300));
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        let mut alive = Alive::default();
        read(&file, |event| alive.take(event, moment));
        // With Serial and Parallel, the JVM (before 25) sends no event for the collection that it
        // does for this tool. Parallel empties the young generation first, and 11 reports dead
        // objects in between.
        let causes = alive.causes.iter();
        let made = causes.filter(|cause| *cause == "Heap Inspection Initiated GC");
        let most = if jdk.feature == 11 && collector.contains("Parallel") {
            2
        } else {
            1
        };
        assert!(
            (1..=most).contains(&made.count()),
            "{collector}: {:?}",
            alive.causes
        );
        // Every number from 1 on belongs to an object in the trace.
        assert_eq!(alive.smallest, 1);
        let numbers = alive.largest + 1 - alive.smallest;
        assert_eq!(alive.allocated + alive.defined, numbers);
        let [ours, later] = alive.counts();

        let names: HashSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let (mut compared, mut objects) = (0, 0);
        let mut wrong = Vec::new();
        for name in names {
            if !element(name).is_some_and(|class| alive.young.contains(class)) {
                continue;
            }
            let of = |counts: &Counts| counts.get(name).copied().unwrap_or(0);
            let (ours, theirs) = (of(&ours), of(&theirs));
            if !(ours..=ours + of(&later)).contains(&theirs) {
                wrong.push(format!(
                    "{name}: {ours} (and {} later), the JVM has {theirs}",
                    of(&later)
                ));
            }
            compared += 1;
            objects += theirs;
        }
        wrong.sort();
        eprintln!(
            "JDK {}, {collector}: {compared} classes with {objects} objects alike, of {} and {}; {} allocations",
            jdk.feature,
            theirs.len(),
            theirs.values().sum::<i64>(),
            alive.allocated
        );
        assert!(
            wrong.is_empty(),
            "JDK {}, {collector}: {wrong:#?}",
            jdk.feature
        );
        // On a slow machine, fewer classes are younger than the trace.
        assert!(compared > 25 && objects > 15_000);
        (runs, all_compared) = (runs + 1, all_compared + compared);
    }
    assert!(all_compared > 50 * runs, "{all_compared} of {runs} runs");
}

/// While the program is quiet, the agent takes a snapshot, the JVM dumps its heap, and the agent
/// takes another snapshot. The dump's number of objects of each class must be between those of the
/// two snapshots, or equal to them. So must the number of references. An object's reference to its
/// class is left out, because the dump does not count it.
///
/// `java.lang.Class` is excluded: the dump has classes, but not the fields of class objects.
/// Objects that are reachable only from hidden static fields may be missing in the snapshots
/// ([`Hprof`]): a walk finds some of them.
#[test]
fn a_snapshot_is_the_heap_dump() {
    for (jdk, collector) in with_tools_and(&["Serial", "Parallel", "G1", "Z", "Shenandoah"]) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "format=binary,events=threads+gc+heap,heap=request,file={}",
            file.display()
        );
        let source = include_str!("Sleeping.java");
        let mut running = tool_program(&jdk, "Sleeping", source, folder.path())
            .agent(agent(), options)
            .arg(sources(&collector))
            .jvm_arg("-XX:+UnlockExperimentalVMOptions")
            .jvm_arg(&collector)
            .spawn()
            .expect("it starts");
        running.wait_ready();
        // The first use of each tool makes the JVM load what it needs.
        jcmd(&jdk, &running, "GC.class_histogram");
        jcmd(&jdk, &running, "JVMTI.data_dump");
        let theirs = folder.path().join("heap.hprof");
        jcmd(
            &jdk,
            &running,
            &format!("GC.heap_dump {}", theirs.display()),
        );
        jcmd(&jdk, &running, "JVMTI.data_dump");
        wait_for(&file, "heapdump2");
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        let theirs = Hprof::parse(&fs::read(&theirs).expect("a dump"));
        let (ours, _) = dumps(&file);
        let [before, after] = &ours[..] else {
            panic!("{} dumps", ours.len());
        };

        let counts = |dump: &crate::support::heap_dumps::Dump| {
            let mut objects = Counts::new();
            let mut references = Counts::new();
            for (class, _) in dump.objects.values() {
                *objects.entry(plain(class)).or_default() += 1;
                // The reference to the class is not counted.
                *references.entry(plain(class)).or_default() -= 1;
            }
            for (source, _) in &dump.references {
                let class = plain(&dump.objects[source].0);
                *references.entry(class).or_default() += 1;
            }
            [objects, references]
        };
        let (before, after) = (counts(before), counts(after));
        // The minimum and the maximum for the counts of the snapshots.
        let mut least = [Counts::new(), Counts::new()];
        let mut most = [Counts::new(), Counts::new()];
        let objects = theirs.objects.keys().map(|object| (0, object));
        let sources = theirs.references.iter().map(|(source, _)| (1, source));
        for (kind, object) in objects.chain(sources) {
            let class = plain(&theirs.objects[object]);
            if theirs.sure.contains(object) {
                *least[kind].entry(class.clone()).or_default() += 1;
            }
            if theirs.possible.contains(object) {
                *most[kind].entry(class).or_default() += 1;
            }
        }
        let mut wrong = Vec::new();
        for (kind, what) in ["objects", "references"].into_iter().enumerate() {
            let names: HashSet<&String> = before[kind].keys().chain(least[kind].keys()).collect();
            let (mut compared, mut exact, mut all) = (0, 0, 0);
            for name in names.into_iter().filter(|name| *name != "java.lang.Class") {
                let of = |counts: &[Counts; 2]| counts[kind].get(name).copied().unwrap_or(0);
                let (a, b, least, most) = (of(&before), of(&after), of(&least), of(&most));
                if least > a.max(b) || most < a.min(b) {
                    wrong.push(format!(
                        "{what} of {name}: {a} and {b}, the JVM has {least} to {most}"
                    ));
                }
                compared += 1;
                exact += i32::from(a == b && least == most);
                all += least;
            }
            eprintln!(
                "JDK {}, {collector}: {compared} classes with {all} {what} compared, {exact} of them to the last",
                jdk.feature
            );
            assert!(exact > compared / 2 && all > 50_000);
        }
        wrong.sort();
        assert!(
            wrong.is_empty(),
            "JDK {}, {collector}: {wrong:#?}",
            jdk.feature
        );
    }
}
