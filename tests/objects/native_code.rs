//! Objects that native code creates, `Thread` objects, and the threads whose objects are alive.

use crate::support::cli::outcome;
use crate::support::embedded::NativeObjects;
use crate::support::observed::{observed, read};
use crate::support::{agent, embedded, few_versions, program};
use jtrail_model::{ClassId, Event, ObjectId};
use jtrail_testkit::{Jdk, differences, temp_dir};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Objects and arrays that JNI creates: each once, with its class, size and thread.
#[test]
fn native_code_makes_objects() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!("format=binary,events=threads+alloc,file={}", file.display());
        embedded::run(&jdk, "objects", &options);
        let mut classes = HashMap::new();
        let mut maker = None;
        // By class and size, for the thread that creates them.
        let mut made: BTreeMap<(String, i64), u64> = BTreeMap::new();
        // By class, for all threads.
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        read(&file, |event| match event {
            Event::ThreadStart(e) if e.name == "maker" => {
                assert_eq!(maker.replace(e.thread), None, "{event:?}");
            }
            Event::ClassDef(e) => {
                classes.insert(e.class, e.name.to_string());
            }
            Event::ObjectAlloc(e) => {
                let class: &String = &classes[&e.class];
                *all.entry(class.clone()).or_default() += 1;
                if Some(e.thread) == maker {
                    *made.entry((class.clone(), e.size)).or_default() += 1;
                }
            }
            _ => {}
        });
        let class = NativeObjects::CLASS.replace('/', ".");
        let array = format!("[L{class};");
        // A header of 12 bytes and the fields. An array has 16 bytes and the elements, 4 bytes
        // each, rounded up to 8.
        let plain = (class.clone(), 12 + 4 + 8);
        let size = (16 + 4 * i64::from(NativeObjects::LENGTH) + 7) / 8 * 8;
        let arrays = [array.clone(), "[I".into()].map(|class| (class, size));
        assert_eq!(made.get(&plain), Some(&NativeObjects::OBJECTS), "{made:#?}");
        let counts = arrays.map(|key| made.get(&key).copied());
        assert_eq!(
            counts,
            [Some(NativeObjects::ARRAYS), Some(NativeObjects::NUMBERS)],
            "{made:#?}"
        );
        assert_eq!(
            (all[&class], all[&array]),
            (NativeObjects::OBJECTS, NativeObjects::ARRAYS)
        );
    }
}

/// If objects have numbers, each thread has its `Thread` object: the one that the program created
/// for it, or one from before the trace.
#[test]
fn threads_have_their_objects() {
    for jdk in Jdk::require(&few_versions()) {
        for events in ["threads+alloc+free", "threads+monitors", "threads+parks"] {
            let mut classes = HashMap::new();
            let mut made: HashMap<ObjectId, ClassId> = HashMap::new();
            let mut defined: HashMap<ObjectId, ClassId> = HashMap::new();
            let mut threads: HashMap<String, ObjectId> = HashMap::new();
            let options = format!("format=binary,events={events}");
            let run = observed(
                program(&jdk, "harness.Groups"),
                &options,
                |_, event| match event {
                    Event::ClassDef(e) => _ = classes.insert(e.class, e.name.to_string()),
                    Event::ObjectAlloc(e) => _ = made.insert(e.object, e.class),
                    Event::ObjectDef(e) => _ = defined.insert(e.object, e.class),
                    Event::ThreadStart(e) => _ = threads.insert(e.name.to_string(), e.object),
                    _ => {}
                },
            );
            let truth = run.output.truth();
            let names = || truth.groups.keys().chain(truth.renamed.keys());
            for name in names() {
                let object = threads[name];
                assert!(!object.is_none(), "{name}, {events}, JDK {}", jdk.feature);
                // `main` is older than the trace. The others are created during the trace, so their
                // allocation is recorded if `alloc` is on.
                let are_made = name != "main" && events.contains("alloc");
                let class = if are_made { &made } else { &defined }.get(&object);
                let class = class.map(|class| &*classes[class]);
                assert_eq!(class, Some("java.lang.Thread"), "{name}, {events}");
            }
            let objects: HashSet<ObjectId> = names().map(|name| threads[name]).collect();
            let names: HashSet<&String> = names().collect();
            assert!(
                names.len() > 5 && names.len() == objects.len(),
                "{threads:?}"
            );
        }
    }
}

/// The report's table of live objects by class and thread matches what the program prints, and has
/// no further threads.
#[test]
fn the_report_shows_whose_objects_live() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "format=binary,events=threads+gc+alloc+free,file={}",
            file.display()
        );
        let run = program(&jdk, "harness.Frees").agent(agent(), options);
        let output = run.output();
        output.assert_exit(0);
        let file = file.to_str().expect("text");
        let args = ["report", "--live", "--top", "0", "--format", "tsv", file];
        let report = outcome(&args).expect("sound");
        let table = report.lines().skip_while(|line| *line != "# live_counts");
        let rows = table.skip(2).take_while(|line| !line.is_empty());
        let mut reported: BTreeMap<(String, String), u64> = BTreeMap::new();
        for row in rows {
            let [live, peak, _, thread, class] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{row}");
            };
            let [live, peak]: [u64; 2] = [live, peak].map(|n| n.parse().expect("a number"));
            assert!(live <= peak, "{row}");
            *reported.entry((class.into(), thread.into())).or_default() += live;
        }
        let truth = output.truth();
        let is_expected = |class: &String| {
            truth
                .live_threads
                .keys()
                .any(|(expected, _)| expected == class)
        };
        let expected = reported
            .iter()
            .filter(|((class, _), live)| is_expected(class) && **live > 0);
        let expected: BTreeMap<_, _> = expected.map(|(key, live)| (key.clone(), *live)).collect();
        assert_eq!(
            expected, truth.live_threads,
            "JDK {}\n{output}",
            jdk.feature
        );
        // For the other classes, the sum over all threads.
        let mut live: BTreeMap<String, u64> = BTreeMap::new();
        for ((class, _), count) in reported {
            *live.entry(class).or_default() += count;
        }
        let wrong = differences("live", &truth.live, &live);
        assert!(wrong.is_empty(), "{wrong:#?}\n{output}");
    }
}
