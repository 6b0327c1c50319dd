//! Objects: their numbers are tags, in an environment of their own, so that no other tag can be taken for one.
//!
//! ```text
//! bit 62         40 39             0
//!    +--------------+---------------+
//!    | class number | object number |   both from 1; 0 if there is none yet
//!    +--------------+---------------+
//! ```
//!
//! The upper part is that of `java.lang.Class` objects: the number of the class that they stand for, plus one. So the class of an
//! allocation is found with one look.

use crate::agent::Agent;
use crate::buffer::ThreadBuffer;
use crate::buffer::record::{self, Code};
use crate::jvmti::Jvmti;
use jni::sys::{JNIEnv, jclass, jobject};
use jtrail_options::Events;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const CLASS_SHIFT: u32 = 40;
const OBJECT_MASK: i64 = (1 << CLASS_SHIFT) - 1;

/// Kinds of events that name objects, so that these need tags.
const NAMING: [Events; 5] = [
    Events::FREE,
    Events::MONITORS,
    Events::PARKS,
    Events::EXCEPTIONS,
    Events::HEAP,
];

/// Numbers of objects.
pub(crate) struct Objects {
    /// The environment of the tags.
    pub(crate) jvmti: Jvmti,
    /// Objects have tags; otherwise they are only counted.
    tagged: bool,
    next: AtomicU64,
    /// Held while an object that may be known to several threads gets its tag.
    naming: Mutex<()>,
}

/// An object as a definition has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ObjectInfo {
    pub(crate) number: u64,
    pub(crate) class: u32,
    pub(crate) size: u64,
}

/// Whether these events name objects.
pub(crate) fn are_named(events: Events) -> bool {
    NAMING.iter().any(|kind| events.contains(*kind))
}

impl Objects {
    pub(crate) fn new(jvmti: Jvmti, events: Events) -> Self {
        Self {
            jvmti,
            tagged: are_named(events),
            next: AtomicU64::new(1),
            naming: Mutex::new(()),
        }
    }

    /// How many objects have numbers.
    pub(crate) fn count(&self) -> u64 {
        self.next.load(Ordering::Relaxed) - 1
    }

    /// The number of an object that nobody else knows yet.
    ///
    /// # Safety
    /// `object` is a live reference.
    pub(crate) unsafe fn number_new(&self, object: jobject) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if self.tagged {
            // SAFETY: the caller's promise.
            let _ = unsafe { self.jvmti.set_tag(object, number as i64) };
        }
        number
    }

    /// The number of a class.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub(crate) unsafe fn class(&self, agent: &Agent, class: jclass) -> Option<u32> {
        // SAFETY: the caller's promise.
        if let Some(number) = class_in(unsafe { self.jvmti.tag(class) }.ok()?) {
            return Some(number);
        }
        // SAFETY: likewise.
        let number = unsafe { agent.classes.number_of(agent, class) }?;
        let _naming = self.naming.lock();
        // SAFETY: likewise.
        let tag = unsafe { self.jvmti.tag(class) }.ok()?;
        let tag = tag & OBJECT_MASK | (i64::from(number) + 1) << CLASS_SHIFT;
        // SAFETY: likewise.
        unsafe { self.jvmti.set_tag(class, tag) }.ok()?;
        Some(number)
    }

    /// What there is to say of an object, and whether this is its first mention. `None` for null, and when
    /// objects are not named.
    ///
    /// # Safety
    /// `env` is the running thread's, `object` null or a live reference.
    pub(crate) unsafe fn describe(
        &self,
        agent: &Agent,
        env: *mut JNIEnv,
        object: jobject,
    ) -> Option<(ObjectInfo, bool)> {
        if object.is_null() || !self.tagged {
            return None;
        }
        // SAFETY: the caller's promise.
        let (class, size) = unsafe {
            let class = crate::jni::class_of(env, object);
            (
                self.class(agent, class)?,
                self.jvmti.object_size(object).ok()?,
            )
        };
        let info = |number| ObjectInfo {
            number,
            class,
            size,
        };
        // SAFETY: the caller's promise.
        match number_in(unsafe { self.jvmti.tag(object) }.ok()?) {
            0 => {}
            known => return Some((info(known), false)),
        }
        let _naming = self.naming.lock();
        // SAFETY: the caller's promise.
        let tag = unsafe { self.jvmti.tag(object) }.ok()?;
        match number_in(tag) {
            0 => {}
            known => return Some((info(known), false)),
        }
        let new = self.next.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.jvmti.set_tag(object, tag | new as i64) }.ok()?;
        Some((info(new), true))
    }

    /// The number of an object, 0 for null and when objects are not named; its first mention is recorded.
    ///
    /// # Safety
    /// `env` is the running thread's, and so is `buffer`; `object` is null or a live reference.
    pub(crate) unsafe fn mention(
        &self,
        agent: &Agent,
        env: *mut JNIEnv,
        buffer: &ThreadBuffer,
        object: jobject,
    ) -> u64 {
        if object.is_null() || !self.tagged {
            return 0;
        }
        // SAFETY: the caller's promise.
        match number_in(unsafe { self.jvmti.tag(object) }.unwrap_or_default()) {
            0 => {}
            known => return known,
        }
        // SAFETY: likewise.
        let Some((info, is_new)) = (unsafe { self.describe(agent, env, object) }) else {
            return 0;
        };
        if is_new {
            let payload = [record::object(info.number, info.class), info.size];
            crate::hooks::record(agent, Some(buffer), Code::ObjectDef, &payload);
        }
        info.number
    }
}

/// The object's number in a tag; 0 if it has none.
pub(crate) fn number_in(tag: i64) -> u64 {
    (tag & OBJECT_MASK) as u64
}

/// The number of the class that the object stands for.
pub(crate) fn class_in(tag: i64) -> Option<u32> {
    ((tag >> CLASS_SHIFT) as u32).checked_sub(1)
}
