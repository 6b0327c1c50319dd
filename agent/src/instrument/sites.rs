//! Allocation sites (`alloc=sites`): their numbers, and their definitions for the writer.
//!
//! The rewriter inserts a probe after each site. The probe passes the number of the site and, if an
//! array is created, its length. The class of a site is known by name only until the first object
//! is created there. Then the class exists, and is looked up once ([`AllocSites::found`]). So
//! nothing is looked up for the many sites that never create an object.

use crate::session::{ClassNumbers, Loader, Session};
use jtrail_classfile::{Allocation, AllocationSite};
use jtrail_recorder::memory::Zeros;
use jtrail_recorder::pending::NewClass;
use jtrail_records::Definition;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Maximum number of sites. Only numbered sites need memory.
const MAX_SITES: u32 = 1 << 24;

/// Array of words by site number: the class of the site's objects, once the writer knows the site.
/// It is a static, because every probe reads it. The pointer is null, or points to [`MAX_SITES`]
/// words. The words stay mapped until no probe can read them any more (`startup::leaving`).
static FOUND: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Returns true if the writer knows the site, so that probes can record without a lookup.
#[inline(always)]
pub(crate) fn is_found(site: u32) -> bool {
    class_at(site).is_some()
}

/// Returns the class of the site's objects; `None` if the writer does not know the site yet.
#[inline(always)]
#[expect(unsafe_code, reason = "every probe looks here: the hot path")]
pub(crate) fn class_at(site: u32) -> Option<NewClass> {
    let all = FOUND.load(Ordering::Acquire);
    if all.is_null() || site >= MAX_SITES {
        return None;
    }
    // SAFETY: `show_found` stored the address of `MAX_SITES` words, and `site` is below
    // `MAX_SITES`. The words stay mapped until `forget_found` was called and no probe is running
    // any more.
    NewClass::from_word(unsafe { &*all.add(site as usize) }.load(Ordering::Acquire))
}

/// Makes all sites unknown to probes.
pub(crate) fn forget_found() {
    FOUND.store(ptr::null_mut(), Ordering::SeqCst);
}

/// All allocation sites.
pub(crate) struct AllocSites {
    table: Mutex<Table>,
    found: Zeros<AtomicU32>,
}

#[derive(Default)]
struct Table {
    /// For each site: the name of the class of its objects, as `Class.forName` takes it; none once
    /// the class is found.
    classes: Vec<Option<Arc<str>>>,
    names: FxHashSet<Arc<str>>,
    /// For each class number: the size of an object in bytes.
    sizes: FxHashMap<u32, u64>,
}

impl AllocSites {
    /// Reserves addresses for all sites. No site has a number yet.
    ///
    /// # Errors
    /// If the system has no address range of that size.
    pub(crate) fn new() -> io::Result<Self> {
        let found = Zeros::new(MAX_SITES as usize)?;
        Ok(Self {
            table: Mutex::default(),
            found,
        })
    }

    /// Makes all found sites visible to probes.
    pub(crate) fn show_found(&self) {
        FOUND.store(self.found.all().as_ptr().cast_mut(), Ordering::Release);
    }

    /// Gives sites consecutive numbers. Returns the first number; `None` if there are not enough
    /// numbers left.
    fn take(&self, sites: &[AllocationSite<'_>]) -> Option<u32> {
        let mut table = self.table.lock();
        let Table { classes, names, .. } = &mut *table;
        if classes.len() + sites.len() > MAX_SITES as usize {
            return None;
        }
        let first = classes.len() as u32;
        for site in sites {
            let name = class_made(&site.kind);
            let name = names.get(&*name).cloned().unwrap_or_else(|| {
                let name: Arc<str> = name.into();
                names.insert(Arc::clone(&name));
                name
            });
            classes.push(Some(name));
        }
        Some(first)
    }

    /// Returns the name of the class to look up for a site; `None` if the class was already looked
    /// up.
    pub(crate) fn class_to_resolve(&self, site: u32) -> Option<Arc<str>> {
        self.table.lock().classes.get(site as usize)?.clone()
    }

    /// Returns the size in bytes of an object of the class; `None` if no object of it was measured
    /// yet.
    pub(crate) fn size(&self, class: u32) -> Option<u64> {
        self.table.lock().sizes.get(&class).copied()
    }

    /// Sets the size in bytes of an object of the class.
    pub(crate) fn measured(&self, class: u32, bytes: u64) {
        self.table.lock().sizes.insert(class, bytes);
    }

    /// Notes that the writer knows the site, and that objects of the site have that class.
    pub(crate) fn found(&self, site: u32, class: NewClass) {
        if let Some(name) = self.table.lock().classes.get_mut(site as usize) {
            *name = None;
        }
        if let Some(found) = self.found.all().get(site as usize) {
            found.store(class.to_word(), Ordering::Release);
        }
    }
}

/// Returns the name of the created object's class, as `Class.forName` takes it.
fn class_made(kind: &Allocation<'_>) -> String {
    let internal = match kind {
        Allocation::New { class } | Allocation::MultiArray { class, .. } => class.to_string(),
        Allocation::Array { element } => format!("[{element}"),
        Allocation::Call { .. } => String::new(), // known from the object itself
    };
    internal.replace('/', ".")
}

/// Returns the number of a known method's first site, and defines the method's sites if they are
/// new. If the class passes the load hook again and its sites are unchanged, they keep their
/// numbers. Returns `None` if there are no numbers left.
pub(super) fn number(
    session: &Session,
    all: &AllocSites,
    known: &mut ClassNumbers,
    (loader, class, method): (Loader, &str, &str),
    sites: &[AllocationSite<'_>],
) -> Option<u32> {
    let entry = known.classes.get_mut(&(loader, class.into()))?;
    let entry = entry.methods.get_mut(method)?;
    let mut hasher = FxHasher::default();
    for site in sites {
        (site.line, class_made(&site.kind)).hash(&mut hasher);
    }
    let content = hasher.finish();
    if let Some((had, first)) = entry.sites
        && had == content
    {
        return Some(first);
    }
    let first = all.take(sites)?;
    entry.sites = Some((content, first));
    session.define(Definition::AllocSites {
        method: entry.number,
        first,
        lines: sites.iter().map(|site| site.line).collect(),
    });
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(kind: Allocation<'static>) -> AllocationSite<'static> {
        AllocationSite {
            pc: 0,
            line: 0,
            kind,
        }
    }

    #[test]
    fn places_have_numbers_and_classes() {
        let sites = AllocSites::new().expect("addresses");
        let new = site(Allocation::New {
            class: "a/B$C".into(),
        });
        let arrays = [
            site(Allocation::Array {
                element: "I".into(),
            }),
            site(Allocation::Array {
                element: "La/B;".into(),
            }),
            site(Allocation::MultiArray {
                class: "[[La/B;".into(),
                dimensions: 1,
            }),
        ];
        assert_eq!(sites.take(&[new]), Some(0));
        assert_eq!(sites.take(&arrays), Some(1));
        let class_to_resolve: Vec<_> = (0..5).map(|site| sites.class_to_resolve(site)).collect();
        let names: Vec<_> = class_to_resolve.iter().map(Option::as_deref).collect();
        let expected = ["a.B$C", "[I", "[La.B;", "[[La.B;"];
        assert_eq!(names[..4], expected.map(Some));
        assert_eq!(names[4], None);
        sites.show_found();
        assert!(!is_found(1));
        let class = NewClass::unknown(7);
        sites.found(1, class);
        assert_eq!(class_at(1), Some(class));
        assert!(is_found(1) && !is_found(0) && !is_found(MAX_SITES));
        assert_eq!(sites.class_to_resolve(1), None);
        forget_found();
        assert!(!is_found(1));
    }
}
