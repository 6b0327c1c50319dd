//! Ids of methods by the numbers that whoever recorded them gave.

use crate::{ByNumber, ClassId, MethodId};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

type Table = ByNumber<(MethodId, ClassId)>;

/// The ids of methods and their classes, by number. One thread gives them, and any that has a copy
/// may look them up meanwhile.
#[derive(Clone, Debug, Default)]
pub struct MethodIds(Arc<RwLock<Table>>);

impl MethodIds {
    /// The ids of a number; [`MethodId::NONE`] where none were given.
    #[inline]
    pub fn get(&self, number: u32) -> (MethodId, ClassId) {
        self.read().get(number).copied().unwrap_or_default()
    }

    /// A number has these ids from now on.
    pub fn give(&self, number: u32, ids: (MethodId, ClassId)) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *table.at(number) = ids;
    }

    /// All of them, for who looks up many.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Table> {
        // Whoever panicked while it gave one has not spoilt the others.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
