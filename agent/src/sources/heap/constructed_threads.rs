//! Virtual threads in heap walks.
//!
//! When HotSpot (at least 21 to 25) reaches a virtual thread, it asks the thread's continuation
//! whether it is alive, without checking that there is one (`JvmtiEnvBase::is_vthread_alive`). If
//! the thread's constructor has not created it yet, the JVM crashes. So walks visit only threads
//! that were seen with a continuation, which they keep for good; their tags say so. Before each
//! walk these threads are searched. A thread that is created in between is skipped.

use crate::objects::{Objects, has_continuation, number_in, with_continuation};
use jtrail_jvm::jni::{ClassRef, Continuations, Env};
use jtrail_jvm::jvmti::Result;
use rustc_hash::FxHashSet;

/// The virtual threads that a walk visits.
pub(super) struct ConstructedThreads {
    class: u32,
    /// True if the tags say which threads have a continuation.
    is_known: bool,
    /// Numbers of the threads that the walk has skipped.
    passed: FxHashSet<u64>,
}

impl ConstructedThreads {
    /// Searches the existing virtual threads for continuations. `class` is their class, and
    /// `number` its number. The caller stops other threads from numbering objects.
    pub(super) fn find(
        env: &mut Env<'_>,
        objects: &Objects,
        class: ClassRef<'_>,
        number: u32,
    ) -> Self {
        // No local reference may be left when the walk begins, because it would be one of the
        // roots.
        let marked = env.with_frame(|env| mark(env, objects, class));
        Self {
            class: number,
            is_known: marked.is_ok(),
            passed: FxHashSet::default(),
        }
    }

    /// Returns true if the walk has to skip an object of that class with that tag. The tag holds a
    /// number.
    pub(super) fn passes(&mut self, class: Option<u32>, tag: i64) -> bool {
        let passes = class == Some(self.class) && !(self.is_known && has_continuation(tag));
        if passes {
            self.passed.insert(number_in(tag));
        }
        passes
    }

    /// Returns the number of threads that were skipped.
    pub(super) fn passed(self) -> usize {
        self.passed.len()
    }
}

/// Marks the virtual threads that have a continuation. Creates local references.
fn mark(env: &Env<'_>, objects: &Objects, class: ClassRef<'_>) -> Result<()> {
    let jvmti = objects.jvmti;
    let mut marked = FxHashSet::default();
    // The JVM finds objects by their whole tags. So all threads are marked first, and those without
    // a continuation get their old tag back.
    jvmti.visit_instances(class, |thread| {
        *thread.tag = with_continuation(*thread.tag, true);
        marked.insert(*thread.tag);
        true
    })?;
    if marked.is_empty() {
        return Ok(());
    }
    let marked: Vec<i64> = marked.into_iter().collect();
    let continuations = Continuations::of(env, class); // a class with objects is initialized
    for (tag, thread) in jvmti.objects_with_tags(env, &marked)? {
        let has_one = continuations
            .as_ref()
            .is_some_and(|all| all.has_one(env, thread));
        if !has_one {
            jvmti.set_tag(thread, with_continuation(tag, false))?;
        }
    }
    Ok(())
}
