//! Checks the meaning of a trace in any format.
//!
//! Decoders find errors in the bytes of a trace. This module finds errors in the events that a
//! decoder returns, by [TPTP's rules over the whole trace](crate::tptp#rules-over-the-whole-trace).
//!
//! Memory grows with the number of definitions and open calls, not with the number of events or the
//! size of ids. An object takes one byte.
//!
//! Some legal cases are unexpected:
//!
//! - An event whose thread was never defined has thread id 0. The rules for threads ignore this
//!   event.
//! - A free is written later than it happened: this agent writes it after the end of the collection
//!   that found the dead object. So an event that follows a free may have happened before that
//!   free.
//! - Objects have an id space of their own: an object may have the same id as a thread, class or
//!   method.
//! - The object of a thread or a class needs no definition of its own, but may have one.
//! - If a trace says that it lost events of all threads, a violation is no fault if missing events
//!   can explain it.
//! - What is open when the trace ends stays open: calls, waits, blocks, parks, class
//!   initialisations.
//! - A wait has no end if the thread did not own the monitor. A wait has no begin if the JVM itself
//!   waits for another thread that initialises a class.

mod code;
mod collections;
mod ending;
mod findings;
mod heap;
mod kinds;
mod objects;
mod order;
mod pairing;
pub(crate) mod table;
mod thread;

pub use findings::{Counts, Finding, Findings, MAX_FINDINGS, Rule, Total};

use crate::{Format, Readable, Severity};
use code::Code;
use collections::Collections;
use findings::Report;
use heap::Dumps;
use jtrail_model::{
    AgentCreate, Calls, ClassDef, ClassId, ClassUnload, ClockNote, Custom, Event, ExceptionCatch,
    ExceptionThrow, Frame, GcRoot, Kind, MethodDef, MethodEnter, MethodId, MethodLeave,
    MonitorContendedEnter, Note, ObjectAlloc, ObjectDef, ObjectFree, ObjectId, ShortCallsNote,
    ThreadId, ThreadStart, Timestamp, Totals,
};
use kinds::Kinds;
use objects::Objects;
use order::Order;
use pairing::Pair;
use std::borrow::Cow;
use std::collections::BTreeMap;
use table::Table;
use thread::Thread;

/// Name of this agent. Its traces keep every rule; other agents are known to break some.
const OUR_AGENT: &str = "jtrail";

/// Checks a trace, event by event.
#[derive(Debug, Default)]
pub struct Checker {
    report: Report,
    kinds: Kinds,
    order: Order,
    ours: bool,
    /// Threads by id; the value is `None` if the thread has ended.
    threads: Table<Option<Box<Thread>>>,
    /// Classes by id; the value is true if the class was unloaded.
    classes: Table<bool>,
    /// Methods by id, with their class.
    methods: Table<ClassId>,
    objects: Objects,
    dumps: Dumps,
    code: Code,
    /// Number of samples, including those that share an event.
    samples: u64,
    collections: Collections,
    /// True if it was already reported that the trace mixes calls and aggregated calls.
    mixed: bool,
    /// The trace's note that short calls are recorded as sums, and the number of calls in those
    /// sums.
    short_calls: Option<(ShortCallsNote, u64)>,
    /// Number of calls left open by threads that ended.
    abandoned: u64,
    lost: u64,
    clock: Option<ClockNote>,
    recovered: Option<u64>,
    totals: Option<Totals>,
    uninstrumented: BTreeMap<String, u64>,
}

/// Maximum number of distinct reasons that are counted. This agent has a handful of reasons why
/// methods are not instrumented, but a corrupt trace may have any number.
const MAX_REASONS: usize = 1_000;

impl Checker {
    /// Returns a checker of traces in `format`. It does not apply rules about fields that the
    /// format lacks.
    pub fn of(format: impl Into<Readable>) -> Self {
        let order = match format.into() {
            Readable::Trace(Format::ProfilerJ) | Readable::Import(_) => Order::without_opening(),
            _ => Order::default(),
        };
        Self {
            order,
            ..Self::default()
        }
    }

    /// Checks the next event, which starts at byte `offset` of the trace.
    pub fn event(&mut self, offset: u64, event: &Event<'_>) {
        self.report.offset = offset;
        self.kinds.count(event);
        if let Event::Custom(e) = event {
            self.custom(e);
        }
        self.order.event(event, &mut self.report);
        match event {
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => self.leave(e),
            Event::AgentCreate(e) => self.agent(e),
            Event::Option(e) => self.collections.option(e),
            Event::ThreadStart(e) => self.thread_start(e),
            Event::ThreadEnd(e) => self.thread_end(e.thread, e.time),
            Event::ThreadName(e) => self.along(e.thread, e.time, |_, _, _| {}),
            Event::ThreadCpu(e) => self.along(e.thread, e.time, |thread, ours, report| {
                thread.cpu(e.thread, e.cpu_time, ours, report);
            }),
            Event::ThreadMount(e) => self.mount(e.thread, e.time, e.carrier, true),
            Event::ThreadUnmount(e) => self.mount(e.thread, e.time, e.carrier, false),
            Event::ThreadPark(e) => self.begin(Pair::Park, e.thread, e.time, e.object),
            Event::ThreadUnpark(e) => self.end(Pair::Park, e.thread, e.time, None),
            Event::ClassDef(e) => self.class(e),
            Event::ClassDetail(e) => self.known_class(e.class),
            Event::ClassRedefine(e) => self.known_class(e.class),
            Event::ClassUnload(e) => self.class_unload(e),
            Event::ClassInitStart(e) => {
                self.known_class(e.class);
                self.along(e.thread, e.time, |thread, _, _| {
                    thread.initialising.push(e.class);
                });
            }
            Event::ClassInitEnd(e) => {
                self.known_class(e.class);
                self.along(e.thread, e.time, |thread, _, report| {
                    thread.initialised(e, report);
                });
            }
            Event::MethodDef(e) => self.method(e),
            Event::MethodCompile(e) => {
                self.known_method(e.method);
                self.code.compiled(e);
            }
            Event::MethodUncompile(e) => {
                let severity = self.promised();
                self.code.uncompiled(e, severity, &mut self.report);
            }
            Event::LineCounts(e) => {
                self.known_method(e.method);
                code::lines(e, &mut self.report);
            }
            Event::ObjectAlloc(e) => self.alloc(e),
            Event::ObjectDef(e) => self.object(e),
            Event::ObjectFree(e) => self.free(e),
            Event::GcStart(_) => self.collections.begin(&mut self.report),
            Event::GcFinish(_) => self.collections.finish(&mut self.report),
            Event::GcDetail(_) => self.collections.detail(&mut self.report),
            Event::TracePause(_) | Event::TraceResume(_) => self.collections.may_be_left_out(),
            Event::RuntimeInitDone(e) => self.bystander(e.thread, e.time),
            Event::RuntimeShutdown(e) => self.bystander(e.thread, e.time),
            Event::MonitorWait(e) => self.begin(Pair::Wait, e.thread, e.time, e.object),
            Event::MonitorWaited(e) => self.end(Pair::Wait, e.thread, e.time, Some(e.object)),
            Event::MonitorContendedEnter(e) => self.block(e),
            Event::MonitorContendedEntered(e) => {
                self.end(Pair::Block, e.thread, e.time, Some(e.object));
            }
            Event::ExceptionThrow(e) => self.throw(e),
            Event::ExceptionCatch(e) => self.catch(e),
            Event::Sample(e) => {
                self.samples = self.samples.saturating_add(e.ticks.get());
                self.along(e.thread, e.time, |_, _, _| {});
            }
            Event::SampleSum(e) => self.along(e.thread, e.time, |_, _, _| {}),
            Event::ObjectCounts(e) => {
                self.known_thread(e.thread);
                self.known_class(e.class);
            }
            Event::ClassSource(e) => self.known_class(e.class),
            Event::MethodDetail(e) => self.known_method(e.method),
            Event::CatchDetail(e) => self.bystander(e.thread, e.time),
            Event::AggregatedDetail(e) => {
                self.known_thread(e.thread);
                self.known_method(e.method);
            }
            Event::AggregatedEnter(e) => {
                if let Some((_, calls)) = &mut self.short_calls {
                    *calls = calls.saturating_add(u64::try_from(e.calls).unwrap_or(0));
                }
                self.known_method(e.method);
                let has_sums = self.short_calls.is_some();
                if let Some((thread, report)) = self.thread(e.thread, None) {
                    thread.aggregated_enter(e, has_sums, report);
                }
                self.unmixed(event);
            }
            Event::AggregatedLeave(e) => {
                if let Some((thread, report)) = self.thread(e.thread, None) {
                    thread.aggregated_leave(e, report);
                }
            }
            Event::HeapDump(e) => {
                let ours = self.ours;
                self.dumps
                    .begin(e, ours, &mut self.objects, &mut self.report);
            }
            Event::GcRoot(e) => self.root(e),
            Event::ObjectReference(e) => {
                self.dumps.reference(e, &mut self.objects, &mut self.report);
            }
            Event::HeapObject(e) => {
                self.known_class(e.class);
                self.dumps.object(e, &mut self.objects, &mut self.report);
            }
            Event::HeapDumpEnd(e) => self.dumps.end(e, &self.objects, &mut self.report),
            _ => {}
        }
    }

    /// Checks `calls`, which start at byte `offset`. Like [`Self::event`] for each call, but
    /// faster.
    pub fn calls(&mut self, offset: u64, calls: &Calls<'_>) {
        if !calls.steps.is_empty() {
            self.report.offset = offset;
        }
        let mut rest = *calls;
        // Nearly all calls keep every rule, and are checked without building events.
        loop {
            let passed = self.pass(&rest);
            rest = rest.after(passed);
            let Some((event, after)) = rest.split_first() else {
                return;
            };
            self.event(offset, &event);
            rest = after;
        }
    }

    /// Accepts the leading steps of `calls` that keep every rule, and returns their number.
    fn pass(&mut self, calls: &Calls<'_>) -> usize {
        let is_first = self.kinds.of(Kind::MethodEnter) == 0;
        if is_first || calls.cpu_time.0 != 0 || !self.order.is_among_events() {
            return 0;
        }
        let Some(Some(thread)) = self.threads.get_mut(calls.thread.0) else {
            return 0;
        };
        let (passed, enters) = thread.pass(calls, self.ours, &self.methods);
        self.kinds.add(Kind::MethodEnter, enters);
        self.kinds.add(Kind::MethodLeave, passed - enters);
        passed
    }

    fn agent(&mut self, e: &AgentCreate<'_>) {
        self.ours = e.name == OUR_AGENT;
    }

    /// Returns the thread of an event. Reports a thread that is undefined or has ended already.
    #[inline]
    fn thread(
        &mut self,
        id: ThreadId,
        time: Option<Timestamp>,
    ) -> Option<(&mut Thread, &mut Report)> {
        let Some(thread) = self.threads.get_mut(id.0) else {
            self.report.undefined("thread", id.0, Severity::Fault);
            return None;
        };
        let Some(thread) = thread else {
            self.report
                .fault(Rule::ThreadEnd, || format!("thread {id} has ended already"));
            return None;
        };
        if let Some(time) = time {
            thread.time(id, time, self.ours, &mut self.report);
        }
        Some((thread, &mut self.report))
    }

    fn enter(&mut self, e: &MethodEnter) {
        match self.methods.get(e.method.0) {
            None => self.undefined("method", e.method.0),
            Some(&class) if class != e.class => {
                let severity = self.promised();
                self.report.add(severity, Rule::Definitions, || {
                    format!(
                        "method {} is of class {class}, not of class {}",
                        e.method, e.class
                    )
                });
            }
            Some(_) => {}
        }
        let ours = self.ours;
        if let Some((thread, report)) = self.thread(e.thread, Some(e.time)) {
            thread.enter(e, ours, report);
        }
        if self.kinds.of(Kind::MethodEnter) == 1 {
            self.unmixed(&Event::MethodEnter(*e));
        }
    }

    fn leave(&mut self, e: &MethodLeave) {
        let ours = self.ours;
        if let Some((thread, report)) = self.thread(e.thread, Some(e.time)) {
            thread.leave(e, ours, report);
        }
    }

    /// Reports a trace that has both single and aggregated calls, unless a note allows that.
    fn unmixed(&mut self, event: &Event<'_>) {
        let other = match event {
            Event::MethodEnter(_) => self.kinds.of(Kind::AggregatedEnter),
            _ => self.kinds.of(Kind::MethodEnter),
        };
        if other > 0 && !self.mixed && self.short_calls.is_none() {
            self.mixed = true;
            self.report.fault(Rule::Aggregated, || {
                "calls and aggregated calls stand in one trace".into()
            });
        }
    }

    /// Checks an event of a thread that must be alive, then applies `rule`.
    fn along(
        &mut self,
        id: ThreadId,
        time: Timestamp,
        rule: impl FnOnce(&mut Thread, bool, &mut Report),
    ) {
        let ours = self.ours;
        if let Some((thread, report)) = self.thread(id, Some(time)) {
            rule(thread, ours, report);
        }
    }

    /// Like [`Self::along`], but for an event that may have no thread.
    fn along_if_any(
        &mut self,
        id: ThreadId,
        time: Timestamp,
        rule: impl FnOnce(&mut Thread, &mut Report),
    ) {
        if !id.is_none() {
            self.along(id, time, |thread, _, report| rule(thread, report));
        }
    }

    fn begin(&mut self, pair: Pair, id: ThreadId, time: Timestamp, object: ObjectId) {
        self.used(object, time);
        self.along_if_any(id, time, |thread, report| {
            thread.begin(pair, id, object, report);
        });
    }

    fn end(&mut self, pair: Pair, id: ThreadId, time: Timestamp, object: Option<ObjectId>) {
        self.used(object.unwrap_or_default(), time);
        self.along_if_any(id, time, |thread, report| {
            thread.finish(pair, id, object, report);
        });
    }

    fn block(&mut self, e: &MonitorContendedEnter<'_>) {
        self.known_thread(e.owner);
        self.begin(Pair::Block, e.thread, e.time, e.object);
    }

    fn throw(&mut self, e: &ExceptionThrow<'_>) {
        if e.stack.is_empty() {
            self.report.fault(Rule::Exceptions, || {
                format!("thread {}: an exception is thrown nowhere", e.thread)
            });
        }
        self.exception(e.thread, e.time, e.object, e.class);
    }

    fn catch(&mut self, e: &ExceptionCatch<'_>) {
        if e.frame == Frame::default() {
            self.report.fault(Rule::Exceptions, || {
                format!("thread {}: an exception is caught nowhere", e.thread)
            });
        }
        self.exception(e.thread, e.time, e.object, e.class);
    }

    fn exception(&mut self, id: ThreadId, time: Timestamp, object: ObjectId, class: ClassId) {
        if class.is_none() {
            self.undefined("class", class.0);
        }
        self.known_class(class);
        self.used(object, time);
        self.bystander(id, time);
    }

    fn mount(&mut self, id: ThreadId, time: Timestamp, carrier: ThreadId, mounts: bool) {
        self.known_thread(carrier);
        self.along(id, time, |thread, _, report| {
            thread.mount(id, mounts, report)
        });
    }

    /// Checks an event to which only two rules apply: its thread, if any, is alive, and its time
    /// does not fall.
    fn bystander(&mut self, id: ThreadId, time: Timestamp) {
        self.along_if_any(id, time, |_, _| {});
    }

    fn thread_start(&mut self, e: &ThreadStart<'_>) {
        let thread = Some(Box::default());
        let report = &mut self.report;
        if defined(&mut self.threads, e.thread.0, thread, "thread", report) {
            self.objects.imply(e.object);
        }
    }

    fn thread_end(&mut self, id: ThreadId, time: Timestamp) {
        if self.thread(id, Some(time)).is_some()
            && let Some(thread) = self.threads.get_mut(id.0).and_then(Option::take)
        {
            self.abandoned += thread.end(id, &mut self.report);
        }
    }

    fn class(&mut self, e: &ClassDef<'_>) {
        let report = &mut self.report;
        if defined(&mut self.classes, e.class.0, false, "class", report) {
            self.objects.imply(e.object);
        }
    }

    fn class_unload(&mut self, e: &ClassUnload) {
        match self.classes.get_mut(e.class.0) {
            Some(unloaded @ false) => *unloaded = true,
            Some(true) => self.report.fault(Rule::Unloads, || {
                format!("class {} was unloaded already", e.class)
            }),
            None => self.undefined("class", e.class.0),
        }
    }

    fn method(&mut self, e: &MethodDef<'_>) {
        self.known_class(e.class);
        defined(
            &mut self.methods,
            e.method.0,
            e.class,
            "method",
            &mut self.report,
        );
    }

    fn alloc(&mut self, e: &ObjectAlloc) {
        self.bystander(e.thread, e.time);
        self.known_class(e.class);
        if !e.method.is_none() {
            self.known_method(e.method);
        }
        self.objects.define(e.object, &mut self.report);
        self.objects.allocated(e.object);
        self.collections.allocated(e.object);
    }

    fn free(&mut self, e: &ObjectFree) {
        self.objects.free(e.object, e.time, &mut self.report);
        if self.ours {
            let is_allocated = self.objects.is_allocated(e.object);
            self.collections
                .freed(e.object, is_allocated, &mut self.report);
        }
    }

    fn object(&mut self, e: &ObjectDef) {
        self.known_class(e.class);
        self.objects.define(e.object, &mut self.report);
    }

    /// Checks an object that an event refers to, if any.
    fn used(&mut self, object: ObjectId, time: Timestamp) {
        let unknown = self.promised();
        self.objects.used(object, time, unknown, &mut self.report);
    }

    fn root(&mut self, e: &GcRoot<'_>) {
        self.known_class(e.class);
        let severity = self.promised();
        self.dumps
            .root(e, severity, &mut self.objects, &mut self.report);
    }

    fn custom(&mut self, e: &Custom<'_>) {
        match Note::parse(&e.body) {
            Some(Note::Lost(lost)) => {
                self.lost = self.lost.saturating_add(lost.events);
                match self.threads.get_mut(lost.thread.0) {
                    _ if lost.thread.is_none() => self.report.has_losses = true,
                    Some(Some(thread)) => thread.gap = true,
                    Some(None) => {}
                    None => self.undefined("thread", lost.thread.0),
                }
            }
            Some(Note::ShortCalls(note)) => _ = self.short_calls.get_or_insert((note, 0)),
            Some(Note::Demoted(e)) => self.known_method(e.method),
            Some(Note::Clock(clock)) => self.clock = Some(clock),
            Some(Note::Recovered(events)) => self.recovered = Some(events),
            Some(Note::Totals(totals)) => self.totals(totals),
            Some(Note::Uninstrumented(e)) => self.uninstrumented(e.reason),
            _ => {}
        }
    }

    fn uninstrumented(&mut self, reason: Cow<'_, str>) {
        if let Some(count) = self.uninstrumented.get_mut(&*reason) {
            *count += 1;
        } else if self.uninstrumented.len() < MAX_REASONS {
            self.uninstrumented.insert(reason.into_owned(), 1);
        }
    }

    fn totals(&mut self, totals: Totals) {
        if self.totals.replace(totals).is_some() {
            self.report
                .fault(Rule::Totals, || "the agent's totals are repeated".into());
        }
    }

    fn known_thread(&mut self, id: ThreadId) {
        if !id.is_none() && self.threads.get(id.0).is_none() {
            self.undefined("thread", id.0);
        }
    }

    fn known_class(&mut self, id: ClassId) {
        if !id.is_none() && self.classes.get(id.0).is_none() {
            self.undefined("class", id.0);
        }
    }

    fn known_method(&mut self, id: MethodId) {
        if self.methods.get(id.0).is_none() {
            self.undefined("method", id.0);
        }
    }

    fn undefined(&mut self, what: &str, id: u64) {
        self.report.undefined(what, id, Severity::Fault);
    }

    /// Returns the severity of a violation of a rule that other agents are known to break.
    fn promised(&self) -> Severity {
        if self.ours {
            Severity::Fault
        } else {
            Severity::Info
        }
    }
}

/// Adds a definition to its table. Returns false if the id is 0 or already defined.
fn defined<T>(table: &mut Table<T>, id: u64, value: T, what: &str, report: &mut Report) -> bool {
    if id == 0 {
        report.fault(Rule::Ids, || {
            format!("a {what} is defined with id 0, which means none")
        });
        return false;
    }
    let new = table.insert(id, value);
    if !new {
        report.fault(Rule::Ids, || format!("{what} {id} is defined again"));
    }
    new
}
