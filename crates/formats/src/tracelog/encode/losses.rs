//! What the format has no place for, counted by kind.

use crate::Loss;
use jtrail_model::Event;

/// Counters, in the order in which losses were first met.
#[derive(Debug, Default)]
pub(super) struct Losses {
    counts: Vec<Loss>,
    /// Events without a place; the others lose a part of what they say.
    pub(super) events: u64,
    /// Times that are no whole milliseconds.
    pub(super) fractions: u64,
    /// Leaves by exception, which are written as leaves.
    pub(super) exceptions: u64,
    /// Ticks that share a line, and with it the time of the last.
    pub(super) merged_ticks: u64,
}

impl Losses {
    /// An event that is not written.
    pub(super) fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    /// An event that is not written, and stands for so many.
    pub(super) fn add_many(&mut self, what: &'static str, count: u64) {
        self.events += 1;
        self.field_many(what, count);
    }

    pub(super) fn add_if(&mut self, lost: bool, what: &'static str) {
        if lost {
            self.add(what);
        }
    }

    /// Something that an event says, and the line for it does not.
    pub(super) fn field(&mut self, what: &'static str) {
        self.field_many(what, 1);
    }

    pub(super) fn field_if(&mut self, lost: bool, what: &'static str) {
        self.field_many(what, u64::from(lost));
    }

    pub(super) fn field_many(&mut self, what: &'static str, count: u64) {
        if count == 0 {
            return;
        }
        match self.counts.iter_mut().find(|loss| loss.what == what) {
            Some(loss) => loss.count = loss.count.saturating_add(count),
            None => self.counts.push(Loss { what, count }),
        }
    }

    /// All of them; `unused` are definitions that no line refers to.
    pub(super) fn all(&self, unused: [(&'static str, u64); 2]) -> Vec<Loss> {
        let fields = [
            ("fractions of milliseconds", self.fractions),
            (
                "exceptions that ended calls, told as leaves",
                self.exceptions,
            ),
            ("times of samples of an unchanged stack", self.merged_ticks),
        ];
        let further = fields.into_iter().chain(unused);
        let further = further.map(|(what, count)| Loss { what, count });
        let mut all = self.counts.clone();
        all.extend(further.filter(|loss| loss.count > 0));
        all
    }

    /// An event of a kind that the format does not have.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        self.add(match event {
            Event::Node(_) | Event::ProcessCreate(_) | Event::AgentCreate(_) => {
                "descriptions of machine, process and agent"
            }
            Event::TraceStart(_) => "further starts of the trace",
            Event::TraceEnd(_) | Event::AgentDestroy(_) => "ends of trace and agent",
            Event::RuntimeInitDone(_) | Event::RuntimeShutdown(_) => {
                "start and end of the Java program"
            }
            Event::Filter(_) => "filters",
            Event::Option(_) => "options",
            Event::ThreadName(_) => "new names of threads",
            Event::ThreadMount(_) | Event::ThreadUnmount(_) => "mounts of virtual threads",
            Event::ThreadPark(_) | Event::ThreadUnpark(_) => "parks",
            Event::MonitorWait(_) | Event::MonitorWaited(_) => "waits",
            Event::MonitorContendedEnter(_) | Event::MonitorContendedEntered(_) => {
                "contended monitors"
            }
            Event::ExceptionThrow(_) => "throws",
            Event::ExceptionCatch(_) => "catches",
            Event::CatchDetail(_) => "handlers of catches",
            Event::AggregatedEnter(_) | Event::AggregatedLeave(_) => "sums of calls",
            Event::HeapDump(_)
            | Event::GcRoot(_)
            | Event::ObjectReference(_)
            | Event::HeapObject(_)
            | Event::HeapDumpEnd(_) => "heap dumps: objects, roots and references",
            Event::ClassUnload(_) => "unloaded classes",
            Event::ClassRedefine(_) => "redefined classes",
            Event::ClassInitStart(_) | Event::ClassInitEnd(_) => "class initialisations",
            Event::MethodDetail(_) => "lengths of bytecode",
            Event::MethodUncompile(_) => "discarded code",
            Event::LineCounts(_) => "line counts",
            Event::Custom(_) => "notes and other free text",
            _ => "events of other kinds",
        });
    }
}
