//! Exceptions by class and site, and exceptions that nothing caught.
//!
//! An exception is in flight from its throw to its catch. A catch belongs to the latest exception
//! in flight on its thread that has the catch's object (or its class, if objects have no ids). An
//! exception that is thrown again while in flight counts once.
//!
//! An exception still in flight at the end of its thread or of the trace was **never caught** by
//! Java code: native code or the JVM handled it, it ended its thread, or another exception replaced
//! it in a `finally`.

use super::KEPT;
use super::frames::{Frames, Site};
use crate::saved::by_key;
use jtrail_model::{ClassId, Event, ExceptionCatch, ExceptionThrow, ObjectId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// An exception that was thrown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Throw {
    /// The throwing thread.
    pub thread: ThreadId,
    /// The time of the throw.
    pub time: Timestamp,
    /// The exception object; none if it has no id.
    pub object: ObjectId,
    /// The class of the exception.
    pub class: ClassId,
    /// The site of the throw.
    pub site: Site,
}

/// Sums over throws at one site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThrowStat {
    /// The number of throws.
    pub thrown: u64,
    /// The number of throws that nothing caught.
    pub uncaught: u64,
}

/// All exceptions of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Exceptions {
    /// The number of throws.
    pub thrown: u64,
    /// The number of catches.
    pub caught: u64,
    /// The number of catches by handlers that catch everything, if the trace has this detail.
    pub taken_by_all: u64,
    /// Throws by class and site.
    #[serde(with = "by_key")]
    pub throws: FxHashMap<(ClassId, Site), ThrowStat>,
    /// Catches by class and site.
    #[serde(with = "by_key")]
    pub catches: FxHashMap<(ClassId, Site), u64>,
    /// The first [`KEPT`] exceptions that were never caught.
    pub uncaught: Vec<Throw>,
    /// The number of further exceptions that were never caught.
    pub more_uncaught: u64,
    /// Exceptions in flight, by thread, in the order of their throws.
    #[serde(skip)]
    in_flight: FxHashMap<ThreadId, Vec<Throw>>,
}

/// The maximum number of exceptions in flight on a thread. All but the last one are suspended by a
/// `finally`, or were handled by native code.
const MAX_FLYING: usize = 64;

impl Exceptions {
    /// Processes throws, catches with their handlers, and ends of threads. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>, frames: &mut Frames) {
        match event {
            Event::ExceptionThrow(e) => self.throw(e, frames),
            Event::ExceptionCatch(e) => self.catch(e, frames),
            Event::CatchDetail(e) => self.taken_by_all += u64::from(e.takes_all),
            Event::ThreadEnd(e) => {
                for throw in self.in_flight.remove(&e.thread).unwrap_or_default() {
                    self.never_caught(throw);
                }
            }
            _ => {}
        }
    }

    /// Ends the trace: exceptions still in flight were never caught.
    pub fn finish(&mut self) {
        let mut in_flight: Vec<Throw> = self.in_flight.drain().flat_map(|(_, f)| f).collect();
        in_flight.sort_by_key(|t| (t.time, t.thread));
        for throw in in_flight {
            self.never_caught(throw);
        }
    }

    fn throw(&mut self, e: &ExceptionThrow<'_>, frames: &mut Frames) {
        let throw = Throw {
            thread: e.thread,
            time: e.time,
            object: e.object,
            class: e.class,
            site: frames.top(&e.stack),
        };
        self.thrown += 1;
        self.throws
            .entry((throw.class, throw.site))
            .or_default()
            .thrown += 1;
        let in_flight = self.in_flight.entry(e.thread).or_default();
        if !e.object.is_none() {
            in_flight.retain(|f| f.object != e.object);
        }
        in_flight.push(throw);
        if in_flight.len() > MAX_FLYING {
            let oldest = in_flight.remove(0);
            self.never_caught(oldest);
        }
    }

    fn catch(&mut self, e: &ExceptionCatch<'_>, frames: &mut Frames) {
        self.caught += 1;
        let site = frames.site(&e.frame);
        *self.catches.entry((e.class, site)).or_default() += 1;
        let Some(in_flight) = self.in_flight.get_mut(&e.thread) else {
            return;
        };
        let same = |f: &Throw| {
            if f.object.is_none() || e.object.is_none() {
                f.class == e.class
            } else {
                f.object == e.object
            }
        };
        if let Some(at) = in_flight.iter().rposition(same) {
            in_flight.remove(at);
        }
    }

    fn never_caught(&mut self, throw: Throw) {
        self.throws
            .entry((throw.class, throw.site))
            .or_default()
            .uncaught += 1;
        if self.uncaught.len() < KEPT {
            self.uncaught.push(throw);
        } else {
            self.more_uncaught += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{Frame, ThreadEnd};

    fn frame(line: i64) -> Frame<'static> {
        Frame {
            method: "a.B.m()V".into(),
            line,
        }
    }

    fn throw(thread: u64, object: u64, class: u64, line: i64) -> Event<'static> {
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(thread),
            time: Timestamp(line),
            object: ObjectId(object),
            class: ClassId(class),
            stack: vec![frame(line), frame(1)],
        })
    }

    fn catch(thread: u64, object: u64, class: u64, line: i64) -> Event<'static> {
        Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(thread),
            object: ObjectId(object),
            class: ClassId(class),
            frame: frame(line),
            ..ExceptionCatch::default()
        })
    }

    fn exceptions(events: &[Event<'_>]) -> (Exceptions, Frames) {
        let (mut exceptions, mut frames) = (Exceptions::default(), Frames::default());
        for event in events {
            exceptions.event(event, &mut frames);
        }
        exceptions.finish();
        (exceptions, frames)
    }

    /// Returns rows of class, site, number of throws, and number of uncaught throws.
    fn throws(exceptions: &Exceptions, frames: &Frames) -> Vec<(u64, String, u64, u64)> {
        let mut rows: Vec<_> = exceptions
            .throws
            .iter()
            .map(|((class, site), t)| (class.0, frames.raw_site(*site), t.thrown, t.uncaught))
            .collect();
        rows.sort();
        rows
    }

    #[test]
    fn throws_and_catches_by_place() {
        let (e, frames) = exceptions(&[
            throw(1, 10, 5, 100),
            catch(1, 10, 5, 200),
            throw(1, 11, 5, 100),
            // A finally block catches the exception and rethrows it. Then nothing catches it.
            catch(1, 11, 5, 201),
            throw(1, 11, 5, 101),
            throw(2, 12, 6, 102),
            Event::ThreadEnd(ThreadEnd {
                thread: ThreadId(1),
                ..ThreadEnd::default()
            }),
            catch(2, 12, 6, 202),
        ]);
        let at = |line: u32| format!("a.B.m()V:{line}");
        assert_eq!(
            throws(&e, &frames),
            [(5, at(100), 2, 0), (5, at(101), 1, 1), (6, at(102), 1, 0)]
        );
        assert_eq!((e.thrown, e.caught), (4, 3));
        assert_eq!(e.catches.values().sum::<u64>(), 3);
        assert_eq!(e.uncaught.len(), 1);
        assert_eq!(
            (e.uncaught[0].thread, e.uncaught[0].object),
            (ThreadId(1), ObjectId(11))
        );
    }

    #[test]
    fn without_object_ids_the_class_identifies() {
        let (e, _) = exceptions(&[
            throw(1, 0, 5, 1),
            throw(1, 0, 6, 2),
            catch(1, 0, 5, 9),
            catch(1, 0, 7, 9),
        ]);
        let uncaught: Vec<_> = e.uncaught.iter().map(|t| t.class.0).collect();
        assert_eq!(uncaught, [6]);
    }

    /// Native code rethrows the same object, without a catch in between.
    #[test]
    fn thrown_again_is_the_same_exception() {
        let (e, _) = exceptions(&[throw(1, 10, 5, 1), throw(1, 10, 5, 2), catch(1, 10, 5, 9)]);
        assert!(e.uncaught.is_empty());
    }

    #[test]
    fn what_native_code_took_does_not_pile_up() {
        let (mut e, mut frames) = (Exceptions::default(), Frames::default());
        for n in 1..=100_000 {
            e.event(&throw(1, n, 5, 1), &mut frames);
        }
        assert_eq!(e.in_flight[&ThreadId(1)].len(), MAX_FLYING);
        e.finish();
        assert_eq!(e.uncaught.len() as u64 + e.more_uncaught, 100_000);
        assert_eq!(e.throws.values().next().expect("one").uncaught, 100_000);
    }
}
