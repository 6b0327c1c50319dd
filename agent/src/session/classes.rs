//! The numbers of classes and methods. A class is identified by its loader and its name.

use super::Session;
use super::changes::{Changes, FollowedChanges};
use super::class_numbers::ClassNumbers;
use super::loader::{Loader, Loaders, Watched};
use jtrail_jvm::jni::{ClassRef, Env, LoaderRef};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_records::Definition;
use jtrail_records::definition::ClassInfo;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashSet;

/// All classes that the trace may have to name.
#[derive(Default)]
pub(crate) struct ClassTable {
    loaders: Loaders,
    watched: Watched,
    known: Mutex<ClassNumbers>,
    pub(crate) changes: Changes,
    /// The changes that `known` has followed.
    seen: FollowedChanges,
}

impl ClassTable {
    /// Finds out which loader is the platform loader.
    pub(crate) fn find_platform_loader(&self, jvmti: Jvmti, env: &mut Env<'_>) {
        self.loaders.find_platform(jvmti, env);
    }

    /// Returns the identity of a class loader; `None` is the boot loader.
    pub(crate) fn loader(&self, jvmti: Jvmti, loader: Option<LoaderRef<'_>>) -> Loader {
        self.loaders.of(jvmti, loader)
    }

    /// Returns the loader of a class; `None` if the JVM returns an error.
    pub(crate) fn loader_of(
        &self,
        jvmti: Jvmti,
        env: &Env<'_>,
        class: ClassRef<'_>,
    ) -> Option<Loader> {
        Some(self.loader(jvmti, jvmti.class_loader(env, class).ok()?))
    }

    /// Notes that a class of that loader passes the load hook.
    pub(crate) fn watch(&self, env: &Env<'_>, loader: Loader, object: Option<LoaderRef<'_>>) {
        if loader != Loader::BOOT
            && loader != Loader::PLATFORM
            && let Some(object) = object
        {
            self.watched.add(env, loader, object);
        }
    }

    /// Locks and returns the numbers, after noting which classes were unloaded.
    pub(crate) fn known(&self) -> MutexGuard<'_, ClassNumbers> {
        self.settle();
        self.known.lock()
    }

    /// Forgets classes that were unloaded.
    #[inline]
    fn settle(&self) {
        if self.changes.take_changes(&self.seen) {
            self.known.lock().forget(self.changes.unloaded());
        }
    }

    /// Returns true if [`Self::forget_collected`] is due.
    pub(crate) fn is_search_due(&self) -> bool {
        self.known.lock().is_search_due()
    }

    /// Forgets the classes whose loaders were collected. Returns these loaders, and the numbers of
    /// the classes.
    pub(crate) fn forget_collected(&self, env: &Env<'_>) -> (FxHashSet<Loader>, Vec<u32>) {
        let loaders = self.watched.take_collected(env);
        let classes = self.known.lock().forget_loaders(&loaders);
        (loaders, classes)
    }

    /// Returns true if a class (`a/b/C`) passed the load hook before, and something in it was to be
    /// rewritten.
    pub(crate) fn is_known(&self, loader: Loader, name: &str) -> bool {
        let known = self.known.lock();
        let entry = known.classes.get(&(loader, name.into()));
        entry.is_some_and(|entry| entry.loaded)
    }

    /// Returns the number of a class that is known only by its name, as `Class.getName` prints it.
    /// Calls `define` if the class is new.
    pub(crate) fn number_of_name(&self, name: &str, define: impl FnOnce(u32)) -> u32 {
        let name = name.replace('.', "/");
        let mut known = self.known.lock();
        known.class(Loader::BOOT, &name, define).number
    }
}

impl Session {
    /// Returns the number of a class, by its loader and name. Defines the class if it is new.
    /// `first` is true if the class object has no number yet. Then an older entry of that name
    /// belongs to a class that was unloaded.
    pub(crate) fn class_by_name(
        &self,
        env: &Env<'_>,
        class: ClassRef<'_>,
        first: bool,
    ) -> Option<u32> {
        let jvmti = self.jvmti;
        let signature = jvmti.class_signature(class).ok()?;
        let name = internal_name(&signature);
        let loader = self.classes.loader_of(jvmti, env, class)?;
        let source_file = jvmti.source_file(class).unwrap_or_default();
        let mut known = self.classes.known();
        if first {
            known.remove_unloaded(loader, name);
        }
        let entry = known.class(loader, name, |number| {
            self.define(Definition::Class(ClassInfo {
                number,
                name: class_name(name).into(),
                super_name: "".into(),
                source_file: source_file.into(),
            }));
        });
        Some(entry.number)
    }
}

/// Returns the internal name of a class (`a/b/C`), from its signature (`La/b/C;`). For an array or
/// a primitive type, returns the signature.
pub(crate) fn internal_name(signature: &str) -> &str {
    let name = signature
        .strip_prefix('L')
        .and_then(|name| name.strip_suffix(';'));
    name.unwrap_or(signature)
}

/// Returns a class's name as `Class.getName` prints it. The name of a hidden class has a suffix,
/// after a dot in `internal` and after a slash in the result.
pub(crate) fn class_name(internal: &str) -> String {
    match internal.split_once('.') {
        Some((name, suffix)) => format!("{}/{suffix}", name.replace('/', ".")),
        None => internal.replace('/', "."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_loses_its_frame_and_no_letter_of_the_name() {
        let name = |signature| class_name(internal_name(signature));
        assert_eq!(name("La/b/C;"), "a.b.C");
        assert_eq!(name("LLines;"), "Lines");
        assert_eq!(name("La/B.0x12;"), "a.B/0x12");
        assert_eq!([name("[La/B;"), name("I")], ["[La.B;", "I"]);
    }
}
