//! Numbers that look random, and are the same for the same seed.

/// A generator of random numbers: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns a generator. Different seeds give different numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to, and not including, `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a number from 0.0 up to, and not including, 1.0.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with a probability from 0.0 to 1.0.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Returns a number from `least` to `most`. Small ones are more frequent: each octave has the
    /// same share.
    pub(crate) fn spread(&mut self, least: u64, most: u64) -> u64 {
        let octaves = (most as f64 / least as f64).ln();
        (least as f64 * (self.fraction() * octaves).exp()) as u64
    }

    /// Returns an index below `count`. Each is less frequent than the one before.
    pub(crate) fn uneven(&mut self, count: usize) -> usize {
        ((self.fraction().powi(2) * count as f64) as usize).min(count - 1)
    }
}
