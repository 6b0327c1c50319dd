//! A program that is killed at any moment leaves everything that it had recorded: in its trail, and
//! in the spool beside it.

use crate::support::cli::{Viewed, jtrail, times_of_calls, verify, viewed};
use crate::support::compile::compile;
use crate::support::files::files;
use crate::support::{FILTER, agent, few_versions, harness, one_version, program};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, MethodId, ThreadId};
use jtrail_records::spool::layout::{CHUNK_BYTES, head};
use jtrail_records::spool::{DEFINITIONS, MEMORY, NAMED, folder_of, state_name};
use jtrail_testkit::{Jdk, Output, Run};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
/// How long a new file may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The files of a program that is killed.
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

/// Kills a JVM with eight busy threads, when they have been busy for `after`.
fn killed(jdk: &Jdk, classes: &Path, left: &Left, more: &str, after: Duration) {
    killed_after(jdk, classes, left, more, || thread::sleep(after));
}

/// Like [`killed`], but kills the JVM when `wait` returns.
fn killed_after(jdk: &Jdk, classes: &Path, left: &Left, more: &str, wait: impl FnOnce()) {
    ended_by("KILL", busy(jdk, classes, left, more), wait);
}

/// Prepares a run of a JVM with eight busy threads.
fn busy(jdk: &Jdk, classes: &Path, left: &Left, more: &str) -> Run {
    let _ = fs::remove_file(&left.tally);
    let options = format!(
        "format=trail,file={},include=Tally{more}",
        left.trail.display()
    );
    let tally = left.tally.to_str().expect("text");
    let run = program(jdk, "Tally").class_path(classes).arg(tally);
    run.agent(agent(), options)
}

/// Sends a signal when the threads are busy and `wait` has returned.
fn ended_by(signal: &str, run: Run, wait: impl FnOnce()) -> Output {
    let mut running = run.spawn().expect("it starts");
    running.wait_ready();
    wait();
    running.signal(signal).expect("it is there");
    running.wait().expect("it ends")
}

/// Returns the number of enters and leaves of `call`, by name of thread.
fn calls(trail: &Path) -> HashMap<String, (u64, u64)> {
    calls_of(trail, "call")
}

/// Like [`calls`], for a method of that name.
fn calls_of(trail: &Path, name: &str) -> HashMap<String, (u64, u64)> {
    let mut names: HashMap<ThreadId, String> = HashMap::new();
    let mut method = MethodId::NONE;
    let mut calls: HashMap<ThreadId, (u64, u64)> = HashMap::new();
    let mut reader = Reader::new(File::open(trail).expect("a trail")).expect("a trail");
    let broken: Option<()> = reader
        .for_each_in_bulk(|bulk| {
            bulk.items(|item| {
                match item {
                    Item::Event { event, .. } => match event {
                        Event::ThreadStart(e) => _ = names.insert(e.thread, e.name.into_owned()),
                        Event::MethodDef(e) if e.name == name => method = e.method,
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
        })
        .expect("it can be read");
    assert!(broken.is_none());
    let of = |(thread, calls): (ThreadId, (u64, u64))| (names[&thread].clone(), calls);
    calls.into_iter().map(of).collect()
}

/// Recovers what was left. Fails if anything is missing. Returns the output.
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

/// Checks that each thread has the number of calls that it counted itself. The last call may have
/// been recorded, but not counted yet.
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

/// Returns the number of kills: the value of `JTRAIL_KILLS`, or 4.
fn kills() -> u64 {
    let given = std::env::var("JTRAIL_KILLS");
    given.map_or(4, |kills| kills.parse().expect("a number"))
}

#[test]
fn what_a_killed_program_had_recorded_is_recovered() {
    let folder = jtrail_testkit::temp_dir();
    compile(
        "Tally",
        include_str!("../support/Tally.java"),
        folder.path(),
    );
    let left = Left::within(folder.path());
    let jdks = Jdk::require(&one_version());
    let variants = [
        "",
        ",clock=tick,trail.writers=3",
        ",buffer=1m,trail.writers=2",
        ",buffer=1m,clock=tick",
    ];
    // Each kill comes at a different moment.
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

/// The JVM crashes in native code, writes an error report and aborts, while its threads go on. Or
/// native code calls `abort`.
#[test]
fn what_an_aborted_program_had_recorded_is_recovered() {
    let folder = jtrail_testkit::temp_dir();
    compile(
        "Tally",
        include_str!("../support/Tally.java"),
        folder.path(),
    );
    let left = Left::within(folder.path());
    let report = folder.path().join("report");
    for jdk in Jdk::require(&one_version()) {
        for (signal, more) in [("SEGV", ""), ("SEGV", ",clock=tick"), ("ABRT", "")] {
            let _ = fs::remove_file(&report);
            let run = busy(&jdk, folder.path(), &left, more)
                .jvm_arg(format!("-XX:ErrorFile={}", report.display()))
                .jvm_arg("-XX:-CreateCoredumpOnCrash");
            let output = ended_by(signal, run, || thread::sleep(Duration::from_millis(50)));
            assert!(!output.status.success(), "{signal}: {output}");
            assert_eq!(report.exists(), signal == "SEGV", "{output}");
            compare(&left, &recovered(&left));
        }
    }
}

/// Returns the index of the file that the spool belongs to. This is the file that the spool is
/// named after, or the next file, if the spool describes that file already.
fn spooled(files: &[PathBuf]) -> Option<usize> {
    let named = files.iter().position(|file| folder_of(file).exists())?;
    let is_of_next = files.get(named + 1).is_some_and(|next| {
        let out = next.with_file_name("out.trail");
        let [from, to] = [next, &out].map(|path| path.to_str().expect("text"));
        let (_, _, said) = jtrail(&["recover", from, "-o", to]);
        said.contains(" that it had not written yet are from ")
    });
    Some(named + usize::from(is_of_next))
}

/// Checks the files of a trace of bounded file size: each is complete, except the one that was
/// being written, which has a spool. Returns their number.
fn compare_files(left: &Left, context: &str) -> usize {
    let files = files(&left.trail);
    let with_spool: Vec<_> = files.iter().filter(|f| folder_of(f).exists()).collect();
    assert!(with_spool.len() <= 1, "{context}: {with_spool:?}");
    // One more file may follow that was just created and has only its opening.
    let last = spooled(&files);
    let whole = last.map_or(files.len(), |last| last + 1);
    assert!(whole + 1 >= files.len(), "{context}: {files:?}");
    let mut all: HashMap<String, u64> = HashMap::new();
    for (number, file) in files[..whole].iter().enumerate() {
        let calls = match Some(number) == last {
            true => {
                let left = Left {
                    trail: file.clone(),
                    ..Left::within(left.trail.parent().expect("a folder"))
                };
                recovered(&left);
                calls(&left.out)
            }
            false => {
                let (code, verdict) = verify(file);
                let code = format!("{code:?}");
                let sound = format!("{:?}", ExitCode::SUCCESS);
                assert_eq!(code, sound, "{context}: {verdict}");
                calls(file)
            }
        };
        for (thread, (_, ended)) in calls {
            *all.entry(thread).or_default() += ended;
        }
    }
    let tally = fs::read(&left.tally).expect("a tally");
    for number in 0..THREADS {
        let counted = tally[64 * number..].first_chunk().expect("eight bytes");
        let counted = u64::from_ne_bytes(*counted);
        let ended = all[&format!("tally-{number}")];
        assert!(
            (counted..=counted + 1).contains(&ended),
            "{context}: thread {number} counted {counted}, and {ended} ended in {files:?}"
        );
    }
    files.len()
}

#[test]
fn what_a_killed_program_had_recorded_is_in_all_of_its_files() {
    let folder = jtrail_testkit::temp_dir();
    compile(
        "Tally",
        include_str!("../support/Tally.java"),
        folder.path(),
    );
    let jdks = Jdk::require(&one_version());
    for kill in 0..kills() {
        let to = jtrail_testkit::temp_dir();
        let left = Left::within(to.path());
        let jdk = &jdks[kill as usize % jdks.len()];
        let more = ",maxsize=1m";
        let after = Duration::from_micros(kill.wrapping_mul(7_919 * 7) % 300_000);
        killed_after(jdk, folder.path(), &left, more, || {
            let begun = Instant::now();
            while files(&left.trail).len() < 2 && begun.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(after);
        });
        let context = format!("JDK {}{more}, after {after:?}", jdk.feature);
        let count = compare_files(&left, &context);
        println!("{context}: {count} files");
        assert!(count > 1, "{context}");
        is_found_under_the_name_before(&files(&left.trail), &context);
    }
}

/// `jtrail view` shows what a killed program had recorded, in its file and in its spool.
#[test]
fn what_a_killed_program_had_recorded_is_viewed() {
    let folder = jtrail_testkit::temp_dir();
    compile(
        "Tally",
        include_str!("../support/Tally.java"),
        folder.path(),
    );
    for jdk in Jdk::require(&one_version()) {
        for more in ["", ",maxsize=1m", ",overflow=ring,buffer=16m"] {
            let to = jtrail_testkit::temp_dir();
            let left = Left::within(to.path());
            killed(&jdk, folder.path(), &left, more, Duration::from_millis(80));
            let files = files(&left.trail);
            let last = files.last().unwrap_or(&left.trail).clone();
            let of_last = Left {
                trail: last.clone(),
                ..Left::within(to.path())
            };
            let [from, to] =
                [&of_last.trail, &of_last.out].map(|path| path.to_str().expect("text"));
            let (_, _, said) = jtrail(&["recover", from, "-o", to]);
            assert!(said.contains("lost: 0"), "{more}: {said}");
            let [_, end] = times_of_calls(&of_last.out);
            let [from, until] = [end - 50_000, end].map(|time| format!("{time}ns"));
            let span = ["--from", &from, "--until", &until];
            let (expected, _) = viewed(&of_last.out, &span);
            let (found, info) = viewed(&last, &span);
            let levels = |all: &BTreeMap<String, Viewed>| -> BTreeMap<String, Vec<u64>> {
                let threads = all.iter().filter(|(_, calls)| !calls.levels.is_empty());
                threads
                    .map(|(name, calls)| (name.clone(), calls.levels.clone()))
                    .collect()
            };
            assert!(levels(&expected).len() > 1, "{more}: {expected:?}");
            assert_eq!(levels(&found), levels(&expected), "{more}: {info}");
            // The files are as they were.
            assert!(folder_of(&last).exists() || !files.is_empty(), "{more}");
        }
    }
}

/// The spool's contents are also found if the spool is named after the preceding file. A kill
/// leaves the spool like this if it describes the next file already, but was not renamed yet.
fn is_found_under_the_name_before(files: &[PathBuf], context: &str) {
    let last = spooled(files).filter(|last| *last > 0 && folder_of(&files[*last]).exists());
    let Some(last) = last else {
        return; // no preceding file, or the kill came just then
    };
    let at = |out: &str| Left {
        trail: files[last].clone(),
        out: files[last].with_file_name(out),
        ..Left::within(Path::new(""))
    };
    let [by_name, by_state] = ["by-name", "by-state"].map(at);
    recovered(&by_name);
    let before = folder_of(&files[last - 1]);
    fs::rename(folder_of(&files[last]), before).expect("no spool is there");
    recovered(&by_state);
    assert_eq!(calls(&by_name.out), calls(&by_state.out), "{context}");
}

#[test]
fn a_spool_goes_with_its_trace() {
    let folder = jtrail_testkit::temp_dir();
    compile(
        "Tally",
        include_str!("../support/Tally.java"),
        folder.path(),
    );
    let left = Left::within(folder.path());
    for jdk in Jdk::require(&few_versions()) {
        killed(&jdk, folder.path(), &left, "", Duration::from_millis(20));
        assert!(left.spool().exists());
        // Another trace with the same name replaces it, and is complete.
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

/// Overwrites bytes of a file while `f` runs.
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

/// Like [`with_changed`], but truncates the file.
fn with_cut<T>(file: &Path, length: usize, f: impl FnOnce() -> T) -> T {
    let whole = fs::read(file).expect("a file of the spool");
    fs::write(file, &whole[..length]).expect("written");
    let result = f();
    fs::write(file, whole).expect("written");
    result
}

/// Recovers what was left of a damaged spool: at least the trail. Returns the number of events.
fn recovered_in_part(left: &Left, damage: &str) -> u64 {
    let [from, to] = [&left.trail, &left.out].map(|path| path.to_str().expect("text"));
    let (code, _, said) = jtrail(&["recover", from, "-o", to]);
    let [whole, cut] = [ExitCode::SUCCESS, ExitCode::from(3)].map(|code| format!("{code:?}"));
    let code = format!("{code:?}");
    assert!(code == whole || code == cut, "{damage}: {code}, {said}");
    let (_, time_after) = said.rsplit_once("out.trail: ").expect("it says so");
    let (events, _) = time_after.split_once(" events").expect("a number");
    events.replace(',', "").parse().expect("a number")
}

#[test]
fn a_damaged_spool_does_no_harm() {
    let folder = jtrail_testkit::temp_dir();
    compile(
        "Tally",
        include_str!("../support/Tally.java"),
        folder.path(),
    );
    let left = Left::within(folder.path());
    let jdk = Jdk::require(&one_version()).swap_remove(0);
    let (more, after) = (",buffer=1m", Duration::from_millis(30));
    killed(&jdk, folder.path(), &left, more, after);
    let all = recovered_in_part(&left, "no damage");
    let [memory, defined, named] = [MEMORY, DEFINITIONS, NAMED].map(|n| left.spool().join(n));
    let states = [0, 1].map(|number| left.spool().join(state_name(number)));
    let mut in_file = u64::MAX;
    for file in [&defined, &named, &states[0], &states[1]] {
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
            // Wrong positions can only hide events. A wrong process id has no effect.
            assert!(events <= all, "{damage}: {events} of {all}");
        }
    }
    // Headers of chunks, and their contents.
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

/// Returns true if the test can mount a small disk for one process. In CI, it must be possible.
fn has_disks() -> bool {
    let mount = "mount -t tmpfs -o size=1m none /mnt";
    let tried = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", mount])
        .output();
    let has = tried.is_ok_and(|tried| tried.status.success());
    assert!(has || !jtrail_testkit::is_ci(), "no mounts of our own here");
    if !has {
        eprintln!("NOT TESTED THERE: no mounts of our own here");
    }
    has
}

/// Runs a program, which must succeed, on a disk of that size, and copies the disk's contents to a
/// folder. Returns its standard error.
fn on_a_disk(megabytes: u32, jdk: &Jdk, options: &str, arguments: &[&str], to: &Path) -> String {
    let mount = format!("mount -t tmpfs -o size={megabytes}m none \"$0\"");
    let script = format!(
        "disk=$0; {mount} || exit 99; \"$@\"; code=$?; cp -a --sparse=always \"$disk/.\" {}; exit $code",
        to.display()
    );
    let disk = to.with_extension("disk");
    for folder in [&disk, to] {
        fs::create_dir_all(folder).expect("a folder");
    }
    let options = format!("file={}/trace.trail,{options}", disk.display());
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "bash", "-c", &script])
        .arg(&disk)
        .arg(&jdk.java)
        .arg(format!("-agentpath:{}={options}", agent().display()))
        .arg("-cp")
        .arg(harness().class_path(jdk))
        .args(arguments)
        .output()
        .expect("unshare is there");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    stderr
}

#[test]
fn what_a_full_disk_did_not_take_is_recovered() {
    if !has_disks() {
        return;
    }
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let to = folder.path().join("copy");
        // The spool takes four of the disk's five megabytes.
        let options = "format=trail,buffer=1m,include=harness.Fib";
        let stderr = on_a_disk(5, &jdk, options, &["harness.Fib", "32"], &to);
        assert!(
            stderr.contains("jtrail recover gives what was recorded by now"),
            "{stderr}"
        );
        let left = Left {
            trail: to.join("trace.trail"),
            ..Left::within(&to)
        };
        let said = recovered(&left);
        let calls = calls_of(&left.out, "fib");
        let (began, ended) = calls["main"];
        // The program filled what it had: all chunks, and the thread's reserve of 16 KiB. An event
        // takes eight bytes.
        let room = (1 << 20) + (16 << 10);
        let all = began + ended;
        let added = said
            .split(" events that it had not")
            .next()
            .expect("a part");
        let (_, added) = added.rsplit_once(' ').expect("a number");
        let added: u64 = added.replace(',', "").parse().expect("a number");
        assert!((1..room / 8).contains(&added), "{said}");
        assert!(all > 1_000_000 && all < 2 * 7_049_155, "{all}");
    }
}

#[test]
fn a_disk_without_room_for_a_spool_has_none() {
    if !has_disks() {
        return;
    }
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let to = folder.path().join("copy");
        let options = "format=trail,include=harness.Fib";
        let stderr = on_a_disk(10, &jdk, options, &["harness.Fib", "20"], &to);
        assert!(stderr.contains("jtrail: no spool beside "), "{stderr}");
        assert!(stderr.contains("No space left on device"), "{stderr}");
        let trail = to.join("trace.trail");
        let (code, verdict) = verify(&trail);
        assert_eq!(
            format!("{code:?}"),
            format!("{:?}", ExitCode::SUCCESS),
            "{verdict}"
        );
        assert!(!folder_of(&trail).exists());
    }
}

/// Kills `harness.Cycles` some time after it began. Its threads create objects, wait for a monitor
/// and throw.
fn killed_at_work(jdk: &Jdk, options: &str, meanwhile: impl FnOnce()) {
    let mut running = program(jdk, "harness.Cycles")
        .agent(agent(), options)
        .spawn()
        .expect("it starts");
    running.wait_ready();
    thread::sleep(Duration::from_millis(150));
    meanwhile();
    running.signal("KILL").expect("it is there");
    running.wait().expect("it ends");
}

#[test]
fn events_of_all_kinds_are_recovered() {
    for jdk in Jdk::require(&one_version()) {
        let folder = jtrail_testkit::temp_dir();
        let left = Left::within(folder.path());
        for options in [
            "events=all",
            "events=methods+threads+gc+alloc+free+lines+samples,alloc=sites,trivial=skip",
            "events=methods+alloc+free,alloc=sites,clock=tick",
            "buffer=1m,events=all,stackdepth=3",
        ] {
            let options = format!(
                "format=trail,{options},{FILTER},file={}",
                left.trail.display()
            );
            killed_at_work(&jdk, &options, || {});
            let said = recovered(&left);
            assert!(
                calls_of(&left.out, "step")
                    .values()
                    .any(|(began, _)| *began > 100),
                "{said}"
            );
        }
    }
}

#[test]
fn what_could_not_be_recorded_is_reported() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        compile(
            "Tally",
            include_str!("../support/Tally.java"),
            folder.path(),
        );
        let left = Left::within(folder.path());
        killed(
            &jdk,
            folder.path(),
            &left,
            ",overflow=drop,buffer=1m",
            Duration::from_millis(60),
        );
        let [from, to] = [&left.trail, &left.out].map(|path| path.to_str().expect("text"));
        jtrail(&["recover", from, "-o", to]);
        // The losses of each thread are in the trace, or were counted when the process was killed.
        let (code, verdict) = verify(&left.out);
        assert_eq!(
            format!("{code:?}"),
            format!("{:?}", ExitCode::SUCCESS),
            "{verdict}"
        );
        let tally = fs::read(&left.tally).expect("a tally");
        let counted = |at: usize| {
            tally[64 * at..]
                .first_chunk()
                .copied()
                .map(u64::from_ne_bytes)
        };
        let counted: u64 = (0..THREADS).filter_map(counted).sum();
        let (_, lost) = verdict.split_once("events lost: ").expect("it says so");
        let lost: String = lost
            .chars()
            .take_while(|c| *c != ')')
            .filter(|c| *c != ',')
            .collect();
        let lost: u64 = lost.parse().expect("a number");
        let written: u64 = calls(&left.out)
            .values()
            .map(|(began, ended)| began + ended)
            .sum();
        // An enter and a leave for each call, and the calls in progress: one for each thread, and a
        // few calls around them.
        let all = (2 * counted)..=(2 * counted + 4 * THREADS as u64 + 100);
        assert!(
            all.contains(&(written + lost)),
            "{written} and {lost} of {all:?}"
        );
    }
}

#[test]
fn a_spool_follows_the_trace() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let left = Left::within(folder.path());
        let [first, socket] = ["first.trail", "socket"].map(|name| folder.path().join(name));
        let options = format!(
            "format=trail,server=enabled,control={},{FILTER},file={}",
            socket.display(),
            first.display()
        );
        killed_at_work(&jdk, &options, || {
            let [socket, next] = [&socket, &left.trail].map(|path| path.to_str().expect("text"));
            let (code, _, said) = jtrail(&["ctl", socket, "rotate", next]);
            assert_eq!(
                format!("{code:?}"),
                format!("{:?}", ExitCode::SUCCESS),
                "{said}"
            );
            thread::sleep(Duration::from_millis(100));
        });
        assert!(!folder_of(&first).exists() && left.spool().exists());
        let (code, verdict) = verify(&first);
        assert_eq!(
            format!("{code:?}"),
            format!("{:?}", ExitCode::SUCCESS),
            "{verdict}"
        );
        recovered(&left);
        // For another trace, the spool is useless.
        fs::copy(&first, &left.trail).expect("a trace");
        let [from, to] = [&left.trail, &left.out].map(|path| path.to_str().expect("text"));
        let (_, _, said) = jtrail(&["recover", from, "-o", to]);
        assert!(said.contains("it is of another trace"), "{said}");
    }
}

#[test]
fn a_spool_in_use_is_left_alone() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let left = Left::within(folder.path());
        let options = format!("format=trail,{FILTER},file={}", left.trail.display());
        killed_at_work(&jdk, &options, || {
            let [from, to] = [&left.trail, &left.out].map(|path| path.to_str().expect("text"));
            let (_, _, said) = jtrail(&["recover", from, "-o", to]);
            assert!(
                said.contains(" still records; wait until it has ended"),
                "{said}"
            );
            // A second process takes neither the spool nor the trace: it has both under another
            // name.
            let before = fs::read(&left.trail).expect("there");
            let run = program(&jdk, "harness.Fib").agent(agent(), &options);
            let output = run.output();
            output.assert_exit(0);
            let said = format!(
                "jtrail: {}: another process writes it; the trace of this process goes to ",
                left.trail.display()
            );
            let other = output
                .stderr
                .lines()
                .find_map(|line| line.strip_prefix(&said));
            let other = other.unwrap_or_else(|| panic!("{output}"));
            let (code, verdict) = verify(Path::new(other));
            assert_eq!(
                format!("{code:?}"),
                format!("{:?}", ExitCode::SUCCESS),
                "{verdict}"
            );
            let now = fs::read(&left.trail).expect("there");
            assert!(left.spool().exists() && now.starts_with(&before));
        });
    }
}
