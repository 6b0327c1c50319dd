//! Class loaders, identified by a tag on their object.

use jtrail_jvm::jni::{Env, LoaderRef, WeakRef, kind};
use jtrail_jvm::jvmti::Jvmti;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// A class loader's identity: a number. No number is given twice while the agent is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Loader(i64);

impl Loader {
    pub(crate) const BOOT: Self = Self(0);
    pub(crate) const PLATFORM: Self = Self(1);
    const FIRST_OTHER: i64 = 2;

    /// Returns the number that distinguishes loaders that are instances of one class, such as two
    /// `URLClassLoader`s.
    pub(crate) fn number(self) -> i64 {
        self.0
    }

    /// Returns true if a class of that name (`a/b/C`) belongs to the JDK, and not to the
    /// application. Classes of the JDK's tools (javac and others) are recognized by their packages,
    /// because the application loader loads them.
    pub(crate) fn is_jdk(self, name: &str) -> bool {
        const PACKAGES: [&str; 5] = ["java/", "jdk/", "sun/", "com/sun/", "jtrail/"];
        self == Self::BOOT || self == Self::PLATFORM || PACKAGES.iter().any(|p| name.starts_with(p))
    }
}

/// Numbers class loaders.
#[derive(Debug)]
pub(super) struct Loaders(Mutex<i64>);

impl Default for Loaders {
    fn default() -> Self {
        Self(Mutex::new(Loader::FIRST_OTHER))
    }
}

impl Loaders {
    /// Returns the identity of the loader `object`, and numbers the loader if it is new. `None` is
    /// the boot loader.
    pub(super) fn of(&self, jvmti: Jvmti, object: Option<LoaderRef<'_>>) -> Loader {
        let Some(object) = object.map(LoaderRef::as_object) else {
            return Loader::BOOT;
        };
        match jvmti.tag(object) {
            Ok(0) | Err(_) => {}
            Ok(tag) => return Loader(tag),
        }
        let mut next = self.0.lock();
        if let Ok(tag @ 1..) = jvmti.tag(object) {
            return Loader(tag); // another thread was faster
        }
        let loader = Loader(*next);
        *next += 1;
        let _ = jvmti.set_tag(object, loader.0);
        loader
    }

    /// Finds the platform loader, and tags it.
    pub(super) fn find_platform(&self, jvmti: Jvmti, env: &mut Env<'_>) {
        env.with_frame(|env| {
            // If a JVM has no platform loader, the boot loader loads all classes of the JDK.
            if let Ok(Some(loader)) = env.platform_loader() {
                let _ = jvmti.set_tag(loader.as_object(), Loader::PLATFORM.0);
            }
        });
    }
}

/// Loaders whose classes passed the load hook. The JVM does not report that a loader was collected,
/// so the references have to be polled.
#[derive(Default)]
pub(super) struct Watched(Mutex<FxHashMap<Loader, WeakRef<kind::Loader>>>);

impl Watched {
    /// Adds a loader if it is not watched yet. Does nothing if there is no memory for a reference.
    pub(super) fn add(&self, env: &Env<'_>, loader: Loader, object: LoaderRef<'_>) {
        let mut watched = self.0.lock();
        if !watched.contains_key(&loader)
            && let Some(weak) = WeakRef::new(env, object)
        {
            watched.insert(loader, weak);
        }
    }

    /// Removes and returns the loaders that were collected.
    pub(super) fn take_collected(&self, env: &Env<'_>) -> FxHashSet<Loader> {
        let mut watched = self.0.lock();
        let collected = watched.extract_if(|_, weak| weak.is_cleared(env));
        collected.map(|(loader, _)| loader).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jdk_is_distinguished_from_the_application() {
        let app = Loader(Loader::FIRST_OTHER);
        assert!(Loader::BOOT.is_jdk("org/example/Main"));
        assert!(Loader::PLATFORM.is_jdk("javax/sql/DataSource"));
        assert!(app.is_jdk("com/sun/tools/javac/Main"));
        assert!(!app.is_jdk("org/example/Main"));
        assert!(!app.is_jdk("javafx/Main"));
    }
}
