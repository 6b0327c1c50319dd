//! The classes of the objects in snapshots of the heap: they get their numbers before the walk, which calls nothing of the JVM.
//!
//! The JVM is asked for all its classes once. To ask it before each snapshot would keep them: collectors that mark beside the program (ZGC, Shenandoah, and G1 at times)
//! take what is asked for in between for something in use, and no class would be unloaded as long as each collection has its snapshot. So classes that are prepared
//! from then on are noted, by weak references. Nobody tells of new classes of arrays; a walk that comes by their objects does.

use crate::agent::Agent;
use crate::objects::Objects;
use ::jni::sys::{JNIEnv, jclass};
use jtrail_jvm::jni::{Lasting, Weak};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The class of virtual threads.
const VIRTUAL_THREAD: &str = "Ljava/lang/VirtualThread;";

/// Classes of what the JVM fills gaps with: also the rest of a thread's area, where the thread goes on with its next object. That one
/// would have the tag of what filled the gap.
const FILLERS: [&str; 4] = [
    "[I",
    "Ljava/lang/Object;",
    "Ljdk/internal/vm/FillerObject;",
    "[Ljdk/internal/vm/FillerElement;",
];

/// Fewer classes are not looked through for unloaded ones.
const FEW: usize = 4096;

/// What lasts from one snapshot to the next.
#[derive(Default)]
pub(crate) struct HeapClasses {
    /// All classes were asked for, or are about to be.
    is_begun: AtomicBool,
    noted: Mutex<Noted>,
    virtual_threads: OnceLock<(Lasting, u32)>,
    fillers: Mutex<Vec<u32>>,
}

/// Classes that were prepared since the last snapshot.
#[derive(Default)]
struct Noted {
    classes: Vec<Weak>,
    /// So many are looked through for unloaded ones.
    many: usize,
}

impl HeapClasses {
    /// A class was prepared.
    ///
    /// # Safety
    /// `env` is the running thread's, and `class` a live reference to a class.
    pub(super) unsafe fn prepared(&self, env: *mut JNIEnv, class: jclass) {
        if !self.is_begun.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: the caller's promise.
        let class = unsafe { Weak::new(env, class) };
        // A thread may be stopped in any call of the JVM, which has no place under the lock.
        let many = {
            let mut noted = self.noted.lock();
            noted.classes.push(class);
            let is_many = noted.classes.len() >= noted.many.max(FEW);
            is_many.then(|| std::mem::take(&mut noted.classes))
        };
        if let Some(mut classes) = many {
            // SAFETY: the caller's promise, and references that nobody else uses.
            classes.retain(|class| unsafe {
                let is_loaded = !class.is_cleared(env);
                if !is_loaded {
                    class.forget(env);
                }
                is_loaded
            });
            let mut noted = self.noted.lock();
            noted.classes.append(&mut classes);
            noted.many = 2 * noted.classes.len();
        }
    }

    /// Gives all classes their numbers, before a walk. It makes local references.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub(super) unsafe fn number(&self, agent: &Agent, env: *mut JNIEnv, objects: &Objects) {
        let classes = match self.is_begun.swap(true, Ordering::SeqCst) {
            false => objects.jvmti.loaded_classes(env).unwrap_or_default(),
            true => {
                let noted = std::mem::take(&mut self.noted.lock().classes);
                let loaded = noted.into_iter().map(|class| {
                    // SAFETY: the caller's promise, and a reference that nobody else uses.
                    unsafe {
                        let loaded = class.to_local(env);
                        class.forget(env);
                        loaded
                    }
                });
                loaded.filter(|class| !class.is_null()).collect()
            }
        };
        for class in classes {
            // SAFETY: the caller's promise, and a local reference that the JVM just gave us.
            unsafe { self.number_one(agent, env, objects, class) };
        }
    }

    /// # Safety
    /// As for [`Self::prepared`].
    unsafe fn number_one(&self, agent: &Agent, env: *mut JNIEnv, objects: &Objects, class: jclass) {
        // SAFETY: the caller's promise.
        let (number, name) = unsafe {
            (
                objects.class(agent, class),
                objects.jvmti.class_signature(class),
            )
        };
        let (Some(number), Ok(name)) = (number, name) else {
            return;
        };
        if name == VIRTUAL_THREAD {
            self.virtual_threads.get_or_init(|| {
                // SAFETY: the caller's promise.
                (unsafe { Lasting::new(env, class) }, number)
            });
        } else if FILLERS.contains(&&*name) {
            self.fillers.lock().push(number);
        }
    }

    /// The class of virtual threads, and its number; none where the JVM has no such threads.
    pub(super) fn virtual_threads(&self) -> Option<(jclass, u32)> {
        let (class, number) = self.virtual_threads.get()?;
        Some((class.get(), *number))
    }

    /// Numbers of the classes of what the JVM fills gaps with.
    pub(super) fn fillers(&self) -> Vec<u32> {
        self.fillers.lock().clone()
    }

    /// Gives up what it refers to.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody takes snapshots any more.
    pub(super) unsafe fn forget(&self, env: *mut JNIEnv) {
        for class in self.noted.lock().classes.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { class.forget(env) };
        }
        if let Some((class, _)) = self.virtual_threads.get() {
            // SAFETY: likewise.
            unsafe { class.forget(env) };
        }
    }
}
