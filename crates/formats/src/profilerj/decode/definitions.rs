//! Threads, classes and methods that the document names, and the definition events for them.

use super::queue::Queue;
use crate::hash::Seed;
use crate::profilerj::names::{class_from_source, method_from_profile};
use jtrail_model::{
    ClassDef, ClassId, ClassSource, Duration, Event, MethodDef, MethodId, ThreadCpu, ThreadEnd,
    ThreadId, ThreadStart, Timestamp,
};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

/// A section that contains threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Section {
    Profile,
    Sampler,
    Memory,
    Coverage,
}

/// All ids assigned so far, from one counter.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    last: u64,
    /// Threads by two kinds of keys: name with CPU time and state, and name alone.
    threads: HashMap<String, Same>,
    /// Ended threads, each with the latest time at which the thread is known to be alive.
    ended: BTreeMap<ThreadId, Timestamp>,
    /// Classes by name in the model. The flag is true if section `coverage` has contained the
    /// class.
    classes: HashMap<Box<str>, (ClassId, bool)>,
    /// Methods of section `profile`, by a fingerprint of name and descriptor. So each element of
    /// this section needs only one look-up.
    calls: HashMap<[u64; 2], MethodId, Seed>,
    fingerprints: [Seed; 2],
    /// Methods by class, name and descriptor. The flag is true if section `coverage` has contained
    /// the method.
    methods: HashMap<(ClassId, Box<str>), (MethodId, bool)>,
}

/// Threads that have the same key, in order. `had` is the number of them that each section has
/// contained so far.
#[derive(Debug, Default)]
struct Same {
    threads: Vec<ThreadId>,
    had: [usize; 3],
}

impl Same {
    fn next(&mut self, section: Section) -> Option<ThreadId> {
        let had = self.had.get_mut(section as usize)?;
        let thread = *self.threads.get(*had)?;
        *had += 1;
        Some(thread)
    }

    fn add(&mut self, thread: ThreadId, section: Section) {
        self.threads.push(thread);
        if let Some(had) = self.had.get_mut(section as usize) {
            *had = self.threads.len();
        }
    }
}

impl Definitions {
    fn new_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the thread of an element in section `profile` or `sampler`. Elements contain only
    /// the name of a thread, no id. A thread of one section and a thread of the other are the same
    /// if name, CPU time and state agree.
    pub(super) fn thread(
        &mut self,
        section: Section,
        (name, cpu, alive): (&str, Duration, bool),
        queue: &mut Queue,
    ) -> ThreadId {
        let key = format!("{name}\0{}\0{alive}", cpu.0);
        if let Some(same) = self.threads.get_mut(&key)
            && let Some(thread) = same.next(section)
        {
            return thread;
        }
        let thread = self.new_thread(section, name, queue);
        self.threads.entry(key).or_default().add(thread, section);
        if cpu.0 != 0 {
            queue.push(Event::ThreadCpu(ThreadCpu {
                thread,
                time: Timestamp(0),
                cpu_time: cpu,
            }));
        }
        if !alive {
            self.ended.insert(thread, Timestamp(0));
        }
        thread
    }

    /// Returns the thread of an element in section `memory`, which has only a name.
    pub(super) fn thread_by_name(&mut self, name: &str, queue: &mut Queue) -> ThreadId {
        let same = self.threads.get_mut(name);
        same.and_then(|same| same.next(Section::Memory))
            .unwrap_or_else(|| self.new_thread(Section::Memory, name, queue))
    }

    fn new_thread(&mut self, section: Section, name: &str, queue: &mut Queue) -> ThreadId {
        let thread = ThreadId(self.new_id());
        let same = self.threads.entry(name.to_owned()).or_default();
        match section {
            Section::Memory => same.add(thread, section),
            _ => same.threads.push(thread),
        }
        queue.push(Event::ThreadStart(ThreadStart {
            thread,
            name: name.to_owned().into(),
            ..ThreadStart::default()
        }));
        thread
    }

    /// Stores that the thread was alive until `time`.
    pub(super) fn seen(&mut self, thread: ThreadId, time: Timestamp) {
        if let Some(end) = self.ended.get_mut(&thread) {
            *end = time.max(*end);
        }
    }

    /// True if the thread has ended according to the document.
    pub(super) fn has_ended(&self, thread: ThreadId) -> bool {
        self.ended.contains_key(&thread)
    }

    /// Queues the end events of the threads that ended.
    pub(super) fn end_threads(&mut self, queue: &mut Queue) {
        for (thread, time) in std::mem::take(&mut self.ended) {
            queue.push(Event::ThreadEnd(ThreadEnd { thread, time }));
        }
    }

    /// Returns the class called `name` in the model.
    fn class(&mut self, name: &str, queue: &mut Queue) -> ClassId {
        match self.classes.get(name) {
            Some((class, _)) => *class,
            None => self.new_class(name, "", queue),
        }
    }

    fn new_class(&mut self, name: &str, source: &str, queue: &mut Queue) -> ClassId {
        let class = ClassId(self.new_id());
        self.classes.insert(name.into(), (class, false));
        queue.push(Event::ClassDef(ClassDef {
            class,
            name: name.to_owned().into(),
            source_name: source.to_owned().into(),
            ..ClassDef::default()
        }));
        class
    }

    /// Returns the class called `name` in source form.
    pub(super) fn class_by_source(&mut self, name: &str, queue: &mut Queue) -> ClassId {
        self.class(&class_from_source(name), queue)
    }

    /// Returns the class of an element in section `coverage`. If the section already contained a
    /// class of this name, the element is a further class of the same name.
    pub(super) fn covered_class(&mut self, name: &str, source: &str, queue: &mut Queue) -> ClassId {
        let class = match self.classes.get(name) {
            Some((class, false)) => {
                let class = *class;
                if !source.is_empty() {
                    queue.push(Event::ClassSource(ClassSource {
                        class,
                        source_name: source.to_owned().into(),
                    }));
                }
                class
            }
            _ => self.new_class(name, source, queue),
        };
        self.classes.insert(name.into(), (class, true));
        class
    }

    /// Returns the method called `name` in section `profile`.
    pub(super) fn call(&mut self, name: &str, signature: &str, queue: &mut Queue) -> MethodId {
        // In practice, different texts have different fingerprints: a fingerprint has 128 bits, and
        // its seeds are random. The texts themselves are not compared, because loading them from
        // memory would take longer than the rest of the work for an element.
        let text = (name, signature);
        let key = self.fingerprints.each_ref().map(|seed| seed.hash_one(text));
        if let Some(method) = self.calls.get(&key) {
            return *method;
        }
        let (class, method) =
            method_from_profile(name, signature, |class| self.classes.contains_key(class));
        let class = self.class(class, queue);
        let def = MethodDef {
            class,
            name: method.to_owned().into(),
            signature: signature.to_owned().into(),
            ..MethodDef::default()
        };
        let (method, _) = self.method(def, queue);
        self.calls.insert(key, method);
        method
    }

    /// Returns the method of an element in section `coverage`. If the section already contained
    /// this method, the element is a further method of the same name.
    pub(super) fn covered_method(
        &mut self,
        def: MethodDef<'static>,
        queue: &mut Queue,
    ) -> MethodId {
        let key = method_key(&def);
        let (mut method, covered) = self.method(def.clone(), queue);
        if covered {
            method = self.new_method(def, queue);
        }
        self.methods.insert(key, (method, true));
        method
    }

    fn method(&mut self, def: MethodDef<'static>, queue: &mut Queue) -> (MethodId, bool) {
        match self.methods.get(&method_key(&def)) {
            Some(found) => *found,
            None => (self.new_method(def, queue), false),
        }
    }

    fn new_method(&mut self, def: MethodDef<'static>, queue: &mut Queue) -> MethodId {
        let method = MethodId(self.new_id());
        self.methods.insert(method_key(&def), (method, false));
        queue.push(Event::MethodDef(MethodDef { method, ..def }));
        method
    }
}

fn method_key(def: &MethodDef<'_>) -> (ClassId, Box<str>) {
    (def.class, format!("{}\0{}", def.name, def.signature).into())
}
