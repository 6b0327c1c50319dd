//! Heap walks.

use super::abi::{self, HeapCallbacks};
use super::env::{Jvmti, Result, check};
use crate::jni::refs::raw_or_null;
use crate::jni::{ClassRef, Env, ObjectRef};
use jni::sys::{jint, jlong};
use jtrail_guard::lend::Lend;
use std::ffi::c_void;
use std::ptr;

/// A reference between objects, or from a root, that a heap walk visits.
pub struct Reference<'a> {
    /// The header's `jvmtiHeapReferenceKind`.
    pub kind: i32,
    /// The tag of the referenced object's class.
    pub class_tag: i64,
    /// The size of the referenced object in bytes.
    pub size: u64,
    /// The tag of the referring object; `None` for a root.
    pub referrer: Option<i64>,
    /// The tag of the referenced object, which may be changed.
    pub tag: &'a mut i64,
}

/// An object that a heap walk visits.
pub struct VisitedObject<'a> {
    /// The tag of the object's class.
    pub class_tag: i64,
    /// The object's size in bytes.
    pub size: u64,
    /// The object's tag, which may be changed.
    pub tag: &'a mut i64,
}

/// How a heap walk continues after a reference.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum VisitControl {
    /// Follows the references of the object, unless the walk has visited it before.
    Into,
    /// Continues without following the references of the object.
    Past,
    /// Ends the walk.
    #[default]
    Stop,
}

impl VisitControl {
    /// Returns the header's value: `JVMTI_VISIT_OBJECTS`, 0 or `JVMTI_VISIT_ABORT`.
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
    /// Passes every root, and every reference between reachable objects, to `visit`. The first
    /// reference to an object comes before the references that the object holds.
    ///
    /// The program is stopped during the walk. `visit` runs on a thread of the JVM while the
    /// running thread waits. It gets the value that `lender` lends, and must not call the JVM.
    ///
    /// HotSpot crashes if the walk follows the references of a virtual thread without a
    /// continuation.
    pub fn follow_references<L, F>(self, lender: &L, mut visit: F) -> Result<()>
    where
        L: Lend,
        F: FnMut(&mut L::Lent, Reference<'_>) -> VisitControl + Send,
    {
        // SAFETY: this thread waits in the call below, during which the JVM runs the visitor on one
        // thread. Nothing uses `lent` after the call.
        let mut lent = unsafe { lender.lend() };
        self.follow_from(None, &mut |reference: Reference<'_>| {
            visit(&mut lent, reference)
        })
    }

    /// Starts a walk from `object` and ends it at the first reference. Only the safepoint of the
    /// walk matters: at it, the JVM reports all objects that it has found dead so far.
    pub fn look_at(self, object: ObjectRef<'_>) -> Result<()> {
        self.follow_from(Some(object), &mut |_| VisitControl::Stop)
    }

    /// Follows the references from an object; `None` means from all roots.
    fn follow_from<F>(self, object: Option<ObjectRef<'_>>, visit: &mut F) -> Result<()>
    where
        F: FnMut(Reference<'_>) -> VisitControl + Send,
    {
        let callbacks = HeapCallbacks::references(visited::<F>);
        // SAFETY: a null object means all roots, a null class means all classes. The callbacks and
        // `visit` live during the call, and `visited::<F>` casts the user data to `F`, the type of
        // `visit`.
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

    /// Passes every object in the heap to `visit`, until `visit` returns false.
    ///
    /// Dead objects that are not collected yet are visited too, except with collectors that show
    /// only reachable objects. Filler objects, with which the JVM closes gaps, are visited too. A
    /// later object may be allocated at the address of a filler. The program is stopped during the
    /// walk. `visit` runs on any thread, and must not call the JVM.
    pub fn visit_objects<F>(self, mut visit: F) -> Result<()>
    where
        F: FnMut(VisitedObject<'_>) -> bool + Send,
    {
        self.iterate(0, None, &mut visit)
    }

    /// Like [`Self::visit_objects`], but `visit` also gets what `lender` lends.
    pub fn pass_objects_with<L, F>(self, lender: &L, mut visit: F) -> Result<()>
    where
        L: Lend,
        F: FnMut(&mut L::Lent, VisitedObject<'_>) -> bool + Send,
    {
        // SAFETY: this thread waits in the call below, during which the JVM runs the visitor on one
        // thread. Nothing uses `lent` after the call.
        let mut lent = unsafe { lender.lend() };
        self.iterate(0, None, &mut |object: VisitedObject<'_>| {
            visit(&mut lent, object)
        })
    }

    /// Like [`Self::visit_objects`], but visits only objects whose class is exactly `class`.
    pub fn visit_instances<F>(self, class: ClassRef<'_>, mut visit: F) -> Result<()>
    where
        F: FnMut(VisitedObject<'_>) -> bool + Send,
    {
        self.iterate(0, Some(class), &mut visit)
    }

    /// Removes the tags of all objects that [`Self::visit_objects`] would visit. The program is
    /// stopped during the walk.
    pub fn untag_all(self) -> Result<()> {
        /// Skips objects without a tag.
        const FILTER_UNTAGGED: jint = 0x8;
        let untag = &mut |object: VisitedObject<'_>| {
            *object.tag = 0;
            true
        };
        self.iterate(FILTER_UNTAGGED, None, untag)
    }

    /// Visits the objects of a class; `None` means all objects.
    fn iterate<F>(self, filter: jint, class: Option<ClassRef<'_>>, visit: &mut F) -> Result<()>
    where
        F: FnMut(VisitedObject<'_>) -> bool + Send,
    {
        let callbacks = HeapCallbacks::objects(passed::<F>);
        // SAFETY: a null class means all classes. The callbacks and `visit` live during the call,
        // and `passed::<F>` casts the user data to `F`, the type of `visit`.
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

    /// Returns the objects that have one of these tags, each with its tag.
    pub fn objects_with_tags<'e>(
        self,
        env: &Env<'e>,
        tags: &[i64],
    ) -> Result<Vec<(i64, ObjectRef<'e>)>> {
        let (mut count, mut objects, mut found) = (0, ptr::null_mut(), ptr::null_mut());
        let tag_count = jint::try_from(tags.len()).unwrap_or(jint::MAX);
        // SAFETY: `tags` has `tag_count` elements. The variables receive the result: an array of
        // new local references, and an array of tags, both with `count` elements.
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

    /// Forces a garbage collection, like `System.gc()`.
    pub fn force_gc(self) -> Result<()> {
        // SAFETY: the function takes only the environment.
        check("ForceGarbageCollection", unsafe {
            abi::force_garbage_collection(self.0)
        })
    }
}

/// Heap-iteration callback.
///
/// # Safety
/// The JVM calls it during [`Jvmti::iterate`], and `visit` points to the `F` that was passed there.
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
        // SAFETY: `iterate` passed a pointer to an `F`, which nothing else uses during the walk.
        let visit = unsafe { &mut *visit.cast::<F>() };
        visit(VisitedObject {
            class_tag,
            size: u64::try_from(size).unwrap_or_default(),
            // SAFETY: the JVM passed a pointer to the object's tag, valid during this call.
            tag: unsafe { &mut *tag },
        })
    });
    if goes_on { 0 } else { ABORT }
}

/// Heap-reference callback.
///
/// # Safety
/// The JVM calls it during [`Jvmti::follow_from`], and `visit` points to the `F` that was passed
/// there.
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
        // SAFETY: `follow_from` passed a pointer to an `F`, which nothing else uses during the
        // walk.
        let visit = unsafe { &mut *visit.cast::<F>() };
        // SAFETY: null, or the JVM's pointer to the referrer's tag. It is read before `tag` is
        // borrowed, because both pointers are equal if an object refers to itself.
        let referrer = unsafe { referrer.as_ref() }.copied();
        visit(Reference {
            kind,
            class_tag,
            size: u64::try_from(size).unwrap_or_default(),
            referrer,
            // SAFETY: the JVM passed a pointer to the object's tag, valid during this call.
            tag: unsafe { &mut *tag },
        })
    });
    onward.answer()
}
