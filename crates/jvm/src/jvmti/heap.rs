//! Walks over the heap.

use super::abi::{self, HeapCallbacks};
use super::env::{Jvmti, Result, check};
use crate::jni::refs::raw_or_null;
use crate::jni::{ClassRef, Env, ObjectRef};
use jni::sys::{jint, jlong};
use jtrail_guard::lend::Lend;
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
pub struct VisitedObject<'a> {
    /// Tag of its class.
    pub class_tag: i64,
    /// Its bytes.
    pub size: u64,
    /// Its tag, to be read and set.
    pub tag: &'a mut i64,
}

/// How a walk goes on behind a reference.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum VisitControl {
    /// Into the object, unless the walk was there before.
    Into,
    /// To what else there is.
    Past,
    /// Not at all.
    #[default]
    Stop,
}

impl VisitControl {
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
    /// Shows `visit` every reference between the objects that can be reached, and every root. An
    /// object's first mention comes before the references that it holds. The program stands still
    /// meanwhile; `visit` runs on a thread of the JVM's, while the running one waits, and gets what
    /// the running thread lends. It must not call the JVM.
    ///
    /// HotSpot crashes where it goes into a virtual thread without a continuation.
    pub fn follow_references<L, F>(self, lender: &L, mut visit: F) -> Result<()>
    where
        L: Lend,
        F: FnMut(&mut L::Lent, Reference<'_>) -> VisitControl + Send,
    {
        // SAFETY: the running thread waits in the call below, and the JVM runs the visitor on one
        // thread.
        let mut lent = unsafe { lender.lend() };
        self.follow_from(None, &mut |reference: Reference<'_>| {
            visit(&mut lent, reference)
        })
    }

    /// A walk that is over at once: a safepoint, at which the JVM reports all objects that it found
    /// dead before.
    pub fn look_at(self, object: ObjectRef<'_>) -> Result<()> {
        self.follow_from(Some(object), &mut |_| VisitControl::Stop)
    }

    /// Follows the references from an object, or from all roots.
    fn follow_from<F>(self, object: Option<ObjectRef<'_>>, visit: &mut F) -> Result<()>
    where
        F: FnMut(Reference<'_>) -> VisitControl + Send,
    {
        let callbacks = HeapCallbacks::references(visited::<F>);
        // SAFETY: a null object stands for all roots, a null class for all classes; callbacks and
        // `visit` live during the call, and `visited` casts its data to the type of `visit`.
        check("FollowReferences", unsafe {
            abi::follow_references(
                self.0,
                0,
                ptr::null_mut(),
                raw_or_null(object),
                &callbacks,
                ptr::from_mut(visit).cast(),
            )
        })
    }

    /// Shows `visit` every object in the heap, which may be dead but not collected yet; with some
    /// collectors only those that can be reached. Among them are what the JVM fills gaps with,
    /// where the next object may be made. The program stands still meanwhile; `visit` runs on any
    /// thread, and must not call the JVM; when it answers `false`, the walk is over.
    pub fn pass_objects<F>(self, mut visit: F) -> Result<()>
    where
        F: FnMut(VisitedObject<'_>) -> bool + Send,
    {
        self.iterate(0, None, &mut visit)
    }

    /// As [`Self::pass_objects`]; `visit` gets what the running thread lends.
    pub fn pass_objects_with<L, F>(self, lender: &L, mut visit: F) -> Result<()>
    where
        L: Lend,
        F: FnMut(&mut L::Lent, VisitedObject<'_>) -> bool + Send,
    {
        // SAFETY: the running thread waits in the call below, and the JVM runs the visitor on one
        // thread.
        let mut lent = unsafe { lender.lend() };
        self.iterate(0, None, &mut |object: VisitedObject<'_>| {
            visit(&mut lent, object)
        })
    }

    /// Shows `visit` every object of just that class; otherwise as [`Self::pass_objects`].
    pub fn pass_instances<F>(self, class: ClassRef<'_>, mut visit: F) -> Result<()>
    where
        F: FnMut(VisitedObject<'_>) -> bool + Send,
    {
        self.iterate(0, Some(class), &mut visit)
    }

    /// Takes the tags of all objects away, which may be dead but not collected yet. The program
    /// stands still meanwhile. Some collectors only find objects that can be reached.
    pub fn untag_all(self) -> Result<()> {
        /// Leaves objects without a tag out.
        const FILTER_UNTAGGED: jint = 0x8;
        let untag = &mut |object: VisitedObject<'_>| {
            *object.tag = 0;
            true
        };
        self.iterate(FILTER_UNTAGGED, None, untag)
    }

    /// Walks over the objects of a class, or all.
    fn iterate<F>(self, filter: jint, class: Option<ClassRef<'_>>, visit: &mut F) -> Result<()>
    where
        F: FnMut(VisitedObject<'_>) -> bool + Send,
    {
        let callbacks = HeapCallbacks::objects(passed::<F>);
        // SAFETY: a null class stands for all; callbacks and `visit` live during the call, and
        // `passed` casts its data to the type of `visit`.
        check("IterateThroughHeap", unsafe {
            abi::iterate_through_heap(
                self.0,
                filter,
                raw_or_null(class),
                &callbacks,
                ptr::from_mut(visit).cast(),
            )
        })
    }

    /// The objects that have one of these tags, with their tags.
    pub fn objects_with_tags<'e>(
        self,
        env: &Env<'e>,
        tags: &[i64],
    ) -> Result<Vec<(i64, ObjectRef<'e>)>> {
        let (mut count, mut objects, mut found) = (0, ptr::null_mut(), ptr::null_mut());
        let tag_count = jint::try_from(tags.len()).unwrap_or(jint::MAX);
        // SAFETY: the array has so many tags; the others take the answer: an array of local
        // references, and one of tags.
        unsafe {
            let error = abi::get_objects_with_tags(
                self.0,
                tag_count,
                tags.as_ptr(),
                &mut count,
                &mut objects,
                &mut found,
            );
            check("GetObjectsWithTags", error)?;
            let found = self.take_array(count, found);
            Ok(found
                .into_iter()
                .zip(self.take_locals(env, count, objects))
                .collect())
        }
    }

    /// Collects garbage, as `System.gc()` does.
    pub fn force_gc(self) -> Result<()> {
        // SAFETY: it takes nothing but the environment.
        check("ForceGarbageCollection", unsafe {
            abi::force_garbage_collection(self.0)
        })
    }
}

/// Heap-iteration callback.
///
/// # Safety
/// The JVM calls it for [`Jvmti::iterate`]; `visit` points to the `F` that was passed there.
unsafe extern "system" fn passed<F>(
    class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    _length: jint,
    visit: *mut c_void,
) -> jint
where
    F: FnMut(VisitedObject<'_>) -> bool,
{
    let goes_on = jtrail_guard::guard::run("a walk over the heap", || {
        // SAFETY: `iterate` passed an `F`, which it does not touch until the walk is over.
        let visit = unsafe { &mut *visit.cast::<F>() };
        visit(VisitedObject {
            class_tag,
            size: u64::try_from(size).unwrap_or_default(),
            // SAFETY: the JVM's place for the tag.
            tag: unsafe { &mut *tag },
        })
    });
    if goes_on { 0 } else { ABORT }
}

/// Heap-reference callback.
///
/// # Safety
/// The JVM calls it for [`Jvmti::follow_from`]; `visit` points to the `F` that was passed there.
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
    F: FnMut(Reference<'_>) -> VisitControl,
{
    let onward = jtrail_guard::guard::run("a walk over the heap", || {
        // SAFETY: `follow_from` passed an `F`, which it does not touch until the walk is over.
        let visit = unsafe { &mut *visit.cast::<F>() };
        // SAFETY: null, or the JVM's place for the tag; read before the other one is borrowed,
        // which may be the same.
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
