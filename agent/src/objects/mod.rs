//! Objects: their numbers are tags, in an environment of their own, so that no other tag can be
//! taken for one.
//!
//! Where the only thing ever asked of a number is when its object dies, objects have weak
//! references instead ([`WeakObjects`]), save those that are asked for all the same: threads and
//! classes.

mod classes;
mod heap_walk_lock;
mod tag;

pub(crate) use tag::{class_in, is_made, number_in, with_made};

use crate::session::Session;
use classes::ClassRefs;
use heap_walk_lock::HeapWalkLock;
pub(crate) use heap_walk_lock::{HeapWalkGuard, HeapWalkScope};
use jtrail_jvm::jni::{ClassRef, Env, ObjectRef, Vm};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::weak::WeakObjects;
use jtrail_options::{Events, Options, Server};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::pending::{NewClass, PendingElsewhere};
use jtrail_records::NumberSet;
use jtrail_records::definition::ObjectInfo;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tag::{CLASS_SHIFT, OBJECT_MASK};

/// The number of the next object. Apart from the rest, because probes count it up without a look
/// for the agent.
static NEXT: Apart = Apart(AtomicU64::new(1));

#[repr(align(128))]
struct Apart(AtomicU64);

/// A number for one more object.
#[inline(always)]
pub(crate) fn next_number() -> u64 {
    NEXT.0.fetch_add(1, Ordering::Relaxed)
}

/// Numbers of objects.
pub(crate) struct Objects {
    /// The environment of the tags.
    pub(crate) jvmti: Jvmti,
    /// See [`forgets_areas`].
    pub(crate) forgets_areas: bool,
    /// Objects have tags; otherwise they are only counted.
    tagged: AtomicBool,
    /// What objects have instead of tags, where that is enough.
    pub(crate) weak: Option<WeakObjects>,
    pub(crate) elsewhere: PendingElsewhere,
    /// Objects up to this number are older than the active trace, and those of them that it was
    /// told of.
    older: AtomicU64,
    published: Mutex<NumberSet>,
    /// Held while an object that may be known to several threads gets its tag.
    naming: Mutex<()>,
    classes: ClassRefs,
    /// Where the heap is walked over: shared by threads that give an object its number and report
    /// it, which the walk may not come between.
    heap_walk_lock: Option<HeapWalkLock>,
}

/// Returns true if nothing is ever asked of an object's number but when the object dies. With a
/// channel, a client may ask for more later.
pub(crate) fn are_only_freed(options: &Options) -> bool {
    let named = Events::NAMING_OBJECTS
        .iter()
        .filter(|kind| options.events.contains(**kind));
    named.eq([&Events::FREE]) && options.server == Server::Standalone
}

/// Returns true if the JVM does not report what goes into the rest of an area after an object was
/// put beside it. Such is HotSpot 11: `MemAllocator::allocate_inside_tlab_slow` takes the mark off
/// the area, and sets it again only where the object fits.
fn forgets_areas(jvmti: Jvmti) -> bool {
    jvmti.java_version().is_some_and(|version| version < 17)
}

/// Returns true if a look at a weak reference leaves a dying object alone. HotSpot 11's G1, in the
/// middle of its marking, takes it for a use.
fn has_weak_looks(jvmti: Jvmti) -> bool {
    jvmti.java_version().is_some_and(|version| version >= 17)
}

/// The number of a class; the class is announced if it is new. Its object has the number, where
/// objects have numbers.
pub(crate) fn class_number(
    session: &Session,
    objects: Option<&Objects>,
    env: &Env<'_>,
    class: ClassRef<'_>,
) -> Option<u32> {
    match objects {
        Some(objects) => objects.class(session, env, class),
        None => session.class_by_name(env, class, false),
    }
}

impl Objects {
    pub(crate) fn new(vm: Vm, jvmti: Jvmti, options: &Options) -> Self {
        let events = options.events;
        let is_weak = are_only_freed(options) && has_weak_looks(jvmti);
        NEXT.0.store(1, Ordering::Relaxed);
        Self {
            jvmti,
            forgets_areas: forgets_areas(jvmti),
            tagged: AtomicBool::new(events.name_objects()),
            weak: is_weak.then(|| WeakObjects::new(vm)),
            elsewhere: PendingElsewhere::default(),
            older: AtomicU64::new(0),
            published: Mutex::default(),
            naming: Mutex::new(()),
            classes: ClassRefs::default(),
            heap_walk_lock: events.contains(Events::HEAP).then(HeapWalkLock::default),
        }
    }

    /// Another trace begins: what it mentions of the objects that have numbers by now, it has to be
    /// told of.
    pub(crate) fn begin_trace(&self) {
        let mut published = self.published.lock();
        self.older.store(self.count(), Ordering::Relaxed);
        *published = NumberSet::default();
    }

    /// Whether the trace under way has to be told of an object that has a number.
    fn is_unreported(&self, number: u64) -> bool {
        number <= self.older.load(Ordering::Relaxed) && self.published.lock().insert(number)
    }

    /// From now on, these kinds of events tell of objects, too.
    pub(crate) fn name(&self, events: Events) {
        self.tagged
            .fetch_or(events.name_objects(), Ordering::Relaxed);
    }

    #[inline]
    fn is_tagging(&self) -> bool {
        self.tagged.load(Ordering::Relaxed)
    }

    /// How many objects have numbers.
    pub(crate) fn count(&self) -> u64 {
        NEXT.0.load(Ordering::Relaxed) - 1
    }

    /// Keeps walks over the heap away, from before an object gets its number until a record tells
    /// of it. Not to be held twice by one thread. Nothing where no walk may come, or the running
    /// thread is the one that walks.
    pub(crate) fn hold_off_heap_walks(&self) -> Option<impl Drop> {
        self.heap_walk_lock.as_ref()?.hold_off()
    }

    /// Keeps other threads from giving objects numbers; `None` if one of them does not come to an
    /// end with it.
    pub(crate) fn lock_for_heap_walk(&self) -> Option<HeapWalkGuard<'_>> {
        self.heap_walk_lock.as_ref()?.lock_for_heap_walk()
    }

    /// The number of an object that has none, for a walk, which keeps the others away
    /// ([`Self::lock_for_heap_walk`]).
    pub(crate) fn number_in_walk(&self, tag: &mut i64) -> u64 {
        let number = next_number();
        *tag |= number as i64;
        number
    }

    /// The number of a new object, that nobody else knows yet. `None` if a walk over the heap came
    /// by it before, and reported it. The caller keeps walks away.
    pub(crate) fn number_new(
        &self,
        env: &Env<'_>,
        object: ObjectRef<'_>,
        class: NewClass,
    ) -> Option<u64> {
        if self.heap_walk_lock.is_some()
            && number_in(self.jvmti.tag(object).unwrap_or_default()) != 0
        {
            return None;
        }
        let number = next_number();
        self.keep(env, object, class, number);
        Some(number)
    }

    /// Gives a new object, that nobody else knows yet, a number that was taken for it.
    pub(crate) fn keep(&self, env: &Env<'_>, object: ObjectRef<'_>, class: NewClass, number: u64) {
        match &self.weak {
            Some(weak) if !class.is_looked_up() => weak.add(env, object, number),
            _ if self.is_tagging() => _ = self.jvmti.set_tag(object, number as i64),
            _ => {}
        }
    }

    /// The number of a class.
    pub(crate) fn class(
        &self,
        session: &Session,
        env: &Env<'_>,
        class: ClassRef<'_>,
    ) -> Option<u32> {
        if let Some(number) = self.class_if_known(class) {
            return Some(number);
        }
        let object = class.as_object();
        let _away = self.hold_off_heap_walks();
        let _naming = self.naming.lock();
        let tag = self.jvmti.tag(object).ok()?;
        if let Some(number) = class_in(tag) {
            return Some(number); // another thread was faster
        }
        let number = session.class_by_name(env, class, true)?;
        let tag = tag & OBJECT_MASK | (i64::from(number) + 1) << CLASS_SHIFT;
        self.jvmti.set_tag(object, tag).ok()?;
        Some(number)
    }

    /// As [`Self::number_new`], as a tag in any case, so that the object is known by
    /// [`Self::has_number`].
    pub(crate) fn tag_new(&self, object: ObjectRef<'_>) -> Option<u64> {
        let number = next_number();
        self.jvmti.set_tag(object, number as i64).ok()?;
        Some(number)
    }

    /// Returns true if the object has that number, as a tag.
    pub(crate) fn has_number(&self, object: ObjectRef<'_>, number: u64) -> bool {
        let tag = self.jvmti.tag(object);
        tag.is_ok_and(|tag| number_in(tag) == number)
    }

    /// The number of a class, if it has one.
    pub(crate) fn class_if_known(&self, class: ClassRef<'_>) -> Option<u32> {
        class_in(self.jvmti.tag(class.as_object()).ok()?)
    }

    /// The class with that number, so that it is known again by [`Self::is_class`].
    pub(crate) fn know_class(
        &self,
        env: &mut Env<'_>,
        class: ClassRef<'_>,
        number: u32,
    ) -> NewClass {
        self.classes.keep(self.jvmti, env, class, number)
    }

    /// Returns true if it is that class.
    #[inline]
    pub(crate) fn is_class(&self, env: &Env<'_>, class: ClassRef<'_>, known: NewClass) -> bool {
        self.classes.is(env, class, known)
    }

    /// As [`Self::class`], for a new object of that class with so many bytes: most often, the class
    /// is the one that the running thread used last for an object of that size, and to make sure of
    /// that costs less than to look at the tag.
    pub(crate) fn class_of_new(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        class: ClassRef<'_>,
        size: u64,
    ) -> Option<NewClass> {
        let place = (size / 8) as usize % RECENT;
        RECENT_CLASSES.with(|recent| {
            let [first, second] = &recent[place];
            for (at, recent) in [first, second].into_iter().enumerate() {
                let known = recent.get();
                if known != NewClass::NONE && self.classes.is(env, class, known) {
                    if at == 1 {
                        first.swap(second);
                    }
                    return Some(known);
                }
            }
            let number = self.class(session, env, class)?;
            let known = self.classes.keep(self.jvmti, env, class, number);
            second.set(first.replace(known));
            Some(known)
        })
    }

    /// What there is to say of an object, and whether this is its first mention. `None` if objects
    /// are not named.
    pub(crate) fn describe(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        object: ObjectRef<'_>,
    ) -> Option<(ObjectInfo, bool)> {
        if !self.is_tagging() {
            return None;
        }
        let (class, size) = self.class_and_size(session, env, object)?;
        let _away = self.hold_off_heap_walks();
        let (number, is_new) = self.number(object)?;
        let info = ObjectInfo {
            number,
            class,
            size,
        };
        Some((info, is_new))
    }

    fn class_and_size(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        object: ObjectRef<'_>,
    ) -> Option<(u32, u64)> {
        let class = env.with_class_of(object, |env, class| self.class(session, env, class))?;
        Some((class, self.jvmti.object_size(object).ok()?))
    }

    /// The number of an object, which gets one if it has none; whether it is new. The caller keeps
    /// walks away.
    fn number(&self, object: ObjectRef<'_>) -> Option<(u64, bool)> {
        match number_in(self.jvmti.tag(object).ok()?) {
            0 => {}
            known => return Some((known, false)),
        }
        let _naming = self.naming.lock();
        let tag = self.jvmti.tag(object).ok()?;
        match number_in(tag) {
            0 => {}
            known => return Some((known, false)),
        }
        let new = next_number();
        self.jvmti.set_tag(object, tag | new as i64).ok()?;
        Some((new, true))
    }

    /// The number of an object, 0 for none and if objects are not named; its first mention is
    /// recorded in the running thread's buffer.
    pub(crate) fn mention(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        buffer: OwnBuffer,
        object: Option<ObjectRef<'_>>,
    ) -> u64 {
        let Some(object) = object.filter(|_| self.is_tagging()) else {
            return 0;
        };
        let is_unreported = match number_in(self.jvmti.tag(object).unwrap_or_default()) {
            0 => false,
            known if !self.is_unreported(known) => return known,
            _ => true,
        };
        let Some((class, size)) = self.class_and_size(session, env, object) else {
            return 0;
        };
        let _away = self.hold_off_heap_walks();
        let Some((number, is_new)) = self.number(object) else {
            return 0;
        };
        if is_new || is_unreported {
            let payload = [record::object(number, class), size];
            session.record(buffer, Code::ObjectDef, &payload);
        }
        number
    }
}

/// Sizes of new objects that a thread remembers classes for. It is little, for all of our
/// thread-local memory is there from the start of each thread.
const RECENT: usize = 64;

thread_local! {
    /// By size: the two classes that the thread made objects of last.
    static RECENT_CLASSES: [[Cell<NewClass>; 2]; RECENT] =
        const { [const { [const { Cell::new(NewClass::NONE) }; 2] }; RECENT] };
}
