//! Classes of objects: known again without a look at their tags.

use super::tag::CLASS_SHIFT;
use jni::sys::{JNIEnv, jclass};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_recorder::pending::NewClass;
use jtrail_records::NumberSet;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Weak references to classes, by number, found without a lock. They are given up when the agent leaves: one is a few bytes, and so is a class's number.
pub(super) struct ClassRefs {
    pages: Box<[OnceLock<Page>]>,
    /// Classes whose objects are threads or classes.
    looked_up: Mutex<NumberSet>,
}

const PAGE: usize = 1024;
/// A reference each, 0 if there is none.
type Page = Box<[AtomicUsize; PAGE]>;
/// For all numbers that fit into a tag.
const PAGES: usize = (1 << (63 - CLASS_SHIFT)) / PAGE;

impl Default for ClassRefs {
    fn default() -> Self {
        Self {
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
            looked_up: Mutex::default(),
        }
    }
}

impl ClassRefs {
    /// Whether it is that class, as far as it is known here.
    ///
    /// # Safety
    /// `env` is the running thread's, and `class` a live reference to a class.
    pub(super) unsafe fn is(&self, env: *mut JNIEnv, class: jclass, known: NewClass) -> bool {
        let number = known.number() as usize;
        let page = self.pages.get(number / PAGE).and_then(OnceLock::get);
        let weak = page.map_or(0, |page| page[number % PAGE].load(Ordering::Acquire));
        let weak = std::ptr::with_exposed_provenance_mut(weak);
        // SAFETY: the caller's promise, and a reference from `keep`, or null, which is no class.
        unsafe { jtrail_jvm::jni::is_same(env, class, weak) }
    }

    /// # Safety
    /// As for [`Self::is`].
    pub(super) unsafe fn keep(
        &self,
        jvmti: Jvmti,
        env: *mut JNIEnv,
        class: jclass,
        number: u32,
    ) -> NewClass {
        let at = number as usize;
        let Some(page) = self.pages.get(at / PAGE) else {
            return NewClass::unknown(number);
        };
        let new_page = || Box::new([const { AtomicUsize::new(0) }; PAGE]);
        let place = &page.get_or_init(new_page)[at % PAGE];
        let mut looked_up = self.looked_up.lock();
        if place.load(Ordering::Relaxed) == 0 {
            // SAFETY: the caller's promise.
            unsafe {
                if is_looked_up_class(jvmti, env, class) {
                    looked_up.insert(number.into());
                }
                let weak = jtrail_jvm::jni::weak_reference(env, class);
                place.store(weak.expose_provenance(), Ordering::Release);
            }
        }
        match looked_up.contains(number.into()) {
            true => NewClass::looked_up(number),
            false => NewClass::unknown(number),
        }
    }

    /// Gives all of them up.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody asks any more.
    pub(super) unsafe fn forget(&self, env: *mut JNIEnv) {
        let pages = self.pages.iter().filter_map(OnceLock::get);
        for place in pages.flat_map(|page| page.iter()) {
            let weak = std::ptr::with_exposed_provenance_mut(place.swap(0, Ordering::Relaxed));
            // SAFETY: the caller's promise, and a reference from `keep`, or null.
            unsafe { jtrail_jvm::jni::forget_weak(env, weak) };
        }
    }
}

/// Whether objects of the class are threads or classes.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to a class.
unsafe fn is_looked_up_class(jvmti: Jvmti, env: *mut JNIEnv, class: jclass) -> bool {
    const LOOKED_UP: [&str; 2] = ["Ljava/lang/Thread;", "Ljava/lang/Class;"];
    // SAFETY: the caller's promise, and references that the JVM gives us here.
    unsafe {
        let is = |class| {
            let name = jvmti.class_signature(class);
            name.is_ok_and(|name| LOOKED_UP.contains(&&*name))
        };
        let mut found = is(class);
        let mut above = jtrail_jvm::jni::superclass_of(env, class);
        while !above.is_null() {
            found = found || is(above);
            let next = jtrail_jvm::jni::superclass_of(env, above);
            jtrail_jvm::jni::forget(env, above);
            above = next;
        }
        found
    }
}
