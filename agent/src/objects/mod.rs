//! Objects and their numbers. An object's tag holds its number. These tags have a JVMTI environment
//! of their own, so that no other tag can be mistaken for a number.
//!
//! If a trace needs only the frees of objects, each object has a weak reference instead of a tag
//! ([`WeakObjects`]). Threads and class objects have tags even then, because their numbers are
//! looked up.

mod classes;
mod heap_walk_lock;
mod tag;

pub(crate) use tag::{class_in, has_continuation, number_in, with_continuation};

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

/// The number of the next object. It is a static, so that probes can increment it without looking
/// up the agent.
static NEXT: Apart = Apart(AtomicU64::new(1));

#[repr(align(128))]
struct Apart(AtomicU64);

/// Takes the next number for an object.
#[inline(always)]
pub(crate) fn next_number() -> u64 {
    NEXT.0.fetch_add(1, Ordering::Relaxed)
}

/// The numbers of objects.
pub(crate) struct Objects {
    /// The environment of the tags.
    pub(crate) jvmti: Jvmti,
    /// The result of the function [`stops_reporting_in_area`].
    pub(crate) stops_reporting_in_area: bool,
    /// True if objects have tags; otherwise they are only counted.
    tagged: AtomicBool,
    /// The weak references that objects have instead of tags; none if the numbers of objects are
    /// looked up.
    pub(crate) weak: Option<WeakObjects>,
    pub(crate) elsewhere: PendingElsewhere,
    /// Number of the last object that is older than the active trace.
    older: AtomicU64,
    /// Numbers of the older objects that were defined in the active trace.
    published: Mutex<NumberSet>,
    /// Locked while an object gets its tag, if several threads may know the object.
    naming: Mutex<()>,
    classes: ClassRefs,
    /// Excludes heap walks while a thread numbers an object and stores its record; none if heap
    /// walks are not requested.
    heap_walk_lock: Option<HeapWalkLock>,
}

/// Returns true if the number of an object is needed only for its free. With a command channel this
/// is false, because a client may request more kinds of events later.
pub(crate) fn are_only_freed(options: &Options) -> bool {
    let named = Events::NAMING_OBJECTS
        .iter()
        .filter(|kind| options.events.contains(**kind));
    named.eq([&Events::FREE]) && options.server == Server::Standalone
}

/// Returns true if the JVM has this defect: once it has put an object outside a thread's allocation
/// area, it reports no more objects in the rest of the area. In HotSpot 11,
/// `MemAllocator::allocate_inside_tlab_slow` removes the area's sampling mark. It sets the mark
/// again only if the object fits.
fn stops_reporting_in_area(jvmti: Jvmti) -> bool {
    jvmti.java_version().is_some_and(|version| version < 17)
}

/// Returns true if checking a weak reference does not keep a dying object alive. In HotSpot 11, G1
/// keeps an object alive if its reference is checked during marking.
fn has_weak_looks(jvmti: Jvmti) -> bool {
    jvmti.java_version().is_some_and(|version| version >= 17)
}

/// Returns the number of a class, and defines the class if it is new. If objects have numbers, the
/// number of the class is in the tag of the class object.
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
            stops_reporting_in_area: stops_reporting_in_area(jvmti),
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

    /// Notes that another trace begins. Objects that already have numbers must be defined again
    /// when the new trace first mentions them.
    pub(crate) fn begin_trace(&self) {
        let mut published = self.published.lock();
        self.older.store(self.count(), Ordering::Relaxed);
        *published = NumberSet::default();
    }

    /// Returns true if the object with that number is older than the active trace, and was not
    /// defined in it yet. Notes that the object is defined now.
    fn is_unreported(&self, number: u64) -> bool {
        number <= self.older.load(Ordering::Relaxed) && self.published.lock().insert(number)
    }

    /// Tags objects from now on, if these kinds of events mention objects.
    pub(crate) fn name(&self, events: Events) {
        self.tagged
            .fetch_or(events.name_objects(), Ordering::Relaxed);
    }

    #[inline]
    fn is_tagging(&self) -> bool {
        self.tagged.load(Ordering::Relaxed)
    }

    /// Returns the highest object number given so far.
    pub(crate) fn count(&self) -> u64 {
        NEXT.0.load(Ordering::Relaxed) - 1
    }

    /// Holds off heap walks while the result lives. The caller keeps the result from before an
    /// object gets its number until its record is stored. A thread must not call this again while
    /// it has a result. Returns `None` if heap walks are not requested, or the running thread is
    /// walking.
    pub(crate) fn hold_off_heap_walks(&self) -> Option<impl Drop> {
        self.heap_walk_lock.as_ref()?.hold_off()
    }

    /// Keeps other threads from numbering objects while the guard lives. Returns `None` if heap
    /// walks are not requested, or a thread that is numbering an object does not finish in time.
    pub(crate) fn lock_for_heap_walk(&self) -> Option<HeapWalkGuard<'_>> {
        self.heap_walk_lock.as_ref()?.lock_for_heap_walk()
    }

    /// Numbers an object that a heap walk found without a number. The caller excludes other threads
    /// by [`Self::lock_for_heap_walk`].
    pub(crate) fn number_in_walk(&self, tag: &mut i64) -> u64 {
        let number = next_number();
        *tag |= number as i64;
        number
    }

    /// Numbers a new object that no other thread knows yet. Returns `None` if a heap walk has found
    /// and reported it before. The caller holds off heap walks.
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

    /// Assigns `number` to a new object that no other thread knows yet. The caller has taken it
    /// from [`next_number`].
    pub(crate) fn keep(&self, env: &Env<'_>, object: ObjectRef<'_>, class: NewClass, number: u64) {
        match &self.weak {
            Some(weak) if !class.is_looked_up() => weak.add(env, object, number),
            _ if self.is_tagging() => _ = self.jvmti.set_tag(object, number as i64),
            _ => {}
        }
    }

    /// Returns the number of a class, and defines the class if it is new.
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

    /// Numbers a new object like [`Self::number_new`], but always by a tag, so that
    /// [`Self::has_number`] recognizes the object.
    pub(crate) fn tag_new(&self, object: ObjectRef<'_>) -> Option<u64> {
        let number = next_number();
        self.jvmti.set_tag(object, number as i64).ok()?;
        Some(number)
    }

    /// Returns true if the object's tag holds that number.
    pub(crate) fn has_number(&self, object: ObjectRef<'_>, number: u64) -> bool {
        let tag = self.jvmti.tag(object);
        tag.is_ok_and(|tag| number_in(tag) == number)
    }

    /// Returns the number of a class, if it has one.
    pub(crate) fn class_if_known(&self, class: ClassRef<'_>) -> Option<u32> {
        class_in(self.jvmti.tag(class.as_object()).ok()?)
    }

    /// Keeps a weak reference to the class with that number, so that [`Self::is_class`] recognizes
    /// it.
    pub(crate) fn keep_class(
        &self,
        env: &mut Env<'_>,
        class: ClassRef<'_>,
        number: u32,
    ) -> NewClass {
        self.classes.keep(self.jvmti, env, class, number)
    }

    /// Returns true if `class` is the class with the number of `known`.
    #[inline]
    pub(crate) fn is_class(&self, env: &Env<'_>, class: ClassRef<'_>, known: NewClass) -> bool {
        self.classes.is(env, class, known)
    }

    /// Like [`Self::class`], for a new object of that class with `size` bytes. Most often, the last
    /// object of that size on the running thread had the same class. Checking that costs less than
    /// reading the tag.
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

    /// Returns the number, class and size of an object, and true if the number is new. Returns
    /// `None` if objects are not tagged.
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

    /// Returns the number of an object, and true if it is new. The caller holds off heap walks.
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

    /// Returns the number of an object; 0 for `None`, and if objects are not tagged. At the first
    /// mention of an object in a trace, writes its definition into the running thread's buffer.
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

/// Number of object sizes for which a thread remembers classes. It is small, because every thread
/// of the JVM gets this memory when it starts.
const RECENT: usize = 64;

thread_local! {
    /// For each size: the classes of the last objects that the thread has created, at most two.
    static RECENT_CLASSES: [[Cell<NewClass>; 2]; RECENT] =
        const { [const { [const { Cell::new(NewClass::NONE) }; 2] }; RECENT] };
}
