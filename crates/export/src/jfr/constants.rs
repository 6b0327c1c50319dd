//! The constants that events refer to: names, classes, methods.

use super::encoding::{boolean, integer, text, utf8};
use super::paths::{NATIVE_FRAME, UNKNOWN_FRAME};
use super::pool::{Pool, Texts, begin_pool};
use super::schema::Type;
use jtrail_model::names::Names;
use jtrail_model::{ClassDetail, ClassId, Frame, MethodId, ThreadState};
use rustc_hash::FxHashMap;

/// What the trace says about a class, apart from its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct ClassInfo {
    /// Access flags.
    access: u16,
    /// Key of the loader; 0 if unknown.
    loader: u32,
}

/// The other constants that a class refers to, by key.
#[derive(Clone, Copy, Debug)]
struct ClassParts {
    loader: u32,
    name: u32,
    package: u32,
}

/// The other constants that a method refers to, by key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct MethodParts {
    class: u32,
    name: u32,
    descriptor: u32,
}

/// All constants but stack traces and threads.
#[derive(Debug, Default)]
pub(super) struct Constants {
    symbols: Texts,
    packages: Pool,
    /// Packages by the keys of their names, and the other way round.
    package_keys: FxHashMap<u32, u32>,
    package_names: Vec<u32>,
    loaders: Pool,
    loader_keys: FxHashMap<String, u32>,
    /// The keys of class and name of each loader.
    loader_parts: Vec<(u32, u32)>,
    classes: Pool,
    class_parts: Vec<ClassParts>,
    class_keys: FxHashMap<ClassId, u32>,
    class_infos: FxHashMap<ClassId, ClassInfo>,
    /// The latest class with a name.
    class_ids: FxHashMap<String, ClassId>,
    /// Classes that the trace does not define.
    named_classes: FxHashMap<String, u32>,
    methods: Pool,
    method_parts: Vec<MethodParts>,
    method_keys: FxHashMap<MethodId, u32>,
    /// Methods by the text of a frame.
    frame_keys: FxHashMap<String, u32>,
    distinct_methods: FxHashMap<MethodParts, u32>,
    groups: Pool,
    group_keys: FxHashMap<String, u32>,
    /// The names of collectors.
    pub(super) collectors: Texts,
    /// The causes of collections.
    pub(super) causes: Texts,
}

/// Names of the states of threads, in the order of [`ThreadState::ALL`]. They are HotSpot's.
const STATES: [&str; ThreadState::ALL.len()] = [
    "STATE_RUNNABLE",
    "STATE_BLOCKED_ON_MONITOR_ENTER",
    "STATE_IN_OBJECT_WAIT",
    "STATE_PARKED",
    "STATE_SLEEPING",
];

/// Key of the moment after a collection.
pub(super) const AFTER_GC: u64 = 2;

/// Returns the key of a state.
pub(super) fn state_key(state: ThreadState) -> u64 {
    state as u64 + 1
}

impl Constants {
    /// Takes the definition of a class.
    pub(super) fn define_class(&mut self, id: ClassId, name: &str) {
        self.class_ids.insert(name.to_owned(), id);
    }

    /// Takes the details of a class.
    pub(super) fn describe_class(&mut self, detail: &ClassDetail<'_>) {
        let info = ClassInfo {
            access: detail.access,
            loader: self.loader(&detail.loader),
        };
        self.class_infos.insert(detail.class, info);
    }

    /// Returns the key of a class that the current chunk uses; 0 for none.
    pub(super) fn used_class(&mut self, names: &Names, id: ClassId) -> u64 {
        if id.is_none() {
            return 0;
        }
        let key = self.class(names, id);
        self.touch_class(key);
        key.into()
    }

    fn class(&mut self, names: &Names, id: ClassId) -> u32 {
        if let Some(key) = self.class_keys.get(&id) {
            return *key;
        }
        let name = names.class(id);
        let key = match self.named_classes.remove(&name) {
            Some(key) => key,
            None => {
                let info = self.class_infos.get(&id).copied().unwrap_or_default();
                self.add_class(&name, info)
            }
        };
        self.class_keys.insert(id, key);
        key
    }

    fn class_by_name(&mut self, names: &Names, name: &str) -> u32 {
        if let Some(id) = self.class_ids.get(name) {
            return self.class(names, *id);
        }
        self.named_class(name)
    }

    fn named_class(&mut self, name: &str) -> u32 {
        if let Some(key) = self.named_classes.get(name) {
            return *key;
        }
        let key = self.add_class(name, ClassInfo::default());
        self.named_classes.insert(name.to_owned(), key);
        key
    }

    fn add_class(&mut self, name: &str, info: ClassInfo) -> u32 {
        let is_hidden = name.contains("/0x");
        // HotSpot writes a plus where `Class.getName` has a slash.
        let name = name.replace("/0x", "+0x").replace('.', "/");
        let parts = ClassParts {
            loader: info.loader,
            name: self.symbols.key(&name),
            package: match name.rsplit_once('/') {
                Some((package, _)) if !name.starts_with('[') => self.package(package),
                _ => 0,
            },
        };
        self.class_parts.push(parts);
        // The flag 0x20 is no modifier of classes.
        let modifiers = info.access & !0x20;
        self.classes.add(|out| {
            integer(out, parts.loader.into());
            integer(out, parts.name.into());
            integer(out, parts.package.into());
            integer(out, modifiers.into());
            boolean(out, is_hidden);
        })
    }

    fn touch_class(&mut self, key: u32) {
        if self.classes.touch(key) {
            let parts = self.class_parts[key as usize - 1];
            self.symbols.pool.touch(parts.name);
            self.touch_loader(parts.loader);
            if self.packages.touch(parts.package) {
                let name = self.package_names[parts.package as usize - 1];
                self.symbols.pool.touch(name);
            }
        }
    }

    fn package(&mut self, name: &str) -> u32 {
        let symbol = self.symbols.key(name);
        *self.package_keys.entry(symbol).or_insert_with(|| {
            self.package_names.push(symbol);
            self.packages.add(|out| {
                integer(out, symbol.into());
                integer(out, 0); // module
                boolean(out, false);
            })
        })
    }

    /// Returns the key of the loader of a class that the current chunk uses; 0 if unknown.
    pub(super) fn used_loader(&mut self, class: ClassId) -> u64 {
        let loader = self.class_infos.get(&class).map_or(0, |info| info.loader);
        self.touch_loader(loader);
        loader.into()
    }

    fn loader(&mut self, loader: &str) -> u32 {
        if loader.is_empty() {
            return 0;
        }
        if let Some(key) = self.loader_keys.get(loader) {
            return *key;
        }
        let class = match loader {
            "bootstrap" => None,
            "platform" => Some("jdk.internal.loader.ClassLoaders$PlatformClassLoader"),
            "app" => Some("jdk.internal.loader.ClassLoaders$AppClassLoader"),
            other => Some(other.split_once('@').map_or(other, |(class, _)| class)),
        };
        let class = class.map_or(0, |name| self.named_class(name));
        let name = self.symbols.key(loader);
        self.loader_parts.push((class, name));
        let key = self.loaders.add(|out| {
            integer(out, class.into());
            integer(out, name.into());
        });
        self.loader_keys.insert(loader.to_owned(), key);
        key
    }

    fn touch_loader(&mut self, key: u32) {
        if self.loaders.touch(key) {
            let (class, name) = self.loader_parts[key as usize - 1];
            self.symbols.pool.touch(name);
            self.touch_class(class);
        }
    }

    /// Returns the key of a method.
    #[inline]
    pub(super) fn method(&mut self, names: &Names, id: MethodId) -> u32 {
        match self.method_keys.get(&id) {
            Some(key) => *key,
            None => self.add_method(names, id),
        }
    }

    fn add_method(&mut self, names: &Names, id: MethodId) -> u32 {
        let key = match names.method(id) {
            Some(method) => {
                let class = self.class(names, method.class);
                self.distinct_method(class, &method.name, &method.signature)
            }
            None => {
                let class = self.named_class("unknown");
                self.distinct_method(class, &format!("method-{id}"), "()V")
            }
        };
        self.method_keys.insert(id, key);
        key
    }

    /// Returns the key of the method of a frame.
    pub(super) fn frame(&mut self, names: &Names, frame: &Frame<'_>) -> u32 {
        if let Some(key) = self.frame_keys.get(&*frame.method) {
            return *key;
        }
        let parameters = frame.method.rfind('(').unwrap_or(frame.method.len());
        let (method, descriptor) = frame.method.split_at(parameters);
        let (class, method) = method.rsplit_once('.').unwrap_or(("unknown", method));
        let class = self.class_by_name(names, class);
        let key = self.distinct_method(class, method, descriptor);
        self.frame_keys.insert(frame.method.to_string(), key);
        key
    }

    fn distinct_method(&mut self, class: u32, name: &str, descriptor: &str) -> u32 {
        // Readers take the parameters from between the brackets.
        let has_parameters = descriptor.starts_with('(') && descriptor.contains(')');
        let descriptor = if has_parameters { descriptor } else { "()V" };
        let parts = MethodParts {
            class,
            name: self.symbols.key(name),
            descriptor: self.symbols.key(descriptor),
        };
        *self.distinct_methods.entry(parts).or_insert_with(|| {
            self.method_parts.push(parts);
            self.methods.add(|out| {
                integer(out, class.into());
                integer(out, parts.name.into());
                integer(out, parts.descriptor.into());
                integer(out, 0); // modifiers
                boolean(out, false);
            })
        })
    }

    /// Makes the current chunk use a method.
    #[inline]
    pub(super) fn touch_method(&mut self, key: u32) {
        if self.methods.touch(key) {
            let parts = self.method_parts[key as usize - 1];
            self.symbols.pool.touch(parts.name);
            self.symbols.pool.touch(parts.descriptor);
            self.touch_class(parts.class);
        }
    }

    /// Returns the key of a thread group that the current chunk uses; 0 for none.
    pub(super) fn used_group(&mut self, name: &str) -> u64 {
        if name.is_empty() {
            return 0;
        }
        let key = match self.group_keys.get(name) {
            Some(key) => *key,
            None => {
                let key = self.groups.add(|out| {
                    integer(out, 0); // parent
                    text(out, Some(name));
                });
                self.group_keys.insert(name.to_owned(), key);
                key
            }
        };
        self.groups.touch(key);
        key.into()
    }

    /// Appends the constants that the current chunk uses, begins the next chunk, and returns the
    /// number of pools.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> u64 {
        begin_pool(Type::FrameKind, 2, out);
        for (key, name) in [(UNKNOWN_FRAME, "Unknown"), (NATIVE_FRAME, "Native")] {
            integer(out, key);
            utf8(out, name);
        }
        let mut lists = 1;
        let mut list = |id, texts: &[&str]| {
            lists += 1;
            begin_pool(id, texts.len(), out);
            for (text, key) in texts.iter().zip(1..) {
                integer(out, key);
                utf8(out, text);
            }
        };
        list(Type::ThreadState, &STATES);
        list(Type::GcWhen, &["Before GC", "After GC"]);
        let pools = [
            (Type::GcName, &mut self.collectors.pool),
            (Type::GcCause, &mut self.causes.pool),
            (Type::ThreadGroup, &mut self.groups),
            (Type::Symbol, &mut self.symbols.pool),
            (Type::Package, &mut self.packages),
            (Type::ClassLoader, &mut self.loaders),
            (Type::Class, &mut self.classes),
            (Type::Method, &mut self.methods),
        ];
        let pools = pools.into_iter().map(|(id, pool)| pool.write(id, out));
        lists + pools.sum::<u64>()
    }
}
