//! Tables indexed by id.

use std::collections::HashMap;

/// A map from ids to values.
///
/// Ids of a valid trace are small and nearly without gaps, so they index an array. A corrupt trace
/// may have any ids: an id far above the number of entries goes to a hash map, so that memory stays
/// in proportion to the number of entries.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    dense: Vec<Option<T>>,
    sparse: HashMap<u64, T>,
    entries: usize,
}

/// Array length allowed per entry. An empty table may have an array of length [`FIRST_PLACES`].
const PLACES_BY_ENTRY: usize = 8;
const FIRST_PLACES: usize = 1024;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            dense: Vec::new(),
            sparse: HashMap::new(),
            entries: 0,
        }
    }
}

impl<T> Table<T> {
    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    pub(crate) fn get(&self, id: u64) -> Option<&T> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at));
        match dense {
            Some(Some(value)) => Some(value),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&id),
        }
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        let dense = usize::try_from(id)
            .ok()
            .and_then(|at| self.dense.get_mut(at));
        match dense {
            Some(Some(value)) => Some(value),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get_mut(&id),
        }
    }

    /// Adds an entry. If the table already has `id`, keeps the existing entry and returns false.
    pub(crate) fn insert(&mut self, id: u64, value: T) -> bool {
        if self.get(id).is_some() {
            return false;
        }
        let places = FIRST_PLACES + PLACES_BY_ENTRY * self.entries;
        match usize::try_from(id) {
            Ok(at) if at < places => {
                if at >= self.dense.len() {
                    self.dense.resize_with(at + 1, || None);
                }
                self.dense[at] = Some(value);
            }
            _ => {
                self.sparse.insert(id, value);
            }
        }
        self.entries += 1;
        true
    }

    /// Returns the entry for `id`, and inserts `new()` first if there is none.
    #[inline]
    pub(crate) fn or_insert_with(&mut self, id: u64, new: impl FnOnce() -> T) -> &mut T {
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        if !matches!(self.dense.get(at), Some(Some(_))) && !self.sparse.contains_key(&id) {
            self.insert(id, new());
        }
        match self.dense.get_mut(at) {
            Some(Some(value)) => value,
            _ => self
                .sparse
                .get_mut(&id)
                .expect("an entry in one of the two"),
        }
    }

    /// Iterates over all values.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let dense = self.dense.iter_mut().flatten();
        dense.chain(self.sparse.values_mut())
    }

    /// Iterates over all ids with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let dense = self.dense.iter().enumerate();
        let dense = dense.filter_map(|(id, value)| Some((id as u64, value.as_ref()?)));
        dense.chain(self.sparse.iter().map(|(id, value)| (*id, value)))
    }

    /// Replaces each value by the result of `change`. Removes the entry if the result is `None`.
    pub(crate) fn retain(&mut self, change: impl Fn(T) -> Option<T>)
    where
        T: Copy,
    {
        for place in &mut self.dense {
            let before = *place;
            *place = before.and_then(&change);
            self.entries -= usize::from(before.is_some() && place.is_none());
        }
        let before = self.sparse.len();
        self.sparse.retain(|_, value| match change(*value) {
            Some(changed) => {
                *value = changed;
                true
            }
            None => false,
        });
        self.entries -= before - self.sparse.len();
    }
}

#[cfg(test)]
impl<T> Table<T> {
    /// Returns the approximate memory of the entries, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let dense = self.dense.capacity() * size_of::<Option<T>>();
        dense + self.sparse.capacity() * (size_of::<(u64, T)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_are_found() {
        let mut table = Table::default();
        let ids: Vec<u64> = (0..5000)
            .chain([u64::MAX, 1 << 40, 1_000_000, 20_000])
            .collect();
        for &id in ids.iter().rev() {
            assert!(table.insert(id, id));
        }
        for &id in &ids {
            assert_eq!(table.get(id), Some(&id));
            assert!(!table.insert(id, 0));
            assert_eq!(table.get_mut(id), Some(&mut { id }));
        }
        assert_eq!(table.get(5000), None);
        assert_eq!(table.len(), ids.len());
        assert_eq!(table.iter().count(), ids.len());
        assert!(table.iter().all(|(id, value)| id == *value));
        assert!(table.dense.len() < 20_000);
        table.retain(|id| (id % 2 == 0).then_some(id));
        let even = ids.iter().filter(|id| **id % 2 == 0).count();
        assert_eq!((table.len(), table.iter().count()), (even, even));
        assert_eq!((table.get(2), table.get(3)), (Some(&2), None));
    }
}
