//! Hashing for tables whose keys may come from a trace file.
//!
//! Decoders of text formats and call trees look up a key for each event. With the standard
//! library's hasher, the look-ups would take most of the time. Each table has a random seed, so the
//! author of a file can't choose keys that collide. No hash is ever written to a file.

use std::hash::{BuildHasher, RandomState};

/// Hasher for short texts and numbers, with a separate seed for each table.
pub(crate) type Seed = foldhash::fast::RandomState;

/// Digest that replaces a text where only equality matters. It takes less memory than the text.
/// In practice, no two texts have the same digest: it has 128 bits, and its keys are random.
pub(crate) type Digest = [u64; 2];

/// Creates the digests of one table.
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
