//! Ids of methods, by the numbers that the recording agent or a file gave them.

use crate::{ByNumber, ClassId, MethodId};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

type Table = ByNumber<(MethodId, ClassId)>;

/// Ids of methods and of their classes, by method number. One thread assigns ids. Clones share the
/// table, so that other threads may look up ids at the same time.
#[derive(Clone, Debug, Default)]
pub struct MethodIds(Arc<RwLock<Table>>);

impl MethodIds {
    /// Returns the ids of a method, or [`MethodId::NONE`] and [`ClassId::NONE`] if it has none.
    #[inline]
    pub fn get(&self, number: u32) -> (MethodId, ClassId) {
        self.read().get(number).copied().unwrap_or_default()
    }

    /// Assigns ids to a method.
    pub fn give(&self, number: u32, ids: (MethodId, ClassId)) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *table.at(number) = ids;
    }

    /// Locks the table for reading, to look up many methods.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Table> {
        // A poisoned lock is fine: an assignment that panics does not damage other entries.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
