//! What was read lately.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Values by key, up to some bytes of memory. The one that was used longest ago leaves first.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    entries: BTreeMap<K, Entry<V>>,
    /// Keys by their latest uses.
    uses: BTreeMap<u64, K>,
    bytes: usize,
    max_bytes: usize,
    /// Number of uses so far.
    used: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: Arc<V>,
    bytes: usize,
    used: u64,
}

impl<K: Ord + Copy, V> Cache<K, V> {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            uses: BTreeMap::new(),
            bytes: 0,
            max_bytes,
            used: 0,
        }
    }

    pub(crate) fn get(&mut self, key: K) -> Option<Arc<V>> {
        let entry = self.entries.get_mut(&key)?;
        self.uses.remove(&entry.used);
        self.used += 1;
        entry.used = self.used;
        self.uses.insert(self.used, key);
        Some(Arc::clone(&entry.value))
    }

    /// Adds a value that takes so many bytes.
    pub(crate) fn put(&mut self, key: K, value: Arc<V>, bytes: usize) {
        self.remove(key);
        self.bytes += bytes;
        self.used += 1;
        let used = self.used;
        self.entries.insert(key, Entry { value, bytes, used });
        self.uses.insert(used, key);
        while self.bytes > self.max_bytes && self.entries.len() > 1 {
            let Some((_, oldest)) = self.uses.first_key_value() else {
                return;
            };
            self.remove(*oldest);
        }
    }

    fn remove(&mut self, key: K) {
        if let Some(entry) = self.entries.remove(&key) {
            self.uses.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_leaves_first() {
        let mut cache = Cache::new(30);
        for number in 0..3 {
            cache.put(number, Arc::new(number), 10);
        }
        assert!(cache.get(0).is_some());
        cache.put(3, Arc::new(3), 10);
        let kept = [0, 1, 2, 3].map(|number| cache.get(number).is_some());
        assert_eq!(kept, [true, false, true, true]);
        assert_eq!(cache.bytes, 30);
        cache.put(3, Arc::new(4), 20);
        assert_eq!(cache.bytes, 30);
        assert_eq!(cache.get(3).as_deref(), Some(&4));
    }
}
