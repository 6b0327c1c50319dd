//! Readings of the CPU time of threads.
//!
//! The CPU time between two readings of a thread is spread evenly over the time between them. Those
//! around a span may lie far outside of it: the first and the last ones of nodes and segments tell
//! them.

use crate::index::{Index, Place};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{Event, ThreadId, Timestamp};
use std::collections::BTreeMap;
use std::io;
use std::mem::size_of;
use std::ops::Range;
use std::sync::Arc;

/// Size of trails up to which segments outside of a span are read for their readings, in bytes. Of
/// longer ones without an index, those in the span count.
const MAX_READ: u64 = 4 << 20;

/// A reading of a thread's CPU time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    pub(crate) time: Timestamp,
    /// In ns.
    pub(crate) cpu: i64,
}

/// The first and the last reading of each thread in some segments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Readings(pub(crate) BTreeMap<ThreadId, [Reading; 2]>);

impl Readings {
    /// Adds the next reading of a thread. Returns the one before, if there is one.
    pub(crate) fn add(&mut self, thread: ThreadId, reading: Reading) -> Option<Reading> {
        match self.0.get_mut(&thread) {
            Some([_, last]) => Some(std::mem::replace(last, reading)),
            None => {
                self.0.insert(thread, [reading; 2]);
                None
            }
        }
    }

    /// Adds the readings of later segments.
    pub(crate) fn append(&mut self, later: &Self) {
        for (thread, [first, last]) in &later.0 {
            let own = self.0.entry(*thread).or_insert([*first, *last]);
            own[1] = *last;
        }
    }

    fn bytes(&self) -> usize {
        self.0.len() * size_of::<(ThreadId, [Reading; 2])>() + 100
    }
}

/// Returns a function that returns the CPU time from a reading up to a time before the next one, if
/// it is spread evenly. CPU time that decreases counts as none.
pub(crate) fn share_of_cpu(before: Reading, reading: Reading) -> impl Fn(Timestamp) -> u64 {
    let since = move |time: Timestamp| time.max(before.time).0.abs_diff(before.time.0);
    let length = since(reading.time);
    let cpu = reading.cpu.max(before.cpu).abs_diff(before.cpu);
    move |time: Timestamp| {
        let since = u128::from(since(time).min(length));
        (since * u128::from(cpu) / u128::from(length.max(1))) as u64
    }
}

/// Finds the readings of a segment.
impl Walk for Readings {
    type Extra = ();
    type Thread = ();

    fn thread(&mut self, _: ThreadId) {}

    #[inline]
    fn begin(&mut self, _: &mut (), _: &[Open<()>], _: Begin) {}

    #[inline]
    fn end(&mut self, _: &mut (), _: &[Open<()>], _: Open<()>, _: (Timestamp, crate::slice::Kind)) {
    }

    fn other(&mut self, event: &Event<'_>) {
        if let Event::ThreadCpu(e) = event {
            let (time, cpu) = (e.time, e.cpu_time.0);
            self.add(e.thread, Reading { time, cpu });
        }
    }
}

impl Trace {
    /// Returns the first and the last reading of each thread in a range of segments. Without an
    /// index, there are none if the trail is long.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn readings(&self, range: Range<usize>) -> io::Result<Readings> {
        let mut all = Readings::default();
        let Some(index) = self.index() else {
            if self.bytes() <= MAX_READ {
                for number in range.filter(|number| !self.is_damaged(*number)) {
                    all.append(&*self.readings_in(number)?);
                }
            }
            return Ok(all);
        };
        // Most traces have none.
        if !index.has_cpu()? {
            return Ok(all);
        }
        let mut nodes: Vec<Place> = index.top().collect();
        nodes.reverse();
        while let Some(place) = nodes.pop() {
            let [first, end] = index.segments(place).map(|number| number as usize);
            if end <= range.start || first >= range.end {
                continue;
            }
            if first >= range.start && end <= range.end {
                all.append(&self.readings_of(&index, place)?);
            } else if place.0 > 0 {
                nodes.extend(index.below(place).rev());
            } else {
                for number in first.max(range.start)..end.min(range.end) {
                    all.append(&*self.readings_in(number)?);
                }
            }
        }
        Ok(all)
    }

    /// Returns the first and the last reading of each thread in a node.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn readings_of(&self, index: &Index, place: Place) -> io::Result<Readings> {
        if let Some(readings) = index.readings(place)? {
            return Ok(readings);
        }
        let mut all = Readings::default();
        for below in index.below(place) {
            all.append(&self.readings_of(index, below)?);
        }
        if place.0 == 0 {
            let [first, end] = index.segments(place);
            for number in first..end {
                all.append(&*self.readings_in(number as usize)?);
            }
        }
        Ok(all)
    }

    fn readings_in(&self, number: usize) -> io::Result<Arc<Readings>> {
        if let Some(readings) = self.readings.lock().get(number) {
            return Ok(readings);
        }
        let mut readings = Readings::default();
        self.walk(number, &mut readings)?;
        let (bytes, readings) = (readings.bytes(), Arc::new(readings));
        self.readings
            .lock()
            .put(number, Arc::clone(&readings), bytes);
        Ok(readings)
    }
}
