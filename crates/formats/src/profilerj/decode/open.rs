//! Open elements, and the meaning of their start and end tags.

use super::call::Call;
use super::definitions::{Definitions, Section};
use super::queue::Queue;
use super::remarks::Remarked;
use super::value::{Attributes, Message, Sum};
use crate::profilerj::names::frame_from_sampler;
use crate::profilerj::wire::{
    ALLOCATING, CALL, CALLING, CLASS, COVERAGE, COVERED_CLASS, COVERED_METHOD, FOOTPRINTS, FRAME,
    LAST_LINE, MEMORY, METHOD, MICROSECOND, NATIVE, NO_CODE, NODE, OBJECTS, PROFILE, ROW, SAMPLED,
    SAMPLER, THREAD,
};
use crate::tally::RemarkTally;
use crate::xml::read_unsigned;
use jtrail_model::{
    AggregatedDetail, AggregatedEnter, AggregatedLeave, ClassId, Duration, Event, Frame, LineCount,
    LineCounts, MethodDef, MethodId, ObjectCounts, SampleSum, ThreadId, Timestamp,
};
use jtrail_xml::{Scanner, Tag};

/// An open element inside of the root.
#[derive(Debug)]
pub(super) enum Open {
    Section(Section),
    Thread(Thread),
    Node(Node),
    Row,
    Class(ClassId),
    Method(Method),
    Footprints(Footprints),
    /// An unknown element, which is skipped with its content.
    Unknown(Box<str>),
}

#[derive(Debug)]
pub(super) struct Thread {
    section: Section,
    thread: ThreadId,
    /// Lifetime of the thread, as a time since its start.
    elapsed: Timestamp,
    has_frames: bool,
    /// The number of samples while the thread was runnable, and the number of all samples.
    sums: [Sum; 2],
}

/// A node of a call tree or of a tree of samples.
#[derive(Debug)]
pub(super) struct Node {
    thread: ThreadId,
    elapsed: Timestamp,
    /// The called method; `None` in a tree of samples.
    method: Option<MethodId>,
    /// Number of the node's event in the queue, if this event stays incomplete until all child
    /// elements are read.
    waiting: Option<u64>,
    /// In a call tree: elapsed time, CPU time and overhead. In a tree of samples: samples while the
    /// thread was runnable, and all samples.
    sums: [Sum; 3],
}

/// A method of section `coverage`.
#[derive(Debug)]
pub(super) struct Method {
    class: ClassId,
    name: Box<str>,
    signature: Box<str>,
    first_line: u32,
    calls: u64,
    footprints: Footprints,
}

#[derive(Debug, Default)]
pub(super) struct Footprints {
    /// Count of each line; `None` if the line has no code.
    counts: Vec<Option<u64>>,
}

impl Footprints {
    pub(super) fn add(&mut self, text: &str) -> Result<(), Message> {
        for word in text.split_ascii_whitespace() {
            let count = match word {
                NO_CODE => None,
                _ => match read_unsigned(word) {
                    Some(count) => Some(count),
                    None => return Err("a footprint is no number".into()),
                },
            };
            if self.counts.len() > LAST_LINE as usize {
                return Err(format!("a method has more than {LAST_LINE} lines").into());
            }
            self.counts.push(count);
        }
        Ok(())
    }
}

impl Open {
    /// Returns the element's thread if calls may be direct children of this element.
    pub(super) fn calling(&self) -> Option<ThreadId> {
        match self {
            Self::Thread(thread) if thread.section == Section::Profile => Some(thread.thread),
            Self::Node(node) => node.method.map(|_| node.thread),
            _ => None,
        }
    }

    pub(super) fn is_node(&self) -> bool {
        matches!(self, Self::Node(_))
    }

    /// Returns the element's name in the document.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Section(Section::Profile) => PROFILE,
            Self::Section(Section::Sampler) => SAMPLER,
            Self::Section(Section::Memory) => MEMORY,
            Self::Section(Section::Coverage) => COVERAGE,
            Self::Thread(_) => THREAD,
            Self::Node(_) => NODE,
            Self::Row => ROW,
            Self::Class(_) => CLASS,
            Self::Method(_) => METHOD,
            Self::Footprints(_) => FOOTPRINTS,
            Self::Unknown(name) => name,
        }
    }
}

/// A position in the document, and the state that is needed to read an element at this position.
pub(super) struct Place<'p> {
    pub(super) scanner: &'p Scanner,
    pub(super) queue: &'p mut Queue,
    pub(super) definitions: &'p mut Definitions,
    pub(super) remarks: &'p mut RemarkTally<Remarked>,
    /// Number of open elements around this position, without the root.
    pub(super) depth: u64,
    pub(super) offset: u64,
}

impl Place<'_> {
    /// Reads the start of an element inside of `parent`.
    pub(super) fn open(&mut self, parent: Option<&Open>, tag: Tag<'_>) -> Result<Open, Message> {
        Ok(match (parent, tag.name) {
            (None, PROFILE) => self.section(Section::Profile, tag),
            (None, SAMPLER) => self.section(Section::Sampler, tag),
            (None, MEMORY) => self.section(Section::Memory, tag),
            (None, COVERAGE) => self.section(Section::Coverage, tag),
            (Some(Open::Section(Section::Profile)), THREAD) => self.calling_thread(tag)?,
            (Some(Open::Section(Section::Sampler)), THREAD) => self.sampled_thread(tag)?,
            (Some(Open::Section(Section::Memory)), THREAD) => self.allocating_thread(tag)?,
            (Some(Open::Thread(thread)), NODE) => match thread.section {
                Section::Profile => self.call(thread.thread, tag)?,
                Section::Sampler => self.frame(thread.thread, thread.elapsed, tag)?,
                _ => self.unknown(tag),
            },
            (Some(Open::Node(node)), NODE) => match node.method {
                Some(_) => self.call(node.thread, tag)?,
                None => self.frame(node.thread, node.elapsed, tag)?,
            },
            (Some(Open::Thread(thread)), ROW) if thread.section == Section::Memory => {
                self.row(thread.thread, tag)?
            }
            (Some(Open::Section(Section::Coverage)), CLASS) => self.class(tag)?,
            (Some(Open::Class(class)), METHOD) => self.method(*class, tag)?,
            (Some(Open::Method(_)), FOOTPRINTS) => {
                self.attributes(tag, (FOOTPRINTS, &[]));
                Open::Footprints(Footprints::default())
            }
            // Elements inside of an unknown element get no remark of their own.
            (Some(Open::Unknown(_)), name) => Open::Unknown(name.into()),
            _ => self.unknown(tag),
        })
    }

    fn unknown(&mut self, tag: Tag<'_>) -> Open {
        let names = ("", tag.name);
        self.remarks
            .add_named(Remarked::UnknownElement, names, self.offset, 1);
        Open::Unknown(tag.name.into())
    }

    fn attributes<'a, const N: usize>(
        &mut self,
        tag: Tag<'a>,
        known: (&'static str, &'static [&'static str; N]),
    ) -> Attributes<'a, N> {
        Attributes::read(tag, self.scanner, known, self.remarks, self.offset)
    }

    fn section(&mut self, section: Section, tag: Tag<'_>) -> Open {
        self.attributes(tag, ("a section", &[]));
        Open::Section(section)
    }

    fn calling_thread(&mut self, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (THREAD, CALLING));
        let name = found.name(0)?;
        let cpu = found.number(1, self.remarks, self.offset)?;
        let alive = found.boolean(2, self.remarks, self.offset)?;
        let cpu = Duration(self.signed(cpu));
        let section = Section::Profile;
        let thread = self
            .definitions
            .thread(section, (name, cpu, alive), self.queue);
        Ok(Open::Thread(Thread {
            section,
            thread,
            elapsed: Timestamp(0),
            has_frames: false,
            sums: Default::default(),
        }))
    }

    fn sampled_thread(&mut self, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (THREAD, SAMPLED));
        let name = found.name(0)?;
        let cpu = found.number(2, self.remarks, self.offset)?;
        let elapsed = found.number(4, self.remarks, self.offset)?;
        let alive = found.boolean(5, self.remarks, self.offset)?;
        let [mut runnable, mut all] = [Sum::default(); 2];
        (runnable.with, all.with) = (found.optional(1)?, found.optional(3)?);
        (runnable.own, all.own) = (Some(0), Some(0));
        let cpu = Duration(self.signed(cpu));
        let elapsed = Timestamp(self.signed(elapsed));
        let section = Section::Sampler;
        let thread = self
            .definitions
            .thread(section, (name, cpu, alive), self.queue);
        self.definitions.seen(thread, elapsed);
        Ok(Open::Thread(Thread {
            section,
            thread,
            elapsed,
            has_frames: false,
            sums: [runnable, all],
        }))
    }

    fn allocating_thread(&mut self, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (THREAD, ALLOCATING));
        let thread = self.definitions.thread_by_name(found.name(0)?, self.queue);
        Ok(Open::Thread(Thread {
            section: Section::Memory,
            thread,
            elapsed: Timestamp(0),
            has_frames: false,
            sums: Default::default(),
        }))
    }

    fn call(&mut self, thread: ThreadId, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (NODE, CALL));
        let call = Call::read(&found, self.remarks, self.offset)?;
        Ok(self.called(thread, &call))
    }

    /// Reads a call of `thread`.
    pub(super) fn called(&mut self, thread: ThreadId, call: &Call<'_>) -> Open {
        let Call {
            elapsed,
            cpu,
            overhead,
            ..
        } = *call;
        if call.exceptions > call.count {
            self.remarks.add(Remarked::Exceptions, self.offset);
        }
        let method = self.definitions.call(call.name, call.signature, self.queue);
        let event = Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            base_time: self.time(elapsed.own.unwrap_or(0)),
            base_cpu_time: self.time(cpu.settled()),
            calls: self.signed(call.count),
            ..AggregatedEnter::default()
        });
        let waiting = self.push(event, elapsed.own.is_none());
        let overhead_time = self.time(overhead.settled());
        if call.exceptions > 0 || overhead_time.0 > 0 {
            self.queue.push(Event::AggregatedDetail(AggregatedDetail {
                thread,
                method,
                exceptions: call.exceptions,
                overhead: overhead_time,
            }));
        }
        Open::Node(Node {
            thread,
            elapsed: Timestamp(0),
            method: Some(method),
            waiting,
            sums: [elapsed, cpu, overhead],
        })
    }

    fn frame(&mut self, thread: ThreadId, time: Timestamp, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (NODE, FRAME));
        let (method, native) = frame_from_sampler(found.name(0)?);
        let runnable = Sum {
            own: Some(found.number(1, self.remarks, self.offset)?),
            with: found.optional(3)?,
            callees: 0,
        };
        let all = Sum {
            own: found.optional(2)?,
            with: found.optional(4)?,
            callees: 0,
        };
        let event = Event::SampleSum(SampleSum {
            thread,
            time,
            depth: self.depth.saturating_sub(1),
            frame: Frame {
                method: method.into(),
                line: if native { NATIVE } else { -1 },
            },
            runnable: runnable.settled(),
            all: all.own.unwrap_or(0),
        });
        let waiting = self.push(event, all.own.is_none());
        Ok(Open::Node(Node {
            thread,
            elapsed: time,
            method: None,
            waiting,
            sums: [runnable, all, Sum::default()],
        }))
    }

    fn push(&mut self, event: Event<'static>, waits: bool) -> Option<u64> {
        if waits {
            return Some(self.queue.push_waiting(event));
        }
        self.queue.push(event);
        None
    }

    fn row(&mut self, thread: ThreadId, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (ROW, OBJECTS));
        let class = self.definitions.class_by_source(found.name(0)?, self.queue);
        let live = found.number(1, self.remarks, self.offset)?;
        let peak = found.number(2, self.remarks, self.offset)?;
        if live > peak {
            self.remarks.add(Remarked::Rows, self.offset);
        }
        self.queue.push(Event::ObjectCounts(ObjectCounts {
            thread,
            time: Timestamp(0),
            class,
            live,
            peak,
        }));
        Ok(Open::Row)
    }

    fn class(&mut self, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (CLASS, COVERED_CLASS));
        let name = match (found.text(0), found.text(2)) {
            (None, Some(name)) => name,
            (Some(name), Some(class)) if name != class => {
                self.remarks.add(Remarked::ClassNames, self.offset);
                name
            }
            _ => found.name(0)?,
        };
        let source = found.text(1).unwrap_or_default();
        let class = self.definitions.covered_class(name, source, self.queue);
        Ok(Open::Class(class))
    }

    fn method(&mut self, class: ClassId, tag: Tag<'_>) -> Result<Open, Message> {
        let found = self.attributes(tag, (METHOD, COVERED_METHOD));
        let name = found.name(0)?.into();
        let signature = found.text(1).unwrap_or_default().into();
        let first_line = found.number(2, self.remarks, self.offset)?;
        let calls = found.number(3, self.remarks, self.offset)?;
        if first_line > LAST_LINE.into() {
            return Err("firstline of method is larger than any line".into());
        }
        Ok(Open::Method(Method {
            class,
            name,
            signature,
            first_line: first_line as u32,
            calls,
            footprints: Footprints::default(),
        }))
    }

    /// Reads the end of an element inside of `parent`.
    pub(super) fn close(&mut self, open: Open, parent: Option<&mut Open>) {
        match (open, parent) {
            (Open::Node(node), Some(parent)) => self.close_node(node, parent),
            (Open::Thread(thread), _) => self.close_thread(&thread),
            (Open::Footprints(footprints), Some(Open::Method(method))) => {
                method.footprints = footprints;
            }
            (Open::Method(method), _) => self.close_method(method),
            _ => {}
        }
    }

    fn close_thread(&mut self, thread: &Thread) {
        if !thread.sums.iter().all(Sum::fits) {
            self.remarks.add(Remarked::Samples, self.offset);
        }
        // The lifetime is reported by the events of the thread's frames, or else by the thread's
        // end event.
        let is_reported = thread.has_frames || self.definitions.has_ended(thread.thread);
        if thread.elapsed.0 != 0 && !is_reported {
            self.remarks.add(Remarked::Elapsed, self.offset);
        }
    }

    fn close_node(&mut self, node: Node, parent: &mut Open) {
        let [first, second, third] = node.sums;
        if ![first, second, third].iter().all(Sum::fits) {
            self.remarks.add(Remarked::Sums, self.offset);
        }
        let outer: &mut [Sum] = match parent {
            Open::Node(node) => &mut node.sums,
            Open::Thread(thread) => {
                thread.has_frames = true;
                &mut thread.sums
            }
            _ => &mut [],
        };
        for (outer, sum) in outer.iter_mut().zip([first, second, third]) {
            outer.callees = outer.callees.saturating_add(sum.whole());
        }
        if let Some(waiting) = node.waiting {
            let own_time = self.time(first.settled());
            self.queue.settle(waiting, |event| match event {
                Event::AggregatedEnter(e) => e.base_time = own_time,
                Event::SampleSum(e) => e.all = second.settled(),
                _ => {}
            });
        }
        if let Some(method) = node.method {
            let thread = node.thread;
            let leave = AggregatedLeave { thread, method };
            self.queue.push(Event::AggregatedLeave(leave));
        }
    }

    fn close_method(&mut self, method: Method) {
        let counts = &method.footprints.counts;
        if method.first_line == 0 && !counts.is_empty() {
            self.remarks.add(Remarked::Footprints, self.offset);
        }
        let places = (LAST_LINE + 1).saturating_sub(method.first_line);
        let after = counts.iter().skip(places as usize).flatten().count();
        if method.first_line > 0 && after > 0 {
            self.remarks.add(Remarked::LastLines, self.offset);
        }
        let lines: Vec<_> = (method.first_line..)
            .zip(counts)
            .filter(|(line, _)| method.first_line > 0 && *line <= LAST_LINE)
            .filter_map(|(line, count)| {
                Some(LineCount {
                    line,
                    count: (*count)?,
                })
            })
            .collect();
        let line = |line: Option<&LineCount>| line.map_or(0, |line| i64::from(line.line));
        let def = MethodDef {
            class: method.class,
            name: String::from(method.name).into(),
            signature: String::from(method.signature).into(),
            start_line: line(lines.first()),
            end_line: line(lines.last()),
            ..MethodDef::default()
        };
        let id = self.definitions.covered_method(def, self.queue);
        self.queue.push(Event::LineCounts(LineCounts {
            method: id,
            time: Timestamp(0),
            calls: method.calls,
            lines,
        }));
    }

    /// Converts microseconds to nanoseconds.
    fn time(&mut self, microseconds: u64) -> Duration {
        match microseconds.checked_mul(MICROSECOND) {
            Some(ns) => Duration(self.signed(ns)),
            None => Duration(self.signed(u64::MAX)),
        }
    }

    /// Converts an unsigned number to the signed type of the model. A number above 63 bits becomes
    /// the maximum, and is counted.
    fn signed(&mut self, number: u64) -> i64 {
        i64::try_from(number).unwrap_or_else(|_| {
            self.remarks.add(Remarked::Numbers, self.offset);
            i64::MAX
        })
    }
}
