//! The exception handlers of methods: the JVM tells where an exception was caught, but shows no exception tables.
//!
//! They are taken from the class files that pass the load hook, as they leave it. Code that an agent behind us changes is
//! known by its length.

use super::classes::full_name;
use super::loader::Loader;
use crate::jvmti::Lines;
use jtrail_classfile::{Class, Handler};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
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
    /// Whether the place in its code is in a handler of ours, which catches and throws on what leaves the method.
    pub(crate) fn is_ours(&self, location: i64) -> bool {
        self.added_handlers
            .is_some_and(|handlers| location >= handlers.into())
    }

    /// What is known of the handler that begins at that place in its code.
    pub(crate) fn handler(&self, location: i64) -> Option<Handler> {
        self.handlers.as_ref()?.at(location)
    }
}

/// Classes whose handlers are kept. When there are more, all are given up: nobody tells when a class without a number is gone.
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
