//! Virtual threads in heap walks.
//!
//! When a walk reaches a virtual thread, HotSpot (at least 21 to 25) reads the thread's
//! continuation (`JvmtiEnvBase::is_vthread_alive`). It does not check that there is one. If the
//! thread's constructor has not created the continuation yet, the JVM crashes. So a walk visits a
//! virtual thread only if the thread has had a continuation before the walk. Threads keep their
//! continuations. Before each walk, all virtual threads are searched, and a flag in the tag marks
//! the threads with a continuation. If a thread is created after the search, the walk skips its
//! references.

use crate::objects::{Objects, has_continuation, number_in, with_continuation};
use jtrail_jvm::jni::{ClassRef, Continuations, Env};
use jtrail_jvm::jvmti::Result;
use rustc_hash::FxHashSet;

/// The virtual threads that a walk visits.
pub(super) struct ConstructedThreads {
    class: u32,
    /// True if the search succeeded, so that the tags show which threads have a continuation.
    is_known: bool,
    /// Numbers of the threads whose references the walk has skipped.
    passed: FxHashSet<u64>,
}

impl ConstructedThreads {
    /// Marks the existing virtual threads that have a continuation. `class` is the class of virtual
    /// threads, and `number` is the number of this class. The caller keeps other threads from
    /// numbering objects.
    pub(super) fn find(
        env: &mut Env<'_>,
        objects: &Objects,
        class: ClassRef<'_>,
        number: u32,
    ) -> Self {
        // All local references are deleted before the walk begins, because the walk would report
        // them as roots.
        let marked = env.with_frame(|env| mark(env, objects, class));
        Self {
            class: number,
            is_known: marked.is_ok(),
            passed: FxHashSet::default(),
        }
    }

    /// Returns true if the walk must not visit what an object refers to. `class` is the number of
    /// the object's class, and `tag` holds the object's number.
    pub(super) fn passes(&mut self, class: Option<u32>, tag: i64) -> bool {
        let passes = class == Some(self.class) && !(self.is_known && has_continuation(tag));
        if passes {
            self.passed.insert(number_in(tag));
        }
        passes
    }

    /// Returns the number of threads whose references were skipped.
    pub(super) fn passed(self) -> usize {
        self.passed.len()
    }
}

/// Marks the virtual threads that have a continuation. Creates local references.
fn mark(env: &Env<'_>, objects: &Objects, class: ClassRef<'_>) -> Result<()> {
    let jvmti = objects.jvmti;
    let mut marked = FxHashSet::default();
    // The JVM finds objects only by their whole tags. So all threads are marked first. Then the
    // threads without a continuation get their old tags back.
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
