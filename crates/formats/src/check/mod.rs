//! Checks the meaning of a trace, whatever its format.
//!
//! Decoders find what is wrong with bytes. What is wrong with the events that they spell is found
//! here: the rules over the whole trace are those of [TPTP](crate::tptp#rules-over-the-whole-trace).
//!
//! Memory grows with definitions and open calls, not with the number of events and not with the size
//! of ids.

mod findings;
mod kinds;
mod order;
mod table;
mod thread;

pub use findings::{Counts, Finding, Findings, MOST_FINDINGS, Rule, Total};

use crate::Severity;
use findings::Report;
use jtrail_model::{
    AgentCreate, ClassDef, ClassId, Custom, Event, GcRoot, MethodDef, MethodEnter, MethodId,
    MethodLeave, Note, ObjectAlloc, ObjectFree, ObjectId, ObjectReference, ThreadId, ThreadStart,
    Timestamp, Totals,
};
use kinds::Kinds;
use order::Order;
use table::Table;
use thread::Thread;

/// Name of the agent whose traces keep every rule. Of others some are known not to.
const OUR_AGENT: &str = "jtrail";

/// Checks a trace, event by event.
#[derive(Debug, Default)]
pub struct Checker {
    report: Report,
    kinds: Kinds,
    order: Order,
    ours: bool,
    threads: Table<Thread>,
    classes: Table<()>,
    /// The class of each.
    methods: Table<ClassId>,
    /// Whether each is alive.
    objects: Table<bool>,
    dumps: Table<()>,
    collecting: bool,
    /// Calls and aggregated calls in one trace were told already.
    mixed: bool,
    /// Calls left open by threads that ended.
    abandoned: u64,
    lost: u64,
    totals: Option<Totals>,
}

impl Checker {
    /// Takes the next event, which starts at byte `offset` of the trace.
    pub fn event(&mut self, offset: u64, event: &Event<'_>) {
        self.report.offset = offset;
        self.kinds.count(event);
        self.order.event(event, &mut self.report);
        match event {
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => self.leave(e),
            Event::AgentCreate(e) => self.agent(e),
            Event::ThreadStart(e) => self.thread_start(e),
            Event::ThreadEnd(e) => {
                if let Some((thread, report)) = self.thread(e.thread, Some(e.time)) {
                    self.abandoned += thread.end(e.thread, report);
                }
            }
            Event::ClassDef(e) => self.class(e),
            Event::MethodDef(e) => self.method(e),
            Event::ObjectAlloc(e) => self.alloc(e),
            Event::ObjectFree(e) => self.free(e),
            Event::GcStart(_) => self.collection(true),
            Event::GcFinish(_) => self.collection(false),
            Event::RuntimeInitDone(e) => self.bystander(e.thread, e.time),
            Event::RuntimeShutdown(e) => self.bystander(e.thread, e.time),
            Event::MonitorWait(e) => {
                self.monitor(e.thread, e.time, |t, r| {
                    t.waits.begin(e.thread, e.object, "the wait", r)
                });
            }
            Event::MonitorWaited(e) => {
                self.monitor(e.thread, e.time, |t, r| {
                    t.waits.end(e.thread, e.object, "the wait", r)
                });
            }
            Event::MonitorContendedEnter(e) => {
                self.monitor(e.thread, e.time, |t, r| {
                    t.blocks.begin(e.thread, e.object, "the block", r)
                });
            }
            Event::MonitorContendedEntered(e) => {
                self.monitor(e.thread, e.time, |t, r| {
                    t.blocks.end(e.thread, e.object, "the block", r)
                });
            }
            Event::AggregatedEnter(e) => {
                self.known_method(e.method);
                if let Some((thread, report)) = self.thread(e.thread, None) {
                    thread.aggregated_enter(e, report);
                }
                self.unmixed(event);
            }
            Event::AggregatedLeave(e) => {
                if let Some((thread, report)) = self.thread(e.thread, None) {
                    thread.aggregated_leave(e, report);
                }
            }
            Event::HeapDump(e) => {
                defined(&mut self.dumps, e.dump.0, (), "heap dump", &mut self.report);
            }
            Event::GcRoot(GcRoot { class, .. }) => self.known_class(*class),
            Event::ObjectReference(e) => self.reference(e),
            Event::Custom(e) => self.custom(e),
            _ => {}
        }
    }

    /// Ends the check.
    pub fn finish(mut self) -> Findings {
        let mut open_calls = self.abandoned;
        let (mut waiting, mut aggregated) = (0, 0);
        for thread in self.threads.values() {
            open_calls += thread.calls.len() as u64;
            aggregated += thread.aggregated.len();
            waiting += usize::from(thread.waits.open.is_some());
            waiting += usize::from(thread.blocks.open.is_some());
        }
        let report = &mut self.report;
        if self.kinds.all() > 0 && !self.order.ended() {
            // Ours always does, unless the program was killed or the output failed; the samples of old
            // agents never do.
            let severity = if self.ours {
                Severity::Truncated
            } else {
                Severity::Info
            };
            report.add(severity, Rule::Order, || {
                "the trace does not say that collection ended".into()
            });
        }
        if self.collecting {
            report.info(Rule::Collections, || {
                "the last collection does not end".into()
            });
        }
        if waiting > 0 {
            report.info(Rule::Monitors, || {
                format!("{waiting} waits or blocks do not end")
            });
        }
        if aggregated > 0 {
            let severity = if self.order.ended() {
                Severity::Fault
            } else {
                Severity::Info
            };
            report.add(severity, Rule::Aggregated, || {
                format!("{aggregated} aggregated calls do not end")
            });
        }
        let counts = Counts {
            events: self.kinds.all(),
            kinds: self.kinds.occurring(),
            threads: self.threads.len() as u64,
            classes: self.classes.len() as u64,
            methods: self.methods.len() as u64,
            enters: self.kinds.enters(),
            leaves: self.kinds.leaves(),
            open_calls,
            lost: self.lost,
        };
        if let Some(totals) = self.totals {
            for (what, told, counted) in [
                ("enters", totals.enters, counts.enters),
                ("leaves", totals.leaves, counts.leaves),
                ("lost events", totals.lost, counts.lost),
                ("open calls", totals.open, counts.open_calls),
            ] {
                if told != counted {
                    report.fault(Rule::Totals, || {
                        format!("the agent counted {told} {what}, the trace has {counted}")
                    });
                }
            }
        }
        let Report {
            findings, totals, ..
        } = self.report;
        Findings {
            findings,
            totals,
            counts,
        }
    }

    fn agent(&mut self, e: &AgentCreate<'_>) {
        self.ours = e.name == OUR_AGENT;
    }

    /// The thread of an event, if it may have one at this place.
    #[inline]
    fn thread(
        &mut self,
        id: ThreadId,
        time: Option<Timestamp>,
    ) -> Option<(&mut Thread, &mut Report)> {
        let Some(thread) = self.threads.get_mut(id.0) else {
            self.report.fault(Rule::Definitions, || {
                format!("thread {id} was not announced")
            });
            return None;
        };
        if thread.ended {
            self.report
                .fault(Rule::ThreadEnd, || format!("thread {id} has ended already"));
            return None;
        }
        if let Some(time) = time {
            thread.time(id, time, self.ours, &mut self.report);
        }
        Some((thread, &mut self.report))
    }

    fn enter(&mut self, e: &MethodEnter) {
        match self.methods.get(e.method.0) {
            None => self.undefined("method", e.method.0),
            Some(&class) if class != e.class => {
                let severity = if self.ours {
                    Severity::Fault
                } else {
                    Severity::Info
                };
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
        if self.kinds.enters() == 1 {
            self.unmixed(&Event::MethodEnter(*e));
        }
    }

    fn leave(&mut self, e: &MethodLeave) {
        if let Some((thread, report)) = self.thread(e.thread, Some(e.time)) {
            thread.leave(e, report);
        }
    }

    /// Calls one by one and aggregated calls do not occur in one trace.
    fn unmixed(&mut self, event: &Event<'_>) {
        let other = match event {
            Event::MethodEnter(_) => self.kinds.aggregated(),
            _ => self.kinds.enters(),
        };
        if other > 0 && !self.mixed {
            self.mixed = true;
            self.report.fault(Rule::Aggregated, || {
                "calls and aggregated calls stand in one trace".into()
            });
        }
    }

    fn monitor(
        &mut self,
        id: ThreadId,
        time: Timestamp,
        pair: impl FnOnce(&mut Thread, &mut Report),
    ) {
        if let Some((thread, report)) = self.thread(id, Some(time)) {
            pair(thread, report);
        }
    }

    /// An event that only mentions the thread.
    fn bystander(&mut self, id: ThreadId, time: Timestamp) {
        if !id.is_none() {
            self.thread(id, Some(time));
        }
    }

    fn thread_start(&mut self, e: &ThreadStart<'_>) {
        let thread = Thread::default();
        if defined(
            &mut self.threads,
            e.thread.0,
            thread,
            "thread",
            &mut self.report,
        ) {
            self.announced(e.object);
        }
    }

    fn class(&mut self, e: &ClassDef<'_>) {
        if defined(&mut self.classes, e.class.0, (), "class", &mut self.report) {
            self.announced(e.object);
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
        defined(
            &mut self.objects,
            e.object.0,
            true,
            "object",
            &mut self.report,
        );
    }

    /// An object that another definition names.
    fn announced(&mut self, object: ObjectId) {
        if !object.is_none() {
            defined(
                &mut self.objects,
                object.0,
                true,
                "object",
                &mut self.report,
            );
        }
    }

    fn free(&mut self, e: &ObjectFree) {
        match self.objects.get_mut(e.object.0) {
            Some(alive @ true) => *alive = false,
            Some(false) => self.report.fault(Rule::Collections, || {
                format!("object {} was freed already", e.object)
            }),
            None => self.undefined("object", e.object.0),
        }
    }

    fn collection(&mut self, begins: bool) {
        if self.collecting == begins {
            let what = if begins {
                "begins inside of another"
            } else {
                "ends, and did not begin"
            };
            self.report
                .fault(Rule::Collections, || format!("a collection {what}"));
        }
        self.collecting = begins;
    }

    fn custom(&mut self, e: &Custom<'_>) {
        match Note::parse(&e.body) {
            Some(Note::Lost(lost)) => {
                self.lost = self.lost.saturating_add(lost.events);
                match self.threads.get_mut(lost.thread.0) {
                    Some(thread) => thread.gap = true,
                    None => self.undefined("thread", lost.thread.0),
                }
            }
            Some(Note::Totals(totals)) => self.totals(totals),
            _ => {}
        }
    }

    fn totals(&mut self, totals: Totals) {
        if self.totals.replace(totals).is_some() {
            self.report
                .fault(Rule::Totals, || "the agent's totals are repeated".into());
        }
    }

    fn reference(&mut self, e: &ObjectReference) {
        if self.dumps.get(e.dump.0).is_none() {
            self.undefined("heap dump", e.dump.0);
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

    #[cold]
    fn undefined(&mut self, what: &str, id: u64) {
        self.report.fault(Rule::Definitions, || {
            format!("{what} {id} was not announced")
        });
    }
}

/// Takes note of a definition; `false` when it can't be one.
fn defined<T>(table: &mut Table<T>, id: u64, value: T, what: &str, report: &mut Report) -> bool {
    if id == 0 {
        report.fault(Rule::Ids, || {
            format!("a {what} is announced with id 0, which means none")
        });
        return false;
    }
    let new = table.insert(id, value);
    if !new {
        report.fault(Rule::Ids, || format!("{what} {id} is announced again"));
    }
    new
}
