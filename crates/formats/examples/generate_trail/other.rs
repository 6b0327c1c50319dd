//! Events that are not steps: allocations, exceptions, waits, collections.

use crate::generate::{EXCEPTION, Generator, HEAP, MONITORS, class_id, method_id};
use crate::thread::{NEVER, Other, Wait};
use jtrail_model::{
    ClassId, Duration, Event, ExceptionCatch, ExceptionThrow, Frame, GcDetail, GcFinish, GcStart,
    Generation, MethodLeave, MonitorContendedEnter, MonitorContendedEntered, MonitorWait,
    MonitorWaited, ObjectAlloc, ObjectId, ThreadId, ThreadPark, ThreadUnpark, Timestamp,
};

impl Generator<'_> {
    /// Writes the other event of a thread that is due, and plans the next one.
    pub(crate) fn other(&mut self, at: usize) {
        let (now, kind) = self.threads[at].other;
        self.threads[at].plan(now, self.program);
        match kind {
            Other::None => {}
            Other::Park => {
                let object = ObjectId(1 + self.random.below(MONITORS));
                let (thread, time) = (self.threads[at].id, Timestamp(now));
                self.event(Event::ThreadPark(ThreadPark {
                    thread,
                    time,
                    object,
                    ..Default::default()
                }));
                self.wait(at, now, Wait::Parked, [10_000, 2_000_000_000]);
            }
            Other::End(wait) => {
                self.end_wait(at, wait, now);
                self.threads[at].next = now + 100;
            }
            Other::Any if self.threads[at].stack.is_empty() => {}
            Other::Any => match self.random.below(1000) {
                0..10 => self.block(at, now),
                10 => self.wait_for_object(at, now),
                11..50 => self.throw(at, now),
                _ => self.allocate(at, now),
            },
        }
    }

    /// Lets a thread wait for a time between two, in ns.
    fn wait(&mut self, at: usize, now: i64, wait: Wait, [least, most]: [u64; 2]) {
        self.written.waits += 1;
        let thread = &mut self.threads[at];
        thread.next = NEVER;
        let end = now + thread.random.spread(least, most) as i64;
        thread.other = (end, Other::End(wait));
    }

    pub(crate) fn end_wait(&mut self, at: usize, wait: Wait, now: i64) {
        let (thread, time) = (self.threads[at].id, Timestamp(now));
        if let Other::End(_) = self.threads[at].other.1 {
            self.threads[at].other = (NEVER, Other::None);
        }
        match wait {
            Wait::Parked => self.event(Event::ThreadUnpark(ThreadUnpark { thread, time })),
            Wait::Waiting(object) => self.event(Event::MonitorWaited(MonitorWaited {
                thread,
                time,
                object: ObjectId(object),
                ..Default::default()
            })),
            Wait::Blocked(object) => {
                self.event(Event::MonitorContendedEntered(MonitorContendedEntered {
                    thread,
                    time,
                    object: ObjectId(object),
                    ..Default::default()
                }))
            }
        }
    }

    fn block(&mut self, at: usize, now: i64) {
        let object = 1 + self.random.below(MONITORS);
        let other = self.random.below(self.threads.len() as u64) as usize;
        let owner = match other == at {
            true => ThreadId::NONE,
            false => self.threads[other].id,
        };
        let (thread, time) = (self.threads[at].id, Timestamp(now));
        self.event(Event::MonitorContendedEnter(MonitorContendedEnter {
            thread,
            time,
            object: ObjectId(object),
            owner,
            ..Default::default()
        }));
        self.wait(at, now, Wait::Blocked(object), [2000, 10_000_000]);
    }

    fn wait_for_object(&mut self, at: usize, now: i64) {
        let object = 1 + self.random.below(MONITORS);
        let (thread, time) = (self.threads[at].id, Timestamp(now));
        self.event(Event::MonitorWait(MonitorWait {
            thread,
            time,
            object: ObjectId(object),
            ..Default::default()
        }));
        self.wait(at, now, Wait::Waiting(object), [10_000, 200_000_000]);
    }

    fn allocate(&mut self, at: usize, now: i64) {
        let Some(call) = self.threads[at].stack.last() else {
            return;
        };
        let method = method_id(call.opened.method);
        let thread = self.threads[at].id;
        let class = self.random.uneven(EXCEPTION as usize) as u64;
        let class = self.class_of(class);
        let size = 16 + 8 * self.random.spread(1, 10_000) as i64;
        self.objects += 1;
        self.written.allocations += 1;
        self.event(Event::ObjectAlloc(ObjectAlloc {
            thread,
            time: Timestamp(now),
            object: ObjectId(self.objects),
            size,
            line: 12,
            method,
            class,
            ..Default::default()
        }));
    }

    /// Ends the innermost call by an exception, which its caller catches; if a call ends next.
    fn throw(&mut self, at: usize, now: i64) {
        let Some(call) = self.threads[at].take_end(self.program) else {
            return self.allocate(at, now);
        };
        let time = Timestamp(now);
        let (thread, class) = (self.threads[at].id, self.class_of(EXCEPTION));
        let caller = self.threads[at].stack.last();
        let caller = caller.map_or(self.program.task, |call| call.opened.method);
        let frame = |method: u32| {
            let (class, name) = &self.program.methods[method as usize];
            let class = &self.program.classes[*class as usize];
            let method = format!("{class}.{name}()V").into();
            Frame { method, line: 12 }
        };
        let (thrown, caught) = (frame(call.opened.method), frame(caller));
        self.written.exceptions += 1;
        self.event(Event::ExceptionThrow(ExceptionThrow {
            thread,
            time,
            class,
            stack: vec![thrown],
            ..Default::default()
        }));
        let (method, of) = self.ids.get(call.opened.method);
        self.event(Event::MethodLeave(MethodLeave {
            thread,
            time,
            method,
            class: of,
            ticket: call.ticket,
            by_exception: true,
            cpu_time: Duration(0),
        }));
        self.event(Event::ExceptionCatch(ExceptionCatch {
            thread,
            time,
            class,
            frame: caught,
            ..Default::default()
        }));
    }

    /// Writes a collection, during which all threads stand still.
    pub(crate) fn collect(&mut self) {
        let begin = self.collection;
        let is_full = self.random.chance(0.05);
        let most = if is_full { 300_000_000 } else { 20_000_000 };
        let end = begin + self.random.spread(1_000_000, most) as i64;
        let generation = match is_full {
            true => Generation::Full,
            false => Generation::Young,
        };
        self.event(Event::GcStart(GcStart {
            time: Timestamp(begin),
        }));
        self.event(Event::GcDetail(GcDetail {
            time: Timestamp(begin),
            collector: "G1".into(),
            cause: "G1 Evacuation Pause".into(),
            generation,
        }));
        let more = self.random.below(20 << 20) as i64;
        self.used = match is_full {
            true => 100 << 20,
            false => (self.used + more).min(HEAP / 2),
        };
        self.event(Event::GcFinish(GcFinish {
            time: Timestamp(end),
            total_space: HEAP,
            used_space: self.used,
            used_objects: 0,
        }));
        self.written.collections += 1;
        for thread in &mut self.threads {
            if thread.next != NEVER {
                thread.next = thread.next.max(end + 1);
            }
            if thread.other.1 != Other::None {
                thread.other.0 = thread.other.0.max(end + 1);
            }
        }
        self.now = end;
        self.collection = end + self.random.spread(20_000_000, 500_000_000) as i64;
    }

    /// Returns the id of a class of [`crate::generate::OBJECTS`].
    pub(crate) fn class_of(&self, number: u64) -> ClassId {
        class_id(self.program.classes.len() as u64 + number)
    }
}
