//! The grammar of trace logs and the rules for their lines, taken from the specification.

use regex::RegexSet;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const RECORDS: [&str; 21] = [
    r"^prf stm \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}(?: [+-]\d\d:\d\d)?$",
    r"^prf cfg [A-Za-z][A-Za-z0-9]* [^\x00-\x1F\x7F]*$",
    r"^prf (?:tps|trs) DEC$",
    r"^prc cpu DEC DEC$",
    r"^thr crt H64 H32$",
    r"^thr aos H32 DEC$",
    r"^thr dst H32$",
    r"^thr cpu H32 DEC DEC$",
    r"^apd crf H64 H64 H32 STR$",
    r"^asm ldf H64 H64 H64 H32 STR$",
    r"^mod ldf H64 H64 H64 H32 STR$",
    r"^mod ata H64 H64$",
    r"^cls ldf H64 H32 H64 H32 H32$",
    r"^cls nam H32 STR$",
    r"^fun inf H32 H64 H64 H64 H32(?: H64:HEX)*(?: HEX:HEX:HEX)*$",
    r"^fun nam H32 STR STR STR$",
    r"^jit cmf TH DEC H64 H32$",
    r"^gch (?:gcs TH DEC (?:induced|\?) [tf]{4}|gcf TH DEC)$",
    r"^gch alt DEC(?: HEX:DEC:DEC)*$",
    r"^sam str H32 DEC DEC DEC:DEC(?::(?:H64|\?))?(?: HEX(?::H64)?)*$",
    r"^sam mem H32 DEC(?: HEX:DEC:DEC(?::H64)?)+$",
];

/// The names of the specification's section 1, with their patterns. The names are replaced in this
/// order, so a pattern may contain only later names.
const NAMES: [(&str, &str); 6] = [
    ("TH", "(?:H32|\\?|DEC)"),
    ("DEC", "(?:0|[1-9][0-9]*)"),
    ("H32", "0x[0-9A-F]{8}"),
    ("H64", "0x[0-9A-F]{16}"),
    ("HEX", "0x(?:0|[1-9a-f][0-9a-f]*)"),
    ("STR", r#""[^"\x00-\x1F\x7F]*""#),
];

static GRAMMAR: LazyLock<RegexSet> = LazyLock::new(|| {
    let records = RECORDS.map(|record| {
        let fill = |text: String, (name, regex): &(&str, &str)| text.replace(name, regex);
        NAMES.iter().fold(record.to_owned(), fill)
    });
    RegexSet::new(records).expect("regular expressions")
});

fn hex(word: &str) -> u64 {
    u64::from_str_radix(word.strip_prefix("0x").expect("hex"), 16).expect("hex")
}

/// Tests every line of a trace log that the encoder wrote against the grammar and the rules T1 to
/// T9.
pub(crate) fn check_log(log: &str) {
    assert!(log.is_empty() || log.ends_with('\n'));
    let mut rules = Rules::default();
    for (at, line) in log.lines().enumerate() {
        let matching = GRAMMAR.matches(line).iter().count();
        assert_eq!(matching, 1, "line {}: {line:?}", at + 1);
        rules.line(at, line);
        rules.before = line.to_owned();
    }
}

#[derive(Default)]
struct Rules {
    before: String,
    configured: bool,
    threads: Vec<Option<i64>>,
    /// Thread ids of the operating system.
    os_threads: HashMap<u64, u64>,
    /// In a trace of samples: the stack of a record of zero ticks. The next line says what the
    /// thread allocated with this stack.
    site: Option<u64>,
    ended: HashSet<u64>,
    classes: u64,
    functions: HashMap<u64, String>,
    assemblies: HashSet<u64>,
    last_ms: HashMap<String, u64>,
    paused: bool,
    collecting: bool,
    collected: bool,
    instrumentation: bool,
}

impl Rules {
    fn line(&mut self, at: usize, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let kind = &line[..7];
        assert_eq!(at == 0, kind == "prf stm", "T1");
        assert!(kind != "prf cfg" || !self.configured, "T1");
        self.configured |= !matches!(kind, "prf stm" | "prf cfg");
        if line == "prf cfg CollectionMethod Instrumentation" {
            self.instrumentation = true;
        }
        if line == "prf cfg TracingSuspendedOnStart T" {
            self.paused = true;
        }
        let paused = matches!(kind, "prc cpu" | "thr cpu" | "sam str" | "sam mem")
            || kind.starts_with("gch");
        assert!(!(self.paused && paused), "T7: {line}");
        assert_eq!(
            self.before.starts_with("cls ldf"),
            kind == "cls nam",
            "T2: {line}"
        );
        if let Some(thread) = self.site.take() {
            let of_site = kind == "sam mem" && hex(words[2]) == thread;
            assert!(of_site, "T9: {line}");
        }
        match kind {
            "thr crt" => {
                assert_eq!(hex(words[3]), self.threads.len() as u64, "T2");
                assert_eq!(hex(words[2]), hex(words[3]) + 1);
                self.threads.push(Some(0));
            }
            "thr aos" => {
                let number = words[3].parse().expect("a number");
                self.live(hex(words[2]));
                self.os_threads.insert(hex(words[2]), number);
            }
            "apd crf" => {
                assert_eq!(self.os_threads.get(&0), Some(&hex(words[3])), "T4");
            }
            "thr cpu" => self.live(hex(words[2])),
            "thr dst" => {
                self.live(hex(words[2]));
                assert!(self.ended.insert(hex(words[2])), "T5");
                self.threads[hex(words[2]) as usize] = None;
            }
            "asm ldf" => assert!(self.assemblies.insert(hex(words[2]))),
            "cls ldf" => {
                assert_eq!(hex(words[3]), self.classes, "T2");
                assert!(self.assemblies.contains(&hex(words[4])), "T3");
                assert_eq!(hex(words[2]), self.classes + 1);
                self.classes += 1;
            }
            "fun inf" => {
                let (iid, rest) = (hex(words[2]), words[3..7].join(" "));
                assert!(hex(words[3]) != 0 && hex(words[4]) <= self.classes, "T3");
                if iid == self.functions.len() as u64 {
                    self.functions.insert(iid, rest);
                } else {
                    assert_eq!(self.functions[&iid], rest, "T2");
                }
            }
            "fun nam" => {
                let word = hex(words[2]);
                assert_eq!(word + 1, self.functions.len() as u64, "T2");
                assert!(
                    self.before.starts_with(&format!("fun inf {}", words[2])),
                    "T2"
                );
            }
            "prf tps" | "prf trs" => {
                assert_eq!(kind == "prf trs", self.paused, "T7");
                self.paused = !self.paused;
                self.rises("prf", words[2]);
                if self.paused && self.instrumentation {
                    assert!(
                        self.threads.iter().all(|depth| depth.unwrap_or(0) == 0),
                        "T7"
                    );
                }
            }
            "gch gcs" | "gch gcf" => {
                assert_eq!(kind == "gch gcf", self.collecting, "T8");
                self.collecting = !self.collecting;
                self.collected |= !self.collecting;
                self.rises("gch", words[3]);
            }
            "gch alt" => {
                assert!(!self.collecting, "T8");
                self.rises("gch", words[2]);
                self.items(&words[3..]);
            }
            "sam str" => {
                let thread = hex(words[2]);
                self.live(thread);
                self.rises(&format!("sam {thread}"), words[3]);
                let (same, size) = words[5].split_once(':').expect("sizes");
                let (same, size): (i64, i64) = (same.parse().unwrap(), size.parse().unwrap());
                let depth = self.threads[thread as usize].as_mut().expect("live");
                assert_eq!(*depth, size, "section 3: {line}");
                assert!(same <= size);
                *depth = same + words[6..].len() as i64;
                for word in &words[6..] {
                    assert!(hex(word) < self.functions.len() as u64, "T3");
                }
                let count: u64 = words[4].parse().unwrap();
                assert!(!self.instrumentation || count == 0);
                self.site = (count == 0 && !self.instrumentation).then_some(thread);
            }
            "sam mem" => {
                let thread = hex(words[2]);
                self.live(thread);
                self.rises(&format!("sam {thread}"), words[3]);
                assert!(words.len() > 4, "T9");
                self.items(&words[4..]);
            }
            _ => {}
        }
        match kind {
            "thr cpu" => self.rises(&format!("cpu {}", words[2]), words[3]),
            "prc cpu" => self.rises("prc", words[2]),
            _ => {}
        }
    }

    fn live(&self, thread: u64) {
        assert!((thread as usize) < self.threads.len(), "T3");
        assert!(!self.ended.contains(&thread), "T5");
    }

    fn rises(&mut self, key: &str, ms: &str) {
        let ms = ms.parse().expect("a number");
        let last = self.last_ms.insert(key.to_owned(), ms).unwrap_or_default();
        assert!(ms >= last, "T6 {key}");
    }

    fn items(&self, items: &[&str]) {
        let parts = items.iter().map(|item| {
            let mut parts = item.split(':');
            let class = hex(parts.next().expect("a class"));
            assert!(class < self.classes, "T3");
            assert_ne!(parts.next(), Some("0"), "T8, T9");
            class
        });
        let classes: Vec<u64> = parts.collect();
        assert!(classes.windows(2).all(|pair| pair[0] < pair[1]), "T8, T9");
    }
}
