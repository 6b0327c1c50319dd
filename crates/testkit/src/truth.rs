//! The events, other than calls, that a harness program reports about itself.
//!
//! `harness.ExpectEvents` prints a line for each. `java-harness/README.md` describes the lines:
//!
//! ```text
//! OBJECTS harness.Frees$Brief 2800            objects of a class
//! OBJECTS-AT harness.A.make()V 17 [I 100      objects of a class, allocated at a source line
//! OBJECTS-MIN java.lang.Integer 400           minimum number of objects of a class
//! BYTES harness.A$Node 9600                   bytes of all objects of a class
//! LIVE harness.Frees$Kept 40                  objects of a class that are alive at the end
//! LIVE-THREAD harness.Frees$Kept main 40      live objects, by the thread that allocated them
//! CONTENDED harness.Monitors$Lock 12          contended enters, by class of the monitor's object
//! OWNER harness.Monitors$Lock owner 12        contended enters, by the owner of the monitor
//! OWNER-OR-NONE harness.A$Lock virtual 20     like OWNER, or the JVM names no owner
//! WAITS harness.Waits$All 9 0                 waits, and the number of those that timed out
//! WAIT-LIMIT harness.Waits$All 0 9            waits with this limit in milliseconds
//! STACK wait harness.A.f(I)V 12|harness.A.g()V 30 3
//!                                             waits (or others) on this stack
//! THROWN harness.Throws$Near 50               throws in methods of the program
//! THROWN-RANGE java.lang.StackOverflowError 0 100
//! THROWN-AT harness.Throws.near()V 75 50      throws at a source line
//! CAUGHT harness.Throws$Near 50               catches in methods of the program
//! CAUGHT-AT harness.Throws.near()V 76 50      catches at a source line
//! LEFT-BY-EXCEPTION harness.A.f(I)I main 50   calls of a thread that an exception leaves
//! LEFT-BY-EXCEPTION-RANGE harness.A.g()V main 900 901
//! STATE sleeper sleeping java.lang.Thread.sleep
//!                                             a thread's constant state, and its innermost method
//! LINES harness.Lines.loops(I)I 15 6          hits of a source line
//! CPU harness.Burn.inner(J)V 400 378 422      milliseconds, with lower and upper bounds
//! CPU-THREAD burner-0 201 188 214             like CPU, for a thread's whole life
//! PARKS harness.Parks.nanos(I)V 100           parks
//! PARKS-RANGE harness.Parks.latch()V 3 3000
//! RENAMED before|after                        first and last names of a thread
//! GROUP child|inner|outer                     a thread, its group, the group's parent
//! LOADED harness.Unloading$Guest 12           class loaders that define a class of this name
//! UNLOADED harness.Unloading$Guest 8          these classes that were unloaded
//! MOUNTS sleeps-7 8                           minimum number of mounts of a virtual thread
//! COMPILED harness.Hot.leaf(I)I               a method that the JVM compiles
//! REFS harness.HeapGraph$Node 999             references from all objects of a class
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

/// The methods and source lines of a stack's frames, innermost first. A line is -1 if unknown, and
/// -2 in a native method.
pub type Stack = Vec<(String, i64)>;

/// Waits on monitors of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// All waits.
    pub waits: u64,
    /// The waits that timed out.
    pub timed_out: u64,
}

/// CPU time in milliseconds, as the program measured it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuMillis {
    /// The measured time.
    pub measured: u64,
    /// The lower bound for other measurements.
    pub low: u64,
    /// The upper bound for other measurements.
    pub high: u64,
}

/// A thread's position among the thread groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// The name of the thread's group.
    pub group: String,
    /// The name of the group's parent.
    pub parent: String,
}

/// The reported events, by kind. Classes are named like `Class.getName`, methods by the keys of
/// [`crate::Counts`]. A map makes no statement about keys that it does not contain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Truth {
    /// Objects allocated, by class (`OBJECTS`). For classes of the program and arrays of them, all
    /// objects are counted. For other classes, only objects allocated by methods of the program are
    /// counted.
    pub objects: BTreeMap<String, u64>,
    /// Objects allocated at one site, by site and class (`OBJECTS-AT`). [`Truth::objects`] also
    /// counts these objects.
    pub objects_at: BTreeMap<(Site, String), u64>,
    /// Lower bounds of the number of objects, by class (`OBJECTS-MIN`).
    pub objects_min: BTreeMap<String, u64>,
    /// Bytes of all objects that [`Truth::objects`] counts, by class (`BYTES`).
    pub bytes: BTreeMap<String, u64>,
    /// Objects alive at the end, by class (`LIVE`).
    pub live: BTreeMap<String, u64>,
    /// Live objects, by class and name of the allocating thread (`LIVE-THREAD`). If the map has a
    /// class, it has all live objects of the class.
    pub live_threads: BTreeMap<(String, String), u64>,
    /// Contended enters, by class of the monitor's object (`CONTENDED`).
    pub contended: BTreeMap<String, u64>,
    /// Contended enters, by class and name of the thread that held the monitor (`OWNER`).
    pub owners: BTreeMap<(String, String), u64>,
    /// Contended enters, by class and name of the owner (`OWNER-OR-NONE`). The JVM may name this
    /// owner or none, but no other owner.
    pub owners_or_none: BTreeMap<(String, String), u64>,
    /// Waits, by class of the monitor's object (`WAITS`).
    pub waits: BTreeMap<String, Waits>,
    /// Waits, by class of the monitor's object and time limit in milliseconds, 0 for no limit
    /// (`WAIT-LIMIT`). If the map has a class, it has all limits of the class.
    pub wait_limits: BTreeMap<(String, u64), u64>,
    /// Events by kind (`monitor`, `wait`, `park`, `throw`) and stack. The stack reaches from the
    /// innermost method of the program to the thread's first one (`STACK`).
    pub stacks: BTreeMap<(String, Stack), u64>,
    /// Throws in methods of the program, by class of the exception (`THROWN`).
    pub thrown: BTreeMap<String, u64>,
    /// Minimum and maximum numbers of throws in methods of the program, by class of the exception
    /// (`THROWN-RANGE`).
    pub thrown_ranges: BTreeMap<String, (u64, u64)>,
    /// Throws by site (`THROWN-AT`). [`Truth::thrown`] also counts these throws.
    pub thrown_at: BTreeMap<Site, u64>,
    /// Catches in methods of the program, by class of the exception (`CAUGHT`).
    pub caught: BTreeMap<String, u64>,
    /// Catches by site (`CAUGHT-AT`). The line is that of the handler's first instruction.
    /// [`Truth::caught`] also counts these catches. If the map is not empty, it is complete.
    pub caught_at: BTreeMap<Site, u64>,
    /// Calls that an exception leaves, by method and name of the thread (`LEFT-BY-EXCEPTION`). If
    /// this map and [`Truth::left_ranges`] are not both empty, they are complete together.
    pub left: BTreeMap<(String, String), u64>,
    /// Minimum and maximum numbers of calls that an exception leaves (`LEFT-BY-EXCEPTION-RANGE`).
    pub left_ranges: BTreeMap<(String, String), (u64, u64)>,
    /// The constant state and innermost method (without descriptor) of threads, by thread name
    /// (`STATE`).
    pub states: BTreeMap<String, (String, String)>,
    /// Hits of source lines, including lines with 0 hits (`LINES`). If the map has a method, it has
    /// all lines of the method's line table.
    pub lines: BTreeMap<Site, u64>,
    /// CPU time of all calls of a method, including its callees (`CPU`).
    pub cpu: BTreeMap<String, CpuMillis>,
    /// CPU time of a thread's whole life, by thread name (`CPU-THREAD`).
    pub cpu_threads: BTreeMap<String, CpuMillis>,
    /// Parks, by the innermost method of the program (`PARKS`).
    pub parks: BTreeMap<String, u64>,
    /// Minimum and maximum numbers of parks, by the innermost method of the program
    /// (`PARKS-RANGE`).
    pub parks_ranges: BTreeMap<String, (u64, u64)>,
    /// The last names of threads, by their first names (`RENAMED`).
    pub renamed: BTreeMap<String, String>,
    /// Groups, by the first name of the thread (`GROUP`).
    pub groups: BTreeMap<String, Group>,
    /// The number of class loaders that define a class of this name (`LOADED`).
    pub loaded: BTreeMap<String, u64>,
    /// The number of classes of this name that were unloaded (`UNLOADED`).
    pub unloaded: BTreeMap<String, u64>,
    /// The minimum number of mounts, by name of the virtual thread (`MOUNTS`).
    pub mounts: BTreeMap<String, u64>,
    /// Methods that the JVM compiles (`COMPILED`).
    pub compiled: BTreeSet<String>,
    /// Objects in the heap at the end, by class (`FACT heap.…`).
    pub heap: BTreeMap<String, u64>,
    /// References from all objects of a class (`REFS`): their fields and elements that are not
    /// null.
    pub references: BTreeMap<String, u64>,
    /// Objects that are roots at the end, by kind of root and class (`ROOT`).
    pub roots: BTreeMap<(String, String), u64>,
    /// The reason why the program did nothing (`SKIP`).
    pub skipped: Option<String>,
}

/// Splits a number off the end of a line. The rest may contain blanks.
fn cut<T: FromStr>(rest: &str) -> Option<(&str, T)> {
    let (key, number) = rest.rsplit_once(' ')?;
    Some((key, number.parse().ok()?))
}

/// Parses `key n`. The key must be new.
fn number(map: &mut BTreeMap<String, u64>, rest: &str) -> Option<()> {
    let (key, n) = cut(rest)?;
    put(map, named(key)?, n)
}

/// Parses `… low high`.
fn bounds(rest: &str) -> Option<(&str, (u64, u64))> {
    let (rest, high) = cut(rest)?;
    let (rest, low) = cut(rest)?;
    (low <= high).then_some((rest, (low, high)))
}

/// Parses `key low high`.
fn range(map: &mut BTreeMap<String, (u64, u64)>, rest: &str) -> Option<()> {
    let (key, range) = bounds(rest)?;
    put(map, named(key)?, range)
}

/// Parses `first second`. The second part may contain blanks.
fn two(rest: &str) -> Option<(String, String)> {
    let (first, second) = rest.split_once(' ')?;
    Some((named(first)?, named(second)?))
}

/// Parses `first second n`.
fn pair(map: &mut BTreeMap<(String, String), u64>, rest: &str) -> Option<()> {
    let (rest, n) = cut(rest)?;
    put(map, two(rest)?, n)
}

/// Parses `method line|method line|…`.
fn stack(rest: &str) -> Option<Stack> {
    let frame = |text| {
        let (method, line) = cut(text)?;
        Some((named(method)?, line))
    };
    rest.split('|').map(frame).collect()
}

/// Parses `key line`.
fn site(rest: &str) -> Option<Site> {
    let (key, line) = cut(rest)?;
    Some((named(key)?, line))
}

/// Parses `key line n`.
fn places(map: &mut BTreeMap<Site, u64>, rest: &str) -> Option<()> {
    let (place, n) = cut(rest)?;
    put(map, site(place)?, n)
}

fn named(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) -> Option<()> {
    map.insert(key, value).is_none().then_some(())
}

impl Truth {
    /// Parses the lines with events in a program's output. Ignores other lines, including those of
    /// [`crate::Counts`].
    ///
    /// # Errors
    /// The first malformed or repeated line.
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
            "LIVE-THREAD" => pair(&mut self.live_threads, rest),
            "OWNER" => pair(&mut self.owners, rest),
            "OWNER-OR-NONE" => pair(&mut self.owners_or_none, rest),
            "WAITS" => {
                let (rest, timed_out) = cut(rest)?;
                let (class, waits) = cut(rest)?;
                (timed_out <= waits).then_some(())?;
                put(&mut self.waits, named(class)?, Waits { waits, timed_out })
            }
            "WAIT-LIMIT" => {
                let (rest, n) = cut(rest)?;
                let (class, limit) = cut(rest)?;
                put(&mut self.wait_limits, (named(class)?, limit), n)
            }
            "STACK" => {
                let (rest, n) = cut(rest)?;
                let (kind, frames) = rest.split_once(' ')?;
                put(&mut self.stacks, (named(kind)?, stack(frames)?), n)
            }
            "THROWN" => number(&mut self.thrown, rest),
            "THROWN-RANGE" => range(&mut self.thrown_ranges, rest),
            "THROWN-AT" => places(&mut self.thrown_at, rest),
            "CAUGHT" => number(&mut self.caught, rest),
            "CAUGHT-AT" => places(&mut self.caught_at, rest),
            "LEFT-BY-EXCEPTION" => pair(&mut self.left, rest),
            "LEFT-BY-EXCEPTION-RANGE" => {
                let (rest, range) = bounds(rest)?;
                put(&mut self.left_ranges, two(rest)?, range)
            }
            "STATE" => {
                let (rest, method) = rest.rsplit_once(' ')?;
                let (thread, state) = rest.rsplit_once(' ')?;
                let stays = (named(state)?, named(method)?);
                put(&mut self.states, named(thread)?, stays)
            }
            "LINES" => places(&mut self.lines, rest),
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
            "ROOT" => pair(&mut self.roots, rest),
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

    /// Returns the lines of one method with their hits, ascending. Returns no lines if the program
    /// did not report the method.
    pub fn lines_of<'a>(&'a self, method: &str) -> impl Iterator<Item = (u32, u64)> + 'a {
        let method = method.to_owned();
        let begin = (method.clone(), 0);
        let all = self.lines.range(begin..);
        all.take_while(move |((key, _), _)| *key == method)
            .map(|((_, line), n)| (*line, *n))
    }
}

/// Parses `key ms low high`.
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

/// Compares a program's report with a trace. Returns one line for each difference. Only keys in the
/// report are compared. If the trace lacks a key, its count is 0.
pub fn differences<K: Ord + Debug>(
    what: &str,
    program: &BTreeMap<K, u64>,
    actual: &BTreeMap<K, u64>,
) -> Vec<String> {
    program
        .iter()
        .map(|(key, n)| (key, *n, actual.get(key).copied().unwrap_or(0)))
        .filter(|(_, expected, seen)| expected != seen)
        .map(|(key, expected, seen)| {
            format!("{what} {key:?}: {seen} in the trace, expected {expected}")
        })
        .collect()
}

/// Like [`differences`], but with lower and upper bounds.
pub fn differences_in_range<K: Ord + Debug>(
    what: &str,
    program: &BTreeMap<K, (u64, u64)>,
    actual: &BTreeMap<K, u64>,
) -> Vec<String> {
    program
        .iter()
        .map(|(key, bounds)| (key, *bounds, actual.get(key).copied().unwrap_or(0)))
        .filter(|(_, (low, high), seen)| seen < low || seen > high)
        .map(|(key, (low, high), seen)| {
            format!("{what} {key:?}: {seen} in the trace, expected {low} to {high}")
        })
        .collect()
}

impl Output {
    /// Returns the events that the program printed.
    ///
    /// # Panics
    /// If a line is malformed, no event was printed, or the program reports that it did nothing.
    pub fn truth(&self) -> Truth {
        let truth = Truth::parse(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{self}"));
        assert_eq!(truth.skipped, None, "the program did nothing\n{self}");
        assert!(
            truth != Truth::default(),
            "the program reported nothing of its events\n{self}"
        );
        truth
    }
}

#[cfg(test)]
mod tests;
