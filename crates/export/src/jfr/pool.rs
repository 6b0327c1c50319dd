//! Constants, and which of them a chunk uses.
//!
//! A key stands for the same constant in all chunks: the JDK takes a constant from the preceding
//! chunk if that has one with this key. A chunk has only the constants that it uses.

use super::encoding::{integer, utf8};
use super::schema::Type;
use rustc_hash::FxHashMap;

/// The constants of one type.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// The fields of all constants, one after another.
    fields: Vec<u8>,
    /// For each key, where the fields end.
    ends: Vec<usize>,
    /// For each key, true if the current chunk uses the constant.
    is_used: Vec<bool>,
    used: Vec<u32>,
}

impl Pool {
    /// Adds a constant and returns its key.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u32 {
        write(&mut self.fields);
        self.ends.push(self.fields.len());
        self.is_used.push(false);
        self.ends.len() as u32
    }

    /// Makes the current chunk use a constant. Returns true if it did not yet. Key 0 is none.
    #[inline]
    pub(super) fn touch(&mut self, key: u32) -> bool {
        match self.is_used.get_mut((key as usize).wrapping_sub(1)) {
            Some(is_used) if !*is_used => {
                *is_used = true;
                self.used.push(key);
                true
            }
            _ => false,
        }
    }

    /// Appends the constants that the current chunk uses, and begins the next chunk. Returns the
    /// number of pools: the JDK does not accept one without constants.
    pub(super) fn write(&mut self, id: Type, out: &mut Vec<u8>) -> u64 {
        if self.used.is_empty() {
            return 0;
        }
        begin_pool(id, self.used.len(), out);
        for key in self.used.drain(..) {
            let index = key as usize - 1;
            self.is_used[index] = false;
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            integer(out, key.into());
            out.extend(&self.fields[start..self.ends[index]]);
        }
        1
    }
}

/// Appends the head of a pool.
pub(super) fn begin_pool(id: Type, count: usize, out: &mut Vec<u8>) {
    integer(out, id as u64);
    integer(out, count as u64);
}

/// Constants of one type that are a text.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) pool: Pool,
    keys: FxHashMap<String, u32>,
}

impl Texts {
    /// Returns the key of a text.
    pub(super) fn key(&mut self, text: &str) -> u32 {
        if let Some(key) = self.keys.get(text) {
            return *key;
        }
        let key = self.pool.add(|out| utf8(out, text));
        self.keys.insert(text.to_owned(), key);
        key
    }

    /// Returns the key of a text that the current chunk uses; 0 if the text is empty.
    pub(super) fn used_key(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let key = self.key(text);
        self.pool.touch(key);
        key
    }
}
