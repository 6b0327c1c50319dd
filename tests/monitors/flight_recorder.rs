//! Monitors, parks, exceptions and allocations in traces, compared with the JVM's flight recorder
//! on the same run; and CPU times, compared with those that the program requests.

use crate::support::compile::compile;
use crate::support::jvm_tools::{SOURCES, tool_program};
use crate::support::observed::read;
use crate::support::{agent, harness};
use jtrail_model::{Event, ObjectId, ThreadId};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Kind of event, thread and class.
type Key = (&'static str, String, String);

/// When each event began, and whether it timed out.
type Reported = BTreeMap<Key, Vec<(i64, bool)>>;

/// Returns true for threads of the program that begin and end during the recording.
fn is_watched(thread: &str) -> bool {
    thread.starts_with("busy-") || thread.starts_with("checkout-")
}

/// Returns the name of a hidden class without the address and the hash that the JVM appends. The
/// recorder of each JVM writes these differently.
fn without_address(class: &str) -> &str {
    let begins = |(at, _): &(usize, char)| {
        let rest = &class[*at..];
        rest.starts_with(['/', '+'])
            || rest.starts_with('.') && rest[1..].starts_with(|next: char| next.is_ascii_digit())
    };
    let end = class.char_indices().find(begins);
    end.map_or(class, |(at, _)| &class[..at])
}

#[derive(Default)]
struct Ours {
    classes: HashMap<u64, String>,
    names: HashMap<ThreadId, String>,
    objects: HashMap<ObjectId, String>,
    waiting: HashMap<ThreadId, (i64, String)>,
    thrown: HashSet<ObjectId>,
    reported: Reported,
    /// Number of objects by thread and class.
    allocated: BTreeMap<(String, String), u64>,
    /// Allocated bytes by thread.
    bytes: BTreeMap<String, u64>,
}

impl Ours {
    fn report(&mut self, kind: &'static str, thread: ThreadId, class: String, at: (i64, bool)) {
        let thread = self.names.get(&thread).cloned().unwrap_or_default();
        if is_watched(&thread) {
            let key = (kind, thread, class);
            self.reported.entry(key).or_default().push(at);
        }
    }

    fn class_of(&self, object: ObjectId) -> String {
        match object.is_none() {
            true => "-".into(),
            false => self.objects[&object].clone(),
        }
    }

    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::ThreadStart(e) => {
                self.names.insert(e.thread, e.name.to_string());
            }
            Event::ClassDef(e) => {
                self.classes
                    .insert(e.class.0, without_address(&e.name).to_owned());
            }
            Event::ObjectDef(e) => {
                self.objects
                    .insert(e.object, self.classes[&e.class.0].clone());
            }
            Event::ObjectAlloc(e) => {
                let class = self.classes[&e.class.0].clone();
                self.objects.insert(e.object, class.clone());
                let thread = self.names.get(&e.thread).cloned().unwrap_or_default();
                *self.bytes.entry(thread.clone()).or_default() += e.size as u64;
                *self.allocated.entry((thread, class)).or_default() += 1;
            }
            Event::MonitorContendedEnter(e) => {
                self.report(
                    "JavaMonitorEnter",
                    e.thread,
                    self.class_of(e.object),
                    (e.time.0, false),
                );
            }
            Event::MonitorWait(e) => {
                let class = self.class_of(e.object);
                self.waiting.insert(e.thread, (e.time.0, class));
            }
            Event::MonitorWaited(e) => {
                // The JVM's own waits, for the end of a class initialization, have no begin event.
                let own = (e.time.0, self.class_of(e.object));
                let (time, class) = self.waiting.remove(&e.thread).unwrap_or(own);
                self.report("JavaMonitorWait", e.thread, class, (time, e.timed_out != 0));
            }
            Event::ThreadPark(e) => {
                self.report(
                    "ThreadPark",
                    e.thread,
                    self.class_of(e.object),
                    (e.time.0, false),
                );
            }
            Event::ExceptionThrow(e) if self.thrown.insert(e.object) => {
                let class = self.classes[&e.class.0].clone();
                self.report("JavaExceptionThrow", e.thread, class, (e.time.0, false));
            }
            _ => {}
        }
    }
}

/// A flight recording, read by the JVM's own reader.
#[derive(Default)]
struct Theirs {
    reported: Reported,
    /// Number of reported objects by kind of report, thread and class. The kind is `area` if the
    /// object took a new allocation area, or was put outside of areas. It is `sample` if the object
    /// is a sample, which JVMs after 11 take.
    sampled: BTreeMap<Key, u64>,
    /// The recorder's figures, by thread.
    bytes: BTreeMap<String, Bytes>,
}

/// The recorder's figures of the bytes that a thread allocated.
#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    /// Bytes of the thread's allocation areas, and of objects outside of them.
    areas: u64,
    /// Bytes of the thread's largest area.
    largest_area: u64,
    /// Sum of the weights of all samples. A weight is the bytes since the preceding sample.
    weight: u64,
}

const PAIRED: [&str; 4] = [
    "JavaMonitorEnter",
    "JavaMonitorWait",
    "ThreadPark",
    "JavaExceptionThrow",
];

impl Theirs {
    fn read(jdk: &Jdk, folder: &Path, recording: &Path) -> Self {
        compile("Recorded", include_str!("Recorded.java"), folder);
        let output = Run::new(jdk, "Recorded")
            .class_path(folder)
            .arg(recording)
            .output();
        output.assert_exit(0);
        let mut theirs = Self::default();
        for line in output.stdout.lines() {
            let [kind, thread, begin, _, class, figure] = line.split('\t').collect::<Vec<_>>()[..]
            else {
                panic!("{line}");
            };
            let class = without_address(class);
            let figure: u64 = figure.parse().expect("a number");
            if !is_watched(thread) {
                continue;
            }
            if let Some(kind) = PAIRED.into_iter().find(|paired| *paired == kind) {
                let key = (kind, thread.to_owned(), class.to_owned());
                let at = (begin.parse().expect("a time"), figure == 1);
                theirs.reported.entry(key).or_default().push(at);
                continue;
            }
            let bytes = theirs.bytes.entry(thread.to_owned()).or_default();
            let way = if kind == "ObjectAllocationSample" {
                bytes.weight += figure;
                "sample"
            } else {
                if kind == "ObjectAllocationInNewTLAB" {
                    bytes.largest_area = bytes.largest_area.max(figure);
                }
                bytes.areas += figure;
                "area"
            };
            let key = (way, thread.to_owned(), class.to_owned());
            *theirs.sampled.entry(key).or_default() += 1;
        }
        theirs
            .reported
            .values_mut()
            .for_each(|all| all.sort_unstable());
        theirs
    }

    /// Returns true if the recorder gives no times of throws: then all have the same time.
    fn throws_have_no_time(&self) -> bool {
        let throws = self
            .reported
            .iter()
            .filter(|(key, _)| key.0 == "JavaExceptionThrow");
        let times: HashSet<i64> = throws
            .flat_map(|(_, all)| all)
            .map(|(time, _)| *time)
            .collect();
        times.len() == 1
    }
}

/// Class of the locks that the JVM holds while it initializes classes.
const CLASS_LOCK: &str = "[I";

/// Event and class of the locks that the JVM takes when it ends a thread. By then, it has already
/// reported the thread's end to agents.
const THREAD_LOCK: (&str, &str) = ("JavaMonitorEnter", "java.lang.Thread");

/// The agent and the recorder both record the threads that begin and end during the recording.
///
/// - Blocks, waits, parks and exceptions are the same, one for one, by thread and class. In the
///   median, the two times of an event differ by less than two milliseconds. Single times may
///   differ more, because the machine may preempt a thread in between. Some JVMs know the begin of
///   a recording only in whole milliseconds. There, all of the recorder's times are early by the
///   same fraction of a millisecond.
/// - The recorder reports an exception when it is created, the agent when it is first thrown. The
///   program throws all exceptions that it creates. But the JVM itself creates errors when it looks
///   for a method, and swallows them. So the recorder may have more errors.
/// - The recorder has samples of the allocations, including those of lambdas. The agent has
///   recorded, for each thread and class, at least as many objects as there are samples. The agent
///   has counted at most as many bytes for a thread as the recorder: the bytes of the areas that
///   the thread took, and of its objects outside of areas.
/// - On JVMs after 11, the weights of the samples add up to the bytes that the agent has counted.
///   They miss only the objects after the thread's last sample: those in its last area, and at most
///   the same number of bytes outside of areas.
#[test]
fn the_flight_recorder_sees_the_same() {
    for jdk in Jdk::require(&crate::support::few_versions()) {
        let folder = temp_dir();
        let (file, recording) = (folder.path().join("trace"), folder.path().join("r.jfr"));
        let options = format!(
            "format=binary,events=threads+alloc+monitors+parks+exceptions,stackdepth=4,file={}",
            file.display()
        );
        let source = include_str!("Busy.java");
        let output = tool_program(&jdk, "Busy", source, folder.path())
            .agent(agent(), options)
            .arg(&recording)
            .output();
        output.assert_exit(0);
        let theirs = Theirs::read(&jdk, folder.path(), &recording);
        let mut ours = Ours::default();
        read(&file, |event| ours.take(event));

        // On JDK 25, the recorder stores no time for events without a duration that can be
        // throttled.
        let theirs_no_times = theirs.throws_have_no_time();
        assert!(!theirs_no_times || jdk.feature >= 25);

        let mut wrong = Vec::new();
        let mut distances = Vec::new();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let keys: HashSet<&Key> = ours.reported.keys().chain(theirs.reported.keys()).collect();
        for key in keys {
            // The JVM reports only the end of a wait for such a lock to agents, so these waits are
            // skipped.
            if key.2 == CLASS_LOCK && key.0 == "JavaMonitorWait" {
                continue;
            }
            if (key.0, &*key.2) == THREAD_LOCK {
                continue;
            }
            let of = |reported: &Reported| reported.get(key).cloned().unwrap_or_default();
            let (ours, theirs) = (of(&ours.reported), of(&theirs.reported));
            *seen.entry(key.0).or_default() += theirs.len();
            let swallowed = key.2.ends_with("Error") && ours.len() < theirs.len();
            if ours.len() != theirs.len() && !swallowed {
                wrong.push(format!(
                    "{key:?}: {}, the recorder has {}",
                    ours.len(),
                    theirs.len()
                ));
            } else if ours.iter().zip(&theirs).any(|(a, b)| a.1 != b.1) {
                wrong.push(format!("{key:?}: other waits timed out"));
            }
            let timeless = key.0 == "JavaExceptionThrow" && theirs_no_times;
            if key.2 == CLASS_LOCK || swallowed || timeless {
                continue;
            }
            distances.extend(ours.iter().zip(&theirs).map(|(a, b)| a.0 - b.0));
        }
        wrong.sort();
        distances.sort_unstable();
        let [low, median, high] = [10, 50, 90].map(|part| distances[distances.len() * part / 100]);
        eprintln!(
            "JDK {}: {seen:?}; ours are {low}, {median}, {high} ns later",
            jdk.feature
        );
        for (key, count) in &theirs.sampled {
            let (_, thread, class) = key.clone();
            let made = ours.allocated.get(&(thread, class)).copied().unwrap_or(0);
            if made < *count {
                wrong.push(format!(
                    "{key:?}: {made} made, the recorder has {count} samples"
                ));
            }
        }
        for (thread, theirs) in &theirs.bytes {
            let bytes = ours.bytes[thread];
            eprintln!("{thread}: {bytes} bytes, {theirs:?}");
            let least = match jdk.feature {
                ..=11 => 0,
                _ => bytes.saturating_sub(2 * theirs.largest_area),
            };
            let most = bytes + bytes / 100;
            if bytes > theirs.areas || !(least..=most).contains(&theirs.weight) {
                wrong.push(format!(
                    "{thread}: {bytes} bytes, the recorder has {theirs:?}"
                ));
            }
        }
        assert!(wrong.is_empty(), "JDK {}: {wrong:#?}", jdk.feature);
        let close = -1_000_000..=2_000_000;
        assert!(close.contains(&median), "{median} ns");
        assert!(PAIRED.iter().all(|kind| seen[kind] > 0), "{seen:?}");
        let mut sampled = theirs.sampled.keys().map(|(_, _, class)| class);
        assert!(
            sampled.any(|class| class.starts_with("Busy$$Lambda")),
            "JDK {}",
            jdk.feature
        );
    }
}

/// The thread's CPU time that the program reads is between the trace's values directly before and
/// after that reading, with a tolerance of 5 %. Times below 100 ms are skipped: 5 % of them are
/// less than what a thread uses between two distinguishable moments. The moment of a reading is
/// taken from the trace's own clock, by the calls before and after it, because Java's clock may
/// have drifted.
#[test]
fn cpu_times_are_those_of_the_thread_bean() {
    for jdk in Jdk::require(&crate::support::few_versions()) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "format=binary,events=+cpu,include=org.example.*,include=Clocks,include=com.sun.tools.javac.comp.Attr,file={}",
            file.display()
        );
        let source = include_str!("Clocks.java");
        let output = tool_program(&jdk, "Clocks", source, folder.path())
            .arg(SOURCES)
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        let mut names: HashMap<ThreadId, String> = HashMap::new();
        let mut figures: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
        let (mut marks, mut moments) = (HashSet::new(), Vec::new());
        read(&file, |event| {
            let (thread, time, cpu) = match event {
                Event::ThreadStart(e) => {
                    names.insert(e.thread, e.name.to_string());
                    return;
                }
                Event::MethodDef(e) => {
                    marks.extend((e.name == "mark").then_some(e.method));
                    return;
                }
                Event::MethodEnter(e) => {
                    moments.extend(marks.contains(&e.method).then_some(e.time.0));
                    (e.thread, e.time, e.cpu_time)
                }
                Event::MethodLeave(e) => (e.thread, e.time, e.cpu_time),
                Event::ThreadCpu(e) => (e.thread, e.time, e.cpu_time),
                _ => return,
            };
            let name = names[&thread].clone();
            figures.entry(name).or_default().push((time.0, cpu.0));
        });
        let (mut compared, mut of_compiler) = (0, 0);
        let answers = output.stdout.lines();
        let answers: Vec<_> = answers
            .filter_map(|line| line.strip_prefix("cpu\t")?.split_once('\t'))
            .collect();
        assert_eq!(moments.len(), 2 * answers.len(), "JDK {}", jdk.feature);
        for ((thread, theirs), asked) in answers.into_iter().zip(moments.chunks(2)) {
            let theirs: i64 = theirs.parse().expect("a number");
            let figures = &figures[thread];
            if theirs < 100_000_000 {
                continue;
            }
            let before = figures.partition_point(|(time, _)| *time < asked[0]);
            let after = figures.partition_point(|(time, _)| *time <= asked[1]);
            let before = before.checked_sub(1).and_then(|at| figures.get(at));
            let (Some((_, low)), Some((_, high))) = (before, figures.get(after)) else {
                continue;
            };
            let extra = theirs / 20;
            assert!(
                (low - extra..=high + extra).contains(&theirs),
                "JDK {}, {thread}: {low} to {high}, the bean says {theirs} at {asked:?}",
                jdk.feature
            );
            compared += i32::from(high - low < extra);
            of_compiler += i32::from(high - low < extra && thread == "javac");
        }
        eprintln!(
            "JDK {}: {compared} questions compared, {of_compiler} of the compiler's thread",
            jdk.feature
        );
        assert!(compared >= 20, "JDK {}: {compared}", jdk.feature);
        assert_eq!(jdk.javac.is_some(), of_compiler > 0);
        assert!(harness().has(&jdk, "org.example.shop.Main"));
    }
}
