//! Recognizes the classes of objects without reading their tags.

use super::tag::CLASS_SHIFT;
use jtrail_jvm::jni::{ClassRef, Env, WeakSlot};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_recorder::pending::NewClass;
use jtrail_records::NumberSet;
use parking_lot::Mutex;
use std::sync::OnceLock;

/// Weak references to classes by class number, readable without a lock. They are kept until the
/// agent detaches, because each takes only a few bytes.
pub(super) struct ClassRefs {
    pages: Box<[OnceLock<Page>]>,
    /// Numbers of the classes whose objects are threads or class objects. The numbers of these
    /// objects are looked up later.
    looked_up: Mutex<NumberSet>,
}

const PAGE: usize = 1024;
type Page = Box<[WeakSlot; PAGE]>;
/// Enough pages for every class number that fits into a tag.
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
    /// Returns true if `class` is the class with the number of `known`, and [`Self::keep`] has kept
    /// a reference to it.
    #[inline]
    pub(super) fn is(&self, env: &Env<'_>, class: ClassRef<'_>, known: NewClass) -> bool {
        let number = known.number() as usize;
        let page = self.pages.get(number / PAGE).and_then(OnceLock::get);
        page.is_some_and(|page| page[number % PAGE].is(env, class))
    }

    /// Keeps a reference to the class with that number.
    pub(super) fn keep(
        &self,
        jvmti: Jvmti,
        env: &mut Env<'_>,
        class: ClassRef<'_>,
        number: u32,
    ) -> NewClass {
        let at = number as usize;
        let Some(page) = self.pages.get(at / PAGE) else {
            return NewClass::unknown(number);
        };
        let slot = &page.get_or_init(|| Box::new([const { WeakSlot::empty() }; PAGE]))[at % PAGE];
        let mut looked_up = self.looked_up.lock();
        if !slot.is_set() {
            if is_looked_up_class(jvmti, env, class) {
                looked_up.insert(number.into());
            }
            slot.set(env, class);
        }
        match looked_up.contains(number.into()) {
            true => NewClass::looked_up(number),
            false => NewClass::unknown(number),
        }
    }
}

/// Returns true if objects of the class are threads or class objects.
fn is_looked_up_class(jvmti: Jvmti, env: &mut Env<'_>, class: ClassRef<'_>) -> bool {
    const LOOKED_UP: [&str; 2] = ["Ljava/lang/Thread;", "Ljava/lang/Class;"];
    let mut found = false;
    env.for_superclasses(class, |_, class| {
        let name = jvmti.class_signature(class);
        found = name.is_ok_and(|name| LOOKED_UP.contains(&&*name));
        !found
    });
    found
}
