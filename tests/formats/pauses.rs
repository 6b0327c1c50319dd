//! Calls that are open when recording begins, pauses, resumes or ends, as JinsightLive traces and
//! trace logs show them.

use crate::support::control::ControlledRun;
use crate::support::jinsight::raw;
use crate::support::{FILTER, agent, at_once, program};
use jtrail_testkit::{Jdk, Output, temp_dir};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Enough time for threads to return to where they wait for work. A thread that takes longer causes
/// no failure.
const QUIET: Duration = Duration::from_millis(300);
/// The calls in which threads of the program wait, outermost first.
const MAIN: &[&str] = &["main"];
const WAITING: &[&str] = &["run", "outer", "next"];
const WORKING: &[&str] = &["run", "outer"];

/// Makes the program do its work: once in each part of the trace, and once in the second pause.
/// Then begins another trace, and makes the program do its work once more. In each worker of the
/// program, `run` calls `outer`, which calls `next`, where the worker takes its tasks. So these
/// calls are open nearly all the time: with each task, a worker leaves `next` and enters it again.
fn run(jdk: &Jdk, format: &str) -> (tempfile::TempDir, Output) {
    let mut app = ControlledRun::new(jdk, &format!("format={format},events=methods+threads"));
    app.work();
    sleep(QUIET);
    app.ctl(&["pause"]);
    app.ctl(&["resume"]);
    app.work();
    sleep(QUIET);
    app.ctl(&["pause"]);
    app.work();
    sleep(QUIET);
    app.ctl(&["resume"]);
    app.work();
    sleep(QUIET);
    app.ctl(&["stop"]);
    let second = format!("file={}", app.text("second"));
    app.ctl(&["start", &second]);
    app.work();
    app.end()
}

/// Returns the number of threads that wait for work, or are about to.
fn workers(jdk: &Jdk) -> usize {
    if jdk.feature >= 21 { 6 } else { 3 }
}

/// The calls of each thread, outermost first.
type Stacks = BTreeMap<u64, Vec<String>>;

/// Returns the number of threads with exactly these calls.
fn count(stacks: &Stacks, calls: &[&str]) -> usize {
    stacks.values().filter(|stack| *stack == calls).count()
}

/// A part of a trace that is recorded without a pause.
#[derive(Default, Debug)]
struct Part {
    /// Calls whose enters are made up at the part's begin.
    entered: Stacks,
    /// Calls whose leaves are made up at the part's end.
    left: Stacks,
    /// How often the program began its work.
    rounds: usize,
}

/// Returns the bursts of a JinsightLive trace, from its records.
fn bursts(file: &Path) -> Vec<Part> {
    const CLASS_LOAD: u8 = 0x6e;
    const ENTER: u8 = 0x5b;
    const LEAVE: u8 = 0x1f;
    const BEGIN_BURST: u8 = 0x65;
    const END_BURST: u8 = 0x66;
    let mut methods: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut open = Stacks::new();
    let mut parts: Vec<Part> = Vec::new();
    let (mut begin, mut inside) = (0, false);
    let mut last: Vec<(u64, u64, String)> = Vec::new();
    for record in raw::records(&std::fs::read(file).expect("a file")) {
        let field = |at| record.number(at);
        match record.kind {
            CLASS_LOAD => {
                // The number of methods, and then the name, descriptor and flags of each.
                let count = field(4) as usize;
                let name = |nth| record.text(5 + 3 * nth).to_owned();
                methods.insert(field(1), (0..count).map(name).collect());
            }
            BEGIN_BURST => {
                assert!(!inside && open.values().all(Vec::is_empty));
                parts.push(Part::default());
                (begin, inside) = (record.ticks(), true);
            }
            ENTER => {
                assert!(inside);
                let part = parts.last_mut().expect("inside of one");
                let (thread, name) = (field(1), &methods[&field(2)][field(3) as usize]);
                if record.ticks() == begin {
                    part.entered.entry(thread).or_default().push(name.clone());
                }
                part.rounds += usize::from(name == "round");
                open.entry(thread).or_default().push(name.clone());
            }
            LEAVE => {
                assert!(inside);
                let thread = field(2);
                let name = open.get_mut(&thread).and_then(Vec::pop);
                last.push((record.ticks(), thread, name.expect("it was entered")));
            }
            END_BURST => {
                assert!(inside && open.values().all(Vec::is_empty), "{open:?}");
                let part = parts.last_mut().expect("inside of one");
                let end = record.ticks();
                for (_, thread, name) in last.drain(..).filter(|(ticks, ..)| *ticks == end) {
                    part.left.entry(thread).or_default().insert(0, name);
                }
                inside = false;
            }
            _ => {}
        }
    }
    assert!(!inside);
    parts
}

/// A burst ends with made-up leaves of all open calls. The next burst begins with made-up enters of
/// the calls that are open then. Made-up records have the ticks of the record of the burst's begin
/// or end.
#[test]
fn bursts_leave_and_enter_open_calls() {
    at_once(|jdk| {
        let (folder, output) = run(jdk, "jinsight");
        let all = workers(jdk);
        let parts = bursts(&folder.path().join("first"));
        let [first, second, third] = &parts[..] else {
            panic!("{parts:?}\n{output}");
        };
        assert_eq!([1; 3], [first, second, third].map(|part| part.rounds));
        // Nothing is made up at the trace's begin.
        assert_eq!(first.entered, Stacks::new());
        assert_eq!(count(&first.left, MAIN), 1, "{first:?}");
        let waiting = count(&first.left, WAITING);
        assert!(waiting > 0, "{first:?}");
        assert_eq!(waiting + count(&first.left, WORKING), all, "{first:?}");
        // Nothing happened in the first pause, so all calls go on.
        assert_eq!(second.entered, first.left);
        assert!(count(&second.left, WAITING) > 0, "{second:?}");
        // In the second pause, each worker left its call of `next`. The following call of `next`
        // began in the pause, and is entered too: a burst begins with whole stacks.
        assert_eq!(third.entered.keys().len(), all + 1, "{third:?}");
        let waiting = count(&third.entered, WAITING);
        assert!(waiting > 0, "{third:?}");
        assert_eq!(waiting + count(&third.entered, WORKING), all, "{third:?}");
        assert_eq!(count(&third.entered, MAIN), 1, "{third:?}");
        // The trace's end is a burst's end as well.
        assert!(count(&third.left, WAITING) > 0, "{third:?}");

        // A trace that begins while calls are open has none of these calls.
        let parts = bursts(&folder.path().join("second"));
        let [only] = &parts[..] else {
            panic!("{parts:?}\n{output}");
        };
        assert_eq!((&only.entered, only.rounds), (&Stacks::new(), 1));
    });
}

/// When a trigger begins a burst, the trace has no enters of the calls that are open. The burst
/// still begins with made-up enters of these calls, and the calls end like others.
#[test]
fn bursts_by_themselves_begin_with_whole_stacks() {
    at_once(|jdk| {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let triggers = [
            "call:harness.Bursts.round:50/20",
            "slow:harness.Bursts.slow:300ms/1",
        ];
        let [rounds, slow] = triggers.map(|burst| {
            let options = format!(
                "format=jinsight,{FILTER},burst={burst},file={}",
                file.display()
            );
            let work = if burst.starts_with("slow") {
                "slow"
            } else {
                "rounds"
            };
            let run = program(jdk, "harness.Bursts").arg(work);
            run.agent(agent(), options).output().assert_exit(0);
            bursts(&file)
        });
        let entered = |parts: &[Part]| -> Vec<Vec<String>> {
            let all = parts.iter().flat_map(|part| part.entered.values());
            all.cloned().collect()
        };
        assert_eq!(entered(&rounds), [["main", "rounds"]], "{rounds:?}");
        assert_eq!(entered(&slow), [["main", "slow"]], "{slow:?}");
        // The part before the first pause is empty.
        assert_eq!((rounds.len(), rounds[1].rounds), (2, 3), "{rounds:?}");
        let left: Vec<_> = slow[1].left.values().flatten().collect();
        assert_eq!(left, ["main", "slow", "inner"], "{slow:?}");
    });
}

/// Returns the parts of a trace log between its pauses, from its lines. The ends of calls are made
/// up when a pause begins, and nothing is made up after it.
fn parts_of_log(text: &str) -> Vec<Part> {
    let mut names: BTreeMap<u64, &str> = BTreeMap::new();
    let mut open = Stacks::new();
    let mut parts = vec![Part::default()];
    let mut is_paused = false;
    // Time, thread and calls of stacks that were emptied.
    let mut emptied: Vec<(u64, u64, Vec<String>)> = Vec::new();
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).expect(word),
        None => word.parse().expect(word),
    };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["fun", "nam", iid, name, ..] => {
                let name = name.trim_matches('"').rsplit('.').next();
                names.insert(number(iid), name.expect("one at least"));
            }
            ["sam", "str", thread, ms, _, depth, ref frames @ ..] => {
                assert!(!is_paused, "{line}");
                let (kept, size) = depth.split_once(':').expect("two");
                let stack = open.entry(number(thread)).or_default();
                assert_eq!(stack.len() as u64, number(size), "{line}");
                if kept == "0" && frames.is_empty() {
                    emptied.push((number(ms), number(thread), stack.clone()));
                }
                stack.truncate(kept.parse().expect("a number"));
                let part = parts.last_mut().expect("one at least");
                for frame in frames {
                    let name = names[&number(frame)];
                    part.rounds += usize::from(name == "round");
                    stack.push(name.to_owned());
                }
            }
            ["prf", "tps", ms] => {
                assert!(!is_paused && open.values().all(Vec::is_empty), "{open:?}");
                is_paused = true;
                let part = parts.last_mut().expect("one at least");
                let now = emptied.drain(..).filter(|(at, ..)| *at == number(ms));
                part.left = now.map(|(_, thread, stack)| (thread, stack)).collect();
            }
            ["prf", "trs", _] => {
                assert!(is_paused);
                is_paused = false;
                parts.push(Part::default());
            }
            _ => {}
        }
    }
    parts
}

/// At a pause all stacks are emptied, with the time of the pause; the calls that were open do not
/// appear again.
#[test]
fn pauses_of_trace_logs_empty_the_stacks() {
    at_once(|jdk| {
        let (folder, output) = run(jdk, "tracelog");
        let all = workers(jdk);
        let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("text");
        let parts = parts_of_log(&read("first"));
        let [first, second, third] = &parts[..] else {
            panic!("{parts:?}\n{output}");
        };
        assert_eq!([1; 3], [first, second, third].map(|part| part.rounds));
        assert_eq!(count(&first.left, MAIN), 1, "{first:?}");
        let waiting = count(&first.left, WAITING);
        assert!(waiting > 0, "{first:?}");
        assert_eq!(waiting + count(&first.left, WORKING), all, "{first:?}");
        // Of the calls that were entered in the second part, only those of `next` after the tasks
        // are open at its end.
        assert_eq!(count(&second.left, &["next"]), second.left.len());
        assert!(!second.left.is_empty(), "{second:?}");

        let parts = parts_of_log(&read("second"));
        let [only] = &parts[..] else {
            panic!("{parts:?}\n{output}");
        };
        assert_eq!(only.rounds, 1);
    });
}
