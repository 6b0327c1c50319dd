//! `jtrail stream` into a pipe whose reader is slow: the agent drops events and reports that, or
//! the program waits.

use crate::support::cli::verify;
use crate::support::control::{ControlledRun, ROUND};
use crate::support::{Trace, few_versions};
use jtrail_control::State;
use jtrail_testkit::{Jdk, Output, temp_dir};
use std::io::{PipeReader, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Maximum time of anything in these tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// `jtrail stream -o -`, and the reader of its output.
struct Streaming {
    app: ControlledRun,
    /// While this is true, the reader takes 80 KB a second at most.
    slow: Arc<AtomicBool>,
    client: JoinHandle<(ExitCode, String)>,
    reader: JoinHandle<Vec<u8>>,
}

fn read(mut pipe: PipeReader, slow: &AtomicBool) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        match pipe.read(&mut piece).expect("readable") {
            0 => return all,
            n => all.extend(&piece[..n]),
        }
        if slow.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(200));
        }
    }
}

impl Streaming {
    fn new(jdk: &Jdk, overflow: &str) -> Self {
        let options =
            format!("format=none,server=enabled,events=methods,buffer=1m,overflow={overflow}");
        let app = ControlledRun::new(jdk, &options);
        let socket = app.text("socket");
        let (output, mut input) = std::io::pipe().expect("a pipe");
        let client = thread::spawn(move || {
            let args = ["jtrail", "stream", &socket, "-o", "-", "--format", "xml"];
            let mut err = Vec::new();
            let code = jtrail_cli::main_with(args.map(Into::into), &mut input, &mut err);
            (code, String::from_utf8(err).expect("text"))
        });
        let slow = Arc::new(AtomicBool::new(true));
        let reader = thread::spawn({
            let slow = Arc::clone(&slow);
            move || read(output, &slow)
        });
        app.wait_for("recording");
        Self {
            app,
            slow,
            client,
            reader,
        }
    }

    /// Ends the program. Returns the trace, the output of `jtrail verify` (which must accept the
    /// trace), the output of the client, and the program's output.
    fn end(self) -> (Trace, String, String, Output) {
        let (code, said) = self.client.join().expect("no panic");
        assert_eq!(code, ExitCode::SUCCESS, "{said}");
        let (_, output) = self.app.end();
        let folder = temp_dir();
        let file = folder.path().join("trace");
        std::fs::write(&file, self.reader.join().expect("no panic")).expect("written");
        let (code, verdict) = verify(&file);
        assert_eq!(code, ExitCode::SUCCESS, "{verdict}");
        let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
        (trace, verdict, said, output)
    }
}

/// The program goes on, and the number of lost events is the same wherever it is reported.
#[test]
fn a_slow_reader_costs_events() {
    for jdk in Jdk::require(&few_versions()) {
        let mut streaming = Streaming::new(&jdk, "drop");
        let app = &mut streaming.app;
        let begun = Instant::now();
        while app.status().losses.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "nothing is lost");
            app.work();
        }
        streaming.slow.store(false, Ordering::Relaxed);
        // Time for the program's threads to return from the calls of the last round. Otherwise
        // these would end in the pause.
        thread::sleep(Duration::from_secs(1));
        app.ctl(&["pause"]); // everything is written by then
        let status = app.status();
        assert_eq!(status.state, State::Paused);
        let reported = status.trace.expect("a trace").figures;
        app.ctl(&["stop"]);
        let (trace, verdict, said, output) = streaming.end();
        let totals = trace.totals();
        assert!(totals.lost > 0, "{output}");
        assert_eq!(reported.lost, totals.lost);
        assert_eq!(status.losses, [("overflow".to_owned(), totals.lost)]);
        let calls = totals.enters + totals.leaves;
        assert_eq!(status.counts, [("calls".to_owned(), calls)]);
        for (text, begin) in [(&said, "lost: "), (&verdict, "lost: ")] {
            let number = text.split_once(begin).map(|(_, rest)| rest);
            let digits = number.unwrap_or_else(|| panic!("{text}"));
            let digits = digits.split(|c: char| !c.is_ascii_digit() && c != ',');
            let digits = digits.into_iter().next().expect("one").replace(',', "");
            assert_eq!(digits, totals.lost.to_string(), "{text}");
        }
    }
}

/// The program waits for the reader, and everything that it did is in the trace.
#[test]
fn a_slow_reader_holds_the_program_up() {
    for jdk in Jdk::require(&few_versions()) {
        let mut streaming = Streaming::new(&jdk, "block");
        let (rounds, over) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let watcher = thread::spawn({
            let (rounds, over) = (Arc::clone(&rounds), Arc::clone(&over));
            let slow = Arc::clone(&streaming.slow);
            move || {
                // If no round ends within two seconds, the program is waiting. It goes on when the
                // reader catches up.
                let mut before = None;
                while !over.load(Ordering::Relaxed) {
                    let now = rounds.load(Ordering::Relaxed);
                    if before.replace(now) == Some(now) {
                        break;
                    }
                    sleep(Duration::from_secs(2));
                }
                slow.store(false, Ordering::Relaxed);
            }
        });
        let begun = Instant::now();
        while streaming.slow.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
            streaming.app.work();
            rounds.store(streaming.app.rounds(), Ordering::Relaxed);
        }
        over.store(true, Ordering::Relaxed);
        watcher.join().expect("no panic");
        assert!(begun.elapsed() < PATIENCE, "it was never held up");
        streaming.app.work();
        let done = streaming.app.rounds();
        streaming.app.ctl(&["stop"]);
        let (trace, _, said, output) = streaming.end();
        trace.assert_sound(&output); // this checks that nothing is lost, too
        assert_eq!(trace.calls[ROUND], done);
        assert!(said.contains("lost: 0,"), "{said}");
    }
}
