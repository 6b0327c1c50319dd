//! The index of a trail: positions of its segments, and counts of its events.

use super::columns::{Packer, unpack};
use super::record;
use super::record::ByCode;
use super::value::{Bytes, put_number, put_signed};

/// Maximum number of segments between two indexes.
pub(super) const MAX_ENTRIES: usize = 1024;
/// The last bytes of a complete trace. The position of the last index precedes them.
pub(super) const END: [u8; 8] = *b"JTR end\xb5";

/// A segment of events, or of copies of definitions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) is_events: bool,
    /// Position of the segment, in bytes from the start of the trace.
    pub(super) offset: u64,
    pub(super) events: u32,
    pub(super) times: [i64; 2],
    pub(super) threads: Vec<u64>,
}

/// The segments since the last index.
#[derive(Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    /// Position of the last index plus one; 0 if there is none.
    previous: u64,
}

/// Counts of events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    /// Number of events in the preceding segments.
    pub(super) before: u64,
    /// Number of events by record code.
    by_code: ByCode<u64>,
}

impl Totals {
    #[inline]
    pub(super) fn add(&mut self, code: u8) {
        self.by_code.0[usize::from(code)] += 1;
    }

    /// Adds the counts of `others` by code.
    pub(super) fn add_all(&mut self, others: &Self) {
        for (all, more) in self.by_code.0.iter_mut().zip(&others.by_code.0) {
            *all = all.saturating_add(*more);
        }
    }

    pub(super) fn add_calls(&mut self, enters: usize, leaves: usize) {
        self.by_code.0[usize::from(record::METHOD_ENTER)] += enters as u64;
        self.by_code.0[usize::from(record::METHOD_LEAVE)] += leaves as u64;
    }
}

/// The content of an index that was read.
pub(super) struct IndexContents {
    pub(super) entries: Vec<Entry>,
    pub(super) previous: u64,
    /// Totals, and true if the trace is truncated. Only the last index has them.
    pub(super) end: Option<(Totals, bool)>,
}

impl Index {
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Returns true if no room is left for a segment of events and the segment of its definitions.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() + 2 > MAX_ENTRIES
    }

    /// Appends the payload of an index at `offset`, and forgets the entries. `end` is set for the
    /// last index.
    pub(super) fn put(
        &mut self,
        offset: u64,
        end: Option<(&Totals, bool)>,
        packer: &mut Packer,
        out: &mut Vec<u8>,
    ) {
        let mut bytes = Vec::new();
        put_number(self.previous, &mut bytes);
        put_number(self.entries.len() as u64, &mut bytes);
        let (mut place, mut time) = (0, 0_i64);
        for entry in self.entries.drain(..) {
            bytes.push(entry.is_events.into());
            put_number(entry.offset - place, &mut bytes);
            put_number(entry.events.into(), &mut bytes);
            let [first, last] = entry.times;
            put_signed(first.wrapping_sub(time), &mut bytes);
            put_signed(last.wrapping_sub(first), &mut bytes);
            put_number(entry.threads.len() as u64, &mut bytes);
            let mut before = 0_u64;
            for thread in entry.threads {
                put_signed(thread.wrapping_sub(before) as i64, &mut bytes);
                before = thread;
            }
            (place, time) = (entry.offset, first);
        }
        match end {
            None => bytes.push(0),
            Some((totals, is_truncated)) => {
                bytes.push(1 + u8::from(is_truncated));
                put_number(totals.before, &mut bytes);
                let counts = totals
                    .by_code
                    .0
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| **count > 0);
                put_number(counts.clone().count() as u64, &mut bytes);
                for (code, count) in counts {
                    bytes.push(code as u8);
                    put_number(*count, &mut bytes);
                }
            }
        }
        packer.pack([&bytes], out);
        if end.is_some() {
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&END);
        }
        self.previous = offset + 1;
    }
}

impl IndexContents {
    /// Reads the payload of an index.
    pub(super) fn get(version: u8, payload: &[u8]) -> Option<Self> {
        let mut column = [Vec::new()];
        unpack(version, &mut Bytes(payload), &mut column)?;
        let mut bytes = Bytes(&column[0]);
        let previous = bytes.number()?;
        let count = bytes.small::<usize>()?;
        // An index of an earlier version may have one entry more.
        if count > MAX_ENTRIES + 1 {
            return None;
        }
        let mut entries = Vec::new();
        let (mut place, mut time) = (0_u64, 0_i64);
        for _ in 0..count {
            let is_events = bytes.byte()? != 0;
            place = place.checked_add(bytes.number()?)?;
            let events = bytes.small()?;
            let first = time.wrapping_add(bytes.signed()?);
            let last = first.wrapping_add(bytes.signed()?);
            let mut threads = Vec::new();
            let mut thread = 0_u64;
            for _ in 0..bytes.number()? {
                thread = thread.wrapping_add(bytes.signed()? as u64);
                threads.push(thread);
            }
            time = first;
            entries.push(Entry {
                is_events,
                offset: place,
                events,
                times: [first, last],
                threads,
            });
        }
        let end = match bytes.byte()? {
            0 => None,
            how @ (1 | 2) => {
                let mut totals = Totals {
                    before: bytes.number()?,
                    ..Totals::default()
                };
                for _ in 0..bytes.number()? {
                    let code = bytes.byte()?;
                    *totals.by_code.0.get_mut(usize::from(code))? = bytes.number()?;
                }
                Some((totals, how == 2))
            }
            _ => return None,
        };
        Some(Self {
            entries,
            previous,
            end,
        })
    }
}
