//! Virtual threads in walks over the heap.
//!
//! Where HotSpot (21 to 25, at least) comes by a virtual thread, it asks the thread's continuation
//! whether it is alive, and does not look whether there is one (`JvmtiEnvBase::is_vthread_alive`).
//! A thread whose constructor has not created it yet crashes the JVM. So walks go only into those
//! threads that have been seen with a continuation, which they keep for good, and whose tags say
//! so. They are looked for before each walk. A thread that is created in between is passed by.

use crate::objects::{Objects, is_made, number_in, with_made};
use jtrail_jvm::jni::{ClassRef, Continuations, Env};
use jtrail_jvm::jvmti::Result;
use rustc_hash::FxHashSet;

/// Which virtual threads a walk goes into.
pub(super) struct MadeThreads {
    class: u32,
    /// True if the tags say which threads have a continuation.
    is_known: bool,
    /// Numbers of the threads that the walk did not go into.
    passed: FxHashSet<u64>,
}

impl MadeThreads {
    /// Looks for the virtual threads that exist; `class` is their class, and `number` its number.
    /// The caller keeps other threads from giving objects numbers.
    pub(super) fn find(
        env: &mut Env<'_>,
        objects: &Objects,
        class: ClassRef<'_>,
        number: u32,
    ) -> Self {
        // No local reference may be left when the walk begins: it would be one of the roots.
        let marked = env.with_frame(|env| mark(env, objects, class));
        Self {
            class: number,
            is_known: marked.is_ok(),
            passed: FxHashSet::default(),
        }
    }

    /// Returns true if the walk has to pass by an object of that class with that tag, which has a
    /// number.
    pub(super) fn passes(&mut self, class: Option<u32>, tag: i64) -> bool {
        let passes = class == Some(self.class) && !(self.is_known && is_made(tag));
        if passes {
            self.passed.insert(number_in(tag));
        }
        passes
    }

    /// How many threads were passed by.
    pub(super) fn passed(self) -> usize {
        self.passed.len()
    }
}

/// Marks the virtual threads that have a continuation. It creates local references.
fn mark(env: &Env<'_>, objects: &Objects, class: ClassRef<'_>) -> Result<()> {
    let jvmti = objects.jvmti;
    let mut marked = FxHashSet::default();
    // The JVM finds objects by their whole tags: so all are marked, and those that have none get
    // their old tag back.
    jvmti.pass_instances(class, |thread| {
        *thread.tag = with_made(*thread.tag, true);
        marked.insert(*thread.tag);
        true
    })?;
    if marked.is_empty() {
        return Ok(());
    }
    let marked: Vec<i64> = marked.into_iter().collect();
    let continuations = Continuations::of(env, class); // a class with objects is initialised
    for (tag, thread) in jvmti.objects_with_tags(env, &marked)? {
        let has_one = continuations
            .as_ref()
            .is_some_and(|all| all.has_one(env, thread));
        if !has_one {
            jvmti.set_tag(thread, with_made(tag, false))?;
        }
    }
    Ok(())
}
