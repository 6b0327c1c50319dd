//! Traces whose files are bounded in size (`maxsize`): together the files have each call once, and
//! no file is larger than the limit.

use crate::support::cli::{assert_verified, times_of_calls, viewed};
use crate::support::compile::compile;
use crate::support::control::ControlledRun;
use crate::support::files::files;
use crate::support::{FILTER, agent, at_once, few_versions, one_version, program};
use jtrail_control::{Command, EndReason, Incoming, Notice, State};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, MethodId, ThreadId};
use jtrail_testkit::{Jdk, Output, temp_dir};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const MB: u64 = 1 << 20;

/// Number of enters and leaves, by thread and method.
type Calls = BTreeMap<(String, String), (u64, u64)>;

/// The files of one trace, read in order.
#[derive(Default)]
struct Joined {
    calls: Calls,
    /// Calls that were open when a file ended, by thread, outermost first.
    open: HashMap<String, Vec<String>>,
    /// Number of calls of `open` that the current file has entered again, by thread. It is
    /// `usize::MAX` after the thread's first other event.
    again: HashMap<String, usize>,
    /// The options in the last file.
    options: HashMap<String, String>,
}

impl Joined {
    fn read(files: &[PathBuf]) -> Self {
        let mut joined = Self::default();
        for file in files {
            joined.add(file);
        }
        joined
    }

    /// Reads the next file. A file first enters the open calls again, each thread's outermost call
    /// first. Then it goes on from there.
    fn add(&mut self, file: &Path) {
        self.options.clear();
        self.again = self.open.keys().map(|name| (name.clone(), 0)).collect();
        let mut threads: HashMap<ThreadId, String> = HashMap::new();
        let mut methods: HashMap<MethodId, String> = HashMap::new();
        let mut reader = Reader::new(File::open(file).expect("a file")).expect("a trace");
        let visit = |item: Item<'_>| {
            let event = match item {
                Item::Event { event, .. } => event,
                Item::Remark(remark) => panic!("{}: {remark:?}", file.display()),
            };
            match event {
                Event::ThreadStart(e) => _ = threads.insert(e.thread, e.name.into_owned()),
                Event::MethodDef(e) => _ = methods.insert(e.method, e.name.into_owned()),
                Event::Option(e) => _ = self.options.insert(e.key.into(), e.value.into()),
                Event::MethodEnter(e) => self.enter(&threads[&e.thread], &methods[&e.method]),
                Event::MethodLeave(e) => self.leave(&threads[&e.thread], &methods[&e.method]),
                _ => {}
            }
            ControlFlow::<()>::Continue(())
        };
        reader.for_each(visit).expect("it can be read");
        for (thread, again) in &self.again {
            let open = &self.open[thread];
            assert!(
                *again >= open.len(),
                "{}: of {thread}, {open:?} are open, and {again} are entered again",
                file.display()
            );
        }
    }

    fn enter(&mut self, thread: &str, method: &str) {
        let open = self.open.entry(thread.to_owned()).or_default();
        if let Some(again) = self.again.get_mut(thread)
            && *again < open.len()
        {
            assert_eq!(open[*again], method, "{thread}");
            *again += 1;
            return;
        }
        open.push(method.to_owned());
        self.again.insert(thread.to_owned(), usize::MAX);
        let key = (thread.to_owned(), method.to_owned());
        self.calls.entry(key).or_default().0 += 1;
    }

    fn leave(&mut self, thread: &str, method: &str) {
        let open = self.open.get_mut(thread).expect("calls of the thread");
        let again = self.again.insert(thread.to_owned(), usize::MAX);
        assert!(again.is_none_or(|again| again >= open.len()), "{thread}");
        assert_eq!(open.pop().as_deref(), Some(method), "{thread}");
        let key = (thread.to_owned(), method.to_owned());
        self.calls.entry(key).or_default().1 += 1;
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |found| found.len()) // it may have been deleted just now
}

/// Returns the calls that [`Many`](java/Many.java) makes.
fn expected(rounds: u64) -> Calls {
    let mut calls = Calls::new();
    for thread in 0..4 {
        for (method, count) in [("rounds", 1), ("outer", rounds), ("inner", 4 * rounds)] {
            calls.insert(
                (format!("many-{thread}"), method.to_owned()),
                (count, count),
            );
        }
    }
    calls
}

/// Returns the number of calls that ended, by method.
fn ended_of(calls: &Calls) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for ((_, method), (_, ended)) in calls {
        *all.entry(method.clone()).or_default() += ended;
    }
    all
}

/// Returns the number of calls that ended in these files, by method. The files are read separately,
/// because threads of JinsightLive and TraceLog have other numbers in each file, and no names.
fn ended(files: &[PathBuf]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for file in files {
        let mut one = Joined::default();
        one.add(file);
        for (method, ended) in ended_of(&one.calls) {
            *all.entry(method).or_default() += ended;
        }
    }
    all
}

/// Runs [`Many`](java/Many.java).
fn many(jdk: &Jdk, classes: &Path, file: &Path, rounds: u64, more: &str) -> Output {
    let filter = "include=Many.rounds,include=Many.outer,include=Many.inner";
    let options = format!("{more},{filter},file={}", file.display());
    let run = program(jdk, "Many")
        .class_path(classes)
        .arg(rounds.to_string());
    let output = run.agent(agent(), options).output();
    output.assert_exit(0);
    assert_eq!(output.stdout, "done\n");
    output
}

/// All formats with single calls. For each: the number of rounds, which makes a trace of some
/// megabytes, and the file size limit.
const FORMATS: [(&str, u64, u64); 7] = [
    ("xml", 2_000, MB),
    ("binary", 3_000, MB),
    // The trace begins with the members of all classes.
    ("jinsight", 40_000, 2 * MB),
    ("mlpd", 40_000, MB),
    ("tracelog", 10_000, MB),
    ("trail", 600_000, MB),
    (
        "trail,trail.spool=false,buffer=1m,trail.writers=4",
        600_000,
        MB,
    ),
];

#[test]
fn a_trace_goes_on_in_another_file() {
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    for jdk in Jdk::require(&one_version()) {
        // The JVM's version and the format are independent, so not all pairs are tested.
        let all = matches!(jdk.feature, 17 | 25);
        let chosen = |format: &str| all || matches!(format, "binary" | "trail");
        for (format, rounds, most) in FORMATS.into_iter().filter(|(format, ..)| chosen(format)) {
            let to = temp_dir();
            let first = to.path().join("trace.it");
            // A file that existed before stays unchanged.
            let other = to.path().join("trace-3.it");
            fs::write(&other, "mine").expect("written");
            let options = format!("format={format},maxsize={}m", most / MB);
            let output = many(&jdk, folder.path(), &first, rounds, &options);
            assert_eq!(fs::read(&other).expect("there"), b"mine");
            fs::remove_file(&other).expect("mine");

            let what = format!("{format}, JDK {}", jdk.feature);
            let files = files(&first);
            assert!(files.len() >= 3, "{what}: {files:?}");
            for (number, file) in files.iter().enumerate() {
                let size = size(file);
                assert!(size <= most, "{what}: {}: {size} bytes", file.display());
                // Files don't end earlier than necessary.
                assert!(
                    size > most / 2 || number + 1 == files.len(),
                    "{what}: {}: {size} bytes",
                    file.display()
                );
                assert_verified(file);
            }
            let mut part = None;
            if matches!(format, "jinsight" | "tracelog") {
                assert_eq!(ended(&files), ended_of(&expected(rounds)), "{what}");
            } else {
                let joined = Joined::read(&files);
                assert_eq!(joined.calls, expected(rounds), "{what}");
                assert!(joined.open.values().all(Vec::is_empty), "{what}");
                part = joined.options.get("part").cloned();
            }
            if matches!(format, "xml" | "binary") || format.starts_with("trail") {
                assert_eq!(part, Some((files.len() + 1).to_string()), "{what}");
            }
            let reported = format!(
                "jtrail: the trace is in {} files, {} to {}\n",
                files.len(),
                first.display(),
                files[files.len() - 1].display()
            );
            assert!(output.stderr.ends_with(&reported), "{what}: {output}");
        }
    }
}

/// The page of `jtrail view` has each call once, whichever file is named.
#[test]
fn a_trace_in_several_files_is_viewed_as_one() {
    const SEEN: u64 = 40_000;
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    for jdk in Jdk::require(&one_version()) {
        for format in ["trail", "binary"] {
            let to = temp_dir();
            let first = to.path().join("trace.it");
            let options = format!("format={format},events=+cpu,buffer=1m,maxsize=1m");
            many(&jdk, folder.path(), &first, SEEN, &options);
            let files = files(&first);
            assert!(files.len() >= 3, "{format}: {files:?}");
            let (threads, info) = viewed(&files[1], &[]);
            for number in 0..4 {
                let calls = &threads[&format!("many-{number}")];
                // `rounds` calls `outer`, and that `inner`, once by itself.
                let at = |level| calls.levels.iter().filter(|l| **l == level).count() as u64;
                let levels = [0, 1, 2, 3].map(at);
                assert_eq!(levels, [1, SEEN, 3 * SEEN, SEEN], "{format}");
            }
            assert_eq!(
                info["missing"],
                Value::Array(Vec::new()),
                "{format}: {info}"
            );
            let (alone, _) = viewed(&files[1], &["--one-file"]);
            let calls: u64 = alone.values().map(|calls| calls.levels.len() as u64).sum();
            assert!(calls < 4 * 5 * SEEN, "{format}: {calls}");
        }
    }
}

/// Number of rounds for [`watched`]. They make 80 million events. At most half of these fit into a
/// ring of 8 MB.
const ROUNDS: u64 = 2_000_000;

/// Runs a program, and checks its files again and again while it runs.
fn watched(jdk: &Jdk, classes: &Path, first: &Path, most: u64, more: &str) -> Output {
    thread::scope(|scope| {
        let run = scope.spawn(|| many(jdk, classes, first, ROUNDS, more));
        while !run.is_finished() {
            let files = files(first);
            let all: u64 = files.iter().map(|file| size(file)).sum();
            assert!(all <= most, "{all} bytes in {files:?}");
            thread::sleep(Duration::from_millis(2));
        }
        run.join().expect("it ran")
    })
}

#[test]
fn a_ring_has_the_last_files() {
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let to = temp_dir();
        let first = to.path().join("trace.it");
        let options = "format=trail,maxsize=8m,atmaxsize=ring";
        let output = watched(&jdk, folder.path(), &first, 8 * MB, options);
        let files = files(&first);
        assert!(!files.contains(&first), "{output}");
        assert_eq!(files.len(), 8, "{files:?}");
        let all: u64 = files.iter().map(|file| size(file)).sum();
        assert!((6 * MB..=8 * MB).contains(&all), "{all} bytes");
        for file in &files {
            assert_verified(file);
        }
        // The calls that the first file enters again began in a file that was deleted.
        let mut joined = Joined::default();
        joined.add(&files[0]);
        let mut known = Joined {
            open: joined.open,
            ..Joined::default()
        };
        for file in &files[1..] {
            known.add(file);
        }
        assert!(known.open.values().all(Vec::is_empty));
        for thread in 0..4 {
            // The last event of each thread is there: the leave of `rounds`.
            let key = (format!("many-{thread}"), "rounds".to_owned());
            let ended = known.calls.get(&key).or(joined.calls.get(&key));
            assert!(ended.is_some_and(|(_, ended)| *ended == 1), "many-{thread}");
        }
        // They are viewed as one trace, in which the first ones are missing.
        let [[begin, _], [_, end]] = [&files[0], &files[7]].map(|file| times_of_calls(file));
        let [from, until] = [end - 200_000, end].map(|time| format!("{time}ns"));
        let (threads, info) = viewed(&files[7], &["--from", &from, "--until", &until]);
        let rounds = threads.values().filter_map(|calls| calls.lengths.first());
        let longest = rounds.max().copied().expect("calls");
        assert_eq!(longest, (end - begin).unsigned_abs(), "{info}");
        assert!(
            info["remarks"].to_string().contains("are not there"),
            "{info}"
        );
        let kept: u64 = [&joined.calls, &known.calls]
            .into_iter()
            .flat_map(BTreeMap::values)
            .map(|(began, ended)| began + ended)
            .sum();
        let (_, reported) = output
            .stderr
            .split_once("jtrail: the trace is in 8 files, ")
            .expect("it is told");
        let (_, reported) = reported.split_once("; ").expect("and what is deleted");
        let words: Vec<&str> = reported.split(' ').collect();
        let [
            deleted,
            "older",
            "ones,",
            "of",
            events,
            "events,",
            "are",
            "deleted",
            "(atmaxsize=ring,",
            "maxsize=8m)\n",
        ] = words[..]
        else {
            panic!("{reported:?}");
        };
        let [deleted, events] =
            [deleted, events].map(|word| word.parse::<u64>().expect("a number"));
        assert_eq!(number_of(&files[7]), deleted + 8);
        // Each file enters at most three or four calls of each thread again.
        let all = 4 * 2 * (1 + 5 * ROUNDS);
        let again = 4 * 4 * (deleted + 1);
        assert!(
            (all..=all + again).contains(&(kept + events)),
            "{kept} and {events} of {all}"
        );
    }
}

/// Returns the number in a file's name.
fn number_of(file: &Path) -> u64 {
    let stem = file.file_stem().expect("a name").to_str().expect("text");
    let (_, number) = stem.rsplit_once('-').expect("a number");
    number.parse().expect("a number")
}

/// All kinds of events: each file defines the objects, compiled code and class details that it
/// needs, even if they are older than the file.
#[test]
fn each_file_is_a_trace_of_its_own() {
    for jdk in Jdk::require(&one_version()) {
        // The JVM's version and the format are independent, so not all pairs are tested.
        let formats: &[&str] = match jdk.feature {
            11 => &["binary"],
            21 => &["trail"],
            _ => &["binary", "trail", "mlpd", "jinsight"],
        };
        for &format in formats {
            let to = temp_dir();
            let first = to.path().join("trace.it");
            let options = format!(
                "format={format},events=all,interval=20ms,allocsites=true,buffer=1m,maxsize=4m,include=harness.*,{FILTER},file={}",
                first.display()
            );
            let run = program(&jdk, "harness.Everything");
            let run = ["2", "20", "8", "7", "20"]
                .iter()
                .fold(run, |run, arg| run.arg(*arg));
            run.agent(agent(), options).output().assert_exit(0);
            let (files, what) = (files(&first), format!("{format}, JDK {}", jdk.feature));
            assert!(files.len() > 1, "{what}");
            let (mut made, mut most, mut reported) = (HashMap::new(), 0, 0);
            for (number, file) in files.iter().enumerate() {
                assert_verified(file);
                let mut reader = Reader::new(File::open(file).expect("a file")).expect("a trace");
                let visit = |item: Item<'_>| {
                    if let Item::Event {
                        event: Event::ObjectAlloc(e),
                        ..
                    } = item
                    {
                        let before = made.insert(e.object, number);
                        // JinsightLive has its own numbers of objects.
                        assert!(
                            before.is_none() || format == "jinsight",
                            "{what}: {:?}",
                            e.object
                        );
                        (most, reported) = (e.object.0.max(most), reported + 1);
                    }
                    ControlFlow::<()>::Continue(())
                };
                reader.for_each(visit).expect("it can be read");
            }
            assert!(reported > 1000, "{what}: {reported}");
            // Objects that are older than the trace have numbers, too.
            let are_ours = matches!(format, "binary" | "trail");
            assert!(
                reported <= most || !are_ours,
                "{what}: {reported} of {most}"
            );
        }
    }
}

#[test]
fn clients_are_notified_of_each_file() {
    at_once(|jdk| {
        let options = "format=xml,events=methods,maxsize=1m,server=enabled";
        let mut app = ControlledRun::new(jdk, options);
        let mut client = app.client();
        let is_there = client.call(Command::Status, |_| Ok(()));
        is_there.expect("it answers");
        let mut notices = Vec::new();
        while notices.len() < 6 {
            app.work();
            while let Some(incoming) = client.receive(Duration::from_millis(1)).expect("connected")
            {
                notices.push(incoming);
            }
        }
        for (number, pair) in (1..).zip(notices.chunks_exact(2)) {
            let [
                Incoming::Notice(Notice::TraceEnded { reason, ended, .. }),
                Incoming::Notice(Notice::TraceStarted(started)),
            ] = pair
            else {
                panic!("{pair:?}, {jdk}");
            };
            assert_eq!(*reason, EndReason::Rotate);
            let name = |number: u32| match number {
                1 => app.text("first"),
                number => app.text(&format!("first-{number}")),
            };
            assert_eq!(ended.trace.file, Some(name(number)), "{jdk}");
            assert_eq!(started.file, Some(name(number + 1)), "{jdk}");
            let size = size(Path::new(&name(number)));
            assert_eq!(ended.figures.bytes, size, "{jdk}");
            assert!(
                size <= MB && ended.figures.events > 1000,
                "{jdk}: {ended:?}"
            );
        }
        assert_eq!(app.status().state, State::Recording);
        app.end();
    });
}
