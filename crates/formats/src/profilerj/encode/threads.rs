//! Threads and their open calls.

use super::tree::{NONE, Place, Spot, Tree};
use crate::check::table::Table;
use jtrail_model::{Duration, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp};

/// Sums of the calls with one call path. Times exclude callees until the tree is finished; then
/// they include callees.
#[derive(Clone, Debug, Default)]
pub(in crate::profilerj) struct Calls {
    pub(super) count: u64,
    pub(super) elapsed: u64,
    pub(super) cpu: u64,
    pub(super) overhead: u64,
    pub(super) exceptions: u64,
}

impl Calls {
    pub(super) fn add_times(&mut self, other: &Self) {
        self.elapsed += other.elapsed;
        self.cpu += other.cpu;
        self.overhead += other.overhead;
    }
}

/// Samples of one call path. [`Self::all`] includes callees once the tree is finished.
#[derive(Clone, Debug, Default)]
pub(in crate::profilerj) struct Hits {
    /// Number of samples that ended in this frame: those while the thread was runnable, and all.
    pub(super) own: [u64; 2],
    /// Number of samples that ended in this frame or its callees: those while the thread was
    /// runnable, and all.
    pub(super) all: [u64; 2],
}

impl Hits {
    pub(super) fn add(&mut self, other: &Self) {
        self.all[0] += other.all[0];
        self.all[1] += other.all[1];
    }
}

/// Remaining capacity for sums of one kind. The total of these sums must stay below 2⁶³.
#[derive(Clone, Debug)]
pub(super) struct Room(u64);

impl Default for Room {
    fn default() -> Self {
        Self(i64::MAX as u64)
    }
}

impl Room {
    /// Returns the part of `amount` that still fits, and reduces the capacity by this part.
    pub(super) fn take(&mut self, amount: u64) -> u64 {
        let taken = amount.min(self.0);
        self.0 -= taken;
        taken
    }
}

/// Remaining capacity for each kind of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    pub(super) elapsed: Room,
    pub(super) cpu: Room,
    pub(super) overhead: Room,
}

/// The state of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub(super) name: Box<str>,
    /// Time of the thread's start or first event.
    pub(super) start: Timestamp,
    pub(super) end: Option<Timestamp>,
    /// End of the sampled time, if the trace contains samples as sums.
    pub(super) sampled_until: Option<Timestamp>,
    /// Latest CPU time of the thread, in nanoseconds.
    pub(super) cpu: u64,
    /// Roots of the thread's trees, or [`NONE`].
    pub(super) calls: Place,
    pub(super) samples: Place,
    /// True if the thread allocated objects.
    pub(super) allocates: bool,
    open: Vec<Open>,
    /// Ticket and method of calls that a pause ended for good. Their leaves may still follow.
    cut_off: Vec<(u32, MethodId)>,
    /// Open aggregated calls.
    pub(super) aggregated: Vec<Spot>,
    /// Path of sampled frames. The next sampled frame may continue it.
    pub(super) sampled: Vec<Spot>,
}

/// An open call.
#[derive(Clone, Debug)]
struct Open {
    spot: Spot,
    method: MethodId,
    ticket: u32,
    began: Timestamp,
    /// CPU time at the start of the call, in nanoseconds; 0 if not measured.
    began_cpu: u64,
    /// Total time and CPU time of the callees, in nanoseconds.
    callees: u64,
    callees_cpu: u64,
}

impl Thread {
    /// True if a section of the document will contain the thread.
    pub(super) fn has_data(&self) -> bool {
        self.calls != NONE || self.samples != NONE || self.allocates
    }

    pub(super) fn uses_cpu(&mut self, cpu: Duration) {
        self.cpu = self.cpu.max(nanoseconds(cpu));
    }

    /// Begins a call. Returns true if its call path is folded.
    pub(super) fn enter(&mut self, e: &MethodEnter, name: u32, tree: &mut Tree<Calls>) -> bool {
        self.uses_cpu(e.cpu_time);
        let parent = self.open.last().map_or(self.calls.into(), |open| open.spot);
        let spot = tree.step(parent, name, 1);
        let sums = tree.sums(spot.at);
        sums.count = sums.count.saturating_add(1);
        self.open.push(Open {
            spot,
            method: e.method,
            ticket: e.ticket,
            began: e.time,
            began_cpu: nanoseconds(e.cpu_time),
            callees: 0,
            callees_cpu: 0,
        });
        spot.folded
    }

    /// Ends the call, and the calls inside of it, which have no leaves. Returns false if the call
    /// is not open.
    pub(super) fn leave(
        &mut self,
        e: &MethodLeave,
        tree: &mut Tree<Calls>,
        rooms: &mut Rooms,
    ) -> bool {
        self.uses_cpu(e.cpu_time);
        let fits = |open: &Open| open.ticket == e.ticket && open.method == e.method;
        let depth = match self.open.last() {
            Some(last) if fits(last) => self.open.len() - 1,
            // Tickets rise from caller to callee.
            _ => self.open.partition_point(|open| open.ticket < e.ticket),
        };
        match self.open.get(depth) {
            Some(open) if fits(open) => {
                if e.by_exception {
                    tree.sums(open.spot.at).exceptions += 1;
                }
                self.close(depth, e.time, tree, rooms);
                true
            }
            _ => self.leave_cut_off(e, tree, rooms),
        }
    }

    /// Handles the leave of a call that a pause has ended. Returns false if the pause ended no such
    /// call. Calls that began after the pause and are still open were callees of the call: they are
    /// ended, too.
    #[cold]
    fn leave_cut_off(
        &mut self,
        e: &MethodLeave,
        tree: &mut Tree<Calls>,
        rooms: &mut Rooms,
    ) -> bool {
        let depth = self.cut_off.partition_point(|(t, _)| *t < e.ticket);
        let is_one = self.cut_off.get(depth) == Some(&(e.ticket, e.method));
        if is_one {
            self.cut_off.truncate(depth);
            self.close(0, e.time, tree, rooms);
        }
        is_one
    }

    /// Ends all calls for good, because nothing is recorded until the trace resumes.
    fn pause(&mut self, time: Timestamp, tree: &mut Tree<Calls>, rooms: &mut Rooms) {
        let open = self.open.iter().map(|open| (open.ticket, open.method));
        self.cut_off.extend(open);
        self.close(0, time, tree, rooms);
    }

    /// Ends all calls from depth `depth` on.
    pub(super) fn close(
        &mut self,
        depth: usize,
        time: Timestamp,
        tree: &mut Tree<Calls>,
        rooms: &mut Rooms,
    ) {
        while self.open.len() > depth {
            let Some(call) = self.open.pop() else { return };
            let all = nanoseconds(time.since(call.began));
            let all_cpu = match call.began_cpu {
                0 => 0,
                began => self.cpu.saturating_sub(began),
            };
            let sums = tree.sums(call.spot.at);
            sums.elapsed += rooms.elapsed.take(all.saturating_sub(call.callees));
            sums.cpu += rooms.cpu.take(all_cpu.saturating_sub(call.callees_cpu));
            if let Some(caller) = self.open.last_mut() {
                caller.callees = caller.callees.saturating_add(all);
                caller.callees_cpu = caller.callees_cpu.saturating_add(all_cpu);
            }
        }
    }

    /// Returns the nanoseconds from the thread's start to the end of its sampled time. If this end
    /// is unknown, counts to the thread's end, or else to `last`, the end of the trace.
    pub(super) fn sampled_for(&self, last: Timestamp) -> u64 {
        let end = self.sampled_until.or(self.end).unwrap_or(last);
        nanoseconds(end.since(self.start))
    }
}

/// All threads. Ended threads are kept only if a section of the document will contain them.
#[derive(Clone, Debug, Default)]
pub(in crate::profilerj) struct Threads {
    by_id: Table<Option<Box<Thread>>>,
}

impl Threads {
    pub(super) fn get(&self, id: ThreadId) -> Option<&Thread> {
        self.by_id.get(id.0)?.as_deref()
    }

    /// Returns the thread, and adds it with start time `time` if it is new.
    #[inline]
    pub(super) fn get_mut(&mut self, id: ThreadId, time: Timestamp) -> &mut Thread {
        self.by_id
            .or_insert_with(id.0, || None)
            .get_or_insert_with(|| {
                Box::new(Thread {
                    start: time,
                    ..Thread::default()
                })
            })
    }

    pub(super) fn start(&mut self, id: ThreadId, name: &str, time: Timestamp) {
        let thread = self.get_mut(id, time);
        (thread.name, thread.start) = (name.into(), time);
    }

    pub(super) fn end(
        &mut self,
        id: ThreadId,
        time: Timestamp,
        tree: &mut Tree<Calls>,
        rooms: &mut Rooms,
    ) {
        let thread = self.get_mut(id, time);
        if thread.has_data() {
            thread.close(0, time, tree, rooms);
            thread.end = Some(time);
            (thread.open, thread.cut_off) = Default::default();
            (thread.aggregated, thread.sampled) = Default::default();
        } else {
            *self.by_id.or_insert_with(id.0, || None) = None;
        }
    }

    /// Ends the calls of all threads at a pause.
    pub(super) fn pause(&mut self, time: Timestamp, tree: &mut Tree<Calls>, rooms: &mut Rooms) {
        let threads = self.by_id.values_mut();
        threads
            .flatten()
            .for_each(|thread| thread.pause(time, tree, rooms));
    }

    /// Ends the calls of all threads.
    pub(super) fn finish(&mut self, last: Timestamp, tree: &mut Tree<Calls>, rooms: &mut Rooms) {
        let threads = self.by_id.values_mut();
        threads
            .flatten()
            .for_each(|thread| thread.close(0, last, tree, rooms));
    }
}

/// Returns a duration in nanoseconds, or 0 if it is negative.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.0).unwrap_or(0)
}
