//! The numbers of classes and methods.

use super::Session;
use super::classes::class_name;
use super::lines::LineCounters;
use super::loader::Loader;
use jtrail_classfile::Class;
use jtrail_recorder::buffer::record::METHOD_LIMIT;
use jtrail_records::Definition;
use jtrail_records::definition::ClassInfo;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// All classes that have numbers, by loader and name.
#[derive(Default)]
pub(crate) struct ClassNumbers {
    pub(crate) classes: FxHashMap<(Loader, Box<str>), ClassEntry>,
    /// Numbers of unloaded classes that are still in `classes`.
    unloaded: FxHashSet<u32>,
    /// Number of entries in `classes` after the last search for collected loaders.
    classes_after_search: usize,
    /// The next class number.
    count: u32,
    methods: u32,
}

pub(crate) struct ClassEntry {
    pub(crate) number: u32,
    /// True if the class passed the load hook.
    pub(crate) loaded: bool,
    /// Methods by name and descriptor, in one string.
    pub(crate) methods: FxHashMap<Box<str>, MethodEntry>,
}

#[derive(Clone, Copy)]
pub(crate) struct MethodEntry {
    pub(crate) number: u32,
    /// How many line counters the method has, and the number of the first one.
    lines: Option<(usize, u32)>,
    /// A hash of the method's allocation sites, and the number of the first site.
    pub(crate) sites: Option<(u64, u32)>,
    /// Location in the code at which the rewriter's added handlers begin.
    pub(crate) added_handlers: Option<u16>,
}

impl ClassNumbers {
    /// Returns the class's entry. If there is none, creates one, and calls `define` with its
    /// number.
    pub(crate) fn class(
        &mut self,
        loader: Loader,
        name: &str,
        define: impl FnOnce(u32),
    ) -> &mut ClassEntry {
        let Self {
            classes,
            unloaded,
            count,
            ..
        } = self;
        let new = || {
            let number = *count;
            *count += 1;
            define(number);
            ClassEntry {
                number,
                loaded: false,
                methods: FxHashMap::default(),
            }
        };
        match classes.entry((loader, name.into())) {
            Entry::Vacant(entry) => entry.insert(new()),
            Entry::Occupied(mut entry) => {
                // The name of a hidden class contains an address. After the class is unloaded,
                // another hidden class may get the same address.
                if unloaded.remove(&entry.get().number) {
                    entry.insert(new());
                }
                entry.into_mut()
            }
        }
    }

    /// Notes that a class passes the load hook. Returns the class's number, and true if it passes
    /// for the first time. Defines the class then.
    pub(crate) fn loaded(
        &mut self,
        session: &Session,
        loader: Loader,
        class: &Class<'_>,
        name: &str,
    ) -> (u32, bool) {
        let entry = self.class(loader, name, |_| {});
        let number = entry.number;
        let is_new = !std::mem::replace(&mut entry.loaded, true);
        if is_new {
            // An object or a stack may have defined the class already, but with fewer details than
            // the class file has.
            let super_name = class.super_name().map(|s| class_name(&s));
            session.define(Definition::Class(ClassInfo {
                number,
                name: class_name(name).into(),
                super_name: super_name.unwrap_or_default().into(),
                source_file: class.source_file().unwrap_or_default().into(),
            }));
        }
        (number, is_new)
    }

    /// Removes the entry of an unloaded class of this name, before a new class of that name gets
    /// its number. If the entry comes from the load hook, it stays, because it may belong to the
    /// new class.
    pub(crate) fn remove_unloaded(&mut self, loader: Loader, name: &str) {
        if let Entry::Occupied(entry) = self.classes.entry((loader, name.into()))
            && !entry.get().loaded
        {
            entry.remove();
        }
    }

    /// Notes that classes were unloaded. Removes their entries when more than a quarter of all
    /// entries are outdated.
    pub(crate) fn forget(&mut self, unloaded: impl Iterator<Item = u32>) {
        self.unloaded.extend(unloaded);
        if self.unloaded.len() > self.classes.len() / 4 {
            self.classes
                .retain(|_, entry| !self.unloaded.contains(&entry.number));
            self.unloaded.clear();
        }
    }

    /// Returns true if it is time to search for collected loaders: when the number of classes has
    /// doubled since the last search.
    pub(crate) fn is_search_due(&self) -> bool {
        const MIN_CLASSES: usize = 512;
        self.classes.len() >= (2 * self.classes_after_search).max(MIN_CLASSES)
    }

    /// Removes the entries of all classes of these loaders. Returns the numbers of the classes.
    pub(crate) fn forget_loaders(&mut self, collected: &FxHashSet<Loader>) -> Vec<u32> {
        let is_collected = |(loader, _): &(Loader, _), _: &mut _| collected.contains(loader);
        let classes = self.classes.extract_if(is_collected);
        let numbers: Vec<u32> = classes.map(|(_, entry)| entry.number).collect();
        for number in &numbers {
            self.unloaded.remove(number);
        }
        self.classes_after_search = self.classes.len();
        numbers
    }

    /// Returns a method's number, and true if it is new. Returns `None` if there are no numbers
    /// left.
    pub(crate) fn method(
        &mut self,
        loader: Loader,
        class: &str,
        method: &str,
    ) -> Option<(u32, bool)> {
        let entry = self.classes.get_mut(&(loader, class.into()))?;
        if let Some(known) = entry.methods.get(method) {
            return Some((known.number, false));
        }
        let number = self.methods;
        if number >= METHOD_LIMIT {
            return None;
        }
        self.methods += 1;
        let new = MethodEntry {
            number,
            lines: None,
            sites: None,
            added_handlers: None,
        };
        entry.methods.insert(method.into(), new);
        Some((number, true))
    }

    /// Returns the first of `count` line counters of a known method. If the method already has
    /// `count` counters, it keeps them. Returns `None` if there are no counters left.
    pub(crate) fn lines(
        &mut self,
        counters: &LineCounters,
        (loader, class, method): (Loader, &str, &str),
        count: usize,
    ) -> Option<u32> {
        let class = self.classes.get_mut(&(loader, class.into()))?;
        let entry = class.methods.get_mut(method)?;
        if let Some((had, first)) = entry.lines
            && had == count
        {
            return Some(first);
        }
        let first = counters.take(count)?;
        entry.lines = Some((count, first));
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(known: &mut ClassNumbers, loader: Loader, name: &str) -> u32 {
        known.class(loader, name, |_| {}).number
    }

    #[test]
    fn classes_of_collected_loaders_are_forgotten() {
        let mut known = ClassNumbers::default();
        let kept = number(&mut known, Loader::BOOT, "a/B");
        let collected = number(&mut known, Loader::PLATFORM, "a/B");
        assert!(known.method(Loader::PLATFORM, "a/B", "m()V").is_some());
        let loaders = FxHashSet::from_iter([Loader::PLATFORM]);
        assert_eq!(known.forget_loaders(&loaders), [collected]);
        assert_eq!(known.forget_loaders(&loaders), [0; 0]);
        assert_eq!(number(&mut known, Loader::BOOT, "a/B"), kept);
        assert!(known.method(Loader::PLATFORM, "a/B", "m()V").is_none());
        // No number is given twice.
        assert_eq!(number(&mut known, Loader::PLATFORM, "a/B"), collected + 1);
    }

    #[test]
    fn a_look_is_due_when_there_are_twice_as_many() {
        let mut known = ClassNumbers::default();
        let mut looks = Vec::new();
        for n in 0..5_000 {
            number(&mut known, Loader::BOOT, &n.to_string());
            if known.is_search_due() {
                known.forget_loaders(&FxHashSet::default());
                looks.push(n + 1);
            }
        }
        assert_eq!(looks, [512, 1024, 2048, 4096]);
    }
}
