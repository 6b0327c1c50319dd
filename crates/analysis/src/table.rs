//! Tables by id, and numbers for keys.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::hash::Hash;

/// A table from ids to small values. An id that was never set has the default value.
///
/// In a sound trace, ids ascend nearly without gaps. So values are stored in an array, without
/// their ids. The array consists of pages, which are not moved when the table grows. A hostile
/// trace may have any ids. An id far above the number of entries goes into a hash map, so that
/// memory is proportional to the number of entries.
#[derive(Debug, Default)]
pub(super) struct Table<T> {
    /// The pages of the array. A page is empty if none of its ids was set.
    pages: Vec<Box<[T]>>,
    sparse: FxHashMap<u64, T>,
    entries: usize,
}

const PAGE: usize = 4_096;
/// The array has at most this many slots for each entry, plus a constant.
const PLACES_BY_ENTRY: usize = 4;
const FIRST_PLACES: usize = 16 * PAGE;

impl<T: Copy + Default + PartialEq> Table<T> {
    pub(super) fn get(&self, id: u64) -> T {
        let value = usize::try_from(id)
            .ok()
            .and_then(|id| self.pages.get(id / PAGE)?.get(id % PAGE))
            .copied()
            .unwrap_or_default();
        if value == T::default() && !self.sparse.is_empty() {
            return self.sparse.get(&id).copied().unwrap_or_default();
        }
        value
    }

    pub(super) fn set(&mut self, id: u64, value: T) {
        if !self.sparse.is_empty()
            && let Some(place) = self.sparse.get_mut(&id)
        {
            *place = value;
            return;
        }
        let most = FIRST_PLACES.saturating_add(self.entries.saturating_mul(PLACES_BY_ENTRY));
        match usize::try_from(id) {
            Ok(at) if at < most => {
                let page = at / PAGE;
                if page >= self.pages.len() {
                    self.pages.resize_with(page + 1, Box::default);
                }
                let page = &mut self.pages[page];
                if page.is_empty() {
                    *page = vec![T::default(); PAGE].into();
                }
                let place = &mut page[at % PAGE];
                self.entries += usize::from(*place == T::default());
                *place = value;
            }
            _ => {
                self.sparse.insert(id, value);
                self.entries += 1;
            }
        }
    }
}

/// Serialised as the list of keys.
impl<K: Serialize> Serialize for Index<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.keys.serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de> + Copy + Eq + Hash> Deserialize<'de> for Index<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut index = Self::default();
        for key in Vec::deserialize(deserializer)? {
            index.number(key);
        }
        Ok(index)
    }
}

/// Assigns the numbers 0, 1, 2 … to keys, in the order of their first use.
#[derive(Debug)]
pub(super) struct Index<K> {
    numbers: FxHashMap<K, u32>,
    keys: Vec<K>,
    /// The last key and its number: the next key is often the same.
    last: Option<(K, u32)>,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self {
            numbers: FxHashMap::default(),
            keys: Vec::new(),
            last: None,
        }
    }
}

impl<K: Copy + Eq + Hash> Index<K> {
    pub(super) fn number(&mut self, key: K) -> u32 {
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        self.last = Some((key, number));
        number
    }

    /// Returns the key of a number.
    pub(super) fn key(&self, number: u32) -> K {
        self.keys[number as usize]
    }

    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_any_id() {
        let mut table = Table::default();
        let ids = [1, 2, 4_095, 4_096, 60_000, 70_000, 1 << 40, u64::MAX];
        for (value, id) in (1_u32..).zip(ids) {
            table.set(id, value);
        }
        for (value, id) in (1_u32..).zip(ids) {
            assert_eq!(table.get(id), value, "{id}");
        }
        assert_eq!(
            (table.get(0), table.get(3), table.get(u64::MAX - 1)),
            (0, 0, 0)
        );
        table.set(u64::MAX, 77);
        table.set(1, 78);
        assert_eq!(
            (table.get(u64::MAX), table.get(1), table.entries),
            (77, 78, 8)
        );
    }

    /// An id that was beyond the array when it was set stays in the hash map, even if the array
    /// grows beyond the id.
    #[test]
    fn the_array_grows_over_ids_that_came_early() {
        let mut table = Table::default();
        table.set(100_000, 5_u32);
        for id in 1..120_000 {
            if id != 100_000 {
                table.set(id, 1);
            }
        }
        assert_eq!((table.get(100_000), table.get(99_999)), (5, 1));
        table.set(100_000, 6);
        assert_eq!((table.get(100_000), table.entries), (6, 119_999));
    }

    #[test]
    fn huge_ids_take_no_huge_memory() {
        let mut table = Table::default();
        for n in 0..10_000_u64 {
            table.set(u64::MAX - n * 1_000_003, 1_u32);
        }
        assert!(table.pages.is_empty());
        table.set(FIRST_PLACES as u64 + 4 * 10_000 - 1, 1);
        assert_eq!(table.pages.iter().filter(|p| !p.is_empty()).count(), 1);
    }

    #[test]
    fn keys_are_numbered_in_order() {
        let mut index = Index::default();
        let numbers = ["a", "b", "b", "a", "c"].map(|key| index.number(key));
        assert_eq!(numbers, [0, 1, 1, 0, 2]);
        assert_eq!(index.keys(), ["a", "b", "c"]);
        assert_eq!(index.key(2), "c");
    }
}
