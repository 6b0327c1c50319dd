//! Which classes had their details reported, and the sizes of class files.

use crate::session::Loader;
use jtrail_records::NumberSet;
use jtrail_records::definition::ClassDetailInfo;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// The key of a class file: its loader, and the class's internal name.
pub(in crate::sources) type Key = (Loader, Box<str>);

/// Which classes had their details reported, and the sizes of class files.
#[derive(Default)]
pub(in crate::sources) struct Details {
    /// Size in bytes of class files that passed the load hook. Removed when the class's details are
    /// reported.
    sizes: Mutex<FxHashMap<Key, u32>>,
    /// Numbers of the classes whose details were reported.
    reported: Mutex<NumberSet>,
}

/// Maximum number of sizes that are kept, because many loaded classes are never prepared. If it is
/// reached, all sizes are dropped.
const MAX_SIZES: usize = 1 << 16;

impl Details {
    /// Notes the size of a class file that passes the load hook.
    pub(in crate::sources) fn loaded(&self, loader: Loader, name: Option<&str>, bytes: usize) {
        let Some(name) = name else { return };
        let mut sizes = self.sizes.lock();
        if sizes.len() >= MAX_SIZES {
            sizes.clear();
        }
        sizes.insert((loader, name.into()), u32::try_from(bytes).unwrap_or(0));
    }

    pub(in crate::sources) fn size(&self, class: &Key) -> u32 {
        self.sizes.lock().get(class).copied().unwrap_or(0)
    }

    pub(in crate::sources) fn is_reported(&self, class: u32) -> bool {
        self.reported.lock().contains(class.into())
    }

    /// Calls `report` for each class in `found` that was not reported yet, in the order of `found`.
    pub(in crate::sources) fn report(
        &self,
        found: PendingClasses,
        mut report: impl FnMut(ClassDetailInfo),
    ) {
        let mut reported = self.reported.lock();
        for (key, info) in found.classes {
            if reported.insert(info.class.into()) {
                self.sizes.lock().remove(&key);
                report(info);
            }
        }
    }
}

/// Classes to be reported, each after its superclass and interfaces.
#[derive(Default)]
pub(in crate::sources) struct PendingClasses {
    pub(in crate::sources) classes: Vec<(Key, ClassDetailInfo)>,
    pub(in crate::sources) seen: FxHashSet<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(classes: &[u32]) -> PendingClasses {
        let class = |&class: &u32| {
            let info = ClassDetailInfo {
                class,
                ..ClassDetailInfo::default()
            };
            ((Loader::BOOT, class.to_string().into()), info)
        };
        PendingClasses {
            classes: classes.iter().map(class).collect(),
            seen: FxHashSet::default(),
        }
    }

    #[test]
    fn details_are_reported_once_and_in_order() {
        let state = Details::default();
        let mut reported = Vec::new();
        state.report(found(&[70, 6]), |info| reported.push(info.class));
        state.report(found(&[6, 3, 70, 80]), |info| reported.push(info.class));
        assert_eq!(reported, [70, 6, 3, 80]);
        assert!(state.is_reported(3) && !state.is_reported(4));
    }

    #[test]
    fn sizes_are_kept_until_they_are_reported() {
        let state = Details::default();
        state.loaded(Loader::BOOT, Some("7"), 812);
        state.loaded(Loader::BOOT, None, 1);
        assert_eq!(state.size(&(Loader::PLATFORM, "7".into())), 0);
        let class = (Loader::BOOT, "7".into());
        assert_eq!(state.size(&class), 812);
        state.report(found(&[7]), |_| {});
        assert_eq!(state.size(&class), 0);
        for class in 0..=MAX_SIZES {
            state.loaded(Loader::BOOT, Some(&class.to_string()), 1);
        }
        assert_eq!(state.sizes.lock().len(), 1);
    }
}
