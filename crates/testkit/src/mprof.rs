//! Runs `mprof-report`, an independent reader of log profiles, and parses its output.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `mprof-report`, a program that comes with Mono.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MprofReport(PathBuf);

/// Texts that the program prints if it does not understand a file.
const COMPLAINTS: [&str; 10] = [
    "unmatched",
    "unknown method",
    "unresolved class",
    "Incorrect buffer id",
    "incorrect gc gen",
    "time went backwards",
    "callee time bigger",
    "duplicate object",
    "(null)",
    "invalid",
];

/// All reports about the content of jtrail's log profiles.
const REPORTS: &str = "--reports=header,jit,gc,sample,alloc,call,metadata,exception,monitor,thread,domain,context,heapshot,counters";

impl MprofReport {
    /// Finds the program that `JTRAIL_MPROF_REPORT` names. Without the variable, finds
    /// `mprof-report` in the search path.
    ///
    /// If there is no program, this fails under CI (`CI=true`). Elsewhere, it prints a message to
    /// stderr.
    ///
    /// # Panics
    /// If the program is missing under CI.
    pub fn find() -> Option<Self> {
        let add_fact = env::var_os("JTRAIL_MPROF_REPORT").map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let mut places = env::split_paths(&path).map(|place| place.join("mprof-report"));
        let found = add_fact.or_else(|| places.find(|place| place.is_file()));
        if found.is_none() {
            let missing =
                "no mprof-report; see scripts/get-mprof-report, and set JTRAIL_MPROF_REPORT";
            assert!(!crate::is_ci(), "{missing}");
            eprintln!("SKIPPED: {missing}");
        }
        found.map(Self)
    }

    /// Runs the program on a file, with times in UTC. Returns its output.
    ///
    /// # Panics
    /// If the program fails, takes longer than a minute, or prints a complaint.
    pub fn run(&self, file: &Path, options: &[&str]) -> String {
        let output = Command::new("timeout")
            .arg("60")
            .arg(&self.0)
            .args(options)
            .arg(file)
            .env("TZ", OsStr::new("UTC"))
            .output()
            .expect("mprof-report runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{} {text}", output.status);
        for complaint in COMPLAINTS {
            assert!(!text.contains(complaint), "{complaint}: {text}");
        }
        text
    }

    /// Runs all reports except `stats` on a file, with the innermost frame of each stack.
    /// [`figures`] parses the result.
    ///
    /// # Panics
    /// If [`Self::run`] does.
    pub fn report(&self, file: &Path) -> String {
        self.run(file, &[REPORTS, "--verbose", "--traces", "--maxframes=1"])
    }

    /// Runs the report `stats` on a file.
    ///
    /// # Panics
    /// If [`Self::run`] does, or the output has an unknown form.
    pub fn stats(&self, file: &Path) -> Stats {
        Stats::read(&self.run(file, &["--reports=stats"]))
    }
}

/// The content of the report `stats` about a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// The number of buffers, and the bytes of their headers.
    pub buffers: (u64, u64),
    /// The records of each kind, such as `METHOD ENTER`.
    pub records: BTreeMap<String, Records>,
}

/// Records of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Records {
    /// The number of records.
    pub count: u64,
    /// The size of the shortest record in bytes.
    pub shortest: u64,
    /// The size of the longest record in bytes.
    pub longest: u64,
    /// The bytes of all records.
    pub bytes: u64,
}

impl Stats {
    fn read(text: &str) -> Self {
        let mut stats = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words[at].parse().expect("a number");
            match words[..] {
                ["Buffer", "count", _, "overhead", ..] => stats.buffers = (number(2), number(4)),
                [group, kind, "count", _, "min", _, "max", _, "bytes", _] => {
                    let [group, kind] = [group, kind].map(|name| name.trim_start_matches("TYPE_"));
                    let records = Records {
                        count: number(3),
                        shortest: number(5),
                        longest: number(7),
                        bytes: number(9),
                    };
                    let known = stats.records.insert(format!("{group} {kind}"), records);
                    assert_eq!(known, None, "{line}");
                }
                [] | ["Mlpd", "statistics"] | ["Event", "details:"] => {}
                _ => panic!("unexpected: {line}"),
            }
        }
        stats
    }

    /// Removes the records of a kind, and returns their number.
    pub fn take(&mut self, kind: &str) -> u64 {
        self.records.remove(kind).map_or(0, |records| records.count)
    }
}

/// Figures by name.
pub type Figures = BTreeMap<String, u64>;

/// Adds `count` to a figure.
pub fn add(figures: &mut Figures, what: impl Into<String>, count: u64) {
    *figures.entry(what.into()).or_default() += count;
}

/// Adds 1 to a figure, for a fact without a number.
pub fn add_fact(figures: &mut Figures, what: String) {
    figures.insert(what, 1);
}

/// The summaries about the content of jtrail's log profiles. `Context` is a heading without
/// content.
const SECTIONS: [&str; 11] = [
    "JIT",
    "GC",
    "Allocation",
    "Method call",
    "Metadata",
    "Exception",
    "Monitor lock",
    "Thread",
    "Domain",
    "Context",
    "Heap shot",
];

/// Returns true if a line has no figure that is compared.
fn is_heading(section: &str, words: &[&str]) -> bool {
    matches!(
        (section, words),
        (_, [])
            | ("", ["Mono", "log", "profiler", "data"])
            | ("", ["Profiler" | "Data", "version:", _])
            | (
                "",
                ["Arguments:" | "Architecture:", ..] | ["Operating", "system:", ..]
            )
            | ("Allocation", ["Bytes", "Count", "Average", "Type", "name"])
            | (
                "Method call",
                ["Total(ms)", "Self(ms)", "Calls", "Method", "name"]
            )
            | ("Heap shot", ["Bytes", "Count", "Average", "Class", "name"])
    )
}

/// Times of methods, by name. The value has the number of methods with this name, and their
/// inclusive and exclusive times in ms.
pub type Times = BTreeMap<String, (u64, [u64; 2])>;

/// Parses the output of [`MprofReport::report`] into figures and the times of methods.
///
/// # Panics
/// If the output has an unknown form.
pub fn figures(text: &str) -> (Figures, Times) {
    let (mut f, mut times) = (Figures::new(), Times::new());
    let (mut section, mut head, mut shot) = ("", String::new(), 0);
    let mut waiting: Option<u64> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(" summary") {
            assert!(SECTIONS.contains(&name), "unexpected: {line}");
            (section, waiting) = (name, None);
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].trim_end_matches([',', 's', 'u']).parse::<u64>();
        let rest = |from: usize| words[from..].join(" ");
        match (section, &words[..]) {
            ("", ["Program", "ID:", id]) => add_fact(&mut f, format!("process {id}")),
            ("", ["Mean", "timer", "overhead:", ns, _]) => {
                add_fact(&mut f, format!("timerOverhead={ns}"));
            }
            ("", ["Program", "startup:", _, month, day, time, year]) => {
                add_fact(&mut f, format!("started {year} {month} {day} {time}"));
            }
            ("JIT", _) if words.len() > 1 && number(words.len() - 1).is_ok() => {
                let name = line.trim().split_once(':').expect("a name").0;
                add(&mut f, name, number(words.len() - 1).unwrap());
            }
            ("GC", [generation, "collections:", ..]) => {
                add(
                    &mut f,
                    format!("{generation} collections"),
                    number(2).unwrap(),
                );
                add(&mut f, format!("{generation} longest"), number(5).unwrap());
                add(&mut f, format!("{generation} paused"), number(8).unwrap());
            }
            ("GC", [.., count]) if count.parse::<u64>().is_ok() => {
                let name = line.trim().split_once(':').expect("a name").0;
                add(&mut f, name, count.parse().unwrap());
            }
            (
                "Allocation",
                [
                    "Total",
                    "memory",
                    "allocated:",
                    bytes,
                    "bytes",
                    "in",
                    objects,
                    _,
                ],
            ) => {
                add(&mut f, "all bytes", bytes.parse().unwrap());
                add(&mut f, "all objects", objects.parse().unwrap());
            }
            ("Method call", ["Total", "calls:", calls]) => {
                add(&mut f, "all calls", calls.parse().unwrap());
            }
            ("Exception", ["Throws:", n]) => add(&mut f, "throws", n.parse().unwrap()),
            ("Exception", ["Executed", "catch", "clauses:", n]) => {
                add(&mut f, "catches", n.parse().unwrap());
            }
            ("Exception", ["Executed", "finally", "clauses:", n]) => {
                add(&mut f, "finally", n.parse().unwrap());
            }
            // `123 bytes from:`. The next line has the single requested frame.
            (_, [count, "bytes" | "calls" | "throws" | "contentions", "from:"]) => {
                waiting = count.parse().ok();
            }
            ("Allocation" | "Method call" | "Exception", _) if line.starts_with("\t\t") => {
                let count = waiting.take().expect("a count above the frame");
                let what = if section == "Exception" {
                    "throws"
                } else {
                    &head
                };
                add(&mut f, format!("{what} from {}", rest(0)), count);
            }
            ("Allocation", [_, _, _, ..]) if number(0).is_ok() => {
                head = format!("allocated {}", rest(3));
                add(&mut f, head.clone(), number(1).unwrap());
                add(&mut f, format!("bytes of {}", rest(3)), number(0).unwrap());
            }
            ("Method call", [_, _, _, ..]) if number(0).is_ok() => {
                head = format!("calls of {}", rest(3));
                add(&mut f, head.clone(), number(2).unwrap());
                let (methods, ms) = times.entry(rest(3)).or_default();
                *methods += 1;
                ms[0] += number(0).unwrap();
                ms[1] += number(1).unwrap();
            }
            ("Metadata", [_, ..]) if line.starts_with("\t\t") => {
                add_fact(&mut f, format!("loader {}", rest(0)))
            }
            ("Metadata", ["Loaded", what, count]) => {
                add(&mut f, format!("loaded {what}"), count.parse().unwrap());
            }
            ("Monitor lock", ["Lock", "object", address, count, "contentions"]) => {
                let address = address.trim_start_matches("0x").trim_end_matches(':');
                let object = u64::from_str_radix(address, 16).expect("an address") / 8;
                head = format!("object {object}");
                add(
                    &mut f,
                    format!("{head} contentions"),
                    count.parse().unwrap(),
                );
            }
            ("Monitor lock", [total, "secs", "total", "wait", "time,", longest, "max,", ..]) => {
                for (what, seconds) in [("waited", total), ("longest", longest)] {
                    let us = seconds.replace('.', "").parse().expect("microseconds");
                    add(&mut f, format!("{head} {what}"), us);
                }
            }
            ("Monitor lock", ["Lock", what, count]) => {
                add(&mut f, format!("monitors {what}"), count.parse().unwrap());
            }
            ("Thread", ["Thread:", id, "name:", ..]) => {
                let id = u64::from_str_radix(id.trim_start_matches("0x").trim_end_matches(','), 16);
                add_fact(&mut f, format!("thread {} {}", id.expect("an id"), rest(3)));
            }
            ("Domain", ["Domain:", _, "friendly", "name:", ..]) => {
                add_fact(&mut f, format!("domain {}", rest(4).trim_matches('"')));
            }
            ("Heap shot", ["Heap", "shot", n, "at", seconds, ..]) => {
                shot = n.parse().expect("a number");
                let ms = seconds.replace('.', "").parse().expect("milliseconds");
                add(&mut f, format!("shot {shot} at"), ms);
                let counts = line.split_once(": size").expect("counts").1;
                for part in format!("size{counts}").split(", ") {
                    let (name, count) = part.split_once(": ").expect("a count");
                    add(
                        &mut f,
                        format!("shot {shot} {name}"),
                        count.parse().unwrap(),
                    );
                }
            }
            ("Heap shot", [count, "root", "references", ..]) => {
                let count = count.parse().unwrap();
                add(&mut f, format!("shot {shot} {head} from roots"), count);
            }
            ("Heap shot", [count, "references", "from:", ..]) => {
                let count = count.parse().unwrap();
                add(
                    &mut f,
                    format!("shot {shot} {head} from {}", rest(3)),
                    count,
                );
            }
            ("Heap shot", [_, _, _, ..]) if number(0).is_ok() => {
                let class = rest(3);
                let class = class
                    .split_once(" (bytes:")
                    .map_or(&*class, |(class, _)| class);
                head = format!("objects of {class}");
                add(&mut f, format!("shot {shot} {head}"), number(1).unwrap());
                add(
                    &mut f,
                    format!("shot {shot} bytes of {class}"),
                    number(0).unwrap(),
                );
            }
            // Contentions by stack are not compared.
            ("Monitor lock", _) if line.starts_with("\t\t") && waiting.take().is_some() => {}
            // A heading that is printed even if no content follows.
            (_, ["Counters:"]) => section = "Counters",
            (section, words) => assert!(is_heading(section, words), "unexpected: {line}"),
        }
    }
    f.retain(|_, count| *count > 0);
    (f, times)
}
