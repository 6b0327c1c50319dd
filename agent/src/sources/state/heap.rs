//! The state that is kept from one heap snapshot to the next, above all the classes of objects.
//! Classes get their numbers before the walk, because the walk must not call the JVM.
//!
//! The JVM is asked for all its classes only once. Concurrent collectors (ZGC, Shenandoah,
//! sometimes G1) keep a class alive if it is asked for during a collection. If there were a request
//! at each snapshot, and a snapshot at each collection, no class would ever be unloaded. So classes
//! that are prepared later are noted, as weak references. The JVM has no event for new array
//! classes; a walk finds them by their objects.

use super::follower::Follower;
use crate::objects::Objects;
use crate::session::Session;
use jtrail_jvm::jni::{ClassRef, Env, GlobalRef, WeakRef, kind};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state that is kept from one snapshot to the next.
#[derive(Default)]
pub(in crate::sources) struct Heap {
    /// Locked while a snapshot is taken.
    pub(in crate::sources) progress: Mutex<Progress>,
    pub(in crate::sources) classes: HeapClasses,
    /// Takes snapshots after collections.
    pub(in crate::sources) follower: Follower,
}

#[derive(Default)]
pub(in crate::sources) struct Progress {
    /// Number of snapshots that were taken.
    pub(in crate::sources) taken: u64,
    /// True when the trace ends: no further snapshot is taken.
    pub(in crate::sources) is_over: bool,
}

/// The class of virtual threads.
const VIRTUAL_THREAD: &str = "Ljava/lang/VirtualThread;";

/// Classes of fillers: objects that the JVM fills gaps with. The JVM also puts a filler into the
/// rest of a thread's allocation area. Later, the thread creates its next object at the same
/// address. If the filler had a tag, that object would get it.
const FILLERS: [&str; 4] = [
    "[I",
    "Ljava/lang/Object;",
    "Ljdk/internal/vm/FillerObject;",
    "[Ljdk/internal/vm/FillerElement;",
];

/// Minimum number of noted classes at which unloaded classes are searched and removed.
const FEW: usize = 4096;

/// The classes that are known from one snapshot to the next.
#[derive(Default)]
pub(in crate::sources) struct HeapClasses {
    /// True if the agent has asked the JVM for all classes, or is about to.
    has_begun: AtomicBool,
    noted: Mutex<Noted>,
    virtual_threads: OnceLock<(GlobalRef<kind::Class>, u32)>,
    fillers: Mutex<Vec<u32>>,
}

/// Classes that were prepared since the last snapshot.
#[derive(Default)]
struct Noted {
    classes: Vec<WeakRef<kind::Class>>,
    /// Number of noted classes at which unloaded classes are removed.
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
        // The JVM is not called while the lock is held, because a thread may be stopped in any call
        // of the JVM.
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

    /// Numbers all classes, before a walk. Creates local references.
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
                let _ = self.virtual_threads.set((class, number)); // can't fail: set only once
            }
        } else if FILLERS.contains(&&*name) {
            self.fillers.lock().push(number);
        }
    }

    /// Returns the class of virtual threads, and its number; `None` if the JVM has no virtual
    /// threads.
    pub(in crate::sources) fn virtual_threads(&self) -> Option<(ClassRef<'_>, u32)> {
        let (class, number) = self.virtual_threads.get()?;
        Some((class.get(), *number))
    }

    /// Returns the numbers of the fillers' classes.
    pub(in crate::sources) fn fillers(&self) -> Vec<u32> {
        self.fillers.lock().clone()
    }
}
