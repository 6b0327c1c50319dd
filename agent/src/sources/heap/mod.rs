//! Heap snapshots. A snapshot has every reachable object, every reference between objects, and
//! every root.
//!
//! One heap walk (FollowReferences) shows all references, while the program is stopped. Objects are
//! identified by their tags. If an object has no number, it gets one in the walk. Another thread of
//! the JVM carries the walk out, and writes the records into the buffer of the thread that
//! requested it. The requesting thread waits for the walk, and lends its buffer.
//!
//! Classes are identified by the tags of their class objects, which are set before the walk
//! ([`HeapClasses`]). Two sorts of classes may have no tag: a class that loads just before the
//! walk, and an array class, for which there is no event. Their objects are noted in the walk.
//! After the walk, the class is looked up, and the objects are recorded. If an object dies before
//! the lookup, the object and its references are missing.
//!
//! For a snapshot after a collection, the walk can't begin in the GarbageCollectionFinish event. So
//! an agent thread takes the snapshot. The JVM creates that thread. (A native thread that attaches
//! itself can't be used. After such a thread has ended, HotSpot 21 keeps some of its state, and
//! writes into freed memory when an environment is disposed of.)
//!
//! A snapshot before a collection is possible only if the agent requests the collection. Otherwise,
//! the program is already stopped at the GarbageCollectionStart event. The snapshots before and
//! after a requested collection are to show which objects it freed. These objects are unreachable
//! before the collection. So each of the two snapshots begins with another walk
//! (IterateThroughHeap), which also finds unreachable objects. The walk along the references
//! follows at once. It also finds objects that were created between the two walks.

mod constructed_threads;

use super::frees::in_heap_walk;
use super::{Source, Tracer, own_threads};
use crate::objects::{Objects, class_in, number_in};
use crate::session::Session;
use constructed_threads::ConstructedThreads;
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{ClassRef, Env};
use jtrail_jvm::jvmti::{Reference, VisitControl, VisitedObject};
use jtrail_options::{Events, HeapMoments, Options};
use jtrail_recorder::buffer::record::{Code, object};
use jtrail_recorder::buffer::{LentBuffer, OwnBuffer};
use jtrail_records::NumberSet;
use jtrail_records::record::{INCOMPLETE, SnapshotMoment};
use rustc_hash::{FxHashMap, FxHashSet};

/// The source of `events=heap`.
pub(super) struct HeapSnapshots;

impl Source for HeapSnapshots {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::HEAP)
    }

    /// Starts the thread that takes snapshots after collections, if these are requested.
    fn started(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let options = &tracer.session.options;
        if !is_requested(options, options.events, HeapMoments::GC) {
            return;
        }
        let place = "the walker of the heap";
        let follower = &tracer.heap.follower;
        let started =
            own_threads::follow_collections(tracer, env, follower, ("jtrail heap", place), take);
        if let Err(error) = started {
            log::say(&format!(
                "{error}; there are no snapshots after collections"
            ));
        }
    }

    /// Takes the last snapshot, if it is requested. Waits for a snapshot that another thread is
    /// taking. No snapshot begins afterwards.
    fn end(&self, tracer: &'static Tracer, env: &mut Env<'_>, buffer: Option<OwnBuffer>) {
        let session = &tracer.session;
        if let Some(buffer) = buffer
            && is_requested(&session.options, session.kinds.on(), HeapMoments::EXIT)
        {
            take(tracer, env, buffer);
        }
        finish(tracer);
    }
}

/// Returns true if these kinds of events request snapshots at that moment.
pub(crate) fn is_requested(options: &Options, kinds: Events, moment: HeapMoments) -> bool {
    kinds.contains(Events::HEAP) && options.heap.contains(moment)
}

/// Notes that a class was prepared. Called if [`Events::HEAP`] is available.
pub(crate) fn prepared_class(tracer: &Tracer, env: &Env<'_>, class: ClassRef<'_>) {
    tracer.heap.classes.prepared(env, class);
}

/// Wakes the thread that takes snapshots, because a collection is over. The caller is an event that
/// must not call the JVM.
pub(crate) fn wake_after_collection(tracer: &Tracer) {
    tracer.heap.follower.wake();
}

/// Waits for a snapshot that is being taken. No snapshot begins afterwards.
pub(crate) fn finish(tracer: &Tracer) {
    tracer.heap.progress.lock().is_over = true;
}

/// Takes a snapshot of the reachable objects.
pub(crate) fn take(tracer: &Tracer, env: &mut Env<'_>, buffer: OwnBuffer) {
    take_at(tracer, env, buffer, SnapshotMoment::Any);
}

/// Takes a snapshot at that moment.
pub(crate) fn take_at(
    tracer: &Tracer,
    env: &mut Env<'_>,
    buffer: OwnBuffer,
    moment: SnapshotMoment,
) {
    let Some(objects) = tracer.objects.get() else {
        return;
    };
    let mut state = tracer.heap.progress.lock();
    if state.is_over {
        return;
    }
    state.taken += 1;
    let dump = (state.taken, moment);
    env.with_frame(|env| walk(tracer, env, objects, buffer, dump));
}

fn walk(
    tracer: &Tracer,
    env: &mut Env<'_>,
    objects: &Objects,
    buffer: OwnBuffer,
    (number, moment): (u64, SnapshotMoment),
) {
    let (session, classes) = (&tracer.session, &tracer.heap.classes);
    classes.number(&tracer.session, env, objects);
    let Some(walk_guard) = objects.lock_for_heap_walk() else {
        return log::say(&format!(
            "snapshot {number} of the heap is left out: a thread is stopped where it names an object"
        ));
    };
    let payload = [number, moment as u64];
    session.record(buffer, Code::HeapDump, &payload);
    let mut walk = Walk {
        session,
        objects,
        fillers: classes.fillers(),
        virtual_threads: None,
        seen: NumberSet::default(),
        unknown: ClasslessObjects::default(),
    };
    let (result, _) = in_heap_walk(|| {
        walk.virtual_threads = classes
            .virtual_threads()
            .map(|(class, number)| ConstructedThreads::find(env, objects, class, number));
        let jvmti = objects.jvmti;
        if moment != SnapshotMoment::Any {
            jvmti.pass_objects_with(&buffer, |buffer, object| walk.pass(buffer, object))?;
        }
        jvmti.follow_references(&buffer, |buffer, reference| walk.visit(buffer, reference))
    });
    drop(walk_guard);
    let left_out = walk.record_unknown(env, buffer);
    let passed = walk.virtual_threads.map_or(0, ConstructedThreads::passed);
    match result {
        Err(error) => {
            log::say(&format!(
                "snapshot {number} of the heap is incomplete: {error}"
            ));
            session.record(buffer, Code::HeapDumpEnd, &[INCOMPLETE]);
        }
        Ok(()) if guard::is_off() => {}
        Ok(()) => {
            report_gaps(number, left_out, passed);
            session.record(buffer, Code::HeapDumpEnd, &[number]);
        }
    }
}

/// Reports what is missing in a snapshot: objects without a class, and references of virtual
/// threads.
fn report_gaps(number: u64, left_out: usize, passed: usize) {
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
}

struct Walk<'a> {
    session: &'a Session,
    objects: &'a Objects,
    /// Numbers of the classes of fillers: objects that the JVM fills gaps with.
    fillers: Vec<u32>,
    /// The virtual threads that the walk visits; none if the JVM has no virtual threads.
    virtual_threads: Option<ConstructedThreads>,
    seen: NumberSet,
    unknown: ClasslessObjects,
}

/// Objects whose class has no number, with their roots and references.
#[derive(Default)]
struct ClasslessObjects {
    numbers: FxHashSet<u64>,
    /// Number, and size in bytes, of each object.
    objects: Vec<(u64, u64)>,
    /// Number of the object, and kind of the root.
    roots: Vec<(u64, u64)>,
    references: Vec<(u64, u64)>,
}

impl ClasslessObjects {
    fn has(&self, number: u64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&number)
    }
}

impl Walk<'_> {
    /// Records an object, unless it may be a filler. An object of a filler's class is no filler if
    /// it has a number, or if a reference leads to it. Does not call the JVM. Returns true if the
    /// walk is to continue.
    fn pass(&mut self, buffer: &mut LentBuffer, object: VisitedObject<'_>) -> bool {
        if let Some(class) = class_in(object.class_tag)
            && (number_in(*object.tag) != 0 || !self.fillers.contains(&class))
        {
            self.mention(buffer, object.tag, Some(class), object.size);
        }
        !guard::is_off()
    }

    /// Returns the number of an object, and records the object at its first mention.
    fn mention(
        &mut self,
        buffer: &mut LentBuffer,
        tag: &mut i64,
        class: Option<u32>,
        size: u64,
    ) -> u64 {
        let number = match number_in(*tag) {
            0 => self.objects.number_in_walk(tag),
            known => known,
        };
        if self.seen.insert(number) {
            match class {
                Some(class) => {
                    let payload = [object(number, class), size];
                    self.record(buffer, Code::HeapObject, payload);
                }
                None => {
                    self.unknown.numbers.insert(number);
                    self.unknown.objects.push((number, size));
                }
            }
        }
        number
    }

    /// Records a reference, or a root. Does not call the JVM.
    fn visit(&mut self, buffer: &mut LentBuffer, reference: Reference<'_>) -> VisitControl {
        let class = class_in(reference.class_tag);
        let number = self.mention(buffer, reference.tag, class, reference.size);
        match reference.referrer.map(number_in) {
            Some(source) if self.unknown.has(source) || self.unknown.has(number) => {
                self.unknown.references.push((source, number));
            }
            Some(source) => self.record(buffer, Code::HeapReference, [source, number]),
            None => {
                let kind = u64::from(reference.kind.unsigned_abs());
                match class {
                    Some(class) => {
                        let payload = [object(number, class), kind];
                        self.record(buffer, Code::HeapRoot, payload);
                    }
                    None => self.unknown.roots.push((number, kind)),
                }
            }
        }
        let passes = self
            .virtual_threads
            .as_mut()
            .is_some_and(|threads| threads.passes(class, *reference.tag));
        match passes {
            _ if guard::is_off() => VisitControl::Stop,
            true => VisitControl::Past,
            false => VisitControl::Into,
        }
    }

    /// Writes a record into the buffer of the thread that requested the walk.
    fn record(&self, buffer: &mut LentBuffer, code: Code, payload: [u64; 2]) {
        if !buffer.record_coded(self.session.now(), code, &payload) {
            guard::switch_off();
        }
    }

    /// Records the noted objects after the walk, if their classes are known now. Returns the number
    /// of objects whose class is still unknown.
    fn record_unknown(&mut self, env: &Env<'_>, buffer: OwnBuffer) -> usize {
        if self.unknown.numbers.is_empty() {
            return 0;
        }
        let unknown = std::mem::take(&mut self.unknown);
        let tags = unknown.objects.iter().map(|(number, _)| *number as i64);
        let tags: Vec<i64> = tags.collect();
        let found = self.objects.jvmti.objects_with_tags(env, &tags);
        let classes: FxHashMap<u64, u32> = found
            .unwrap_or_default()
            .into_iter()
            .filter_map(|(tag, object)| {
                let class = env.class_of(object);
                let class = self.objects.class(self.session, env, class)?;
                Some((number_in(tag), class))
            })
            .collect();
        let record = |code, payload: [u64; 2]| self.session.record(buffer, code, &payload);
        for (number, size) in &unknown.objects {
            if let Some(class) = classes.get(number) {
                record(Code::HeapObject, [object(*number, *class), *size]);
            }
        }
        for (number, kind) in &unknown.roots {
            if let Some(class) = classes.get(number) {
                record(Code::HeapRoot, [object(*number, *class), *kind]);
            }
        }
        let is_recorded =
            |number: &u64| !unknown.numbers.contains(number) || classes.contains_key(number);
        for (source, target) in &unknown.references {
            if is_recorded(source) && is_recorded(target) {
                record(Code::HeapReference, [*source, *target]);
            }
        }
        unknown.objects.len() - classes.len()
    }
}
