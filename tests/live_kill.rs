//! A program that is killed at any moment leaves behind all that it had recorded: in its trail, and in the spool beside it.

use crate::common::{VERSIONS, agent, program};
use crate::live_cli::jtrail;
use crate::live_formats::verify;
use crate::source::compile;
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, MethodId, ThreadId};
use jtrail_records::spool::layout::{CHUNK_BYTES, head};
use jtrail_records::spool::{ANNOUNCED, MEMORY, NAMED, folder_of, state_name};
use jtrail_testkit::Jdk;
use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;

/// What is written where a program is killed.
struct Left {
    trail: PathBuf,
    tally: PathBuf,
    out: PathBuf,
}

impl Left {
    fn within(folder: &Path) -> Self {
        let [trail, tally, out] = ["killed.trail", "tally", "out.trail"].map(|n| folder.join(n));
        Self { trail, tally, out }
    }

    fn spool(&self) -> PathBuf {
        folder_of(&self.trail)
    }
}

/// Kills a JVM with eight busy threads so long after they began.
fn killed(jdk: &Jdk, classes: &Path, left: &Left, more: &str, after: Duration) {
    let _ = fs::remove_file(&left.tally);
    let options = format!(
        "format=trail,file={},include=Tally{more}",
        left.trail.display()
    );
    let tally = left.tally.to_str().expect("text");
    let run = program(jdk, "Tally").class_path(classes).arg(tally);
    let mut running = run.agent(agent(), options).spawn().expect("it starts");
    running.wait_ready();
    thread::sleep(after);
    running.signal("KILL").expect("it is there");
    running.wait().expect("it ends");
}

/// By name of thread, how many calls of `call` began and how many ended.
fn calls(trail: &Path) -> HashMap<String, (u64, u64)> {
    let mut names: HashMap<ThreadId, String> = HashMap::new();
    let mut method = MethodId::NONE;
    let mut calls: HashMap<ThreadId, (u64, u64)> = HashMap::new();
    let mut reader = Reader::new(File::open(trail).expect("a trail")).expect("a trail");
    let broken: Option<()> = reader
        .for_each_in_bulk(|item| {
            match item {
                Item::Event { event, .. } => match event {
                    Event::ThreadStart(e) => _ = names.insert(e.thread, e.name.into_owned()),
                    Event::MethodDef(e) if e.name == "call" => method = e.method,
                    Event::MethodEnter(e) if e.method == method => {
                        calls.entry(e.thread).or_default().0 += 1;
                    }
                    Event::MethodLeave(e) if e.method == method => {
                        calls.entry(e.thread).or_default().1 += 1;
                    }
                    _ => {}
                },
                Item::Remark(remark) => panic!("{remark:?}"),
            }
            ControlFlow::Continue(())
        })
        .expect("it can be read");
    assert!(broken.is_none());
    let of = |(thread, calls): (ThreadId, (u64, u64))| (names[&thread].clone(), calls);
    calls.into_iter().map(of).collect()
}

/// Recovers what was left, which must be everything. What was said.
fn recovered(left: &Left) -> String {
    let [from, to] = [&left.trail, &left.out].map(|path| path.to_str().expect("text"));
    let (code, _, said) = jtrail(&["recover", from, "-o", to]);
    assert_eq!(
        format!("{code:?}"),
        format!("{:?}", ExitCode::SUCCESS),
        "{said}"
    );
    assert!(
        said.contains(" that it had not written yet are from "),
        "{said}"
    );
    let (code, verdict) = verify(&left.out);
    assert_eq!(
        format!("{code:?}"),
        format!("{:?}", ExitCode::SUCCESS),
        "{verdict}"
    );
    assert!(verdict.contains("events lost: 0"), "{verdict}");
    said
}

/// Each thread's calls are those that it has counted itself; the last one may have been recorded and not counted yet.
fn compare(left: &Left, said: &str) {
    let tally = fs::read(&left.tally).expect("a tally");
    let calls = calls(&left.out);
    for number in 0..THREADS {
        let counted = tally[64 * number..].first_chunk().expect("eight bytes");
        let counted = u64::from_ne_bytes(*counted);
        let (began, ended) = calls[&format!("tally-{number}")];
        assert!(
            (counted..=counted + 1).contains(&ended) && (ended..=ended + 1).contains(&began),
            "thread {number} counted {counted}, and {began} began and {ended} ended; {said}"
        );
    }
}

/// How many kills: so many of the variable `JTRAIL_KILLS`, or a few.
fn kills() -> u64 {
    let given = std::env::var("JTRAIL_KILLS");
    given.map_or(8, |kills| kills.parse().expect("a number"))
}

#[test]
fn what_a_killed_program_had_recorded_is_recovered() {
    let folder = jtrail_testkit::temp_dir();
    compile("Tally", include_str!("java/Tally.java"), folder.path());
    let left = Left::within(folder.path());
    let jdks = Jdk::require(&VERSIONS);
    let variants = ["", ",clock=tick", ",buffer=1m", ",buffer=1m,clock=tick"];
    // No two of them at the same moment.
    for kill in 0..kills() {
        let jdk = &jdks[kill as usize % jdks.len()];
        let more = variants[(kill as usize / jdks.len()) % variants.len()];
        let after = Duration::from_micros(kill.wrapping_mul(7_919 * 7) % 300_000);
        killed(jdk, folder.path(), &left, more, after);
        let said = recovered(&left);
        println!(
            "JDK {}{more}, after {after:?}: {}",
            jdk.feature,
            said.trim_end()
        );
        compare(&left, &said);
    }
}

#[test]
fn a_spool_goes_with_its_trace() {
    let folder = jtrail_testkit::temp_dir();
    compile("Tally", include_str!("java/Tally.java"), folder.path());
    let left = Left::within(folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        killed(&jdk, folder.path(), &left, "", Duration::from_millis(20));
        assert!(left.spool().exists());
        // Another trace of that name takes its place, and is whole.
        let options = format!("format=trail,file={}", left.trail.display());
        let output = program(&jdk, "harness.Fib")
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        assert!(!left.spool().exists(), "{output}");
        let (code, verdict) = verify(&left.trail);
        assert_eq!(
            format!("{code:?}"),
            format!("{:?}", ExitCode::SUCCESS),
            "{verdict}"
        );
    }
}

/// Sets bytes of a file for as long as `f` takes.
fn with_changed<T>(file: &Path, at: u64, bytes: &[u8], f: impl FnOnce() -> T) -> T {
    let open = File::options().read(true).write(true).open(file);
    let open = open.expect("a file of the spool");
    let mut before = vec![0; bytes.len()];
    open.read_exact_at(&mut before, at).expect("so long");
    open.write_all_at(bytes, at).expect("written");
    let result = f();
    open.write_all_at(&before, at).expect("written");
    result
}

/// As [`with_changed`], for a file that is cut.
fn with_cut<T>(file: &Path, length: usize, f: impl FnOnce() -> T) -> T {
    let whole = fs::read(file).expect("a file of the spool");
    fs::write(file, &whole[..length]).expect("written");
    let result = f();
    fs::write(file, whole).expect("written");
    result
}

/// Recovers what was left of a spool that is damaged: the trail is there at least. How many events there are.
fn recovered_in_part(left: &Left, damage: &str) -> u64 {
    let [from, to] = [&left.trail, &left.out].map(|path| path.to_str().expect("text"));
    let (code, _, said) = jtrail(&["recover", from, "-o", to]);
    let [whole, cut] = [ExitCode::SUCCESS, ExitCode::from(3)].map(|code| format!("{code:?}"));
    let code = format!("{code:?}");
    assert!(code == whole || code == cut, "{damage}: {code}, {said}");
    let (_, behind) = said.rsplit_once("out.trail: ").expect("it says so");
    let (events, _) = behind.split_once(" events").expect("a number");
    events.replace(',', "").parse().expect("a number")
}

#[test]
fn a_damaged_spool_does_no_harm() {
    let folder = jtrail_testkit::temp_dir();
    compile("Tally", include_str!("java/Tally.java"), folder.path());
    let left = Left::within(folder.path());
    let jdk = Jdk::require(&VERSIONS).swap_remove(0);
    let (more, after) = (",buffer=1m", Duration::from_millis(30));
    killed(&jdk, folder.path(), &left, more, after);
    let all = recovered_in_part(&left, "no damage");
    let [memory, announced, named] = [MEMORY, ANNOUNCED, NAMED].map(|n| left.spool().join(n));
    let states = [0, 1].map(|number| left.spool().join(state_name(number)));
    let mut in_file = u64::MAX;
    for file in [&announced, &named, &states[0], &states[1]] {
        let length = fs::metadata(file).expect("a file of the spool").len();
        let name = file.display();
        for part in 0..8 {
            let damage = format!("{name}, {part}/8");
            let at = (length - 1) * part / 7;
            let events = with_changed(file, at, &[0xa5], || recovered_in_part(&left, &damage));
            in_file = in_file.min(events);
            with_cut(file, at as usize, || recovered_in_part(&left, &damage));
        }
    }
    assert!(in_file < all, "no damage of it does any harm");
    // The first page, word by word.
    for word in 0..head::WORDS as u64 {
        for value in [0, 1, 4096, u64::MAX / 2, u64::MAX] {
            let damage = format!("word {word} is {value}");
            let bytes = u64::to_le_bytes(value);
            let of = || recovered_in_part(&left, &damage);
            let events = with_changed(&memory, word * 8, &bytes, of);
            // What tells nothing but where things are can only hide them; the process's number does nothing.
            assert!(events <= all, "{damage}: {events} of {all}");
        }
    }
    // Heads of chunks, and what is in them.
    let mut random = 88_172_645_463_325_252_u64;
    let size = fs::metadata(&memory).expect("a file").len();
    for _ in 0..60 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let chunk = size - CHUNK_BYTES * (1 + random % 4);
        let at = match random & 16 {
            0 => (random >> 8) % 5 * 8,
            _ => (random >> 8) % (CHUNK_BYTES / 8) * 8,
        };
        let bytes = random.to_le_bytes();
        let damage = format!("{bytes:x?} at {at} of the chunk at {chunk}");
        let of = || recovered_in_part(&left, &damage);
        with_changed(&memory, chunk + at, &bytes, of);
    }
    assert_eq!(recovered_in_part(&left, "none any more"), all);
}
