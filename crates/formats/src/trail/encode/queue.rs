//! Queue of segments: any free thread may pack a segment, and all segments leave in order.

use super::packing::{Gathered, SegmentPacker};
use crate::Helpers;
use crate::trail::wire::Kind;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A segment without the header fields that depend on its position in the trace.
pub(super) struct Segment {
    pub(super) kind: Kind,
    pub(super) events: u32,
    pub(super) times: [i64; 2],
    pub(super) threads: Vec<u64>,
    pub(super) payload: Vec<u8>,
}

/// Segments in the order in which they are written.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<(Segment, Option<Arc<Slot>>)>,
    helpers: Option<Arc<dyn Helpers>>,
    /// Maximum encoded size, in bytes, of each segment that is not yet packed.
    most_bytes: VecDeque<usize>,
    packers: Arc<Mutex<Vec<SegmentPacker>>>,
    /// Buffers of packed segments, for reuse.
    spare: Vec<Gathered>,
}

/// Destination of a packed payload.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    Packed(Vec<u8>, Box<Gathered>),
    /// The packed payload was taken.
    Taken,
    /// The packing job was dropped before it finished.
    Failed,
}

impl Queue {
    pub(super) fn with_helpers(helpers: Arc<dyn Helpers>) -> Self {
        Self {
            helpers: Some(helpers).filter(|helpers| helpers.count() > 0),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the maximum encoded size of all queued segments together, in bytes.
    pub(super) fn most_bytes(&self) -> usize {
        let packed = self
            .waiting
            .iter()
            .map(|(segment, _)| segment.payload.len());
        packed.chain(self.most_bytes.iter().copied()).sum()
    }

    /// Appends a packed segment.
    pub(super) fn push(&mut self, segment: Segment) {
        self.waiting.push_back((segment, None));
    }

    /// Appends a segment that must still be packed. Returns empty buffers for the next segment.
    pub(super) fn pack(&mut self, mut segment: Segment, mut gathered: Gathered) -> Gathered {
        let Some(helpers) = &self.helpers else {
            self.with_packer(|packer| packer.pack(&mut gathered, &mut segment.payload));
            gathered.clear();
            self.push(segment);
            return gathered;
        };
        let slot = Arc::<Slot>::default();
        let packers = Arc::clone(&self.packers);
        let promised = Promise(Arc::clone(&slot));
        self.most_bytes.push_back(gathered.most_bytes());
        self.waiting.push_back((segment, Some(slot)));
        helpers.give(Box::new(move || {
            let mut packer = locked(&packers).pop().unwrap_or_default();
            let mut payload = Vec::new();
            packer.pack(&mut gathered, &mut payload);
            locked(&packers).push(packer);
            gathered.clear();
            promised.0.set(State::Packed(payload, Box::new(gathered)));
        }));
        self.spare.pop().unwrap_or_default()
    }

    /// Runs `work` with a packer.
    pub(super) fn with_packer(&self, work: impl FnOnce(&mut SegmentPacker)) {
        let mut packer = locked(&self.packers).pop().unwrap_or_default();
        work(&mut packer);
        locked(&self.packers).push(packer);
    }

    /// Returns the next segment if it is packed. If it is not packed, the calling thread may help
    /// until it is. It helps if `all` is true, or if at least two more segments wait than there are
    /// helpers. Otherwise, returns `None`.
    ///
    /// # Panics
    /// If a helper thread failed to pack the segment.
    pub(super) fn next(&mut self, all: bool) -> Option<Segment> {
        let (_, slot) = self.waiting.front()?;
        let Some(slot) = slot.clone() else {
            return self.waiting.pop_front().map(|(segment, _)| segment);
        };
        let helpers = self.helpers.as_ref()?;
        let mut state = locked(&slot.state);
        loop {
            let found = std::mem::take(&mut *state);
            match found {
                State::Packed(payload, gathered) => {
                    *state = State::Taken;
                    drop(state);
                    self.most_bytes.pop_front();
                    self.spare.push(*gathered);
                    let (segment, _) = self.waiting.pop_front()?;
                    return Some(Segment { payload, ..segment });
                }
                State::Failed => {
                    *state = State::Failed;
                    drop(state);
                    panic!("a segment of the trace could not be packed")
                }
                State::Waiting | State::Taken => {}
            }
            if !all && self.most_bytes.len() <= helpers.count() + 1 {
                return None;
            }
            drop(state);
            let has_helped = helpers.help();
            state = locked(&slot.state);
            if !has_helped && matches!(*state, State::Waiting) {
                let woken = slot.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Slot {
    fn set(&self, state: State) {
        *locked(&self.state) = state;
        self.changed.notify_all();
    }
}

/// Marks its slot as failed when the packing job is dropped before it finished.
struct Promise(Arc<Slot>);

impl Drop for Promise {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        if !matches!(*state, State::Packed(..) | State::Taken) {
            *state = State::Failed;
            self.0.changed.notify_all();
        }
    }
}

/// Locks a mutex, even if a thread panicked while it held the lock. Its contents are still valid,
/// because packers start afresh with each segment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
