//! A flight recorder (`overflow=ring`) whose process is killed. All events that it kept, up to the
//! last one, are in the spool beside the trace that it would have saved next.

use crate::support::cli::{assert_verified, jtrail, outcome};
use crate::support::compile::{compile, compile_with_harness};
use crate::support::files::files;
use crate::support::{agent, at_once, program};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, MethodId, Note, ThreadId};
use jtrail_records::spool::folder_of;
use jtrail_testkit::{Jdk, Running, temp_dir};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::ops::{ControlFlow, RangeInclusive};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(120);
/// Count of numbers after which a ring of 32 MB is full: a number takes more than 100 bytes.
const ROUND: u64 = 150_000;

/// The running program `Numbered`.
struct Numbered {
    folder: tempfile::TempDir,
    /// The process; none once it was killed.
    running: Option<Running>,
}

impl Numbered {
    fn start(jdk: &Jdk, classes: &Path, more: &str) -> Self {
        let folder = temp_dir();
        let options = format!(
            "format=trail,overflow=ring,include=Numbered.number,include=Numbered.d*,file={}{more}",
            folder.path().join("newest.trail").display()
        );
        let tally = folder.path().join("tally");
        let run = program(jdk, "Numbered").class_path(classes);
        let run = run.arg(tally.to_str().expect("text"));
        let mut running = run.agent(agent(), options).spawn().expect("it starts");
        running.wait_ready();
        let running = Some(running);
        Self { folder, running }
    }

    fn trail(&self) -> PathBuf {
        self.folder.path().join("newest.trail")
    }

    /// Returns the last number of each thread.
    fn tally(&self) -> Vec<u64> {
        let tally = fs::read(self.folder.path().join("tally")).expect("a tally");
        let of = |thread: usize| {
            u64::from_ne_bytes(*tally[64 * thread..].first_chunk().expect("eight bytes"))
        };
        (0..THREADS).map(of).collect()
    }

    /// Waits until each thread has advanced by `more` numbers.
    fn wait_for(&self, more: u64) {
        let (before, begun) = (self.tally(), Instant::now());
        let has_come = |(now, before): (u64, &u64)| now >= before + more;
        while !self.tally().into_iter().zip(&before).all(has_come) {
            assert!(begun.elapsed() < PATIENCE, "{before:?}, {:?}", self.tally());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Makes the program save a trace. Waits until the next trace, with the number `next`, has the
    /// spool.
    fn save(&self, next: u64) {
        let running = self.running.as_ref().expect("it runs");
        outcome(&["request", &running.pid().to_string()]).expect("it is asked");
        let begun = Instant::now();
        // A saved trace is closed first. Then the spool is renamed for the next trace.
        while !folder_of(&self.trail_of(next)).exists() {
            assert!(begun.elapsed() < PATIENCE, "it is not saved");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn trail_of(&self, number: u64) -> PathBuf {
        self.folder.path().join(format!("newest-{number}.trail"))
    }

    fn kill(&mut self) {
        let running = self.running.take().expect("it runs");
        running.signal("KILL").expect("it is there");
        running.wait().expect("it ends");
    }
}

fn compile_numbered(folder: &Path) {
    compile("Tally", include_str!("../support/Tally.java"), folder);
    let numbered = include_str!("Numbered.java");
    compile_with_harness("Numbered", numbered, folder, folder);
}

/// Recovers the events that would have been saved in the trace `trail`. None may be lost.
fn recover(trail: &Path, out: &Path, context: &str) {
    let [from, to] = [trail, out].map(|path| path.to_str().expect("text"));
    let said = outcome(&["recover", from, "-o", to]);
    let said = said.unwrap_or_else(|said| panic!("{context}: {said}"));
    assert!(
        said.contains(": its process ended before it saved anything there; the newest "),
        "{context}: {said}"
    );
    assert!(said.contains(" lost: 0"), "{context}: {said}");
    assert_verified(out);
}

/// Returns the numbers of a trace, by thread. They must be consecutive. The first number may be
/// incomplete, and the last call open.
fn numbers(trail: &Path, context: &str) -> HashMap<String, RangeInclusive<u64>> {
    let (mut threads, mut methods) = (
        HashMap::<ThreadId, String>::new(),
        HashMap::<MethodId, String>::new(),
    );
    let mut digits: HashMap<ThreadId, String> = HashMap::new();
    let mut all: HashMap<String, RangeInclusive<u64>> = HashMap::new();
    let mut is_begun: HashMap<ThreadId, bool> = HashMap::new();
    let mut reader = Reader::new(File::open(trail).expect("a trail")).expect("a trail");
    let visit = |item: Item<'_>| {
        let Item::Event { event, .. } = item else {
            panic!("{context}: {item:?}");
        };
        match event {
            Event::ThreadStart(e) => _ = threads.insert(e.thread, e.name.into_owned()),
            Event::MethodDef(e) => _ = methods.insert(e.method, e.name.into_owned()),
            Event::MethodEnter(e) => match &*methods[&e.method] {
                "number" => digits.entry(e.thread).or_default().clear(),
                digit => *digits.entry(e.thread).or_default() += digit.trim_start_matches('d'),
            },
            Event::MethodLeave(e) if methods[&e.method] == "number" => {
                // The first call may have begun before the trace.
                let is_first = !std::mem::replace(is_begun.entry(e.thread).or_default(), true);
                if is_first {
                    return ControlFlow::Continue(());
                }
                let number: u64 = digits[&e.thread].parse().expect("digits");
                let thread = threads[&e.thread].clone();
                let range = all.entry(thread).or_insert(number..=number);
                let expected = range.end() + u64::from(number != *range.start());
                assert_eq!(number, expected, "{context}: {}", threads[&e.thread]);
                *range = *range.start()..=number;
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    };
    reader.for_each(visit).expect("it can be read");
    all
}

/// Checks that the numbers of a trace follow those of the preceding one, up to the last number that
/// each thread had noted.
fn assert_follows(
    numbered: &Numbered,
    before: &HashMap<String, RangeInclusive<u64>>,
    newest: &HashMap<String, RangeInclusive<u64>>,
    context: &str,
) {
    for (thread, last) in numbered.tally().into_iter().enumerate() {
        let name = format!("numbered-{thread}");
        let (before, newest) = (&before[&name], &newest[&name]);
        // A thread may have recorded a number that it had not noted yet.
        assert!(
            (last..=last + 1).contains(newest.end()) && newest.start() > before.end(),
            "{context}: thread {thread}: {before:?}, {newest:?}, {last}"
        );
    }
}

#[test]
fn the_newest_events_of_a_killed_process_are_recovered() {
    let folder = temp_dir();
    compile_numbered(folder.path());
    at_once(|jdk| {
        for more in [
            ",buffer=32m",
            ",buffer=32m,clock=tick",
            ",buffer=16m",
            ",buffer=32m,events=+gc+jit+details",
        ] {
            let context = format!("{jdk}{more}");
            let mut numbered = Numbered::start(jdk, folder.path(), more);
            numbered.wait_for(ROUND);
            numbered.kill();
            assert!(!numbered.trail().exists(), "{context}");
            let out = numbered.folder.path().join("out.trail");
            recover(&numbered.trail(), &out, &context);
            let numbers = numbers(&out, &context);
            let mut first = u64::MAX;
            for (thread, last) in numbered.tally().into_iter().enumerate() {
                let range = &numbers[&format!("numbered-{thread}")];
                // A thread may have recorded a number that it had not noted yet.
                assert!(
                    (last..=last + 1).contains(range.end()),
                    "{context}: thread {thread}: {range:?}, {last}"
                );
                first = first.min(*range.start());
            }
            assert!(first > 2, "{context}: {numbers:?}");
        }
    });
}

#[test]
fn what_follows_a_saved_trace_is_recovered_by_the_name_of_the_next_one() {
    let folder = temp_dir();
    compile_numbered(folder.path());
    at_once(|jdk| {
        let mut numbered = Numbered::start(jdk, folder.path(), ",buffer=32m,save=request");
        for next in [2, 3] {
            numbered.wait_for(ROUND);
            numbered.save(next);
        }
        numbered.wait_for(100);
        numbered.kill();
        let files = files(&numbered.trail());
        assert_eq!(files.len(), 2, "{jdk}: {files:?}");
        let context = jdk.to_string();
        files.iter().for_each(|file| assert_verified(file));
        let [_, before] = [0, 1].map(|n| numbers(&files[n], &context));
        let out = numbered.folder.path().join("out.trail");
        recover(&numbered.trail_of(3), &out, &context);
        let newest = numbers(&out, &context);
        assert_follows(&numbered, &before, &newest, &context);
    });
}

/// Makes a client save the recorded events into that file.
fn save_to(socket: &Path, file: &Path) {
    let [socket, file] = [socket, file].map(|path| path.to_str().expect("text"));
    outcome(&["ctl", socket, "save", file]).expect("it is saved");
}

/// Creates a folder in another file system, if there is one.
fn elsewhere(than: &Path) -> Option<tempfile::TempDir> {
    let device = |path: &Path| fs::metadata(path).map(|about| about.dev()).ok();
    let memory = Path::new("/dev/shm");
    let is_other = device(memory).is_some() && device(memory) != device(than);
    is_other
        .then(|| tempfile::tempdir_in(memory).ok())
        .flatten()
}

#[test]
fn what_a_client_has_saved_elsewhere_names_nothing() {
    let folder = temp_dir();
    compile_numbered(folder.path());
    at_once(|jdk| {
        let to = temp_dir();
        let socket = to.path().join("socket");
        let more = format!(",buffer=32m,save=request,control={}", socket.display());
        let mut numbered = Numbered::start(jdk, folder.path(), &more);
        let context = jdk.to_string();
        let elsewhere = elsewhere(numbered.folder.path());
        let beside = numbered.folder.path().join("beside.trail");
        let far = elsewhere.as_ref().map(|folder| folder.path().join("far"));
        let saved: Vec<PathBuf> = [Some(beside), far].into_iter().flatten().collect();
        for file in &saved {
            numbered.wait_for(ROUND / 10);
            save_to(&socket, file);
        }
        numbered.wait_for(100);
        numbered.kill();
        saved.iter().for_each(|file| assert_verified(file));
        let before = numbers(&saved[saved.len() - 1], &context);
        let out = numbered.folder.path().join("out.trail");
        recover(&numbered.trail(), &out, &context);
        let newest = numbers(&out, &context);
        assert_follows(&numbered, &before, &newest, &context);
    });
}

#[test]
fn a_process_that_saves_what_it_has_leaves_no_spool() {
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    at_once(|jdk| {
        for save in ["exit", "request"] {
            let to = temp_dir();
            let file = to.path().join("trace.trail");
            let options = format!(
                "format=trail,overflow=ring,save={save},include=Many.outer,file={}",
                file.display()
            );
            let run = program(jdk, "Many").class_path(folder.path()).arg("1000");
            let output = run.agent(agent(), options).output();
            output.assert_exit(0);
            let left: Vec<_> = fs::read_dir(to.path()).expect("a folder").collect();
            assert_eq!(
                left.len(),
                usize::from(save == "exit"),
                "{jdk}: {left:?}: {output}"
            );
        }
    });
}

/// Returns the methods that are reported as not instrumented, and the number of instrumented
/// classes.
fn missing(trail: &Path) -> (BTreeSet<String>, u64) {
    let (mut missing, mut classes) = (BTreeSet::new(), 0);
    let mut reader = Reader::new(File::open(trail).expect("a trail")).expect("a trail");
    let visit = |item: Item<'_>| {
        if let Item::Event {
            event: Event::Custom(e),
            ..
        } = item
        {
            match Note::parse(&e.body) {
                Some(Note::Uninstrumented(method)) => {
                    _ = missing.insert(method.method.into_owned())
                }
                Some(Note::Totals(totals)) => classes = totals.classes,
                _ => {}
            }
        }
        ControlFlow::<()>::Continue(())
    };
    reader.for_each(visit).expect("it can be read");
    (missing, classes)
}

#[test]
fn each_trace_reports_its_missing_events() {
    let folder = temp_dir();
    compile_numbered(folder.path());
    at_once(|jdk| {
        let more = ",buffer=16m,trivial=skip,save=request";
        let mut numbered = Numbered::start(jdk, folder.path(), more);
        for next in [2, 3] {
            numbered.save(next);
        }
        numbered.kill();
        let out = numbered.folder.path().join("out.trail");
        recover(&numbered.trail_of(3), &out, &jdk.to_string());
        let digits: BTreeSet<String> = (0..10).map(|digit| format!("d{digit}()I")).collect();
        for trail in [numbered.trail(), numbered.trail_of(2), out] {
            assert_eq!(missing(&trail), (digits.clone(), 1), "{jdk}: {trail:?}");
        }
    });
}

#[test]
fn a_run_that_is_killed_says_where_the_rest_is() {
    let folder = temp_dir();
    compile("Killed", include_str!("Killed.java"), folder.path());
    at_once(|jdk| {
        for overflow in ["block", "ring"] {
            let context = format!("{jdk}, {overflow}");
            let to = temp_dir();
            let [file, out] = ["app.trail", "out.trail"].map(|name| to.path().join(name));
            let [file, out] = [&file, &out].map(|path| path.to_str().expect("text"));
            let agent = agent();
            let (code, _, said) = jtrail(&[
                "run",
                "--agent",
                agent.to_str().expect("text"),
                "--file",
                file,
                "--overflow",
                overflow,
                "--include",
                "Killed",
                "--",
                jdk.java.to_str().expect("text"),
                "-cp",
                folder.path().to_str().expect("text"),
                "Killed",
            ]);
            assert_ne!(code, ExitCode::SUCCESS, "{context}: {said}");
            let reported = format!(
                "jtrail: recorded events that were not written are in {file}.spool (see `jtrail recover {file}`)\n"
            );
            assert!(said.ends_with(&reported), "{context}: {said}");
            outcome(&["recover", file, "-o", out]).expect("it is recovered");
            assert_verified(Path::new(out));
            let report = outcome(&["report", out]).expect("a trail");
            assert!(report.contains("Killed.call(int)"), "{context}: {report}");
        }
    });
}
