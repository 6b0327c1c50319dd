//! Map from ids to small numbers.

use std::collections::HashMap;

/// Map from ids to small numbers. Ids without large gaps index an array. An id far above the number
/// of entries goes to a hash map, so that memory stays proportional to the entries.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// For each id, its number plus 1, or 0 for no entry.
    dense: Vec<u32>,
    sparse: HashMap<u64, u32>,
    entries: usize,
}

/// Array length that is allowed: this many elements per entry, plus `FIRST_PLACES`.
const PLACES_BY_ENTRY: usize = 8;
const FIRST_PLACES: usize = 1024;

impl Index {
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<usize> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at));
        match dense {
            Some(&place) if place > 0 => Some(place as usize - 1),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&id).map(|&number| number as usize),
        }
    }

    /// Sets the number of an id. Replaces the number that the id had before.
    pub(super) fn set(&mut self, id: u64, number: usize) {
        let Some(number) = u32::try_from(number).ok().filter(|n| *n < u32::MAX) else {
            return;
        };
        self.remove(id);
        let places = FIRST_PLACES + PLACES_BY_ENTRY * self.entries;
        match usize::try_from(id) {
            Ok(at) if at < places => {
                if at >= self.dense.len() {
                    self.dense.resize(at + 1, 0);
                }
                self.dense[at] = number + 1;
            }
            _ => {
                self.sparse.insert(id, number);
            }
        }
        self.entries += 1;
    }

    pub(super) fn remove(&mut self, id: u64) {
        let dense = usize::try_from(id).ok();
        let dense = dense.and_then(|at| self.dense.get_mut(at));
        let was = dense.is_some_and(|place| std::mem::take(place) > 0);
        if was || self.sparse.remove(&id).is_some() {
            self.entries -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_are_found() {
        let mut index = Index::default();
        let ids = (0..5000).chain([u64::MAX, 1 << 40, 1_000_000, 20_000]);
        let ids: Vec<u64> = ids.collect();
        for (number, &id) in ids.iter().enumerate().rev() {
            index.set(id, number + 1);
            index.set(id, number);
        }
        for (number, &id) in ids.iter().enumerate() {
            assert_eq!(index.get(id), Some(number));
        }
        assert_eq!((index.get(5000), index.entries), (None, ids.len()));
        assert!(index.dense.len() < 50_000);
        for &id in &ids {
            index.remove(id);
            assert_eq!(index.get(id), None);
        }
        index.remove(7);
        assert_eq!(index.entries, 0);
    }
}
