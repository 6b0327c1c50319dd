//! What a harness program says of events other than calls.
//!
//! The lines are those of `java-harness/README.md`; `harness.ExpectEvents` prints them:
//!
//! ```text
//! OBJECTS harness.Frees$Brief 2800            objects of a class
//! OBJECTS-AT harness.A.make()V 17 [I 100      the same, at a source line
//! OBJECTS-MIN java.lang.Integer 400           at least
//! BYTES harness.A$Node 9600                   bytes of all objects of a class
//! LIVE harness.Frees$Kept 40                  alive at the end
//! CONTENDED harness.Monitors$Lock 12          contended enters, by class of the monitor's object
//! OWNER harness.Monitors$Lock owner 12        the same, by the thread that held it
//! WAITS harness.Waits$All 9 0                 waits, and how many of them timed out
//! THROWN harness.Throws$Near 50               throws in methods of the program
//! THROWN-RANGE java.lang.StackOverflowError 0 100
//! THROWN-AT harness.Throws.near()V 75 50      throws at a source line
//! CAUGHT harness.Throws$Near 50               catches in methods of the program
//! LINES harness.Lines.loops(I)I 15 6          hits of a source line
//! CPU harness.Burn.inner(J)V 400 378 422      milliseconds, and their bounds
//! CPU-THREAD burner-0 201 188 214             the same for a thread's life
//! PARKS harness.Parks.nanos(I)V 100           parks
//! PARKS-RANGE harness.Parks.latch()V 3 3000
//! RENAMED before|after                        first and last name of a thread
//! GROUP child|inner|outer                     thread, its group, that group's parent
//! LOADED harness.Unloading$Guest 12           class loaders that define a class of the name
//! UNLOADED harness.Unloading$Guest 8          and how many of these classes were unloaded
//! MOUNTS sleeps-7 8                           a virtual thread takes a carrier, at least
//! COMPILED harness.Hot.leaf(I)I               a method that the JVM compiles
//! REFS harness.HeapGraph$Node 999             references out of all objects of a class
//! ROOT THREAD harness.HeapGraph$Sleeper 1     objects of a class that are roots of a kind
//! FACT heap.harness.HeapGraph$Node 1000       objects of a class in the heap at the end
//! ```

use crate::Output;
use crate::counts::ParseError;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::str::FromStr;

/// A method and a source line.
pub type Site = (String, u32);

/// Waits on monitors of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// All of them.
    pub waits: u64,
    /// Those that ended by their time limit.
    pub timed_out: u64,
}

/// CPU time in milliseconds, as the program measured it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuMillis {
    /// The figure.
    pub measured: u64,
    /// The least that another measurement may say.
    pub low: u64,
    /// The most.
    pub high: u64,
}

/// A thread's place among the thread groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// Name of its group.
    pub group: String,
    /// Name of the group above.
    pub parent: String,
}

/// Events by kind. Classes are named as `Class.getName` prints them, methods by the keys of
/// [`crate::Counts`]. What a program does not name in a map, it says nothing of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Truth {
    /// Objects allocated, by class (`OBJECTS`). Of a class of the program, or an array of one: all that there are. Of
    /// any other: those that a method of the program allocates.
    pub objects: BTreeMap<String, u64>,
    /// Objects allocated at one place, by place and class (`OBJECTS-AT`); [`Truth::objects`] holds them too.
    pub objects_at: BTreeMap<(Site, String), u64>,
    /// At least so many objects in all, by class (`OBJECTS-MIN`).
    pub objects_min: BTreeMap<String, u64>,
    /// Bytes of all objects that [`Truth::objects`] counts, by class (`BYTES`).
    pub bytes: BTreeMap<String, u64>,
    /// Objects alive at the end, by class (`LIVE`).
    pub live: BTreeMap<String, u64>,
    /// Contended enters, by class of the monitor's object (`CONTENDED`).
    pub contended: BTreeMap<String, u64>,
    /// Contended enters, by class and name of the thread that held the monitor (`OWNER`).
    pub owners: BTreeMap<(String, String), u64>,
    /// Waits, by class of the monitor's object (`WAITS`).
    pub waits: BTreeMap<String, Waits>,
    /// Throws in methods of the program, by class of the exception (`THROWN`).
    pub thrown: BTreeMap<String, u64>,
    /// Bounds of such (`THROWN-RANGE`).
    pub thrown_ranges: BTreeMap<String, (u64, u64)>,
    /// Throws by place (`THROWN-AT`); [`Truth::thrown`] holds them too.
    pub thrown_at: BTreeMap<Site, u64>,
    /// Catches in methods of the program, by class of the exception (`CAUGHT`).
    pub caught: BTreeMap<String, u64>,
    /// Hits of source lines (`LINES`), also 0 of them. Of a method that is named here, every line of its line table is.
    pub lines: BTreeMap<Site, u64>,
    /// CPU time of all calls of a method, with what they call (`CPU`).
    pub cpu: BTreeMap<String, CpuMillis>,
    /// CPU time of a thread's life, by its name (`CPU-THREAD`).
    pub cpu_threads: BTreeMap<String, CpuMillis>,
    /// Parks, by the innermost method of the program (`PARKS`).
    pub parks: BTreeMap<String, u64>,
    /// Bounds of such (`PARKS-RANGE`).
    pub parks_ranges: BTreeMap<String, (u64, u64)>,
    /// Last names of threads, by their first ones (`RENAMED`).
    pub renamed: BTreeMap<String, String>,
    /// Groups, by the name that the thread began with (`GROUP`).
    pub groups: BTreeMap<String, Group>,
    /// How many class loaders define a class of this name (`LOADED`).
    pub loaded: BTreeMap<String, u64>,
    /// How many of these classes were unloaded (`UNLOADED`).
    pub unloaded: BTreeMap<String, u64>,
    /// Least number of mounts, by name of the virtual thread (`MOUNTS`).
    pub mounts: BTreeMap<String, u64>,
    /// Methods that the JVM compiles (`COMPILED`).
    pub compiled: BTreeSet<String>,
    /// Objects in the heap at the end, by class (`FACT heap.…`).
    pub heap: BTreeMap<String, u64>,
    /// References out of all of them: fields and elements that are not null (`REFS`).
    pub references: BTreeMap<String, u64>,
    /// Objects that are roots at the end, by kind of root and class (`ROOT`).
    pub roots: BTreeMap<(String, String), u64>,
    /// Why the program did nothing (`SKIP`).
    pub skipped: Option<String>,
}

/// The numbers stand at the end of a line, and what is before them may have blanks: cuts from the right.
fn cut<T: FromStr>(rest: &str) -> Option<(&str, T)> {
    let (key, number) = rest.rsplit_once(' ')?;
    Some((key, number.parse().ok()?))
}

/// `key n`; the key is new.
fn number(map: &mut BTreeMap<String, u64>, rest: &str) -> Option<()> {
    let (key, n) = cut(rest)?;
    put(map, named(key)?, n)
}

/// `key low high`
fn range(map: &mut BTreeMap<String, (u64, u64)>, rest: &str) -> Option<()> {
    let (rest, high) = cut(rest)?;
    let (key, low) = cut(rest)?;
    (low <= high).then_some(())?;
    put(map, named(key)?, (low, high))
}

/// `key line`
fn site(rest: &str) -> Option<Site> {
    let (key, line) = cut(rest)?;
    Some((named(key)?, line))
}

fn named(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) -> Option<()> {
    map.insert(key, value).is_none().then_some(())
}

impl Truth {
    /// Reads the lines out of a program's output. Other lines are passed over, also those of
    /// [`crate::Counts`].
    ///
    /// # Errors
    /// On the first malformed or repeated line.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut truth = Self::default();
        for line in text.lines() {
            if truth.take(line).is_none() {
                let line = line.to_owned();
                return Err(ParseError { line });
            }
        }
        Ok(truth)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "OBJECTS" => number(&mut self.objects, rest),
            "OBJECTS-AT" => {
                let (rest, n) = cut(rest)?;
                let (place, class) = rest.rsplit_once(' ')?;
                put(&mut self.objects_at, (site(place)?, named(class)?), n)
            }
            "OBJECTS-MIN" => number(&mut self.objects_min, rest),
            "BYTES" => number(&mut self.bytes, rest),
            "LIVE" => number(&mut self.live, rest),
            "CONTENDED" => number(&mut self.contended, rest),
            "OWNER" => {
                let (rest, n) = cut(rest)?;
                let (class, thread) = rest.split_once(' ')?;
                put(&mut self.owners, (named(class)?, named(thread)?), n)
            }
            "WAITS" => {
                let (rest, timed_out) = cut(rest)?;
                let (class, waits) = cut(rest)?;
                (timed_out <= waits).then_some(())?;
                put(&mut self.waits, named(class)?, Waits { waits, timed_out })
            }
            "THROWN" => number(&mut self.thrown, rest),
            "THROWN-RANGE" => range(&mut self.thrown_ranges, rest),
            "THROWN-AT" => {
                let (place, n) = cut(rest)?;
                put(&mut self.thrown_at, site(place)?, n)
            }
            "CAUGHT" => number(&mut self.caught, rest),
            "LINES" => {
                let (place, n) = cut(rest)?;
                put(&mut self.lines, site(place)?, n)
            }
            "CPU" => cpu(&mut self.cpu, rest),
            "CPU-THREAD" => cpu(&mut self.cpu_threads, rest),
            "PARKS" => number(&mut self.parks, rest),
            "PARKS-RANGE" => range(&mut self.parks_ranges, rest),
            "RENAMED" => {
                let (first, last) = rest.split_once('|')?;
                put(&mut self.renamed, first.to_owned(), last.to_owned())
            }
            "GROUP" => {
                let (thread, rest) = rest.split_once('|')?;
                let (group, parent) = rest.split_once('|')?;
                let (group, parent) = (group.to_owned(), parent.to_owned());
                put(&mut self.groups, thread.to_owned(), Group { group, parent })
            }
            "LOADED" => number(&mut self.loaded, rest),
            "UNLOADED" => number(&mut self.unloaded, rest),
            "MOUNTS" => number(&mut self.mounts, rest),
            "COMPILED" => self.compiled.insert(named(rest)?).then_some(()),
            "REFS" => number(&mut self.references, rest),
            "ROOT" => {
                let (rest, n) = cut(rest)?;
                let (kind, class) = rest.split_once(' ')?;
                put(&mut self.roots, (named(kind)?, named(class)?), n)
            }
            "FACT" => match rest.strip_prefix("heap.") {
                Some(rest) => number(&mut self.heap, rest),
                None => Some(()),
            },
            "SKIP" => self
                .skipped
                .replace(rest.to_owned())
                .is_none()
                .then_some(()),
            _ => Some(()),
        }
    }

    /// The lines of one method with their hits, in order; none for a method that is not told.
    pub fn lines_of<'a>(&'a self, method: &str) -> impl Iterator<Item = (u32, u64)> + 'a {
        let method = method.to_owned();
        let begin = (method.clone(), 0);
        let all = self.lines.range(begin..);
        all.take_while(move |((key, _), _)| *key == method)
            .map(|((_, line), n)| (*line, *n))
    }
}

/// `key ms low high`
fn cpu(map: &mut BTreeMap<String, CpuMillis>, rest: &str) -> Option<()> {
    let (rest, high) = cut(rest)?;
    let (rest, low) = cut(rest)?;
    let (key, measured) = cut(rest)?;
    (low <= measured && measured <= high).then_some(())?;
    let time = CpuMillis {
        measured,
        low,
        high,
    };
    put(map, named(key)?, time)
}

/// Compares what a program told with what a trace holds: each difference is a line of the
/// result. Only what was told is compared; what the trace lacks counts as 0.
pub fn differences<K: Ord + Debug>(
    what: &str,
    told: &BTreeMap<K, u64>,
    actual: &BTreeMap<K, u64>,
) -> Vec<String> {
    told.iter()
        .map(|(key, n)| (key, *n, actual.get(key).copied().unwrap_or(0)))
        .filter(|(_, expected, seen)| expected != seen)
        .map(|(key, expected, seen)| {
            format!("{what} {key:?}: {seen} in the trace, expected {expected}")
        })
        .collect()
}

/// As [`differences`], with lower and upper bounds.
pub fn differences_in_range<K: Ord + Debug>(
    what: &str,
    told: &BTreeMap<K, (u64, u64)>,
    actual: &BTreeMap<K, u64>,
) -> Vec<String> {
    told.iter()
        .map(|(key, bounds)| (key, *bounds, actual.get(key).copied().unwrap_or(0)))
        .filter(|(_, (low, high), seen)| seen < low || seen > high)
        .map(|(key, (low, high), seen)| {
            format!("{what} {key:?}: {seen} in the trace, expected {low} to {high}")
        })
        .collect()
}

impl Output {
    /// What the program printed of its events.
    ///
    /// # Panics
    /// When a line of it is malformed, or there is none and the program does not say why.
    pub fn truth(&self) -> Truth {
        let truth = Truth::parse(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{self}"));
        let empty = Truth {
            skipped: truth.skipped.clone(),
            ..Truth::default()
        };
        assert!(
            truth != empty || truth.skipped.is_some(),
            "the program told nothing of its events\n{self}"
        );
        truth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counts;

    const TEXT: &str = "done 42\n\
        COUNT a.A.f(I)I 3\n\
        OBJECTS a.A$Node 7\n\
        OBJECTS [I 9\n\
        OBJECTS-AT a.A.odd name()V 17 [I 4\n\
        OBJECTS-MIN java.lang.Long 5\n\
        BYTES a.A$Node 112\n\
        LIVE a.A$Node 0\n\
        CONTENDED a.A$Lock 12\n\
        OWNER a.A$Lock virtual owner 12\n\
        WAITS a.A$Lock 9 4\n\
        THROWN a.A$E 50\n\
        THROWN-RANGE java.lang.StackOverflowError 0 100\n\
        THROWN-AT a.A.f(I)I 75 50\n\
        CAUGHT a.A$E 0\n\
        LINES a.A.f(I)I 15 6\n\
        LINES a.A.f(I)I 9 0\n\
        LINES a.A.g()V 20 1\n\
        CPU a.A.f(I)I 400 378 422\n\
        CPU-THREAD burner 0 201 188 214\n\
        PARKS a.A.f(I)I 100\n\
        PARKS-RANGE a.A.g()V 3 3000\n\
        RENAMED before|last name\n\
        GROUP in outer||main group\n\
        LOADED a.A$Guest 12\n\
        UNLOADED a.A$Guest 8\n\
        MOUNTS sleeps 7 8\n\
        COMPILED a.A.f(I)I\n\
        REFS a.A$Node 6\n\
        ROOT STACK_LOCAL a.A$Held 1\n\
        FACT heap.a.A$Node 7\n\
        FACT heaps 3 of them\n\
        OBJECTSHIP is another word\n";

    fn one<K: Ord>(key: K, n: u64) -> BTreeMap<K, u64> {
        BTreeMap::from([(key, n)])
    }

    fn text(s: &str) -> String {
        s.to_owned()
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (text(a), text(b))
    }

    fn cpu(measured: u64, low: u64, high: u64) -> CpuMillis {
        CpuMillis {
            measured,
            low,
            high,
        }
    }

    #[test]
    fn every_kind_of_line_is_read() {
        let node = || text("a.A$Node");
        let lock = || text("a.A$Lock");
        let f = || text("a.A.f(I)I");
        let expected = Truth {
            objects: BTreeMap::from([(node(), 7), (text("[I"), 9)]),
            objects_at: one(((text("a.A.odd name()V"), 17), text("[I")), 4),
            objects_min: one(text("java.lang.Long"), 5),
            bytes: one(node(), 112),
            live: one(node(), 0),
            contended: one(lock(), 12),
            owners: one(pair("a.A$Lock", "virtual owner"), 12),
            waits: BTreeMap::from([(
                lock(),
                Waits {
                    waits: 9,
                    timed_out: 4,
                },
            )]),
            thrown: one(text("a.A$E"), 50),
            thrown_ranges: BTreeMap::from([(text("java.lang.StackOverflowError"), (0, 100))]),
            thrown_at: one((f(), 75), 50),
            caught: one(text("a.A$E"), 0),
            lines: BTreeMap::from([((f(), 15), 6), ((f(), 9), 0), ((text("a.A.g()V"), 20), 1)]),
            cpu: BTreeMap::from([(f(), cpu(400, 378, 422))]),
            cpu_threads: BTreeMap::from([(text("burner 0"), cpu(201, 188, 214))]),
            parks: one(f(), 100),
            parks_ranges: BTreeMap::from([(text("a.A.g()V"), (3, 3000))]),
            renamed: BTreeMap::from([pair("before", "last name")]),
            groups: BTreeMap::from([(
                text("in outer"),
                Group {
                    group: String::new(),
                    parent: text("main group"),
                },
            )]),
            loaded: one(text("a.A$Guest"), 12),
            unloaded: one(text("a.A$Guest"), 8),
            mounts: one(text("sleeps 7"), 8),
            compiled: BTreeSet::from([f()]),
            heap: one(node(), 7),
            references: one(node(), 6),
            roots: one(pair("STACK_LOCAL", "a.A$Held"), 1),
            skipped: None,
        };
        assert_eq!(Truth::parse(TEXT).unwrap(), expected);
        let skip = Truth::parse("SKIP no compiler\n").unwrap();
        assert_eq!(skip.skipped.as_deref(), Some("no compiler"));
    }

    #[test]
    fn lines_of_one_method_are_in_order() {
        let truth = Truth::parse(TEXT).unwrap();
        let lines: Vec<_> = truth.lines_of("a.A.f(I)I").collect();
        assert_eq!(lines, [(9, 0), (15, 6)]);
        assert_eq!(truth.lines_of("a.A.f").count(), 0);
    }

    #[test]
    fn malformed_lines_are_errors() {
        for line in [
            "OBJECTS",
            "OBJECTS a",
            "OBJECTS  3",
            "OBJECTS a -1",
            "OBJECTS a 99999999999999999999",
            "OBJECTS a 1\nOBJECTS a 1",
            "OBJECTS-AT a.f()V [I 4",
            "OWNER a 3",
            "WAITS a 1",
            "WAITS a 1 2",
            "THROWN-RANGE a 2 1",
            "THROWN-AT a.f()V 3",
            "LINES a.f()V x 3",
            "LINES a.f()V 1 2\nLINES a.f()V 1 2",
            "CPU a 1 2",
            "CPU a 1 2 3",
            "PARKS-RANGE a 1",
            "RENAMED a",
            "GROUP a|b",
            "COMPILED",
            "COMPILED a\nCOMPILED a",
            "ROOT THREAD 1",
            "FACT heap.a many",
        ] {
            assert!(Truth::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn differences_are_told() {
        let told = BTreeMap::from([("a", 1), ("b", 2), ("c", 0)]);
        let actual = BTreeMap::from([("a", 1), ("b", 3), ("d", 4)]);
        assert_eq!(
            differences("objects", &told, &actual),
            ["objects \"b\": 3 in the trace, expected 2"]
        );
        let bounds = BTreeMap::from([("a", (1, 2)), ("b", (4, 9)), ("c", (1, 1))]);
        assert_eq!(
            differences_in_range("parks", &bounds, &actual),
            [
                "parks \"b\": 3 in the trace, expected 4 to 9",
                "parks \"c\": 0 in the trace, expected 1 to 1"
            ]
        );
    }

    #[test]
    fn counts_pass_over_these_lines() {
        let counts = Counts::parse(TEXT).unwrap();
        assert_eq!(counts.exact.len(), 1);
        assert_eq!(counts.facts["heap.a.A$Node"], "7");
    }
}
