//! Numbers of methods.

use jtrail_model::MethodId;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;

/// The number of no method.
pub const NO_METHOD: u32 = u32::MAX;

/// Numbers of methods: 0, 1, 2 … in the order in which they are met. Ids of other tools' traces may
/// have 64 bits.
#[derive(Debug, Default)]
pub(crate) struct Methods(RwLock<Table>);

#[derive(Debug, Default)]
struct Table {
    numbers: FxHashMap<MethodId, u32>,
    ids: Vec<MethodId>,
}

impl Methods {
    /// Returns the number of a method.
    pub(crate) fn number(&self, id: MethodId) -> u32 {
        if let Some(number) = self.0.read().numbers.get(&id) {
            return *number;
        }
        let table = &mut *self.0.write();
        *table.numbers.entry(id).or_insert_with(|| {
            table.ids.push(id);
            table.ids.len() as u32 - 1
        })
    }

    /// Assigns the numbers 0, 1, 2 … to these methods. Returns false if other methods have numbers
    /// already, or one occurs twice.
    pub(crate) fn assign(&self, ids: impl Iterator<Item = MethodId>) -> bool {
        let table = &mut *self.0.write();
        let ids: Vec<MethodId> = ids.collect();
        if table.ids == ids {
            return true;
        }
        if !table.ids.is_empty() {
            return false;
        }
        table.numbers = ids.iter().copied().zip(0..).collect();
        table.ids = ids;
        table.numbers.len() == table.ids.len()
    }

    /// Returns the ids of methods by their numbers.
    pub(crate) fn ids(&self) -> Vec<MethodId> {
        self.0.read().ids.clone()
    }

    /// Returns the method with a number.
    pub(crate) fn id(&self, number: u32) -> Option<MethodId> {
        self.0.read().ids.get(number as usize).copied()
    }
}
