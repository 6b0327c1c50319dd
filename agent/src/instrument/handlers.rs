//! The exception handlers of methods. The JVM reports where an exception was caught, but offers no
//! access to exception tables.
//!
//! So the handlers are read from the class files that pass the load hook, as they are after
//! rewriting. If another agent changes a method afterwards, the length of the method's code
//! differs, and the handlers are ignored.

use super::classes::full_name;
use crate::session::Loader;
use jtrail_classfile::{Class, Handler};
use jtrail_jvm::jvmti::Lines;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What the records of stacks and exceptions need to know about a method.
pub(crate) struct FrameMethod {
    pub(crate) number: u32,
    pub(crate) lines: Lines,
    /// Location in the code at which the rewriter's added handlers begin.
    pub(super) added_handlers: Option<u16>,
    /// The program's own handlers. None if they are unknown, or if the method has no handlers.
    pub(super) handlers: Option<Arc<MethodHandlers>>,
}

impl FrameMethod {
    /// Returns true if the location is in a handler that the rewriter added. Such a handler catches
    /// an exception that leaves the method, and throws it again.
    pub(crate) fn is_ours(&self, location: i64) -> bool {
        self.added_handlers
            .is_some_and(|handlers| location >= handlers.into())
    }

    /// Returns the program's handler that begins at the location, if it is known.
    pub(crate) fn handler(&self, location: i64) -> Option<Handler> {
        self.handlers.as_ref()?.at(location)
    }
}

/// Maximum number of classes whose handlers are kept. When it is exceeded, all are dropped.
const MAX_CLASSES: usize = 1 << 16;

/// The handlers of a method.
#[derive(Debug)]
pub(super) struct MethodHandlers {
    /// Length of the method's code in bytes.
    code_length: usize,
    /// The handlers, in ascending order of their locations.
    handlers: Box<[Handler]>,
}

impl MethodHandlers {
    /// Returns true if the handlers belong to code of that length.
    pub(super) fn are_of(&self, code_length: u32) -> bool {
        self.code_length == code_length as usize
    }

    /// Returns the handler that begins at a location in the code.
    pub(super) fn at(&self, location: i64) -> Option<Handler> {
        let handlers = &self.handlers;
        let found = handlers.binary_search_by_key(&location, |handler| handler.pc.into());
        found.ok().map(|found| handlers[found])
    }
}

/// The handlers of a class's methods. The key is the method's name and descriptor, in one string.
/// Methods without handlers are missing.
type Methods = FxHashMap<Box<str>, Arc<MethodHandlers>>;

/// The handlers of all classes that have some, by loader and name.
#[derive(Debug, Default)]
pub(super) struct Handlers(Mutex<FxHashMap<(Loader, Box<str>), Methods>>);

impl Handlers {
    /// Notes the handlers of the class that is about to get this class file. Ignores a file that
    /// can't be parsed.
    pub(super) fn note(&self, loader: Loader, file: &[u8]) {
        let Ok(class) = Class::parse(file) else {
            return; // the JVM will refuse it, too
        };
        let of_methods = class.methods().iter().filter_map(|method| {
            let handlers = method.handlers();
            let found = MethodHandlers {
                code_length: method.code_len(),
                handlers: handlers.into(),
            };
            (!found.handlers.is_empty()).then(|| (full_name(method).into(), Arc::new(found)))
        });
        let methods: Methods = of_methods.collect();
        let key = (loader, class.name().into());
        let mut classes = self.0.lock();
        if methods.is_empty() {
            classes.remove(&key);
            return;
        }
        if classes.len() >= MAX_CLASSES {
            classes.clear();
        }
        classes.insert(key, methods);
    }

    /// Forgets the classes of loaders that were collected.
    pub(super) fn forget(&self, collected: &FxHashSet<Loader>) {
        self.0
            .lock()
            .retain(|(loader, _), _| !collected.contains(loader));
    }

    /// Returns the handlers of a method (`run()V`) of a class (`a/b/C`).
    pub(super) fn of(
        &self,
        loader: Loader,
        class: &str,
        method: &str,
    ) -> Option<Arc<MethodHandlers>> {
        let classes = self.0.lock();
        classes.get(&(loader, class.into()))?.get(method).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a class of that name with a method `m()V`. The method has `length` instructions, and
    /// a handler at each of the locations.
    fn class(name: &str, length: u8, handlers: &[u8]) -> Vec<u8> {
        let mut bytes = b"\xca\xfe\xba\xbe\0\0\0\x31\0\x06\x01\0".to_vec();
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.extend(b"\x07\0\x01\x01\0\x01m\x01\0\x03()V\x01\0\x04Code");
        bytes.extend(b"\0\x21\0\x02\0\0\0\0\0\0\0\x01\0\x08\0\x03\0\x04\0\x01\0\x05\0\0\0");
        bytes.push(12 + length + 8 * handlers.len() as u8);
        bytes.extend([0, 1, 0, 0, 0, 0, 0, length]);
        bytes.resize(bytes.len() + usize::from(length) - 1, 0);
        bytes.extend([0xb1, 0, handlers.len() as u8]);
        for handler in handlers {
            bytes.extend([0, 0, 0, 1, 0, *handler, 0, 0]);
        }
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn handlers_are_those_of_the_last_class_file() {
        let handlers = Handlers::default();
        let of = |class| handlers.of(Loader::BOOT, class, "m()V");
        handlers.note(Loader::BOOT, &class("a/B", 9, &[7, 3, 7]));
        let first = of("a/B").expect("handlers");
        assert!(first.are_of(9) && !first.are_of(10));
        let entry = |at| first.at(at).map(|handler| handler.entry);
        assert_eq!([3, 7].map(entry), [Some(1), Some(0)]);
        assert_eq!([-1, 0, 5, 65_536 + 3].map(entry), [None; 4]);
        assert!(handlers.of(Loader::PLATFORM, "a/B", "m()V").is_none());
        assert!(handlers.of(Loader::BOOT, "a/B", "n()V").is_none());

        handlers.forget(&FxHashSet::from_iter([Loader::PLATFORM]));
        handlers.note(Loader::BOOT, b"no class");
        assert!(of("a/B").is_some());
        handlers.note(Loader::BOOT, &class("a/B", 9, &[]));
        assert!(of("a/B").is_none());
        handlers.note(Loader::BOOT, &class("a/B", 9, &[7]));
        handlers.forget(&FxHashSet::from_iter([Loader::BOOT]));
        assert!(of("a/B").is_none());
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let handlers = Handlers::default();
        for n in 0..=MAX_CLASSES {
            handlers.note(Loader::BOOT, &class(&n.to_string(), 4, &[1]));
        }
        assert_eq!(handlers.0.lock().len(), 1);
    }
}
