//! Places where code creates objects (`alloc=sites`): their numbers, and what the writer has to
//! know of them.
//!
//! The rewriter puts a probe behind each of them, which hands over nothing but the place's number
//! and an array's length. What class a place makes objects of is known by name only until one is
//! made there: then the class is there for certain, and is looked up once ([`AllocSites::found`]).
//! Most places are never reached.

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

/// Room for so many places. Memory is only used up as places are.
const MOST: u32 = 1 << 24;

/// By number: the class of what a place makes, as a word, once the writer knows all of the place.
/// Apart from the rest, because every probe looks at it. Null, or [`MOST`] of them, which stay
/// until no probe can look at them any more (`hooks::leaving`).
static FOUND: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Whether a record may be made of the place without further ado.
#[inline(always)]
pub(crate) fn is_found(site: u32) -> bool {
    class_at(site).is_some()
}

/// The class of what the place makes, if a record may be made of it without further ado.
#[inline(always)]
#[expect(unsafe_code, reason = "every probe looks here: the hot path")]
pub(crate) fn class_at(site: u32) -> Option<NewClass> {
    let all = FOUND.load(Ordering::Acquire);
    if all.is_null() || site >= MOST {
        return None;
    }
    // SAFETY: `show_found` was given `MOST` of them, which stay until `forget_found` has been
    // called and no probe is on its way.
    NewClass::from_word(unsafe { &*all.add(site as usize) }.load(Ordering::Acquire))
}

/// From now on, no place is known.
pub(crate) fn forget_found() {
    FOUND.store(ptr::null_mut(), Ordering::SeqCst);
}

/// All places.
pub(crate) struct AllocSites {
    table: Mutex<Table>,
    found: Zeros<AtomicU32>,
}

#[derive(Default)]
struct Table {
    /// By number: the class of what is made there, as `Class.forName` takes it; none once it is
    /// found.
    classes: Vec<Option<Arc<str>>>,
    names: FxHashSet<Arc<str>>,
    /// Bytes of an object, by the number of its class.
    sizes: FxHashMap<u32, u64>,
}

impl AllocSites {
    /// No place yet.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub(crate) fn new() -> io::Result<Self> {
        let found = Zeros::new(MOST as usize)?;
        Ok(Self {
            table: Mutex::default(),
            found,
        })
    }

    /// Lets probes see which places are found.
    pub(crate) fn show_found(&self) {
        FOUND.store(self.found.all().as_ptr().cast_mut(), Ordering::Release);
    }

    /// Gives places their numbers in a row; the first. `None` when there are none left.
    fn take(&self, sites: &[AllocationSite<'_>]) -> Option<u32> {
        let mut table = self.table.lock();
        let Table { classes, names, .. } = &mut *table;
        if classes.len() + sites.len() > MOST as usize {
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

    /// The class that is to be looked up for a place; `None` if that is done.
    pub(crate) fn class_to_resolve(&self, site: u32) -> Option<Arc<str>> {
        self.table.lock().classes.get(site as usize)?.clone()
    }

    /// Bytes of an object of the class, if one was measured.
    pub(crate) fn size(&self, class: u32) -> Option<u64> {
        self.table.lock().sizes.get(&class).copied()
    }

    /// An object of the class was measured.
    pub(crate) fn measured(&self, class: u32, bytes: u64) {
        self.table.lock().sizes.insert(class, bytes);
    }

    /// The writer knows all of the place, which makes objects of that class.
    pub(crate) fn found(&self, site: u32, class: NewClass) {
        if let Some(name) = self.table.lock().classes.get_mut(site as usize) {
            *name = None;
        }
        if let Some(found) = self.found.all().get(site as usize) {
            found.store(class.to_word(), Ordering::Release);
        }
    }
}

/// The name of the class that an instruction makes an object of, as `Class.forName` takes it.
fn class_made(kind: &Allocation<'_>) -> String {
    let internal = match kind {
        Allocation::New { class } | Allocation::MultiArray { class, .. } => class.to_string(),
        Allocation::Array { element } => format!("[{element}"),
        Allocation::Call { .. } => String::new(), // the object itself tells
    };
    internal.replace('/', ".")
}

/// The number of the first of a known method's places, which are announced if they are new. They
/// keep their numbers if the class passes the load hook again and they are the same. `None` when
/// there are no numbers left.
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
        assert!(is_found(1) && !is_found(0) && !is_found(MOST));
        assert_eq!(sites.class_to_resolve(1), None);
        forget_found();
        assert!(!is_found(1));
    }
}
