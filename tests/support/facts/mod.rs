//! What a trace says about everything except counts of calls: objects, monitors, exceptions, lines
//! and so on. Harness programs print the same facts (`jtrail_testkit::Truth`), so that both can be
//! compared.

mod stacks;

use self::stacks::Stacks;
use jtrail_formats::{Checker, Item, Reader, Severity};
use jtrail_model::{Event, Frame, Note, ObjectAlloc, ObjectId, ThreadId, Totals};
use jtrail_testkit::{Truth, Waits, differences, differences_in_range};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

type Counts<K = String> = BTreeMap<K, u64>;
type Site = (String, u32);

/// Returns true if the class, or the class of the method, is in `harness`, but is no
/// `harness.Expect…`.
fn is_program(class: &str) -> bool {
    class.starts_with("harness.") && !class.starts_with("harness.Expect")
}

/// Returns true for a class of the program, or an array of such a class.
fn is_of_program(class: &str) -> bool {
    is_program(class.trim_start_matches('[').trim_start_matches('L')) || is_program(class)
}

/// Returns method and line of a frame as a key.
fn site(frame: &Frame<'_>) -> Site {
    (frame.method.to_string(), frame.line.max(0) as u32)
}

fn is_in_program(frame: &Frame<'_>) -> bool {
    is_program(&frame.method)
}

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) objects: Counts,
    pub(crate) objects_at: Counts<(Site, String)>,
    /// Number of objects by class, whichever code created them.
    pub(crate) all_objects: Counts,
    /// Bytes of the objects of `all_objects`, by class.
    pub(crate) all_bytes: Counts,
    pub(crate) bytes: Counts,
    pub(crate) live: Counts,
    contended: Counts,
    owners: Counts<(String, String)>,
    waits: BTreeMap<String, Waits>,
    wait_limits: Counts<(String, u64)>,
    pub(crate) stacks: Stacks,
    thrown: Counts,
    thrown_at: Counts<Site>,
    caught: Counts,
    caught_at: Counts<Site>,
    /// Number of leaves by an exception, for each method and thread.
    left: Counts<(String, String)>,
    lines: Counts<Site>,
    line_methods: HashSet<String>,
    /// CPU time in nanoseconds: `cpu` by method, `cpu_threads` by thread.
    cpu: Counts,
    cpu_threads: Counts,
    parks: Counts,
    renamed: HashMap<String, String>,
    groups: HashMap<String, (String, String)>,
    loaded: Counts,
    unloaded: Counts,
    mounts: Counts,
    compiled: HashSet<String>,
    heap: Counts,
    references: Counts,
    roots: Counts<(String, String)>,
    pub(crate) events: u64,
    /// Number of events by kind, as the checker counts them.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
    pub(crate) totals: Option<Totals>,
    pub(crate) faults: Vec<String>,

    classes: HashMap<u64, String>,
    methods: HashMap<u64, String>,
    names: HashMap<ThreadId, String>,
    object_classes: HashMap<ObjectId, u64>,
    /// The last object that each thread created.
    last_objects: HashMap<ThreadId, ObjectId>,
    open: HashMap<ThreadId, Vec<(u64, i64)>>,
}

impl Facts {
    /// Reads a trace.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let source = File::open(file).map_err(|e| format!("no trace: {e}"))?;
        let mut reader = Reader::new(source).map_err(|e| e.to_string())?;
        let mut facts = Self::default();
        let mut checker = Checker::default();
        let problem = reader
            .for_each(|item| match item {
                Item::Event { offset, event } => {
                    checker.event(offset, &event);
                    facts.take(&event);
                    ControlFlow::Continue(())
                }
                Item::Remark(remark) => ControlFlow::Break(format!("{remark:?}")),
            })
            .map_err(|e| e.to_string())?;
        if let Some(problem) = problem {
            return Err(problem);
        }
        let checked = checker.finish();
        facts.kinds = checked.counts.kinds.iter().copied().collect();
        let found = checked.findings.iter();
        let faults = found.filter(|f| f.severity == Severity::Fault);
        facts.faults.extend(faults.map(|f| format!("{f:?}")));
        Ok(facts)
    }

    /// Returns true if a thread of this name is in the trace.
    pub(crate) fn has_thread(&self, name: &str) -> bool {
        self.groups.contains_key(name)
    }

    fn class(&self, id: u64) -> String {
        self.classes.get(&id).cloned().unwrap_or_default()
    }

    /// Returns true if the objects have the ids 1, 2, 3 …, each once.
    pub(crate) fn are_objects_in_a_row(&self) -> bool {
        let last = self.object_classes.keys().map(|object| object.0).max();
        last == Some(self.object_classes.len() as u64)
    }

    fn class_of(&self, object: ObjectId) -> String {
        self.object_classes
            .get(&object)
            .map(|class| self.class(*class))
            .unwrap_or_default()
    }

    fn take(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.stacks.take(event);
        match event {
            Event::ThreadStart(e) => {
                self.names.insert(e.thread, e.name.to_string());
                let group = (e.group.to_string(), e.parent_group.to_string());
                self.groups.insert(e.name.to_string(), group);
            }
            Event::ThreadName(e) => {
                let first = self.names[&e.thread].clone();
                self.renamed.insert(first, e.name.to_string());
            }
            Event::ThreadCpu(e) => {
                let name = self.names[&e.thread].clone();
                self.cpu_threads.insert(name, e.cpu_time.0 as u64);
            }
            Event::ThreadMount(e) => {
                let name = self.names[&e.thread].clone();
                *self.mounts.entry(name).or_default() += 1;
            }
            Event::ClassDef(e) => {
                self.classes.insert(e.class.0, e.name.to_string());
            }
            Event::ClassDetail(e) => {
                let name = self.class(e.class.0);
                *self.loaded.entry(name).or_default() += 1;
            }
            Event::ClassUnload(e) => {
                let name = self.class(e.class.0);
                *self.unloaded.entry(name).or_default() += 1;
            }
            Event::MethodDef(e) => {
                let key = format!("{}.{}{}", self.class(e.class.0), e.name, e.signature);
                self.methods.insert(e.method.0, key);
            }
            Event::MethodCompile(e) => {
                self.compiled.insert(self.methods[&e.method.0].clone());
            }
            Event::MethodEnter(e) => {
                let open = self.open.entry(e.thread).or_default();
                open.push((e.method.0, e.cpu_time.0));
            }
            Event::MethodLeave(e) => {
                let open = self.open.entry(e.thread).or_default();
                let (method, began) = open.pop().expect("a call is open");
                let key = &self.methods[&method];
                if open.iter().all(|(other, _)| *other != method) {
                    *self.cpu.entry(key.clone()).or_default() += (e.cpu_time.0 - began) as u64;
                }
                if e.by_exception {
                    let call = (key.clone(), self.names[&e.thread].clone());
                    *self.left.entry(call).or_default() += 1;
                }
            }
            Event::ObjectAlloc(e) => {
                let class = self.class(e.class.0);
                let method = self.methods.get(&e.method.0).cloned().unwrap_or_default();
                let known = self.object_classes.insert(e.object, e.class.0);
                let last = self.last_objects.insert(e.thread, e.object);
                if known.is_some() || last >= Some(e.object) {
                    self.faults.push(format!("{e:?} after {last:?}"));
                }
                *self.all_objects.entry(class.clone()).or_default() += 1;
                *self.all_bytes.entry(class.clone()).or_default() += e.size as u64;
                *self.live.entry(class.clone()).or_default() += 1;
                if is_program(&method) {
                    let site = (method.clone(), e.line as u32);
                    *self.objects_at.entry((site, class.clone())).or_default() += 1;
                }
                if is_of_program(&class) || is_program(&method) {
                    *self.objects.entry(class.clone()).or_default() += 1;
                    *self.bytes.entry(class).or_default() += e.size as u64;
                }
            }
            Event::ObjectDef(e) => {
                self.object_classes.insert(e.object, e.class.0);
                *self.live.entry(self.class(e.class.0)).or_default() += 1;
            }
            Event::ObjectFree(e) => {
                let class = self.class_of(e.object);
                *self.live.entry(class).or_default() -= 1;
            }
            Event::MonitorContendedEnter(e) => {
                let class = self.class_of(e.object);
                if is_program(&class) || e.stack.first().is_some_and(is_in_program) {
                    *self.contended.entry(class.clone()).or_default() += 1;
                    let owner = self.names.get(&e.owner).cloned().unwrap_or_default();
                    *self.owners.entry((class, owner)).or_default() += 1;
                }
            }
            Event::MonitorWait(e) => {
                let limit = (self.class_of(e.object), e.timeout_ms as u64);
                *self.wait_limits.entry(limit).or_default() += 1;
            }
            Event::MonitorWaited(e) => {
                let class = self.class_of(e.object);
                let waits = self.waits.entry(class).or_default();
                waits.waits += 1;
                waits.timed_out += e.timed_out as u64;
            }
            Event::ThreadPark(e) => {
                if let Some(frame) = e.stack.iter().find(|frame| is_in_program(frame)) {
                    *self.parks.entry(frame.method.to_string()).or_default() += 1;
                }
            }
            Event::ExceptionThrow(e) if is_in_program(&e.stack[0]) => {
                *self.thrown.entry(self.class(e.class.0)).or_default() += 1;
                *self.thrown_at.entry(site(&e.stack[0])).or_default() += 1;
            }
            Event::ExceptionCatch(e) if is_in_program(&e.frame) => {
                *self.caught.entry(self.class(e.class.0)).or_default() += 1;
                *self.caught_at.entry(site(&e.frame)).or_default() += 1;
            }
            Event::LineCounts(e) => {
                let key = self.methods[&e.method.0].clone();
                self.line_methods.insert(key.clone());
                for line in &e.lines {
                    self.lines.insert((key.clone(), line.line), line.count);
                }
            }
            Event::HeapDump(_) => {
                self.heap.clear();
                self.references.clear();
                self.roots.clear();
            }
            Event::HeapObject(e) => {
                self.object_classes.insert(e.object, e.class.0);
                *self.heap.entry(self.class(e.class.0)).or_default() += 1;
            }
            Event::ObjectReference(e) => {
                let class = self.class_of(e.source);
                *self.references.entry(class).or_default() += 1;
            }
            Event::GcRoot(e) => {
                let key = (e.kind.to_string(), self.class(e.class.0));
                *self.roots.entry(key).or_default() += 1;
            }
            Event::Custom(e) => {
                if let Some(Note::Totals(totals)) = Note::parse(&e.body) {
                    self.totals = Some(totals);
                }
            }
            _ => {}
        }
    }

    /// Compares the calls that an exception left with those that the program reports. Returns the
    /// differences. Few formats distinguish these calls.
    pub(crate) fn left_differences(&self, truth: &Truth) -> Vec<String> {
        const WHAT: &str = "left by an exception";
        let mut all = differences(WHAT, &truth.left, &self.left);
        all.extend(differences_in_range(WHAT, &truth.left_ranges, &self.left));
        // Only one of the engines sees hidden classes.
        let is_ours = |key: &str| is_program(key) && !key.contains("$$Lambda");
        for (call, seen) in &self.left {
            let reported = truth.left.contains_key(call) || truth.left_ranges.contains_key(call);
            if is_ours(&call.0) && !reported {
                all.push(format!("{WHAT} {call:?}: {seen}, not reported"));
            }
        }
        all
    }

    /// Compares everything else with what the program reports. Returns the differences.
    pub(crate) fn differences(&self, truth: &Truth) -> Vec<String> {
        let mut all = differences("objects", &truth.objects, &self.objects);
        all.extend(differences(
            "objects at",
            &truth.objects_at,
            &self.objects_at,
        ));
        let at_least: BTreeMap<_, _> = truth
            .objects_min
            .iter()
            .map(|(class, least)| (class.clone(), (*least, u64::MAX)))
            .collect();
        all.extend(differences_in_range(
            "objects",
            &at_least,
            &self.all_objects,
        ));
        all.extend(differences("bytes", &truth.bytes, &self.bytes));
        all.extend(differences("live", &truth.live, &self.live));
        all.extend(differences("contended", &truth.contended, &self.contended));
        all.extend(differences("owners", &truth.owners, &self.owners));
        all.extend(differences(
            "wait limits",
            &truth.wait_limits,
            &self.wait_limits,
        ));
        all.extend(differences("throws", &truth.thrown, &self.thrown));
        all.extend(differences_in_range(
            "throws",
            &truth.thrown_ranges,
            &self.thrown,
        ));
        all.extend(differences("throws at", &truth.thrown_at, &self.thrown_at));
        all.extend(differences("catches", &truth.caught, &self.caught));
        all.extend(differences("catches at", &truth.caught_at, &self.caught_at));
        let is_reported =
            |site: &Site| truth.caught_at.is_empty() || truth.caught_at.contains_key(site);
        let unreported = self.caught_at.iter().filter(|(site, _)| !is_reported(site));
        all.extend(
            unreported.map(|(site, seen)| format!("catches at {site:?}: {seen}, not reported")),
        );
        all.extend(differences("hits of", &truth.lines, &self.lines));
        all.extend(differences("parks", &truth.parks, &self.parks));
        all.extend(differences_in_range(
            "parks",
            &truth.parks_ranges,
            &self.parks,
        ));
        all.extend(differences("loaded", &truth.loaded, &self.loaded));
        all.extend(differences("unloaded", &truth.unloaded, &self.unloaded));
        all.extend(differences("in the heap", &truth.heap, &self.heap));
        // In the trace, each object also has a reference to its class. The program does not count
        // these references.
        let mut references = self.references.clone();
        for (class, count) in &mut references {
            *count -= self.heap[class];
        }
        all.extend(differences("references of", &truth.references, &references));
        all.extend(differences("roots", &truth.roots, &self.roots));
        let mut unless = |ok: bool, text: String| {
            if !ok {
                all.push(text);
            }
        };
        for ((class, owner), reported) in &truth.owners_or_none {
            let of = |owner: &str| self.owners.get(&(class.clone(), owner.into()));
            let (seen, unknown) = (of(owner).unwrap_or(&0), of("").unwrap_or(&0));
            unless(
                seen + unknown == *reported,
                format!(
                    "owner {owner} of {class}: {seen}, and {unknown} unknown, expected {reported}"
                ),
            );
        }
        for ((class, limit), seen) in &self.wait_limits {
            let reported = truth.wait_limits.contains_key(&(class.clone(), *limit));
            let class_reported = truth.wait_limits.keys().any(|(other, _)| other == class);
            unless(
                !class_reported || reported,
                format!("{seen} waits {class} of {limit} ms: not reported"),
            );
        }
        for (class, reported) in &truth.waits {
            let seen = self.waits.get(class).copied().unwrap_or_default();
            unless(
                seen == *reported,
                format!("waits {class}: {seen:?}, not {reported:?}"),
            );
        }
        for (key, line) in self.lines.keys() {
            let reported = truth.lines.contains_key(&(key.clone(), *line));
            let method_reported = truth.lines_of(key).next().is_some();
            unless(
                !method_reported || reported,
                format!("line {line} of {key}: not told"),
            );
        }
        let times = [
            (&truth.cpu, &self.cpu),
            (&truth.cpu_threads, &self.cpu_threads),
        ];
        for (reported, seen) in times {
            for (key, cpu) in reported {
                let ms = seen.get(key).copied().unwrap_or(0) as f64 / 1e6;
                let range = cpu.low as f64 - 1.0..=cpu.high as f64 + 1.0;
                unless(range.contains(&ms), format!("CPU {key}: {ms}, not {cpu:?}"));
            }
        }
        for (first, last) in &truth.renamed {
            let seen = self.renamed.get(first);
            unless(
                seen == Some(last),
                format!("name {first}: {seen:?}, not {last}"),
            );
        }
        for (thread, reported) in &truth.groups {
            let seen = self.groups.get(thread);
            let reported = (reported.group.clone(), reported.parent.clone());
            unless(
                seen == Some(&reported),
                format!("group {thread}: {seen:?}, not {reported:?}"),
            );
        }
        for (thread, least) in &truth.mounts {
            let seen = self.mounts.get(thread).copied().unwrap_or(0);
            unless(
                seen >= *least,
                format!("mounts {thread}: {seen}, not {least}"),
            );
        }
        for key in &truth.compiled {
            unless(
                self.compiled.contains(key),
                format!("{key} is not compiled"),
            );
        }
        all
    }
}

/// Two faults: an object number that is less than the preceding one of the same thread, and a
/// number that is used again.
#[test]
fn numbers_of_objects_rise_and_are_not_used_again() {
    let faults = |objects: &[(u64, u64)]| {
        let mut facts = Facts::default();
        for &(thread, object) in objects {
            facts.take(&Event::ObjectAlloc(ObjectAlloc {
                thread: ThreadId(thread),
                object: ObjectId(object),
                ..ObjectAlloc::default()
            }));
        }
        facts.faults.len()
    };
    assert_eq!(faults(&[(1, 2), (2, 1), (1, 3), (2, 4)]), 0);
    assert_eq!(faults(&[(1, 2), (1, 1)]), 1);
    assert_eq!(faults(&[(1, 1), (2, 1)]), 1);
}
