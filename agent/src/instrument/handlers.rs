//! The exception handlers of methods: the JVM tells where an exception was caught, but shows no
//! exception tables.
//!
//! They are taken from the class files that pass the load hook, as they leave it. Code that an
//! agent behind us changes is known by its length.

use super::classes::full_name;
use crate::session::Loader;
use jtrail_classfile::{Class, Handler};
use jtrail_jvm::jvmti::Lines;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A method as stacks need it.
pub(crate) struct FrameMethod {
    pub(crate) number: u32,
    pub(crate) lines: Lines,
    /// Where in its code our own handlers begin.
    pub(super) added_handlers: Option<u16>,
    /// The program's own handlers; none if they are not known, or there are none.
    pub(super) handlers: Option<Arc<MethodHandlers>>,
}

impl FrameMethod {
    /// Whether the place in its code is in a handler of ours, which catches and throws on what
    /// leaves the method.
    pub(crate) fn is_ours(&self, location: i64) -> bool {
        self.added_handlers
            .is_some_and(|handlers| location >= handlers.into())
    }

    /// What is known of the handler that begins at that place in its code.
    pub(crate) fn handler(&self, location: i64) -> Option<Handler> {
        self.handlers.as_ref()?.at(location)
    }
}

/// Classes whose handlers are kept. When there are more, all are given up.
const MOST_CLASSES: usize = 1 << 16;

/// The handlers of a method.
#[derive(Debug)]
pub(super) struct MethodHandlers {
    /// Bytes of its code.
    code_length: usize,
    /// Ascending by their places.
    handlers: Box<[Handler]>,
}

impl MethodHandlers {
    /// Whether they are those of code that long.
    pub(super) fn are_of(&self, code_length: u32) -> bool {
        self.code_length == code_length as usize
    }

    /// The handler that begins at a place in the code.
    pub(super) fn at(&self, location: i64) -> Option<Handler> {
        let handlers = &self.handlers;
        let found = handlers.binary_search_by_key(&location, |handler| handler.pc.into());
        found.ok().map(|found| handlers[found])
    }
}

/// By name and descriptor, in one; those that have some.
type Methods = FxHashMap<Box<str>, Arc<MethodHandlers>>;

/// The handlers of all classes that have some, by loader and name.
#[derive(Debug, Default)]
pub(super) struct Handlers(Mutex<FxHashMap<(Loader, Box<str>), Methods>>);

impl Handlers {
    /// A class is about to get this code. What is no class file has no handlers.
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
        if classes.len() >= MOST_CLASSES {
            classes.clear();
        }
        classes.insert(key, methods);
    }

    /// These loaders are gone, and their classes.
    pub(super) fn forget(&self, collected: &FxHashSet<Loader>) {
        self.0
            .lock()
            .retain(|(loader, _), _| !collected.contains(loader));
    }

    /// Those of a method (`run()V`) of a class (`a/b/C`).
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

    /// The class of that name with a method `m()V`, which has that many instructions and a handler
    /// at each of these places.
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
        for n in 0..=MOST_CLASSES {
            handlers.note(Loader::BOOT, &class(&n.to_string(), 4, &[1]));
        }
        assert_eq!(handlers.0.lock().len(), 1);
    }
}
