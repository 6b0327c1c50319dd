//! Virtual threads in walks over the heap.
//!
//! Where HotSpot (21 to 25, at least) comes by a virtual thread, it asks the thread's continuation whether it is alive, and does not look whether there is one
//! (`JvmtiEnvBase::is_vthread_alive`). One whose constructor has not made it yet crashes the JVM. So walks go into those threads only that have been seen
//! with theirs, which they keep for good, and whose tags say so. They are looked for before each walk. One that is made in between
//! is passed by.

use crate::objects::{Objects, is_made, number_in, with_made};
use ::jni::sys::{JNIEnv, jclass};
use jtrail_jvm::jni;
use jtrail_jvm::jvmti::Result;
use rustc_hash::FxHashSet;

/// Which virtual threads a walk goes into.
pub(super) struct MadeThreads {
    class: u32,
    /// Whether what the tags say is so.
    is_known: bool,
    /// Numbers of those that the walk did not go into.
    passed: FxHashSet<u64>,
}

impl MadeThreads {
    /// Looks for those that are there. `number` is that of their class.
    ///
    /// # Safety
    /// `env` is the running thread's, `class` a live reference to the class of virtual threads, and the caller keeps others from giving objects numbers.
    pub(super) unsafe fn find(
        env: *mut JNIEnv,
        objects: &Objects,
        class: jclass,
        number: u32,
    ) -> Self {
        Self {
            class: number,
            // SAFETY: the caller's promise.
            is_known: unsafe { mark(env, objects, class) }.is_ok(),
            passed: FxHashSet::default(),
        }
    }

    /// Whether the walk is to pass by an object of that class with that tag, whose number it has.
    pub(super) fn passes(&mut self, class: Option<u32>, tag: i64) -> bool {
        let passes = class == Some(self.class) && !(self.is_known && is_made(tag));
        if passes {
            self.passed.insert(number_in(tag));
        }
        passes
    }

    /// How many were passed by.
    pub(super) fn passed(self) -> usize {
        self.passed.len()
    }
}

/// Marks the virtual threads that have a continuation.
///
/// # Safety
/// As for [`MadeThreads::find`].
unsafe fn mark(env: *mut JNIEnv, objects: &Objects, class: jclass) -> Result<()> {
    let jvmti = objects.jvmti;
    let mut marked = FxHashSet::default();
    // The JVM finds objects by their whole tags: so all are marked, and those taken back that have none.
    // SAFETY: the caller's promise.
    unsafe {
        jvmti.pass_instances(class, |thread| {
            *thread.tag = with_made(*thread.tag, true);
            marked.insert(*thread.tag);
            true
        })
    }?;
    if marked.is_empty() {
        return Ok(());
    }
    let marked: Vec<i64> = marked.into_iter().collect();
    let found = jvmti.objects_with_tags(env, &marked)?;
    // SAFETY: the caller's promise; a class with objects is initialised.
    let field = unsafe { jni::field(env, class, c"cont", c"Ljdk/internal/vm/Continuation;") };
    found.into_iter().try_for_each(|(tag, thread)| {
        // SAFETY: the caller's promise, and a local reference that the JVM just gave us, to an object of that class.
        unsafe {
            let is_made = field.is_some_and(|field| jni::is_set(env, thread, field));
            let unmarked = match is_made {
                true => Ok(()),
                false => jvmti.set_tag(thread, with_made(tag, false)),
            };
            jni::forget(env, thread);
            unmarked
        }
    })
}
