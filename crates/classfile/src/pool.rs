//! The constant pool: read in place, and only ever extended.
//!
//! [`Pool`] is a table of offsets into the class file. [`PoolEditor`] collects the entries that a
//! rewrite adds. The old pool is copied byte for byte and the new entries follow it, so no index in
//! the rest of the class changes.

use std::collections::HashMap;

use crate::reader::{Reader, u2_at};
use crate::{ParseError, Refusal};
use simd_cesu8::mutf8;

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const FLOAT: u8 = 4;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
const CLASS: u8 = 7;
const METHODREF: u8 = 10;
const NAME_AND_TYPE: u8 = 12;

pub(crate) const THROWABLE: &[u8] = b"java/lang/Throwable";

/// The constant pool of a class file: for each entry, the file offset of its tag; 0 for entry 0 and
/// for the second half of a long or double.
pub(crate) struct Pool<'a> {
    bytes: &'a [u8],
    offsets: Vec<u32>,
    end: usize,
}

impl<'a> Pool<'a> {
    /// Parses the pool of the class file `bytes`. The reader must be at `constant_pool_count`.
    pub(crate) fn parse(bytes: &'a [u8], r: &mut Reader<'a>) -> Result<Pool<'a>, ParseError> {
        let start = r.offset();
        let count = usize::from(r.u2()?);
        if count == 0 {
            return Err(ParseError::Malformed {
                what: "a constant pool count of 0",
                offset: start,
            });
        }
        let mut offsets = Vec::with_capacity(count);
        offsets.push(0);
        while offsets.len() < count {
            let offset = r.offset();
            offsets.push(offset as u32);
            let tag = r.u1()?;
            let len = match tag {
                UTF8 => usize::from(r.u2()?),
                INTEGER | FLOAT | 9 | METHODREF | 11 | NAME_AND_TYPE | 17 | 18 => 4,
                LONG | DOUBLE => 8,
                CLASS | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                _ => return Err(ParseError::UnknownConstant { tag, offset }),
            };
            r.take(len)?;
            if len == 8 && matches!(tag, LONG | DOUBLE) {
                if offsets.len() == count {
                    return Err(ParseError::Malformed {
                        what: "a long or double as the pool's last entry",
                        offset,
                    });
                }
                offsets.push(0);
            }
        }
        Ok(Pool {
            bytes,
            offsets,
            end: r.offset(),
        })
    }

    /// Returns the offset of the first byte after the pool.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Returns `constant_pool_count`: one more than the highest index.
    pub(crate) fn count(&self) -> u16 {
        self.offsets.len() as u16
    }

    /// Returns an entry's tag, and the bytes from its content to the end of the file.
    fn entry(&self, index: u16) -> Option<(u8, &'a [u8])> {
        let offset = *self.offsets.get(usize::from(index))? as usize;
        let (tag, contents) = self.bytes.get(offset..)?.split_first()?;
        (offset != 0).then_some((*tag, contents))
    }

    pub(crate) fn tag(&self, index: u16) -> Option<u8> {
        self.entry(index).map(|(tag, _)| tag)
    }

    /// Returns the two 16-bit fields of an entry that has one of `tags`.
    fn pair(&self, index: u16, tags: &[u8]) -> Option<(u16, u16)> {
        let (tag, contents) = self.entry(index)?;
        (tags.contains(&tag) && contents.len() >= 4)
            .then(|| (u2_at(contents, 0), u2_at(contents, 2)))
    }

    pub(crate) fn utf8(&self, index: u16) -> Option<&'a [u8]> {
        let (tag, contents) = self.entry(index)?;
        if tag != UTF8 {
            return None;
        }
        let len = usize::from(u16::from_be_bytes(*contents.first_chunk()?));
        contents.get(2..2 + len)
    }

    pub(crate) fn class_name(&self, index: u16) -> Option<&'a [u8]> {
        let (tag, contents) = self.entry(index)?;
        if tag != CLASS {
            return None;
        }
        self.utf8(u16::from_be_bytes(*contents.first_chunk()?))
    }

    /// Returns name and descriptor of a field, method, interface method, dynamic constant or call
    /// site.
    pub(crate) fn member(&self, index: u16) -> Option<(&'a [u8], &'a [u8])> {
        let (_, name_and_type) = self.pair(index, &[9, METHODREF, 11, 17, 18])?;
        let (name, descriptor) = self.pair(name_and_type, &[NAME_AND_TYPE])?;
        Some((self.utf8(name)?, self.utf8(descriptor)?))
    }

    /// Returns the class that a field or method reference names.
    pub(crate) fn member_class(&self, index: u16) -> Option<&'a [u8]> {
        self.class_name(self.member_owner(index)?)
    }

    /// Returns the index of the class entry that a field or method reference names.
    fn member_owner(&self, index: u16) -> Option<u16> {
        Some(self.pair(index, &[9, METHODREF, 11])?.0)
    }

    /// Returns true if any field or method reference in the pool uses this class entry.
    pub(crate) fn has_members_of(&self, class: u16) -> bool {
        (1..self.count()).any(|index| self.member_owner(index) == Some(class))
    }

    /// Returns the index of the entry that consists of exactly these bytes, including its tag.
    fn find(&self, entry: &[u8]) -> Option<u16> {
        // The tag and two more bytes (a text's length, a class's name index) already distinguish
        // nearly all entries. They are compared first, and as one number: the compiler would merge
        // a first comparison of slices with the second one, into a call of `memcmp`.
        let head = u32::from_be_bytes([0, *entry.first()?, *entry.get(1)?, *entry.get(2)?]);
        let holds = |&offset: &u32| {
            let here = self.bytes.get(offset as usize..).unwrap_or_default();
            let first = here
                .first_chunk::<4>()
                .map(|&first| u32::from_be_bytes(first) >> 8);
            offset != 0 && first == Some(head) && here.starts_with(entry)
        };
        self.offsets
            .iter()
            .position(holds)
            .map(|index| index as u16)
    }
}

/// The entries added to a pool. Existing entries are reused.
pub(crate) struct PoolEditor<'p, 'a> {
    pool: &'p Pool<'a>,
    added: Vec<u8>,
    /// The offset of each added entry in `added`.
    starts: Vec<u32>,
    /// The index of each integer in the pool, old or added. Filled on first use.
    integers: Option<HashMap<i32, u16>>,
    /// Indices of entries that many methods need, once known.
    throwable: Option<u16>,
    stack_map_table: Option<u16>,
}

/// A state of a [`PoolEditor`] to which it can be rolled back.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint {
    entries: usize,
    bytes: usize,
}

impl<'p, 'a> PoolEditor<'p, 'a> {
    pub(crate) fn new(pool: &'p Pool<'a>) -> Self {
        PoolEditor {
            pool,
            added: Vec::new(),
            starts: Vec::new(),
            integers: None,
            throwable: None,
            stack_map_table: None,
        }
    }

    /// Returns the new `constant_pool_count`.
    pub(crate) fn count(&self) -> u16 {
        self.pool.count() + self.starts.len() as u16
    }

    /// Returns the bytes that follow the old pool.
    pub(crate) fn added(&self) -> &[u8] {
        &self.added
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            entries: self.starts.len(),
            bytes: self.added.len(),
        }
    }

    /// Removes all entries added since the checkpoint.
    pub(crate) fn roll_back(&mut self, to: Checkpoint) {
        if let Some(integers) = &mut self.integers {
            for &start in &self.starts[to.entries..] {
                if let [INTEGER, a, b, c, d, ..] = self.added[start as usize..] {
                    integers.remove(&i32::from_be_bytes([a, b, c, d]));
                }
            }
        }
        self.starts.truncate(to.entries);
        self.added.truncate(to.bytes);
        let count = self.count();
        self.throwable = self.throwable.filter(|&index| index < count);
        self.stack_map_table = self.stack_map_table.filter(|&index| index < count);
    }

    pub(crate) fn utf8(&mut self, bytes: &[u8]) -> Result<u16, Refusal> {
        let len = u16::try_from(bytes.len()).map_err(|_| Refusal::HookName)?;
        self.intern(&[&[UTF8][..], &len.to_be_bytes(), bytes].concat(), true)
    }

    /// Finds or adds the `CONSTANT_Class` with this internal name.
    pub(crate) fn class(&mut self, name: &[u8]) -> Result<u16, Refusal> {
        let name = self.utf8(name)?;
        let [a, b] = name.to_be_bytes();
        self.intern(&[CLASS, a, b], self.is_old(name))
    }

    /// Finds or adds the class `java/lang/Throwable`.
    pub(crate) fn throwable(&mut self) -> Result<u16, Refusal> {
        if let Some(index) = self.throwable {
            return Ok(index);
        }
        let index = self.class(THROWABLE)?;
        self.throwable = Some(index);
        Ok(index)
    }

    /// Adds a second entry for the class `java/lang/Throwable`. Nothing refers to it yet.
    pub(crate) fn separate_throwable(&mut self) -> Result<u16, Refusal> {
        let [a, b] = self.utf8(THROWABLE)?.to_be_bytes();
        self.push(&[CLASS, a, b])
    }

    /// Finds or adds the name of the attribute `StackMapTable`.
    pub(crate) fn stack_map_table(&mut self) -> Result<u16, Refusal> {
        if let Some(index) = self.stack_map_table {
            return Ok(index);
        }
        let index = self.utf8(b"StackMapTable")?;
        self.stack_map_table = Some(index);
        Ok(index)
    }

    pub(crate) fn method(
        &mut self,
        class: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<u16, Refusal> {
        let class = self.class(&mutf8::encode(class))?;
        let name = self.utf8(&mutf8::encode(name))?;
        let descriptor = self.utf8(&mutf8::encode(descriptor))?;
        let name_and_type = self.pair(NAME_AND_TYPE, name, descriptor)?;
        self.pair(METHODREF, class, name_and_type)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16, Refusal> {
        let ([a, b], [c, d]) = (first.to_be_bytes(), second.to_be_bytes());
        self.intern(
            &[tag, a, b, c, d],
            self.is_old(first) && self.is_old(second),
        )
    }

    pub(crate) fn integer(&mut self, value: i32) -> Result<u16, Refusal> {
        let pool = self.pool;
        let integers = self.integers.get_or_insert_with(|| {
            let integer = |index| match pool.entry(index) {
                Some((INTEGER, contents)) => {
                    Some((i32::from_be_bytes(*contents.first_chunk()?), index))
                }
                _ => None,
            };
            (1..pool.count()).rev().filter_map(integer).collect()
        });
        if let Some(&index) = integers.get(&value) {
            return Ok(index);
        }
        let [a, b, c, d] = value.to_be_bytes();
        let index = self.push(&[INTEGER, a, b, c, d])?;
        if let Some(integers) = &mut self.integers {
            integers.insert(value, index);
        }
        Ok(index)
    }

    fn is_old(&self, index: u16) -> bool {
        index < self.pool.count()
    }

    /// Finds or adds an entry. `maybe_old` is false if the entry refers to an added one, because
    /// the old pool can't contain it.
    fn intern(&mut self, entry: &[u8], maybe_old: bool) -> Result<u16, Refusal> {
        if maybe_old && let Some(index) = self.pool.find(entry) {
            return Ok(index);
        }
        let holds = |&start: &u32| self.added[start as usize..].starts_with(entry);
        match self.starts.iter().position(holds) {
            Some(at) => Ok(self.pool.count() + at as u16),
            None => self.push(entry),
        }
    }

    fn push(&mut self, entry: &[u8]) -> Result<u16, Refusal> {
        let index = self.count();
        if index == u16::MAX {
            return Err(Refusal::PoolFull);
        }
        self.starts.push(self.added.len() as u32);
        self.added.extend_from_slice(entry);
        Ok(index)
    }
}
