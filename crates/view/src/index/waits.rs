//! The longest waits of a node.

use super::encode::{kind_number, kind_of, pack};
use crate::longest::by_length;
use crate::waits::Wait;
use jtrail_model::{ObjectId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};

/// Maximum number of waits of a node.
const MAX_WAITS: usize = 10_000;

/// The longest waits that begin and end in one block of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NodeWaits {
    /// The longest one first, once [`Self::shorten`] was called.
    pub(crate) all: Vec<Wait>,
    /// The length of the longest one that is left out, in ns; `None` if none is.
    pub(crate) rest: Option<i64>,
}

impl NodeWaits {
    /// Adds a wait.
    pub(crate) fn push(&mut self, wait: Wait) {
        self.all.push(wait);
        if self.all.len() > 4 * MAX_WAITS {
            self.shorten(MAX_WAITS);
        }
    }

    /// Adds the waits of other segments.
    pub(crate) fn append(&mut self, other: Self) {
        self.all.extend(other.all);
        self.rest = self.rest.max(other.rest);
        self.shorten(MAX_WAITS);
    }

    /// Puts waits in order, and leaves out all but the longest ones.
    pub(crate) fn shorten(&mut self, count: usize) {
        self.all.sort_by_key(by_length);
        if let Some(longest) = self.all.get(count) {
            self.rest = self.rest.max(Some(longest.length()));
            self.all.truncate(count);
        }
    }

    /// Compresses as many waits as have room in some bytes; `None` if none has.
    pub(super) fn packed(&self, room: u64, origin: Timestamp) -> Option<Vec<u8>> {
        let mut waits = self.clone();
        // A wait takes some bytes: packing what has no room takes time.
        waits.shorten(MAX_WAITS.min(room as usize / 4));
        loop {
            let packed = pack(&WaitColumns::new(&waits, origin))?;
            if packed.len() as u64 <= room {
                return Some(packed);
            }
            if waits.all.is_empty() {
                return None;
            }
            waits.shorten(waits.all.len() * 2 / 3);
        }
    }
}

/// [`NodeWaits`].
#[derive(Serialize, Deserialize, Default)]
pub(super) struct WaitColumns {
    rest: Option<i64>,
    begins: Vec<i64>,
    lengths: Vec<i64>,
    threads: Vec<u64>,
    levels: Vec<u32>,
    kinds: Vec<u8>,
    objects: Vec<u64>,
    owners: Vec<u64>,
}

impl WaitColumns {
    fn new(waits: &NodeWaits, origin: Timestamp) -> Self {
        let mut columns = Self {
            rest: waits.rest,
            ..Self::default()
        };
        for wait in &waits.all {
            columns.begins.push(wait.begin.0.wrapping_sub(origin.0));
            columns.lengths.push(wait.end.0.wrapping_sub(wait.begin.0));
            columns.threads.push(wait.thread.0);
            columns.levels.push(wait.level);
            columns.kinds.push(kind_number(wait.kind));
            columns.objects.push(wait.object.0);
            columns.owners.push(wait.owner.0);
        }
        columns
    }

    /// Returns the waits; `None` if the columns do not fit together.
    pub(super) fn waits(&self, origin: Timestamp) -> Option<NodeWaits> {
        let mut waits = NodeWaits {
            all: Vec::new(),
            rest: self.rest,
        };
        for (place, begin) in self.begins.iter().enumerate() {
            let begin = begin.wrapping_add(origin.0);
            waits.all.push(Wait {
                thread: ThreadId(*self.threads.get(place)?),
                begin: Timestamp(begin),
                end: Timestamp(begin.wrapping_add(*self.lengths.get(place)?)),
                level: *self.levels.get(place)?,
                kind: kind_of(*self.kinds.get(place)?)?,
                object: ObjectId(*self.objects.get(place)?),
                owner: ThreadId(*self.owners.get(place)?),
            });
        }
        Some(waits)
    }
}
