//! What lasts from one snapshot of the heap to the next; above all the classes of the objects: they
//! get their numbers before the walk, which calls nothing of the JVM.
//!
//! The JVM is asked for all its classes once. To ask it before each snapshot would keep them:
//! collectors that mark beside the program (ZGC, Shenandoah, and G1 at times) take what is asked
//! for in between for something in use, and no class would be unloaded as long as each collection
//! has its snapshot. So classes that are prepared from then on are noted, by weak references. The
//! JVM has no event for new classes of arrays; a walk that comes by their objects finds them.

use super::follower::Follower;
use crate::objects::Objects;
use crate::session::Session;
use jtrail_jvm::jni::{ClassRef, Env, GlobalRef, WeakRef, kind};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What lasts from one snapshot to the next.
#[derive(Default)]
pub(in crate::sources) struct Heap {
    /// Held while a snapshot is taken.
    pub(in crate::sources) progress: Mutex<Progress>,
    pub(in crate::sources) classes: HeapClasses,
    /// Takes snapshots after collections.
    pub(in crate::sources) follower: Follower,
}

#[derive(Default)]
pub(in crate::sources) struct Progress {
    /// How many snapshots were taken.
    pub(in crate::sources) taken: u64,
    /// The trace ends: none is taken any more.
    pub(in crate::sources) is_over: bool,
}

/// The class of virtual threads.
const VIRTUAL_THREAD: &str = "Ljava/lang/VirtualThread;";

/// Classes of what the JVM fills gaps with: also the rest of a thread's area, where the thread goes
/// on with its next object. That one would have the tag of what filled the gap.
const FILLERS: [&str; 4] = [
    "[I",
    "Ljava/lang/Object;",
    "Ljdk/internal/vm/FillerObject;",
    "[Ljdk/internal/vm/FillerElement;",
];

/// Fewer classes are not looked through for unloaded ones.
const FEW: usize = 4096;

/// What is known of classes from one snapshot to the next.
#[derive(Default)]
pub(in crate::sources) struct HeapClasses {
    /// The JVM was asked for all classes, or is about to be.
    has_begun: AtomicBool,
    noted: Mutex<Noted>,
    virtual_threads: OnceLock<(GlobalRef<kind::Class>, u32)>,
    fillers: Mutex<Vec<u32>>,
}

/// Classes that were prepared since the last snapshot.
#[derive(Default)]
struct Noted {
    classes: Vec<WeakRef<kind::Class>>,
    /// As soon as there are this many, unloaded ones are removed.
    limit: usize,
}

impl HeapClasses {
    /// Notes that a class was prepared.
    pub(in crate::sources) fn prepared(&self, env: &Env<'_>, class: ClassRef<'_>) {
        if !self.has_begun.load(Ordering::Relaxed) {
            return;
        }
        let Some(class) = WeakRef::new(env, class) else {
            return; // no memory
        };
        // A thread may be stopped in any call of the JVM, which has no place under the lock.
        let many = {
            let mut noted = self.noted.lock();
            noted.classes.push(class);
            let is_many = noted.classes.len() >= noted.limit.max(FEW);
            is_many.then(|| std::mem::take(&mut noted.classes))
        };
        if let Some(mut classes) = many {
            classes.retain(|class| !class.is_cleared(env));
            let mut noted = self.noted.lock();
            noted.classes.append(&mut classes);
            noted.limit = 2 * noted.classes.len();
        }
    }

    /// Gives all classes their numbers, before a walk. It creates local references.
    pub(in crate::sources) fn number(&self, session: &Session, env: &Env<'_>, objects: &Objects) {
        let classes = match self.has_begun.swap(true, Ordering::SeqCst) {
            false => objects.jvmti.loaded_classes(env).unwrap_or_default(),
            true => {
                let noted = std::mem::take(&mut self.noted.lock().classes);
                let loaded = noted.into_iter().filter_map(|class| class.upgrade(env));
                loaded.collect()
            }
        };
        for class in classes {
            self.number_one(session, env, objects, class);
        }
    }

    fn number_one(&self, session: &Session, env: &Env<'_>, objects: &Objects, class: ClassRef<'_>) {
        let number = objects.class(session, env, class);
        let name = objects.jvmti.class_signature(class);
        let (Some(number), Ok(name)) = (number, name) else {
            return;
        };
        if name == VIRTUAL_THREAD {
            if let Some(class) = GlobalRef::new(env, class) {
                let _ = self.virtual_threads.set((class, number)); // the first and only time
            }
        } else if FILLERS.contains(&&*name) {
            self.fillers.lock().push(number);
        }
    }

    /// The class of virtual threads, and its number; `None` where the JVM has no such threads.
    pub(in crate::sources) fn virtual_threads(&self) -> Option<(ClassRef<'_>, u32)> {
        let (class, number) = self.virtual_threads.get()?;
        Some((class.get(), *number))
    }

    /// Numbers of the classes of what the JVM fills gaps with.
    pub(in crate::sources) fn fillers(&self) -> Vec<u32> {
        self.fillers.lock().clone()
    }
}
