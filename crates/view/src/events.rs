//! Allocations by class and exceptions by class and site, in a span.

use crate::index::Index;
use crate::remaining::Remaining;
use crate::slice::Kind;
use crate::sums::{Item, with_nodes};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_analysis::{Frames, Site};
use jtrail_model::{ClassId, Event, Frame, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::hash::Hash;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Allocations and exceptions of some segments, by thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EventSums {
    pub(crate) allocations: FxHashMap<(ThreadId, ClassId), Allocated>,
    /// Sites have the numbers of [`Sites`].
    pub(crate) throws: FxHashMap<(ThreadId, ClassId, u32), Throws>,
}

/// Objects that were allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allocated {
    /// Number of objects.
    pub objects: u64,
    /// Bytes of the objects.
    pub bytes: u64,
}

/// Throws of exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throws {
    /// Number of throws.
    pub count: u64,
    /// The times of the first and the last one.
    pub times: [Timestamp; 2],
}

/// Sites of throws: a method as the trace names it, and a line. An exception without a stack has an
/// empty name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sites {
    pub(crate) all: Vec<(Arc<str>, i64)>,
    numbers: FxHashMap<(Arc<str>, i64), u32>,
}

impl FromIterator<(String, i64)> for Sites {
    fn from_iter<I: IntoIterator<Item = (String, i64)>>(all: I) -> Self {
        let mut sites = Self::default();
        for (method, line) in all {
            sites.number(&method, line);
        }
        sites
    }
}

impl Sites {
    /// Returns the number of a site.
    pub(crate) fn number(&mut self, method: &str, line: i64) -> u32 {
        let site: (Arc<str>, i64) = (method.into(), line);
        if let Some(number) = self.numbers.get(&site) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(site.clone());
        self.numbers.insert(site, number);
        number
    }
}

impl Allocated {
    fn add(&mut self, other: &Self) {
        self.objects = self.objects.saturating_add(other.objects);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Throws {
    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        let [first, last] = other.times;
        self.times = [self.times[0].min(first), self.times[1].max(last)];
    }
}

impl EventSums {
    /// Adds an event, if it is an allocation or a throw.
    pub(crate) fn event(&mut self, event: &Event<'_>, sites: &mut Sites) {
        match event {
            Event::ObjectAlloc(e) => {
                let bytes = e.size.max(0).unsigned_abs();
                let one = Allocated { objects: 1, bytes };
                add_to(&mut self.allocations, (e.thread, e.class), &one);
            }
            Event::AllocationSum(e) => {
                let (objects, bytes) = (e.objects, e.bytes);
                let all = Allocated { objects, bytes };
                add_to(&mut self.allocations, (e.thread, e.class), &all);
            }
            Event::ExceptionThrow(e) => {
                let site = match e.stack.first() {
                    Some(frame) => sites.number(&frame.method, frame.line),
                    None => sites.number("", 0),
                };
                let (count, times) = (1, [e.time; 2]);
                let one = Throws { count, times };
                add_to(&mut self.throws, (e.thread, e.class, site), &one);
            }
            _ => {}
        }
    }

    /// Adds the sums of other segments. `site` returns the number of one of their sites.
    pub(crate) fn append(&mut self, other: &Self, site: impl Fn(u32) -> u32) {
        for (key, more) in &other.allocations {
            add_to(&mut self.allocations, *key, more);
        }
        for ((thread, class, of), more) in &other.throws {
            add_to(&mut self.throws, (*thread, *class, site(*of)), more);
        }
    }

    /// Returns the number of sums.
    pub(crate) fn len(&self) -> usize {
        self.allocations.len() + self.throws.len()
    }
}

/// What can be added to another one.
trait Add: Copy {
    fn add(&mut self, other: &Self);
}

impl Add for Allocated {
    fn add(&mut self, other: &Self) {
        Self::add(self, other);
    }
}

impl Add for Throws {
    fn add(&mut self, other: &Self) {
        Self::add(self, other);
    }
}

fn add_to<K: Hash + Eq, V: Add>(all: &mut FxHashMap<K, V>, key: K, more: &V) {
    match all.get_mut(&key) {
        Some(sum) => sum.add(more),
        None => _ = all.insert(key, *more),
    }
}

/// Allocations by class and exceptions by class and site in a span, as far as they have been summed
/// up.
#[derive(Debug)]
pub struct Events {
    span: [Timestamp; 2],
    /// The only threads that count, beside events without a thread; all if `None`.
    only: Option<Arc<BTreeSet<ThreadId>>>,
    remaining: Remaining<Item>,
    allocations: FxHashMap<ClassId, Allocated>,
    throws: FxHashMap<(ClassId, Site), Throws>,
    frames: Frames,
}

/// The events of a segment that lie in a span.
struct InSpan {
    span: [Timestamp; 2],
    sums: EventSums,
    sites: Sites,
}

impl Events {
    /// Begins the sums of some threads in a span; of all if there are none.
    pub fn new(trace: &Trace, span: [Timestamp; 2], threads: Option<BTreeSet<ThreadId>>) -> Self {
        Self {
            span,
            only: threads.map(Arc::new),
            remaining: Remaining::new(items(trace, span).into_iter()),
            allocations: FxHashMap::default(),
            throws: FxHashMap::default(),
            frames: Frames::default(),
        }
    }

    /// Sums up the segments from `first` on, too: the trace has grown.
    pub(crate) fn grow(&mut self, trace: &Trace, first: usize) {
        let mut items = items(trace, self.span);
        items.retain(|item| item.is_from(first));
        self.remaining.add(items);
    }

    /// Returns which share of the span has been summed up: 1 if all is.
    pub fn share(&self) -> f64 {
        self.remaining.share()
    }

    /// Returns the allocations by class, as far as they are known.
    pub fn allocations(&self) -> &FxHashMap<ClassId, Allocated> {
        &self.allocations
    }

    /// Returns the exceptions by class and site, as far as they are known.
    pub fn throws(&self) -> &FxHashMap<(ClassId, Site), Throws> {
        &self.throws
    }

    /// Returns the names of sites.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Sums up more segments on all processors, until everything is summed up or the time is over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn advance(&mut self, trace: &Trace, time: Duration) -> io::Result<()> {
        let (span, index) = (self.span, trace.index());
        let segment = |number: u32| -> io::Result<(EventSums, Sites)> {
            let mut found = InSpan {
                span,
                sums: EventSums::default(),
                sites: Sites::default(),
            };
            trace.walk(number as usize, &mut found)?;
            Ok((found.sums, found.sites))
        };
        let read = |item: &Item| -> io::Result<Vec<(EventSums, Sites)>> {
            match (item, &index) {
                (Item::Segment(number), _) => Ok(vec![segment(*number)?]),
                (Item::Node(place), Some(index)) => match index.events(*place)? {
                    Some(sums) => Ok(vec![(sums, index.sites().clone())]),
                    // What is damaged in the index is still in the trail.
                    None => {
                        let [first, end] = index.segments(*place);
                        (first..end).map(segment).collect()
                    }
                },
                (Item::Node(_), None) => Ok(Vec::new()),
            }
        };
        let mut remaining = std::mem::take(&mut self.remaining);
        let done = remaining.advance(time, read, |_, all| {
            for (sums, sites) in all {
                self.add(&sums, &sites);
            }
        });
        self.remaining = remaining;
        done
    }

    fn add(&mut self, sums: &EventSums, sites: &Sites) {
        let only = self.only.clone();
        // What belongs to no thread belongs to each selection.
        let counts = |thread: ThreadId| {
            let only = only.as_ref();
            thread.is_none() || only.is_none_or(|only| only.contains(&thread))
        };
        for ((thread, class), more) in &sums.allocations {
            if counts(*thread) {
                add_to(&mut self.allocations, *class, more);
            }
        }
        for ((thread, class, site), more) in &sums.throws {
            let Some((method, line)) = sites.all.get(*site as usize) else {
                continue;
            };
            if counts(*thread) {
                let frame = Frame {
                    method: method.as_ref().into(),
                    line: *line,
                };
                let site = match method.is_empty() {
                    true => Site::NONE,
                    false => self.frames.top(&[frame]),
                };
                add_to(&mut self.throws, (*class, site), more);
            }
        }
    }
}

/// Returns nodes that lie in a span and have these sums, and the other segments of the span.
fn items(trace: &Trace, span: [Timestamp; 2]) -> Vec<Item> {
    let numbers = trace.segments_in(span).into_iter();
    let numbers = numbers.map(|number| number as u32).collect();
    with_nodes(trace, &numbers, span, Index::has_events)
}

impl Walk for InSpan {
    type Extra = ();
    type Thread = ();

    fn thread(&mut self, _: ThreadId) {}

    #[inline]
    fn begin(&mut self, _: &mut (), _: &[Open<()>], _: Begin) {}

    #[inline]
    fn end(&mut self, _: &mut (), _: &[Open<()>], _: Open<()>, _: (Timestamp, Kind)) {}

    fn other(&mut self, event: &Event<'_>) {
        let [from, until] = self.span;
        let is_in = |time| (from..until).contains(&time) || time == Timestamp::default();
        if event.time().is_none_or(is_in) {
            self.sums.event(event, &mut self.sites);
        }
    }
}
