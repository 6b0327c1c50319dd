//! A hasher for short texts and numbers, seeded at random.
//!
//! Readers of text and trees of calls look something up for each event, and the standard library's hasher
//! would take most of their time. Without the seed, nobody can make keys that meet in one place.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A seed of its own for each table.
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seed {
    type Hasher = Mixed;

    fn build_hasher(&self) -> Mixed {
        Mixed(self.0)
    }
}

/// A seed, with numbers mixed in.
#[derive(Debug)]
pub(crate) struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length tells apart what differs only in zeros at the end.
        self.write_u64(u64::from_le_bytes(last) ^ (bytes.len() as u64).rotate_right(8));
    }

    fn write_u64(&mut self, number: u64) {
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        let product = u128::from(self.0 ^ number).wrapping_mul(ODD);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Stands for a text: another one with the same digest is not found in as many years as the world has. Where texts are to be known again, and
/// nothing else is asked of them, that takes less room.
pub(crate) type Digest = [u64; 2];

/// Digests of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digests(RandomState, RandomState);

impl Digests {
    pub(crate) fn of(&self, text: &str) -> Digest {
        [self.0.hash_one(text), self.1.hash_one(text)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn texts_differ_in_every_byte_and_in_length() {
        let seed = Seed::default();
        let mut texts: Vec<Vec<u8>> = (0..40).map(|n| vec![0; n]).collect();
        for length in 1..40 {
            for at in 0..length {
                let mut text = vec![0; length];
                text[at] = 1;
                texts.push(text);
            }
        }
        let hashes: HashSet<_> = texts.iter().map(|text| seed.hash_one(text)).collect();
        assert_eq!(hashes.len(), texts.len());
        assert_ne!(seed.hash_one(1), Seed::default().hash_one(1));
    }
}
