//! Waits with what they are for.

use crate::slice::{EARLIER, Kind, LATER};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{Event, ObjectId, ThreadId, Timestamp};
use std::io;

/// A wait of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadId,
    /// The begin; the smallest time if it is unknown.
    pub begin: Timestamp,
    /// The end; the largest time if it never ends.
    pub end: Timestamp,
    /// Number of calls that the wait is within.
    pub level: u32,
    /// Blocked, waiting or parked.
    pub kind: Kind,
    /// The monitor's object or the blocker; none if it is unknown.
    pub object: ObjectId,
    /// The thread that holds the monitor when the wait begins; none if it is unknown.
    pub owner: ThreadId,
}

/// Collects the waits of a thread in a segment.
struct Waits {
    thread: ThreadId,
    /// Object and owner of the wait that begins.
    begins: (ObjectId, ThreadId),
    found: Vec<Wait>,
}

impl Walk for Waits {
    type Extra = Option<Wait>;
    type Thread = ThreadId;

    fn thread(&mut self, id: ThreadId) -> ThreadId {
        id
    }

    #[inline]
    fn begin(
        &mut self,
        thread: &mut ThreadId,
        open: &[Open<Self::Extra>],
        begin: Begin,
    ) -> Self::Extra {
        if begin.kind.is_call() || *thread != self.thread {
            return None;
        }
        let (object, owner) = std::mem::take(&mut self.begins);
        Some(Wait {
            thread: *thread,
            begin: begin.time,
            end: LATER,
            level: open.len() as u32,
            kind: begin.kind,
            object,
            owner,
        })
    }

    #[inline]
    fn end(
        &mut self,
        _: &mut ThreadId,
        _: &[Open<Self::Extra>],
        ended: Open<Self::Extra>,
        (end, _): (Timestamp, Kind),
    ) {
        self.found
            .extend(ended.extra.map(|wait| Wait { end, ..wait }));
    }

    fn other(&mut self, event: &Event<'_>) {
        if event.thread() == Some(self.thread) {
            self.begins = match event {
                Event::MonitorContendedEnter(e) => (e.object, e.owner),
                Event::MonitorWait(e) => (e.object, ThreadId::NONE),
                Event::ThreadPark(e) => (e.object, ThreadId::NONE),
                _ => self.begins,
            };
        }
    }
}

impl Trace {
    /// Returns the waits of a thread that overlap a span, in the order of their ends.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn waits(&self, thread: ThreadId, span: [Timestamp; 2]) -> io::Result<Vec<Wait>> {
        let mut reader = self.reader()?;
        let mut all: Vec<Wait> = Vec::new();
        let mut open: Option<Wait> = None;
        for number in self.segments_of(thread, span) {
            let mut waits = Waits {
                thread,
                begins: Default::default(),
                found: Vec::new(),
            };
            let threads = self.walk(&mut reader, number, &mut waits)?;
            for wait in waits.found {
                match open.take() {
                    Some(begun) if wait.begin == EARLIER => all.push(Wait {
                        end: wait.end,
                        ..begun
                    }),
                    _ => all.push(wait),
                }
            }
            let last = threads.get(&thread).and_then(|thread| thread.open.last());
            open = last.and_then(|open| open.extra);
        }
        all.extend(open);
        let [from, until] = span;
        all.retain(|wait| wait.begin < until && (wait.end > from || wait.begin >= from));
        Ok(all)
    }
}
