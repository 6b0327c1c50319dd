//! Programs that call faster than their trace is written, into small buffers and onto a slow disk.
//! The written calls and the reported losses add up to all calls.

use crate::support::compile::compile;
use crate::support::{Trace, agent, one_version, program};
use jtrail_model::Note;
use jtrail_testkit::{Jdk, temp_dir};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The slow disk takes this many bytes at once, and then rests.
const AT_ONCE: usize = 256 << 10;
const REST: Duration = Duration::from_millis(20);

fn make_fifo(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no zeros");
    // SAFETY: `path` is a C string that lives during the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

/// Simulates a slow disk: copies from `fifo` to `file` at some 12 MB a second.
fn take_slowly(fifo: &Path, file: &Path) {
    let mut from = File::open(fifo).expect("a pipe");
    let mut to = File::create(file).expect("a file");
    let mut bytes = vec![0; AT_ONCE];
    loop {
        match from.read(&mut bytes).expect("a pipe") {
            0 => return,
            taken => {
                to.write_all(&bytes[..taken]).expect("written");
                // A pipe delivers some kilobytes at a time.
                thread::sleep(REST.mul_f64(taken as f64 / AT_ONCE as f64));
            }
        }
    }
}

/// Returns the number of enters and leaves of [`Many`](java/Many.java).
fn made(rounds: u64) -> u64 {
    4 * 2 * (1 + 5 * rounds)
}

fn is_complete(jdk: &Jdk, classes: &Path, rounds: u64, options: &str) -> u64 {
    let folder = temp_dir();
    let [fifo, file] = ["pipe", "trace"].map(|name| folder.path().join(name));
    make_fifo(&fifo);
    let filter = "include=Many.rounds,include=Many.outer,include=Many.inner";
    let options = format!("{options},buffer=1m,{filter},file={}", fifo.display());
    thread::scope(|scope| {
        scope.spawn(|| take_slowly(&fifo, &file));
        let run = program(jdk, "Many")
            .class_path(classes)
            .arg(rounds.to_string());
        let output = run.agent(agent(), &options).output();
        // Releases the reader, in case the JVM never opened the pipe.
        let mut open = File::options();
        let _ = open.write(true).custom_flags(libc::O_NONBLOCK).open(&fifo);
        output.assert_exit(0);
    });
    let what = format!("{options}, JDK {}", jdk.feature);
    let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(trace.faults.is_empty(), "{what}: {:?}", trace.faults);
    let totals = trace.totals();
    let lost = trace.notes.iter().filter_map(|note| match note {
        Note::Lost(lost) => Some(lost.events),
        _ => None,
    });
    assert_eq!(lost.sum::<u64>(), totals.lost, "{what}");
    let reported = totals.enters + totals.leaves + totals.lost;
    assert_eq!(reported, made(rounds), "{what}: {totals:?}");
    // The totals in the trace match its events.
    let calls: u64 = trace.calls.values().sum();
    assert_eq!(calls, totals.enters, "{what}");
    fs::remove_file(&file).expect("ours");
    totals.lost
}

#[test]
fn what_is_written_and_what_is_lost_is_all() {
    let folder = temp_dir();
    compile("Many", include_str!("../support/Many.java"), folder.path());
    for jdk in Jdk::require(&one_version()) {
        for (format, rounds) in [
            ("binary", 8_000),
            ("xml", 5_000),
            ("trail", 150_000),
            ("trail,clock=tick", 150_000),
        ] {
            let lost = |policy| {
                let options = format!("format={format},overflow={policy}");
                is_complete(&jdk, folder.path(), rounds, &options)
            };
            assert_eq!(lost("block"), 0);
            let lost = lost("drop");
            // A trail is so small that a disk is hardly ever too slow for it.
            let some = lost > 1000 || format.starts_with("trail");
            assert!(some, "{format}, JDK {}: {lost} lost", jdk.feature);
        }
    }
}
