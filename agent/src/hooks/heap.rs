//! Snapshots of the heap: every object that can be reached, every reference between them, every root.
//!
//! One walk of the JVM's over its heap (FollowReferences) shows all references, while the program stands still. Objects are known by
//! their tags; those without one get a number on the way. What the walk tells goes into the buffer of the thread that asked for it,
//! although another thread of the JVM's carries it out: the one that asked waits for it.
//!
//! Classes are known by the tags of their class objects, which are set before the walk ([`HeapClasses`]). A class may load in between, or be one of
//! arrays that nobody told of. Its objects are noted, and told when their class is known, after the walk; until then they are kept from the collector's
//! hands by references of ours. Only one that dies before that is left out, with its references.
//!
//! After a collection no walk may begin where the JVM tells of its finish. So a thread of our own does it, if it is asked for. It
//! is one that the JVM makes for agents. (HotSpot 21 keeps something of a native thread that was attached and is gone, and writes into freed memory when an environment
//! is disposed of.)
//!
//! Before a collection there can be one only where the collection is ours: what the JVM tells of another's start comes when the program stands still for it. The two around
//! ours are to show what it freed, which no reference leads to. So another walk (IterateThroughHeap), directly before the one along the references, comes by all objects that the heap holds.
//! What is made in between is found by the second one, if it can be reached.

use super::follower::Follower;
use super::heap_classes::HeapClasses;
use super::last_frees::while_walking;
use super::made_threads::MadeThreads;
use super::record;
use crate::agent::Agent;
use crate::objects::{Objects, class_in, number_in};
use ::jni::sys::JNIEnv;
use jtrail_guard::{guard, log};
use jtrail_jvm::jni;
use jtrail_jvm::jvmti::{Onward, Passed, Reference};
use jtrail_options::{Events, HeapMoments, Options};
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::{Code, object};
use jtrail_records::NumberSet;
use jtrail_records::record::{BROKEN_OFF, Moment};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::sync::OnceLock;

/// What lasts from one snapshot to the next.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// Held while a snapshot is taken.
    state: Mutex<State>,
    pub(super) vm: OnceLock<jni::Vm>,
    pub(super) classes: HeapClasses,
    /// Takes snapshots after collections.
    pub(super) follower: Follower,
}

#[derive(Default)]
struct State {
    taken: u64,
    /// The trace ends.
    over: bool,
}

/// Whether these kinds of events ask for snapshots at that moment.
pub(super) fn wanted(options: &Options, kinds: Events, moment: HeapMoments) -> bool {
    kinds.contains(Events::HEAP) && options.heap.contains(moment)
}

/// The JVM is ready: snapshots can be taken from now on.
pub(super) fn begin(agent: &Agent, env: *mut JNIEnv) {
    // SAFETY: the running thread's environment.
    let Some(vm) = (unsafe { jni::vm_of(env) }) else {
        return;
    };
    agent.snapshots.vm.get_or_init(|| vm);
    if !wanted(&agent.options, agent.options.events, HeapMoments::GC) {
        return;
    }
    let place = "the walker of the heap";
    let started = agent
        .snapshots
        .follower
        .start(agent, env, "jtrail heap", place, take);
    if let Err(error) = started {
        log::say(&format!(
            "{error}; there are no snapshots after collections"
        ));
    }
}

/// The JVM ends: the last snapshot, where one is asked for. None begins after this; one that is being taken is waited for.
pub(super) fn end(agent: &Agent, env: *mut JNIEnv, buffer: Option<&ThreadBuffer>) {
    if let Some(buffer) = buffer
        && wanted(&agent.options, agent.kinds(), HeapMoments::EXIT)
    {
        take(agent, env, buffer);
    }
    agent.snapshots.state.lock().over = true;
}

/// Takes a snapshot of what can be reached.
pub(super) fn take(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer) {
    take_at(agent, env, buffer, Moment::Any);
}

/// Takes a snapshot.
pub(super) fn take_at(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer, moment: Moment) {
    let Some(objects) = agent.objects.get() else {
        return;
    };
    let mut state = agent.snapshots.state.lock();
    if state.over {
        return;
    }
    state.taken += 1;
    let dump = (state.taken, moment);
    // SAFETY: the running thread's environment; no reference leaves.
    unsafe { jni::with_frame(env, || walk(agent, env, objects, buffer, dump)) };
}

fn walk(
    agent: &Agent,
    env: *mut JNIEnv,
    objects: &Objects,
    buffer: &ThreadBuffer,
    (number, moment): (u64, Moment),
) {
    let classes = &agent.snapshots.classes;
    // SAFETY: the running thread's environment.
    unsafe { classes.number(agent, env, objects) };
    let Some(still) = objects.keep_numbers() else {
        return log::say(&format!(
            "snapshot {number} of the heap is left out: a thread is stopped where it names an object"
        ));
    };
    let payload = [number, moment as u64];
    record(agent, Some(buffer), Code::HeapDump, &payload);
    let mut walk = Walk {
        agent,
        objects,
        buffer,
        fillers: classes.fillers(),
        virtual_threads: None,
        seen: NumberSet::default(),
        unknown: Unknown::default(),
    };
    let (result, _) = while_walking(|| {
        // SAFETY: the running thread's environment, a live reference, and the lock is held.
        walk.virtual_threads = classes
            .virtual_threads()
            .map(|(class, number)| unsafe { MadeThreads::find(env, objects, class, number) });
        if moment != Moment::Any {
            objects.jvmti.pass_objects(|object| walk.pass(object))?;
        }
        objects
            .jvmti
            .follow_references(|reference| walk.visit(reference))
    });
    drop(still);
    let left_out = walk.tell_unknown(env);
    let passed = walk.virtual_threads.map_or(0, MadeThreads::passed);
    match result {
        Err(error) => {
            log::say(&format!(
                "snapshot {number} of the heap is incomplete: {error}"
            ));
            record(agent, Some(buffer), Code::HeapDumpEnd, &[BROKEN_OFF]);
        }
        Ok(()) if guard::is_off() => {}
        Ok(()) => {
            if left_out > 0 {
                log::say(&format!(
                    "snapshot {number} of the heap leaves {left_out} objects out, whose classes loaded and which died meanwhile"
                ));
            }
            if passed > 0 {
                log::say(&format!(
                    "snapshot {number} of the heap leaves out what virtual threads refer to that were being made: {passed}"
                ));
            }
            record(agent, Some(buffer), Code::HeapDumpEnd, &[number]);
        }
    }
}

struct Walk<'a> {
    agent: &'a Agent,
    objects: &'a Objects,
    buffer: &'a ThreadBuffer,
    /// Numbers of the classes of what the JVM fills gaps with.
    fillers: Vec<u32>,
    /// None where the JVM has no virtual threads.
    virtual_threads: Option<MadeThreads>,
    seen: NumberSet,
    unknown: Unknown,
}

/// Objects whose class has no number, and what was said of them.
#[derive(Default)]
struct Unknown {
    numbers: FxHashSet<u64>,
    /// Number and bytes.
    objects: Vec<(u64, u64)>,
    /// Number and kind.
    roots: Vec<(u64, u64)>,
    references: Vec<(u64, u64)>,
}

impl Unknown {
    fn has(&self, number: u64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&number)
    }
}

impl Walk<'_> {
    /// Tells of an object, unless nothing but a reference to it can tell that it is one. Calls nothing of the JVM.
    fn pass(&mut self, object: Passed<'_>) -> bool {
        if let Some(class) = class_in(object.class_tag)
            && (number_in(*object.tag) != 0 || !self.fillers.contains(&class))
        {
            self.mention(object.tag, Some(class), object.size);
        }
        !guard::is_off()
    }

    /// The number of an object, which is told at its first mention.
    fn mention(&mut self, tag: &mut i64, class: Option<u32>, size: u64) -> u64 {
        let number = match number_in(*tag) {
            0 => self.objects.number_in_walk(tag),
            known => known,
        };
        if self.seen.insert(number) {
            match class {
                Some(class) => self.tell(Code::HeapObject, [object(number, class), size]),
                None => {
                    self.unknown.numbers.insert(number);
                    self.unknown.objects.push((number, size));
                }
            }
        }
        number
    }

    /// Tells of a reference, or a root. Calls nothing of the JVM.
    fn visit(&mut self, reference: Reference<'_>) -> Onward {
        let class = class_in(reference.class_tag);
        let number = self.mention(reference.tag, class, reference.size);
        match reference.referrer.map(number_in) {
            Some(source) if self.unknown.has(source) || self.unknown.has(number) => {
                self.unknown.references.push((source, number));
            }
            Some(source) => self.tell(Code::HeapReference, [source, number]),
            None => {
                let kind = u64::from(reference.kind.unsigned_abs());
                match class {
                    Some(class) => self.tell(Code::HeapRoot, [object(number, class), kind]),
                    None => self.unknown.roots.push((number, kind)),
                }
            }
        }
        let passes = self
            .virtual_threads
            .as_mut()
            .is_some_and(|threads| threads.passes(class, *reference.tag));
        match passes {
            _ if guard::is_off() => Onward::Stop,
            true => Onward::Past,
            false => Onward::Into,
        }
    }

    fn tell(&self, code: Code, payload: [u64; 2]) {
        record(self.agent, Some(self.buffer), code, &payload);
    }

    /// Tells of the objects whose class is known by now. The answer is how many there are of which it is not.
    fn tell_unknown(&mut self, env: *mut JNIEnv) -> usize {
        if self.unknown.numbers.is_empty() {
            return 0;
        }
        let unknown = std::mem::take(&mut self.unknown);
        let tags: Vec<i64> = unknown
            .objects
            .iter()
            .map(|(number, _)| *number as i64)
            .collect();
        let found = self
            .objects
            .jvmti
            .objects_with_tags(env, &tags)
            .unwrap_or_default();
        let classes: rustc_hash::FxHashMap<u64, u32> = found
            .into_iter()
            .filter_map(|(tag, object)| {
                // SAFETY: a local reference that the JVM just gave us, and the one to its class.
                let class = unsafe { self.objects.class(self.agent, jni::class_of(env, object)) };
                Some((number_in(tag), class?))
            })
            .collect();
        for (number, size) in &unknown.objects {
            if let Some(class) = classes.get(number) {
                self.tell(Code::HeapObject, [object(*number, *class), *size]);
            }
        }
        for (number, kind) in &unknown.roots {
            if let Some(class) = classes.get(number) {
                self.tell(Code::HeapRoot, [object(*number, *class), *kind]);
            }
        }
        let is_told =
            |number: &u64| !unknown.numbers.contains(number) || classes.contains_key(number);
        for (source, target) in &unknown.references {
            if is_told(source) && is_told(target) {
                self.tell(Code::HeapReference, [*source, *target]);
            }
        }
        unknown.objects.len() - classes.len()
    }
}
