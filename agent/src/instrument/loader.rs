//! Class loaders, told apart by a tag on their object.

use jni::sys::{JNIEnv, jobject};
use jtrail_jvm::jni::Weak;
use jtrail_jvm::jvmti::Jvmti;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// A class loader, for as long as the JVM runs: numbers are not given twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Loader(i64);

impl Loader {
    pub(crate) const BOOT: Self = Self(0);
    pub(crate) const PLATFORM: Self = Self(1);
    const FIRST_OTHER: i64 = 2;

    /// Tells loaders of one class apart.
    pub(crate) fn number(self) -> i64 {
        self.0
    }

    /// Whether a class of that name (`a/b/C`) is the JDK's own, not the application's. The tools
    /// of the JDK (javac and others) come from the application's loader, so their packages count as well.
    pub(crate) fn is_jdk(self, name: &str) -> bool {
        const PACKAGES: [&str; 5] = ["java/", "jdk/", "sun/", "com/sun/", "jtrail/"];
        self == Self::BOOT || self == Self::PLATFORM || PACKAGES.iter().any(|p| name.starts_with(p))
    }
}

/// Gives loaders their numbers.
#[derive(Debug)]
pub(crate) struct Loaders(Mutex<i64>);

impl Default for Loaders {
    fn default() -> Self {
        Self(Mutex::new(Loader::FIRST_OTHER))
    }
}

impl Loaders {
    /// The loader that `object` is; null is the boot loader.
    ///
    /// # Safety
    /// `object` is null or a live reference.
    pub(crate) unsafe fn of(&self, jvmti: Jvmti, object: jobject) -> Loader {
        if object.is_null() {
            return Loader::BOOT;
        }
        // SAFETY: the caller's promise.
        match unsafe { jvmti.tag(object) } {
            Ok(0) | Err(_) => {}
            Ok(tag) => return Loader(tag),
        }
        let mut next = self.0.lock();
        // SAFETY: the caller's promise.
        if let Ok(tag @ 1..) = unsafe { jvmti.tag(object) } {
            return Loader(tag); // another thread was faster
        }
        let loader = Loader(*next);
        *next += 1;
        // SAFETY: the caller's promise.
        let _ = unsafe { jvmti.set_tag(object, loader.0) };
        loader
    }

    /// Finds out which loader is the platform's.
    pub(crate) fn find_platform(&self, jvmti: Jvmti, env: *mut JNIEnv) {
        // A JVM without one has all of its classes in the boot loader.
        let _ = jtrail_jvm::jni::with_platform_loader(env, |loader| {
            if !loader.is_null() {
                // SAFETY: a local reference that the JVM just gave us.
                let _ = unsafe { jvmti.set_tag(loader, Loader::PLATFORM.0) };
            }
        });
    }
}

/// Loaders whose classes passed the load hook. The JVM tells nobody when a loader goes, so somebody has to look.
#[derive(Default)]
pub(super) struct Watched(Mutex<FxHashMap<Loader, Weak>>);

impl Watched {
    /// Adds a loader, if it is not among them.
    ///
    /// # Safety
    /// `env` is the running thread's, and `object` a live reference to `loader`.
    pub(super) unsafe fn add(&self, env: *mut JNIEnv, loader: Loader, object: jobject) {
        let mut watched = self.0.lock();
        if watched.contains_key(&loader) {
            return;
        }
        // SAFETY: the caller's promise.
        let weak = unsafe { Weak::new(env, object) };
        // SAFETY: likewise. Without memory for the reference, it would look as if the loader were gone.
        if !unsafe { weak.is_cleared(env) } {
            watched.insert(loader, weak);
        }
    }

    /// Takes out those that are gone.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub(super) unsafe fn take_gone(&self, env: *mut JNIEnv) -> FxHashSet<Loader> {
        let mut gone = FxHashSet::default();
        self.0.lock().retain(|loader, weak| {
            // SAFETY: the caller's promise; nobody else has the reference.
            let is_gone = unsafe { weak.is_cleared(env) };
            if is_gone {
                gone.insert(*loader);
                // SAFETY: likewise.
                unsafe { weak.forget(env) };
            }
            !is_gone
        });
        gone
    }

    /// Gives all references up.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub(super) unsafe fn forget(&self, env: *mut JNIEnv) {
        for (_, weak) in self.0.lock().drain() {
            // SAFETY: the caller's promise; nobody else has the reference.
            unsafe { weak.forget(env) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jdk_is_told_from_the_application() {
        let app = Loader(Loader::FIRST_OTHER);
        assert!(Loader::BOOT.is_jdk("org/example/Main"));
        assert!(Loader::PLATFORM.is_jdk("javax/sql/DataSource"));
        assert!(app.is_jdk("com/sun/tools/javac/Main"));
        assert!(!app.is_jdk("org/example/Main"));
        assert!(!app.is_jdk("javafx/Main"));
    }
}
