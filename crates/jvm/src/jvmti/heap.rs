//! Walks over the heap.

use super::abi::{self, HeapCallbacks};
use super::env::{Jvmti, Result, check};
use crate::jni::make_room;
use jni::sys::{JNIEnv, jclass, jint, jlong, jobject};
use std::ffi::c_void;
use std::ptr;

/// A reference that a walk comes by.
pub struct Reference<'a> {
    /// The header's `jvmtiHeapReferenceKind`.
    pub kind: i32,
    /// Tag of the class of the object referred to.
    pub class_tag: i64,
    /// Bytes of that object.
    pub size: u64,
    /// Tag of the object that refers to it; none for a root.
    pub referrer: Option<i64>,
    /// Tag of the object referred to, to be read and set.
    pub tag: &'a mut i64,
}

/// An object that a walk comes by.
pub struct Passed<'a> {
    /// Tag of its class.
    pub class_tag: i64,
    /// Its bytes.
    pub size: u64,
    /// Its tag, to be read and set.
    pub tag: &'a mut i64,
}

/// How a walk goes on behind a reference.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Onward {
    /// Into the object, unless the walk was there before.
    Into,
    /// To what else there is.
    Past,
    /// Not at all.
    #[default]
    Stop,
}

impl Onward {
    /// The header's `JVMTI_VISIT_OBJECTS` and `JVMTI_VISIT_ABORT`.
    fn answer(self) -> jint {
        match self {
            Self::Into => 0x100,
            Self::Past => 0,
            Self::Stop => ABORT,
        }
    }
}

const ABORT: jint = 0x8000;

impl Jvmti {
    /// Shows `visit` every reference between the objects that can be reached, and every root. An object's first mention comes
    /// before the references that it holds. The program stands still meanwhile; `visit` runs on any thread, and must not call the JVM.
    ///
    /// HotSpot crashes where it goes into a virtual thread without a continuation.
    pub fn follow_references<F>(self, mut visit: F) -> Result<()>
    where
        F: FnMut(Reference<'_>) -> Onward,
    {
        // SAFETY: a null object stands for all roots.
        unsafe { self.follow_from(ptr::null_mut(), &mut visit) }
    }

    /// A walk that is over at once: the JVM stands still, and tells of all objects that it found dead before.
    ///
    /// # Safety
    /// `object` is a live reference.
    pub unsafe fn look_at(self, object: jobject) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.follow_from(object, &mut |_| Onward::Stop) }
    }

    /// # Safety
    /// `object` is null, or a live reference.
    unsafe fn follow_from<F>(self, object: jobject, visit: &mut F) -> Result<()>
    where
        F: FnMut(Reference<'_>) -> Onward,
    {
        let callbacks = HeapCallbacks::references(visited::<F>);
        // SAFETY: the caller's promise; a null class stands for all; callbacks and `visit` live during the call, and
        // `visited` has the type of `visit`.
        check("FollowReferences", unsafe {
            abi::follow_references(
                self.0,
                0,
                ptr::null_mut(),
                object,
                &callbacks,
                ptr::from_mut(visit).cast(),
            )
        })
    }

    /// Shows `visit` every object in the heap, which may be dead but not collected yet; with some collectors only those that can be reached. Among them are
    /// what the JVM fills gaps with, where the next object may be made. The program stands still meanwhile; `visit` runs on any thread, and must not call
    /// the JVM; when it answers `false`, the walk is over.
    pub fn pass_objects<F>(self, mut visit: F) -> Result<()>
    where
        F: FnMut(Passed<'_>) -> bool,
    {
        // SAFETY: null stands for all classes.
        unsafe { self.iterate(0, ptr::null_mut(), &mut visit) }
    }

    /// Shows `visit` every object of just that class; otherwise as [`Self::pass_objects`].
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn pass_instances<F>(self, class: jclass, mut visit: F) -> Result<()>
    where
        F: FnMut(Passed<'_>) -> bool,
    {
        // SAFETY: the caller's promise.
        unsafe { self.iterate(0, class, &mut visit) }
    }

    /// Takes the tags of all objects away, which may be dead but not collected yet. The program stands still meanwhile. Some collectors only find
    /// objects that can be reached.
    pub fn untag_all(self) -> Result<()> {
        /// Leaves objects without a tag out.
        const FILTER_UNTAGGED: jint = 0x8;
        let untag = &mut |object: Passed<'_>| {
            *object.tag = 0;
            true
        };
        // SAFETY: null stands for all classes.
        unsafe { self.iterate(FILTER_UNTAGGED, ptr::null_mut(), untag) }
    }

    /// # Safety
    /// `class` is null, for all, or a live reference to a class.
    unsafe fn iterate<F>(self, filter: jint, class: jclass, visit: &mut F) -> Result<()>
    where
        F: FnMut(Passed<'_>) -> bool,
    {
        let callbacks = HeapCallbacks::objects(passed::<F>);
        // SAFETY: the caller's promise; callbacks and `visit` live during the call, and `passed` has the type of `visit`.
        check("IterateThroughHeap", unsafe {
            abi::iterate_through_heap(
                self.0,
                filter,
                class,
                &callbacks,
                ptr::from_mut(visit).cast(),
            )
        })
    }

    /// The objects that have one of these tags, as local references of the running thread, whose
    /// environment `env` is.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the JVM's own environment")]
    pub fn objects_with_tags(self, env: *mut JNIEnv, tags: &[i64]) -> Result<Vec<(i64, jobject)>> {
        let (mut count, mut objects, mut found) = (0, ptr::null_mut(), ptr::null_mut());
        let tag_count = jint::try_from(tags.len()).unwrap_or(jint::MAX);
        // SAFETY: the array has so many tags; the others take the answer.
        check("GetObjectsWithTags", unsafe {
            abi::get_objects_with_tags(
                self.0,
                tag_count,
                tags.as_ptr(),
                &mut count,
                &mut objects,
                &mut found,
            )
        })?;
        // SAFETY: the JVM's arrays.
        let (objects, found) = unsafe {
            (
                self.take_array(count, objects),
                self.take_array(count, found),
            )
        };
        // SAFETY: the running thread's environment.
        unsafe { make_room(env, objects.len()) };
        Ok(found.into_iter().zip(objects).collect())
    }

    /// Collects garbage, as `System.gc()` does.
    pub fn force_gc(self) -> Result<()> {
        // SAFETY: it takes nothing but the environment.
        check("ForceGarbageCollection", unsafe {
            abi::force_garbage_collection(self.0)
        })
    }
}

/// # Safety
/// The JVM calls it during [`Jvmti::iterate`], which passed an `F`.
unsafe extern "system" fn passed<F>(
    class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    _length: jint,
    visit: *mut c_void,
) -> jint
where
    F: FnMut(Passed<'_>) -> bool,
{
    let goes_on = jtrail_guard::guard::run("a walk over the heap", || {
        // SAFETY: the caller's promise; nobody else has it now.
        let visit = unsafe { &mut *visit.cast::<F>() };
        visit(Passed {
            class_tag,
            size: u64::try_from(size).unwrap_or_default(),
            // SAFETY: the JVM's place for the tag.
            tag: unsafe { &mut *tag },
        })
    });
    if goes_on { 0 } else { ABORT }
}

/// # Safety
/// The JVM calls it during [`Jvmti::follow_references`], which passed an `F`.
unsafe extern "system" fn visited<F>(
    kind: jint,
    _info: *const c_void,
    class_tag: jlong,
    _referrer_class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    referrer: *mut jlong,
    _length: jint,
    visit: *mut c_void,
) -> jint
where
    F: FnMut(Reference<'_>) -> Onward,
{
    let onward = jtrail_guard::guard::run("a walk over the heap", || {
        // SAFETY: the caller's promise; nobody else has it now.
        let visit = unsafe { &mut *visit.cast::<F>() };
        // SAFETY: null, or the JVM's place for the tag; read before the other one is borrowed, which may be the same.
        let referrer = unsafe { referrer.as_ref() }.copied();
        visit(Reference {
            kind,
            class_tag,
            size: u64::try_from(size).unwrap_or_default(),
            referrer,
            // SAFETY: the JVM's place for the tag.
            tag: unsafe { &mut *tag },
        })
    });
    onward.answer()
}
