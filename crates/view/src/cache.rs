//! Segments that were decoded lately.

use crate::segment::Segment;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Segments by their numbers, up to some bytes of memory. The one that was used longest ago leaves
/// first.
#[derive(Debug)]
pub(crate) struct Cache {
    segments: BTreeMap<usize, (u64, Arc<Segment>)>,
    bytes: usize,
    max_bytes: usize,
    /// Number of uses so far.
    uses: u64,
}

impl Cache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            segments: BTreeMap::new(),
            bytes: 0,
            max_bytes,
            uses: 0,
        }
    }

    pub(crate) fn get(&mut self, number: usize) -> Option<Arc<Segment>> {
        let (used, segment) = self.segments.get_mut(&number)?;
        self.uses += 1;
        *used = self.uses;
        Some(Arc::clone(segment))
    }

    pub(crate) fn put(&mut self, number: usize, segment: Arc<Segment>) {
        self.bytes += segment.bytes();
        self.uses += 1;
        if let Some((_, old)) = self.segments.insert(number, (self.uses, segment)) {
            self.bytes -= old.bytes();
        }
        while self.bytes > self.max_bytes && self.segments.len() > 1 {
            let oldest = self.segments.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(number, _)| *number) else {
                return;
            };
            if let Some((_, old)) = self.segments.remove(&oldest) {
                self.bytes -= old.bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_leaves_first() {
        let segment = || Arc::new(Segment::default());
        let size = segment().bytes();
        let mut cache = Cache::new(3 * size);
        for number in 0..3 {
            cache.put(number, segment());
        }
        assert!(cache.get(0).is_some());
        cache.put(3, segment());
        let kept = [0, 1, 2, 3].map(|number| cache.get(number).is_some());
        assert_eq!(kept, [true, false, true, true]);
        assert_eq!(cache.bytes, 3 * size);
    }
}
