//! Calls of each method by bin, and the longest one.

use super::bins::Bins;
use super::encode::{kind_number, kind_of, pack};
use super::lanes::MAX_POWER;
use crate::search::{Found, is_longer};
use crate::slice::Slice;
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Maximum number of bins of all methods together in a node, so that memory is bounded.
const MAX_COUNTS: usize = 2 << 20;
/// About how many bytes a bin and a longest call take when they are compressed.
const BYTES: [u64; 2] = [1, 10];

/// Calls of each method by the bin of their begin, and its longest call that ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MethodCalls {
    pub(super) bins: Bins,
    /// Methods, bins and numbers of calls, in order.
    counts: Vec<(u32, u64, u64)>,
    longest: FxHashMap<u32, Found>,
}

/// The calls of a method in a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallsOf {
    /// Bins and numbers of calls that begin in them.
    pub(crate) counts: Vec<(u64, u64)>,
    /// The longest call that ends in the node.
    pub(crate) longest: Option<Found>,
}

impl MethodCalls {
    pub(super) fn new(bins: Bins) -> Self {
        Self {
            bins,
            counts: Vec::new(),
            longest: FxHashMap::default(),
        }
    }

    /// Adds calls that begin in a bin. [`Self::sort`] is to be called afterwards.
    pub(super) fn add(&mut self, method: u32, bin: u64, calls: u64) {
        self.counts.push((method, bin, calls));
    }

    /// Adds a call that ends.
    pub(super) fn add_ended(&mut self, found: Found) {
        let longest = self.longest.entry(found.1.method).or_insert(found);
        if is_longer(&found, longest) {
            *longest = found;
        }
    }

    /// Puts bins in order, each once.
    pub(super) fn sort(&mut self) {
        self.counts
            .sort_unstable_by_key(|(method, bin, _)| (*method, *bin));
        self.counts.dedup_by(|later, kept| {
            let is_same = (later.0, later.1) == (kept.0, kept.1);
            if is_same {
                kept.2 = kept.2.saturating_add(later.2);
            }
            is_same
        });
    }

    /// Adds the calls of later segments.
    pub(super) fn append(&mut self, mut later: Self) {
        let power = self.bins.power.max(later.bins.power);
        self.coarsen(power);
        later.coarsen(power);
        self.counts.append(&mut later.counts);
        for found in later.longest.into_values() {
            self.add_ended(found);
        }
    }

    /// Makes bins 2^`power` ns long, if they are shorter.
    fn coarsen(&mut self, power: u8) {
        let shift = power.saturating_sub(self.bins.power);
        if shift == 0 {
            return;
        }
        for (_, bin, _) in &mut self.counts {
            *bin >>= shift;
        }
        self.bins.power = power;
        self.sort();
    }

    /// Makes the bins so long that the calls take about so many bytes, if that is possible with
    /// several bins in so many ns.
    pub(super) fn fit(&mut self, room: u64, length: u64) {
        self.sort();
        let size = |calls: &Self| {
            let [of_count, of_longest] = BYTES;
            of_count * calls.counts.len() as u64 + of_longest * calls.longest.len() as u64
        };
        while (size(self) > room || self.counts.len() > MAX_COUNTS) && self.is_fine(length) {
            self.coarsen(self.bins.power + 1);
        }
    }

    /// Returns true if a node of so many ns has several bins.
    fn is_fine(&self, length: u64) -> bool {
        length >> self.bins.power > 1 && self.bins.power < MAX_POWER
    }

    /// Compresses the calls, with bins so long that they have room in some bytes. Returns `None` if
    /// there is none.
    pub(super) fn packed(
        &self,
        room: u64,
        length: u64,
        origin: Timestamp,
    ) -> Option<(u8, Vec<u8>)> {
        // A longest call takes some bytes: packing what has no room takes time.
        if self.longest.len() as u64 > room {
            return None;
        }
        let mut shorter = None;
        loop {
            let calls = shorter.as_ref().unwrap_or(self);
            let packed = pack(&CallColumns::new(calls, origin))?;
            if packed.len() as u64 <= room {
                return Some((calls.bins.power, packed));
            }
            if !calls.is_fine(length) {
                return None;
            }
            let mut longer = calls.clone();
            longer.coarsen(calls.bins.power + 1);
            shorter = Some(longer);
        }
    }
}

/// [`MethodCalls`].
#[derive(Serialize, Deserialize, Default)]
pub(super) struct CallColumns {
    /// Differences of methods, and the number of bins and of longest calls of each.
    methods: Vec<u32>,
    sizes: Vec<u32>,
    has_longest: Vec<bool>,
    /// Differences of bins within a method.
    bins: Vec<u64>,
    calls: Vec<u64>,
    /// Of longest calls: begins, lengths, threads, levels and kinds.
    begins: Vec<i64>,
    lengths: Vec<i64>,
    threads: Vec<u64>,
    levels: Vec<u32>,
    kinds: Vec<u8>,
}

impl CallColumns {
    fn new(calls: &MethodCalls, origin: Timestamp) -> Self {
        let mut columns = Self::default();
        let mut methods: Vec<u32> = calls.longest.keys().copied().collect();
        methods.extend(calls.counts.iter().map(|(method, ..)| *method));
        methods.sort_unstable();
        methods.dedup();
        let mut counts = calls.counts.iter().peekable();
        let mut before = 0;
        for method in methods {
            columns.methods.push(method - before);
            before = method;
            let (mut size, mut last) = (0, 0);
            while let Some((_, bin, calls)) = counts.next_if(|(of, ..)| *of == method) {
                columns.bins.push(bin - last);
                columns.calls.push(*calls);
                (last, size) = (*bin, size + 1);
            }
            columns.sizes.push(size);
            let longest = calls.longest.get(&method);
            columns.has_longest.push(longest.is_some());
            if let Some((thread, slice)) = longest {
                columns.begins.push(slice.begin.0.wrapping_sub(origin.0));
                let length = slice.end.0.wrapping_sub(slice.begin.0);
                columns.lengths.push(length);
                columns.threads.push(thread.0);
                columns.levels.push(slice.level);
                columns.kinds.push(kind_number(slice.kind));
            }
        }
        columns
    }

    /// Returns the calls of a method; `None` if the columns do not fit together.
    pub(super) fn of(&self, method: u32, origin: Timestamp) -> Option<CallsOf> {
        let mut number = 0_u32;
        let (mut first, mut longest) = (0_usize, 0_usize);
        for (place, difference) in self.methods.iter().enumerate() {
            number = number.wrapping_add(*difference);
            let end = first.checked_add(*self.sizes.get(place)? as usize)?;
            let has_longest = *self.has_longest.get(place)?;
            if number == method {
                let bins = self.bins.get(first..end)?;
                let calls = self.calls.get(first..end)?;
                let bins = super::encode::sums(bins.iter().copied());
                return Some(CallsOf {
                    counts: bins.zip(calls.iter().copied()).collect(),
                    longest: match has_longest {
                        true => Some(self.longest(longest, method, origin)?),
                        false => None,
                    },
                });
            }
            first = end;
            longest += usize::from(has_longest);
        }
        Some(CallsOf::default())
    }

    fn longest(&self, place: usize, method: u32, origin: Timestamp) -> Option<Found> {
        let begin = self.begins.get(place)?.wrapping_add(origin.0);
        let slice = Slice {
            begin: Timestamp(begin),
            end: Timestamp(begin.wrapping_add(*self.lengths.get(place)?)),
            method,
            level: *self.levels.get(place)?,
            kind: kind_of(*self.kinds.get(place)?)?,
        };
        Some((ThreadId(*self.threads.get(place)?), slice))
    }
}
