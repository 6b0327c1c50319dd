//! With `overflow=ring`, the latest events are kept in the buffers, and saved as a trace when
//! something happens.

use crate::support::cli::assert_verified;
use crate::support::compile::compile;
use crate::support::files::files;
use crate::support::{agent, at_once, one_version, program};
use jtrail_formats::{Item, Reader};
use jtrail_model::{ClassId, Event, MethodId, Note, ObjectId, ThreadId, Timestamp};
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

/// The calls of a trace.
#[derive(Default)]
struct Calls {
    /// Number of enters and leaves, by method.
    counts: HashMap<String, (u64, u64)>,
    /// Calls that are open at the end, by thread, outermost first.
    open: HashMap<String, Vec<String>>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Calls {
    /// Reads a trace, and checks that each leave belongs to the innermost call.
    fn read(file: &Path) -> Self {
        assert_verified(file);
        let mut all = Self::default();
        let mut threads: HashMap<ThreadId, String> = HashMap::new();
        let mut methods: HashMap<MethodId, String> = HashMap::new();
        let mut reader = Reader::new(File::open(file).expect("a file")).expect("a trace");
        let visit = |item: Item<'_>| {
            let Item::Event { event, .. } = item else {
                panic!("{}: {item:?}", file.display());
            };
            match event {
                Event::ThreadStart(e) => _ = threads.insert(e.thread, e.name.into_owned()),
                Event::MethodDef(e) => _ = methods.insert(e.method, e.name.into_owned()),
                Event::MethodEnter(e) => {
                    let (thread, method) = (&threads[&e.thread], &methods[&e.method]);
                    all.open
                        .entry(thread.clone())
                        .or_default()
                        .push(method.clone());
                    all.counts.entry(method.clone()).or_default().0 += 1;
                    all.first.get_or_insert(e.time);
                    all.last = Some(e.time);
                }
                Event::MethodLeave(e) => {
                    let (thread, method) = (&threads[&e.thread], &methods[&e.method]);
                    let open = all.open.get_mut(thread).and_then(Vec::pop);
                    assert_eq!(open.as_ref(), Some(method), "{thread}");
                    all.counts.entry(method.clone()).or_default().1 += 1;
                    all.last = Some(e.time);
                }
                _ => {}
            }
            ControlFlow::<()>::Continue(())
        };
        reader.for_each(visit).expect("it can be read");
        all
    }

    fn events(&self) -> u64 {
        self.counts
            .values()
            .map(|(begun, ended)| begun + ended)
            .sum()
    }
}

#[test]
fn the_last_events_are_written_at_the_end() {
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    for jdk in Jdk::require(&one_version()) {
        for (format, clock) in [("trail", "exact"), ("trail", "tick"), ("binary", "exact")] {
            let to = temp_dir();
            let file = to.path().join("trace.it");
            let options = format!(
                "format={format},clock={clock},overflow=ring,save=exit,buffer=8m,include=Many.rounds,include=Many.outer,include=Many.inner,file={}",
                file.display()
            );
            let run = program(&jdk, "Many")
                .class_path(folder.path())
                .arg("100000");
            let output = run.agent(agent(), options).output();
            output.assert_exit(0);
            let what = format!("{format}, {clock}, JDK {}: {output}", jdk.feature);
            assert_eq!(output.stdout, "done\n", "{what}");
            let calls = Calls::read(&file);
            // The ring has 32 chunks. At least 20 of them are full, minus two for each thread that
            // ends and starts. A record is one word, and the program makes 4 million records.
            let room = (8 << 20) / 8;
            let events = calls.events();
            assert!((room / 4..=room).contains(&events), "{events}, {what}");
            assert!(calls.open.values().all(Vec::is_empty), "{what}");
            // The trace has the last calls of each thread that still ran, as far as it reaches
            // back.
            let (begun, ended) = calls.counts["outer"];
            assert_eq!(begun, ended, "{what}");
            assert_eq!(calls.counts["rounds"].0, calls.counts["rounds"].1, "{what}");
            let reported = format!(" events, are in {} (exit)\n", file.display());
            assert!(output.stderr.ends_with(&reported), "{what}");
            assert!(
                output.stderr.contains(&format!(" s, {events} events")),
                "{what}"
            );
        }
    }
}

#[test]
fn what_is_asked_for_is_written_once() {
    at_once(|jdk| {
        let to = temp_dir();
        let file = to.path().join("trace.it");
        let options = format!(
            "format=trail,overflow=ring,save=request,buffer=4m,include=harness.Cycles,file={}",
            file.display()
        );
        let run = program(jdk, "harness.Cycles").agent(agent(), options);
        let mut running = run.spawn().expect("it starts");
        let input = running.stdin();
        running.wait_ready();
        let pid = running.pid().to_string();
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let said = crate::support::cli::outcome(&["request", &pid]).expect("it is asked");
            assert!(
                said.ends_with(" has asked its agents for their data\n"),
                "{said}"
            );
        }
        drop(input);
        running.wait().expect("it ends").assert_exit(0);
        let files = files(&file);
        assert_eq!(files.len(), 3, "{jdk}: {files:?}");
        let mut before: Option<Calls> = None;
        for file in &files {
            let calls = Calls::read(file);
            assert!(calls.counts["step"].1 > 100, "{jdk}: {:?}", calls.counts);
            // Calls that are open at a trace's end are open at the begin of the next one, and no
            // event is in both.
            if let Some(before) = before {
                assert!(calls.first >= before.last, "{jdk}");
            }
            assert!(
                calls.open.values().any(|open| open == &["run"]),
                "{jdk}: {:?}",
                calls.open
            );
            before = Some(calls);
        }
    });
}

#[test]
fn the_end_of_memory_is_written_and_nothing_else() {
    let folder = temp_dir();
    compile("Exhausted", include_str!("Exhausted.java"), folder.path());
    at_once(|jdk| {
        for save in ["oom", "request"] {
            let to = temp_dir();
            let file = to.path().join("trace.it");
            let options = format!(
                "format=trail,overflow=ring,save={save},include=Exhausted,file={}",
                file.display()
            );
            let run = program(jdk, "Exhausted")
                .class_path(folder.path())
                .jvm_arg("-Xmx32m");
            let output = run.agent(agent(), options).output();
            output.assert_exit(0);
            // HotSpot prints a line on standard output if an agent requests this event.
            let is_ours = |line: &&str| !line.contains("Posting Resource Exhausted event");
            let said: Vec<&str> = output.stdout.lines().filter(is_ours).collect();
            assert_eq!(said, ["[full]"], "{jdk}");
            assert!(
                save == "oom" || said.len() == output.stdout.lines().count(),
                "{jdk}"
            );
            if save == "request" {
                assert!(!fs::exists(&file).expect("a folder"), "{jdk}: {output}");
                assert_eq!(output.stderr, "", "{jdk}");
                continue;
            }
            let calls = Calls::read(&file);
            assert_eq!(calls.counts["before"], (1, 1), "{jdk}");
            let (begun, ended) = calls.counts["one"];
            assert!(
                begun > 50 && (begun == ended || begun == ended + 1),
                "{jdk}: {begun}, {ended}"
            );
            assert!(
                !calls.counts.contains_key("afterwards") || calls.counts["afterwards"].0 < 20,
                "{jdk}"
            );
            assert!(output.stderr.contains(" (oom)\n"), "{jdk}: {output}");
        }
    });
}

/// Returns the triggers in a saved trace, each with the thread on which it fired.
fn triggers(file: &Path) -> Vec<(String, String)> {
    let mut threads: HashMap<ThreadId, String> = HashMap::new();
    let mut found = Vec::new();
    let mut reader = Reader::new(File::open(file).expect("a file")).expect("a trace");
    let visit = |item: Item<'_>| {
        match item {
            Item::Event {
                event: Event::ThreadStart(e),
                ..
            } => _ = threads.insert(e.thread, e.name.into_owned()),
            Item::Event {
                event: Event::Custom(e),
                ..
            } => {
                if let Some(Note::Burst(burst)) = Note::parse(&e.body) {
                    let thread = threads.get(&burst.thread).cloned();
                    found.push((burst.trigger.into_owned(), thread.unwrap_or_default()));
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    };
    reader.for_each(visit).expect("it can be read");
    found
}

#[test]
fn what_led_to_a_call_a_slow_one_or_an_exception_is_written() {
    let folder = temp_dir();
    compile("Saved", include_str!("Saved.java"), folder.path());
    at_once(|jdk| {
        for (what, clock, trigger) in [
            ("call", "exact", "call:Saved#alarm:1"),
            ("slow", "exact", "slow:Saved#slow:100ms"),
            ("exception", "tick", "exception:Saved$Oops"),
            ("nothing", "tick", "exception:Saved$Oops"),
        ] {
            let to = temp_dir();
            let file = to.path().join("trace.it");
            let options = format!(
                "format=trail,clock={clock},overflow=ring,save={trigger},buffer=64m,include=Saved,file={}",
                file.display()
            );
            let run = program(jdk, "Saved").class_path(folder.path()).arg(what);
            let output = run.agent(agent(), options).output();
            output.assert_exit(0);
            let context = format!("{what}, {jdk}: {output}");
            assert_eq!(output.stdout, "done\n", "{context}");
            if what == "nothing" {
                assert!(!fs::exists(&file).expect("a folder"), "{context}");
                assert_eq!(output.stderr, "", "{context}");
                continue;
            }
            // There is only one file, because the second trigger comes too soon after the first.
            assert_eq!(files(&file).len(), 1, "{context}");
            let reported = format!(" events, are in {} ({trigger})\n", file.display());
            assert!(output.stderr.ends_with(&reported), "{context}");
            let calls = Calls::read(&file);
            let of = |method: &str| calls.counts.get(method).copied().unwrap_or_default();
            assert_eq!(of("before"), (1, 1), "{context}");
            assert!(of("work").0 > 10_000, "{context}");
            assert_eq!(of("afterwards"), (0, 0), "{context}");
            let found = triggers(&file);
            // The writer's watch notices the slow call while it lasts, so no thread is named.
            let thread = if what == "slow" { "" } else { "main" };
            assert_eq!(
                found,
                [(trigger.to_owned(), thread.to_owned())],
                "{context}"
            );
            match what {
                "call" => assert!(of("alarm").1 == 0, "{context}"),
                "slow" => assert_eq!(of("slow"), (2, 1), "{context}"),
                _ => assert_eq!(of("fails").0, 1, "{context}"),
            }
        }
    });
}

/// Returns how often objects of each class are mentioned, and their ids. Checks that each object is
/// defined before.
fn mentions(file: &Path, context: &str) -> HashMap<String, (u64, HashSet<ObjectId>)> {
    assert_verified(file);
    let mut classes: HashMap<ClassId, String> = HashMap::new();
    let mut objects: HashMap<ObjectId, ClassId> = HashMap::new();
    let mut found: HashMap<String, (u64, HashSet<ObjectId>)> = HashMap::new();
    let mut reader = Reader::new(File::open(file).expect("a file")).expect("a trace");
    let visit = |item: Item<'_>| {
        let Item::Event { event, .. } = item else {
            panic!("{context}: {item:?}");
        };
        let object = match event {
            Event::ClassDef(e) => {
                classes.insert(e.class, e.name.into_owned());
                return ControlFlow::<()>::Continue(());
            }
            Event::ObjectDef(e) => {
                let before = objects.insert(e.object, e.class);
                assert_eq!(before, None, "{context}: {:?}", e.object);
                return ControlFlow::Continue(());
            }
            Event::ObjectAlloc(e) => {
                let before = objects.insert(e.object, e.class);
                assert_eq!(before, None, "{context}: {:?}", e.object);
                return ControlFlow::Continue(());
            }
            Event::ObjectFree(e) => {
                assert!(objects.contains_key(&e.object), "{context}: {e:?}");
                return ControlFlow::Continue(());
            }
            Event::ExceptionThrow(e) => e.object,
            Event::ExceptionCatch(e) => e.object,
            Event::MonitorWait(e) => e.object,
            Event::MonitorWaited(e) => e.object,
            Event::ThreadPark(e) => e.object,
            _ => return ControlFlow::Continue(()),
        };
        let class = objects
            .get(&object)
            .unwrap_or_else(|| panic!("{context}: {object:?}"));
        let (count, ids) = found.entry(classes[class].clone()).or_default();
        *count += 1;
        ids.insert(object);
        ControlFlow::Continue(())
    };
    reader.for_each(visit).expect("it can be read");
    found
}

/// Checks that an object that `Mentions` always mentions has one id, and that new objects have
/// many.
fn assert_mentions(file: &Path, context: &str) {
    let found = mentions(file, context);
    for (class, is_one) in [
        ("Lock", true),
        ("Blocker", true),
        ("Same", true),
        ("Fresh", false),
    ] {
        let (count, ids) = &found[&format!("Mentions${class}")];
        assert!(*count > 2, "{context}: {class}: {count}");
        // Each new object is thrown and caught.
        let expected = if is_one {
            1..=1
        } else {
            count / 2..=count / 2 + 1
        };
        assert!(
            expected.contains(&(ids.len() as u64)),
            "{context}: {class}: {count}, {} ids",
            ids.len()
        );
    }
}

#[test]
fn objects_that_are_older_than_the_newest_events_are_known() {
    let folder = temp_dir();
    compile("Mentions", include_str!("Mentions.java"), folder.path());
    at_once(|jdk| {
        for more in ["", "+free", "+alloc+free"] {
            let context = format!("{jdk}, events={more}");
            let to = temp_dir();
            let file = to.path().join("trace.trail");
            let options = format!(
                "format=trail,overflow=ring,buffer=4m,include=Mentions,events=+exceptions+monitors+parks{more},file={}",
                file.display()
            );
            let run = || program(jdk, "Mentions").class_path(folder.path());
            let output = run().arg("3000").agent(agent(), &*options).output();
            output.assert_exit(0);
            assert_eq!(output.stdout, "[ready]\ndone\n", "{context}: {output}");
            // The ring has wrapped around: 3,000 rounds take 48 MB.
            assert!(
                fs::metadata(&file).expect("a file").len() < 4 << 20,
                "{context}"
            );
            assert_mentions(&file, &context);

            let mut running = run()
                .arg("-1")
                .agent(agent(), &*options)
                .spawn()
                .expect("it starts");
            running.wait_ready();
            running.signal("KILL").expect("it is there");
            running.wait().expect("it ends");
            let out = to.path().join("out.trail");
            let [from, to] = [&file, &out].map(|path| path.to_str().expect("text"));
            crate::support::cli::outcome(&["recover", from, "-o", to]).expect("it is recovered");
            assert_mentions(&out, &format!("{context}, killed"));
        }
    });
}
