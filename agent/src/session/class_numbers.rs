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
    /// Unloaded, and still among them.
    unloaded: FxHashSet<u32>,
    /// How many there were when somebody last looked for loaders that are gone.
    looked_at: usize,
    /// Numbers given so far, of classes and of methods.
    count: u32,
    methods: u32,
}

pub(crate) struct ClassEntry {
    pub(crate) number: u32,
    /// It passed the load hook.
    pub(crate) loaded: bool,
    /// By name and descriptor, in one.
    pub(crate) methods: FxHashMap<Box<str>, MethodEntry>,
}

#[derive(Clone, Copy)]
pub(crate) struct MethodEntry {
    pub(crate) number: u32,
    /// How many line counters it has, and which is the first.
    lines: Option<(usize, u32)>,
    /// What its allocation sites are, as a hash, and the number of the first one.
    pub(crate) sites: Option<(u64, u32)>,
    /// Where in its code our own handlers begin.
    pub(crate) added_handlers: Option<u16>,
}

impl ClassNumbers {
    /// The class's entry, which is made and announced by `define` if there is none.
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
                // The name of a hidden class is its address, which another one may get after it.
                if unloaded.remove(&entry.get().number) {
                    entry.insert(new());
                }
                entry.into_mut()
            }
        }
    }

    /// Notes that a class passes the load hook, and announces it if it is the first time. Returns
    /// its number, and whether it is the first time.
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
            // Also if it was announced already, by an object or a stack: here we know more.
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

    /// Gives up what is known of a class that no longer can be: another one has its name, and no
    /// number. (A class that passed the load hook, and got its entry there, may wait for its number
    /// still.)
    pub(crate) fn make_room(&mut self, loader: Loader, name: &str) {
        if let Entry::Occupied(entry) = self.classes.entry((loader, name.into()))
            && !entry.get().loaded
        {
            entry.remove();
        }
    }

    /// Gives up what is known of these classes, when there are enough for a look at all.
    pub(crate) fn forget(&mut self, unloaded: impl Iterator<Item = u32>) {
        self.unloaded.extend(unloaded);
        if self.unloaded.len() > self.classes.len() / 4 {
            self.classes
                .retain(|_, entry| !self.unloaded.contains(&entry.number));
            self.unloaded.clear();
        }
    }

    /// Whether there are so many that it is time to look whose loaders are gone: twice as many as
    /// the last look left.
    pub(crate) fn is_look_due(&self) -> bool {
        const FEWEST: usize = 512;
        self.classes.len() >= (2 * self.looked_at).max(FEWEST)
    }

    /// Gives up what is known of the classes of these loaders. Their numbers.
    pub(crate) fn forget_loaders(&mut self, collected: &FxHashSet<Loader>) -> Vec<u32> {
        let is_collected = |(loader, _): &(Loader, _), _: &mut _| collected.contains(loader);
        let classes = self.classes.extract_if(is_collected);
        let numbers: Vec<u32> = classes.map(|(_, entry)| entry.number).collect();
        for number in &numbers {
            self.unloaded.remove(number);
        }
        self.looked_at = self.classes.len();
        numbers
    }

    /// A method's number; whether it is new. `None` when there are no numbers left.
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

    /// The first of `count` line counters of a known method, which are the ones that it had before
    /// if there were as many. `None` when there are none left.
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
        // Numbers are not given twice.
        assert_eq!(number(&mut known, Loader::PLATFORM, "a/B"), collected + 1);
    }

    #[test]
    fn a_look_is_due_when_there_are_twice_as_many() {
        let mut known = ClassNumbers::default();
        let mut looks = Vec::new();
        for n in 0..5_000 {
            number(&mut known, Loader::BOOT, &n.to_string());
            if known.is_look_due() {
                known.forget_loaders(&FxHashSet::default());
                looks.push(n + 1);
            }
        }
        assert_eq!(looks, [512, 1024, 2048, 4096]);
    }
}
