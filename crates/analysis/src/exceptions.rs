//! Exceptions by class and place, and those that nothing caught.
//!
//! A catch belongs to the latest exception on its thread that is under way: the one of its object,
//! or of its class where objects have no ids. One that is thrown again while it is under way is
//! still the same. What is under way when its thread or the trace ends was **never caught** by Java
//! code: native code or the JVM took it, it ended its thread, or another one took its place in a
//! `finally`.

use super::KEPT;
use super::frames::{Frames, Site};
use jtrail_model::{ClassId, Event, ExceptionCatch, ExceptionThrow, ObjectId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

/// An exception that was thrown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throw {
    /// The throwing thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The exception, none if it has no id.
    pub object: ObjectId,
    /// Its class.
    pub class: ClassId,
    /// Where.
    pub site: Site,
}

/// Sums over throws at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThrowStat {
    /// How often.
    pub thrown: u64,
    /// How often nothing caught it.
    pub uncaught: u64,
}

/// All exceptions.
#[derive(Debug, Default)]
pub struct Exceptions {
    /// Throws.
    pub thrown: u64,
    /// Catches.
    pub caught: u64,
    /// Handlers that take all, among those that are told.
    pub taken_by_all: u64,
    /// Throws by class and place.
    pub throws: FxHashMap<(ClassId, Site), ThrowStat>,
    /// Catches by class and place.
    pub catches: FxHashMap<(ClassId, Site), u64>,
    /// Exceptions never caught, the first [`KEPT`] that came to be known.
    pub uncaught: Vec<Throw>,
    /// Exceptions of that kind that are not kept.
    pub more_uncaught: u64,
    /// Exceptions under way, by thread, in the order of their throws.
    flying: FxHashMap<ThreadId, Vec<Throw>>,
}

/// Exceptions under way that are kept for a thread. Each but the last one is within a `finally` of
/// the one before, or was taken by native code.
const MOST_FLYING: usize = 64;

impl Exceptions {
    /// Takes throws, catches with their handlers, and ends of threads; other events are passed
    /// over.
    pub fn event(&mut self, event: &Event<'_>, frames: &mut Frames) {
        match event {
            Event::ExceptionThrow(e) => self.throw(e, frames),
            Event::ExceptionCatch(e) => self.catch(e, frames),
            Event::CatchDetail(e) => self.taken_by_all += u64::from(e.takes_all),
            Event::ThreadEnd(e) => {
                for throw in self.flying.remove(&e.thread).unwrap_or_default() {
                    self.never_caught(throw);
                }
            }
            _ => {}
        }
    }

    /// What is under way now was never caught.
    pub fn finish(&mut self) {
        let mut flying: Vec<Throw> = self.flying.drain().flat_map(|(_, f)| f).collect();
        flying.sort_by_key(|t| (t.time, t.thread));
        for throw in flying {
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
        let flying = self.flying.entry(e.thread).or_default();
        if !e.object.is_none() {
            flying.retain(|f| f.object != e.object);
        }
        flying.push(throw);
        if flying.len() > MOST_FLYING {
            let oldest = flying.remove(0);
            self.never_caught(oldest);
        }
    }

    fn catch(&mut self, e: &ExceptionCatch<'_>, frames: &mut Frames) {
        self.caught += 1;
        let site = frames.site(&e.frame);
        *self.catches.entry((e.class, site)).or_default() += 1;
        let Some(flying) = self.flying.get_mut(&e.thread) else {
            return;
        };
        let same = |f: &Throw| {
            if f.object.is_none() || e.object.is_none() {
                f.class == e.class
            } else {
                f.object == e.object
            }
        };
        if let Some(at) = flying.iter().rposition(same) {
            flying.remove(at);
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

    /// `class, line: thrown uncaught`
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
            // A finally catches, throws on, and nothing catches.
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

    /// Native code throws the same object on, without a catch between.
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
        assert_eq!(e.flying[&ThreadId(1)].len(), MOST_FLYING);
        e.finish();
        assert_eq!(e.uncaught.len() as u64 + e.more_uncaught, 100_000);
        assert_eq!(e.throws.values().next().expect("one").uncaught, 100_000);
    }
}
