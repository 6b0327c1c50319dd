//! Contended monitors, `Object.wait` and parks.
//!
//! A thread waits for one thing at a time, so it has at most one open wait of each kind. A wait
//! that is still open when its thread or the trace ends is counted up to that time. In a deadlock,
//! these open waits are the interesting ones. An end without a begin is ignored. A begin is ignored
//! if another begin of the same kind follows it on the thread.

use super::frames::{Frames, Site};
use super::objects::Objects;
use super::spans::{Longest, Spans, Timed};
use crate::saved::by_key;
use jtrail_model::{ClassId, Event, Frame, ObjectId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// One blocking of a thread on a monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// The blocked thread.
    pub thread: ThreadId,
    /// The start of the blocking.
    pub start: Timestamp,
    /// The length in ns.
    pub length: i64,
    /// The monitor's object; none if it has no id.
    pub object: ObjectId,
    /// The class of the monitor's object; none if unknown.
    pub class: ClassId,
    /// The thread that owned the monitor when the blocking began; none if unknown.
    pub owner: ThreadId,
    /// The site at which the thread blocked.
    pub site: Site,
    /// True if the thread never got the monitor.
    pub open: bool,
}

impl Timed for Block {
    fn start(&self) -> Timestamp {
        self.start
    }

    fn length(&self) -> i64 {
        self.length
    }
}

/// Sums over waits at one site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WaitStat {
    /// The lengths of the waits.
    pub spans: Spans,
    /// The number of waits that timed out.
    pub timed_out: u64,
    /// The number of waits that did not end.
    pub open: u64,
}

/// All waits of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Monitors {
    /// Contended enters.
    pub blocked: Spans,
    /// The longest contended enters.
    pub blocks: Longest<Block>,
    /// Contended enters by object. Objects without ids are counted under `ObjectId::NONE`.
    #[serde(with = "by_key")]
    pub by_object: FxHashMap<ObjectId, (ClassId, Spans)>,
    /// Contended enters by class of the monitor's object.
    #[serde(with = "by_key")]
    pub by_class: FxHashMap<ClassId, Spans>,
    /// Contended enters by site.
    #[serde(with = "by_key")]
    pub by_site: FxHashMap<Site, Spans>,
    /// Calls of `Object.wait` by site and class of the object.
    #[serde(with = "by_key")]
    pub waits: FxHashMap<(Site, ClassId), WaitStat>,
    /// Parks by site and class of the blocker.
    #[serde(with = "by_key")]
    pub parks: FxHashMap<(Site, ClassId), WaitStat>,
    #[serde(skip)]
    open: FxHashMap<(ThreadId, Kind), Block>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Kind {
    Enter,
    Wait,
    Park,
}

impl Monitors {
    /// Processes begins and ends of waits, and ends of threads. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>, objects: &Objects, frames: &mut Frames) {
        match event {
            Event::MonitorContendedEnter(e) => {
                let block = block(e.thread, e.time, e.object, e.owner, frames.top(&e.stack));
                self.begin(Kind::Enter, block);
            }
            Event::MonitorWait(e) => {
                let site = frames.top(after(&e.stack, WAIT_FRAMES));
                let block = block(e.thread, e.time, e.object, ThreadId::NONE, site);
                self.begin(Kind::Wait, block);
            }
            Event::ThreadPark(e) => {
                let site = frames.top(after(&e.stack, PARK_FRAMES));
                let block = block(e.thread, e.time, e.object, ThreadId::NONE, site);
                self.begin(Kind::Park, block);
            }
            Event::MonitorContendedEntered(e) => {
                self.end(Kind::Enter, e.thread, e.time, false, objects);
            }
            Event::MonitorWaited(e) => {
                self.end(Kind::Wait, e.thread, e.time, e.timed_out != 0, objects);
            }
            Event::ThreadUnpark(e) => self.end(Kind::Park, e.thread, e.time, false, objects),
            Event::ThreadEnd(e) => {
                for kind in [Kind::Enter, Kind::Wait, Kind::Park] {
                    if let Some(block) = self.open.remove(&(e.thread, kind)) {
                        self.unended(kind, block, e.time, objects);
                    }
                }
            }
            _ => {}
        }
    }

    /// Ends the open waits at the end of the trace.
    pub fn finish(&mut self, time: Timestamp, objects: &Objects) {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by_key(|((thread, kind), _)| (*thread, *kind));
        for ((_, kind), block) in open {
            self.unended(kind, block, time, objects);
        }
    }

    fn begin(&mut self, kind: Kind, block: Block) {
        self.open.insert((block.thread, kind), block);
    }

    fn end(
        &mut self,
        kind: Kind,
        thread: ThreadId,
        time: Timestamp,
        timed_out: bool,
        objects: &Objects,
    ) {
        if let Some(block) = self.open.remove(&(thread, kind)) {
            self.add(kind, block, time, timed_out, objects);
        }
    }

    fn unended(&mut self, kind: Kind, mut block: Block, time: Timestamp, objects: &Objects) {
        block.open = true;
        self.add(kind, block, time, false, objects);
    }

    fn add(
        &mut self,
        kind: Kind,
        mut block: Block,
        time: Timestamp,
        timed_out: bool,
        objects: &Objects,
    ) {
        block.length = time.since(block.start).0.max(0);
        block.class = objects.class(block.object);
        let place = (block.site, block.class);
        let stat = match kind {
            Kind::Enter => {
                self.blocked.add(block.length);
                let object = self.by_object.entry(block.object).or_default();
                object.0 = block.class;
                object.1.add(block.length);
                self.by_class
                    .entry(block.class)
                    .or_default()
                    .add(block.length);
                self.by_site
                    .entry(block.site)
                    .or_default()
                    .add(block.length);
                self.blocks.add(block);
                return;
            }
            Kind::Wait => self.waits.entry(place).or_default(),
            Kind::Park => self.parks.entry(place).or_default(),
        };
        stat.spans.add(block.length);
        stat.timed_out += u64::from(timed_out);
        stat.open += u64::from(block.open);
    }
}

/// Methods that wait or park on behalf of their callers. The site of a wait is the frame of the
/// caller.
const WAIT_FRAMES: &[&str] = &["java.lang.Object.wait"];
const PARK_FRAMES: &[&str] = &[
    "java.util.concurrent.locks.LockSupport.",
    "jdk.internal.misc.Unsafe.park(",
    "sun.misc.Unsafe.park(",
];

/// Returns the stack without the innermost frames that belong to `methods`. Returns the whole stack
/// if all frames belong to `methods`.
fn after<'a, 'e>(stack: &'a [Frame<'e>], methods: &[&str]) -> &'a [Frame<'e>] {
    let own = |frame: &Frame<'_>| methods.iter().any(|m| frame.method.starts_with(m));
    let first = stack.iter().position(|frame| !own(frame));
    &stack[first.unwrap_or(0)..]
}

fn block(
    thread: ThreadId,
    start: Timestamp,
    object: ObjectId,
    owner: ThreadId,
    site: Site,
) -> Block {
    Block {
        thread,
        start,
        length: 0,
        object,
        class: ClassId::NONE,
        owner,
        site,
        open: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{
        MonitorContendedEnter, MonitorContendedEntered, MonitorWait, MonitorWaited, ObjectDef,
        ThreadEnd, ThreadPark, ThreadUnpark,
    };

    const T: [ThreadId; 4] = [ThreadId(0), ThreadId(1), ThreadId(2), ThreadId(3)];
    const LOCK: ObjectId = ObjectId(50);

    fn stack() -> Vec<Frame<'static>> {
        let frame = |method: &'static str, line| Frame {
            method: method.into(),
            line,
        };
        vec![frame("a.B.m()V", 7), frame("a.B.main()V", 3)]
    }

    fn enter(thread: usize, time: i64, owner: usize) -> Event<'static> {
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: T[thread],
            time: Timestamp(time),
            object: LOCK,
            owner: T[owner],
            stack: stack(),
        })
    }

    fn entered(thread: usize, time: i64) -> Event<'static> {
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: T[thread],
            time: Timestamp(time),
            object: LOCK,
            stack: stack(),
        })
    }

    fn monitors(events: &[Event<'_>]) -> (Monitors, Frames) {
        let (mut monitors, mut objects) = (Monitors::default(), Objects::default());
        let mut frames = Frames::default();
        let lock = Event::ObjectDef(ObjectDef {
            object: LOCK,
            class: ClassId(9),
            ..ObjectDef::default()
        });
        objects.event(&lock, true);
        for event in events {
            monitors.event(event, &objects, &mut frames);
        }
        monitors.finish(Timestamp(1_000), &objects);
        (monitors, frames)
    }

    #[test]
    fn blocks_have_owner_class_and_place() {
        let (mut monitors, frames) = monitors(&[
            enter(1, 100, 2),
            enter(3, 110, 2),
            entered(1, 150),
            entered(3, 400),
            entered(2, 500),
            enter(2, 990, 1),
        ]);
        let longest = monitors.blocks.sorted().to_vec();
        let rows: Vec<_> = longest
            .iter()
            .map(|b| (b.thread.0, b.owner.0, b.length, b.class.0, b.open))
            .collect();
        assert_eq!(
            rows,
            [
                (3, 2, 290, 9, false),
                (1, 2, 50, 9, false),
                (2, 1, 10, 9, true)
            ]
        );
        assert_eq!(frames.raw_site(longest[0].site), "a.B.m()V:7");
        let all = Spans {
            count: 3,
            total: 350,
            longest: 290,
        };
        assert_eq!(monitors.blocked, all);
        assert_eq!(monitors.by_class[&ClassId(9)], all);
        assert_eq!(monitors.by_site[&longest[0].site], all);
    }

    #[test]
    fn waits_and_parks_are_summed_by_place() {
        let wait = |time| {
            Event::MonitorWait(MonitorWait {
                thread: T[1],
                time: Timestamp(time),
                object: LOCK,
                timeout_ms: 5,
                stack: stack(),
            })
        };
        let waited = |time, timed_out| {
            Event::MonitorWaited(MonitorWaited {
                thread: T[1],
                time: Timestamp(time),
                object: LOCK,
                timed_out,
                stack: stack(),
            })
        };
        let park = |thread, time| {
            Event::ThreadPark(ThreadPark {
                thread: T[thread],
                time: Timestamp(time),
                ..ThreadPark::default()
            })
        };
        let unpark = Event::ThreadUnpark(ThreadUnpark {
            thread: T[1],
            time: Timestamp(90),
        });
        let (monitors, mut frames) = monitors(&[
            wait(10),
            // After notify, the thread blocks until it gets the monitor. This is within the wait.
            enter(1, 12, 2),
            entered(1, 14),
            waited(20, 1),
            waited(21, 1),
            wait(30),
            waited(35, 0),
            park(1, 50),
            unpark,
            park(2, 100),
            Event::ThreadEnd(ThreadEnd {
                thread: T[2],
                time: Timestamp(130),
            }),
            park(3, 950),
        ]);
        let site = frames.top(&stack());
        let wait = monitors.waits[&(site, ClassId(9))];
        let spans = Spans {
            count: 2,
            total: 15,
            longest: 10,
        };
        assert_eq!(
            wait,
            WaitStat {
                spans,
                timed_out: 1,
                open: 0
            }
        );
        let park = monitors.parks[&(Site::NONE, ClassId::NONE)];
        let spans = Spans {
            count: 3,
            total: 120,
            longest: 50,
        };
        assert_eq!(
            park,
            WaitStat {
                spans,
                timed_out: 0,
                open: 2
            }
        );
        assert_eq!(monitors.blocked.total, 2);
    }

    #[test]
    fn the_place_of_a_wait_is_the_caller() {
        let stack: Vec<_> = [
            "java.lang.Object.wait0(J)V",
            "java.lang.Object.wait(J)V",
            "a.B.m()V",
        ]
        .map(|m| Frame {
            method: m.into(),
            line: 1,
        })
        .into();
        let place = |frames| after(frames, WAIT_FRAMES)[0].method.clone();
        assert_eq!(place(&stack), "a.B.m()V");
        assert_eq!(place(&stack[..2]), "java.lang.Object.wait0(J)V");
        assert!(after(&[], PARK_FRAMES).is_empty());
    }
}
