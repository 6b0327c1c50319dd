//! Pausing and resuming a trace, and continuing in another trace.
//!
//! While a trace is paused, the stacks of threads are updated. Nothing is written but definitions,
//! ends, and events of threads and classes. When the trace resumes, calls that ended in the pause
//! get leaves at the time of the pause. Calls that began in the pause are hidden, and so are their
//! leaves.

use super::calls::Call;
use super::{Ids, OpenCalls, Settings, Translator};
use crate::record::{self, Code};
use jtrail_formats::Encode;
use jtrail_model::{
    ByNumber, ClassId, Event, HeapDumpId, MethodIds, ThreadId, Timestamp, Totals, TracePause,
    TraceResume,
};

/// An encoder that writes nothing.
struct Silent;

impl Encode for Silent {
    fn begin(&mut self, _: &mut Vec<u8>) {}
    fn event(&mut self, _: &Event<'_>, _: &mut Vec<u8>) {}
    fn end(&mut self, _: &mut Vec<u8>) {}
}

impl Translator {
    /// Pauses the trace: until [`Self::resume`], calls and most other events are not written.
    pub fn pause(&mut self, time: Timestamp) {
        if self.paused.is_none() {
            self.paused = Some(time);
            self.event(&Event::TracePause(TracePause { time }));
            if self.settings.has_gate {
                self.leave_open_calls(time);
            }
        }
    }

    /// Begins a trace that is paused. `is_reported` is true if an event must report that, because
    /// the format's header does not.
    pub fn begin_paused(&mut self, time: Timestamp, is_reported: bool) {
        if is_reported {
            self.event(&Event::TracePause(TracePause { time }));
        }
        self.paused = Some(time);
    }

    /// Like [`Self::resume`], at a tick. Returns true if the trace was paused.
    pub fn resume_at(&mut self, ticks: u64) -> bool {
        let was_paused = self.paused.is_some();
        self.resume(Timestamp(self.timeline.at(ticks)));
        was_paused
    }

    /// Leaves the open calls at the time of the pause, because their ends are not recorded before
    /// the trace resumes.
    fn leave_open_calls(&mut self, time: Timestamp) {
        for thread in self.threads.values_mut() {
            let cpu = thread.cpu;
            for call in thread.calls.iter().rev().filter(|call| !call.is_hidden()) {
                match &mut thread.tree {
                    Some(tree) => tree.leave(time, cpu, false),
                    None => thread.left_open.push(*call),
                }
            }
            thread.calls.clear();
            thread.hidden = 0;
        }
    }

    /// Forgets the open calls, because they may have ended since without a record.
    fn forget_open_calls(&mut self) {
        for thread in self.threads.values_mut() {
            thread.calls.clear();
            thread.hidden = 0;
        }
    }

    /// Like [`Self::pause`], at a tick.
    #[cold]
    pub fn pause_at(&mut self, ticks: u64) {
        self.pause(Timestamp(self.timeline.at(ticks)));
    }

    /// Ends the trace here, although its end is written later. Later events are not in the trace.
    #[cold]
    pub fn cut_at(&mut self, ticks: u64) {
        if !std::mem::replace(&mut self.is_cut, true) {
            self.cut_off = Some(std::mem::replace(&mut self.encoder, Self::silent()));
        }
        self.paused
            .get_or_insert(Timestamp(self.timeline.at(ticks)));
    }

    /// Gives a cut trace its encoder back, so that its end can be written.
    pub fn close_cut(&mut self) {
        if let Some(encoder) = self.cut_off.take() {
            self.encoder = encoder;
        }
    }

    /// Returns the time to write for an end at `time`. While the trace is paused, this is the time
    /// of the pause, as for calls.
    pub(super) fn end_in_pause(&self, time: Timestamp) -> Timestamp {
        self.paused.unwrap_or(time)
    }

    /// Resumes the trace.
    pub fn resume(&mut self, time: Timestamp) {
        let Some(since) = self.paused else { return };
        for number in self.thread_numbers() {
            self.write_left_open(number, since);
        }
        if self.settings.has_gate {
            self.forget_open_calls();
        }
        self.paused = None;
        let time = time.max(since);
        self.event(&Event::TraceResume(TraceResume { time }));
        self.show_open_calls(time);
    }

    /// Writes leaves that came while the trace was paused. After a cut, nothing is written, because
    /// these calls are open at the end of the trace.
    pub(super) fn write_left_open(&mut self, number: u32, time: Timestamp) {
        if self.is_cut {
            return;
        }
        let Some(thread) = self.threads.get_mut(&number) else {
            return;
        };
        let (id, cpu) = (thread.id, thread.cpu);
        for call in std::mem::take(&mut thread.left_open) {
            self.write_leave(id, time, call, cpu, false);
        }
    }

    /// Returns true if a record is not written because the trace is paused.
    pub(super) fn is_skipped(&mut self, ticks: u64, code: Code, payload: &[u64]) -> bool {
        let time = Timestamp(self.timeline.at(ticks));
        let (object, class) = record::object_parts(payload[0]);
        match code {
            Code::Alloc | Code::AllocAt => {
                // An event may mention the object later.
                if object != 0 {
                    self.define_object(object, class, payload[1], time);
                }
                true
            }
            Code::AllocSiteObject | Code::AllocCallObject => {
                if let Some((_, (class, size), object)) = self.object_made(code, payload) {
                    self.define_object(object, class, size, time);
                }
                true
            }
            Code::GcStart => {
                self.objects.collection(payload[0]);
                true
            }
            Code::HeapDump => {
                self.objects.skip_dump();
                true
            }
            // A snapshot that began before the pause is written to its end.
            Code::HeapObject if self.objects.is_dump_skipped() => {
                self.define_object(object, class, payload[1], time);
                true
            }
            Code::HeapRoot | Code::HeapReference | Code::HeapDumpEnd => {
                self.objects.is_dump_skipped()
            }
            Code::AllocSite
            | Code::AllocMany
            | Code::MonitorContendedEnter
            | Code::MonitorWait
            | Code::Park
            | Code::ClassInit
            | Code::Throw
            | Code::Catch
            | Code::Sample => true,
            _ => false,
        }
    }

    /// Begins another trace. Keeps what is known of threads, classes and methods; the trace defines
    /// them again before their first use. Line counts start from here.
    pub fn restart(&mut self, encoder: Box<dyn Encode>, settings: Settings, calls: OpenCalls) {
        let had_gate = self.settings.has_gate;
        (self.encoder, self.settings) = (encoder, settings);
        self.out.clear();
        self.ids = Ids::default();
        self.named.clear();
        self.emitted_outside_totals = self.emitted();
        // The same classes and methods stay instrumented.
        let Totals {
            classes,
            methods,
            uninstrumented,
            ..
        } = self.totals;
        self.totals = Totals {
            classes,
            methods,
            uninstrumented,
            ..Totals::default()
        };
        (self.cut_samples, self.folded_calls) = (0, 0);
        // While a gate is closed, and without hooks, the ends of calls are not recorded. So the
        // open calls are forgotten if the old or the new trace has a gate, or if the new trace
        // would show the calls.
        let forgets = had_gate || self.settings.has_gate || self.settings.shows_open_calls;
        if forgets && calls == OpenCalls::Hide {
            self.forget_open_calls();
        }
        self.collecting = false;
        (self.paused, self.is_cut, self.cut_off) = (None, false, None);
        self.is_silent = false;
        self.objects.forget_definitions();
        self.code.clear();
        let emitted = std::mem::take(&mut self.lines_reported);
        self.lines_before = match calls {
            OpenCalls::Enter if !emitted.is_empty() => emitted,
            _ => (self.line_counters)().unwrap_or_default(),
        };
        for thread in self.threads.values_mut() {
            thread.id = ThreadId::NONE;
            thread.tree = None;
            thread.left_open.clear();
            if calls == OpenCalls::Hide {
                thread.calls.iter_mut().for_each(Call::hide);
            }
            thread.hidden = thread.calls.iter().filter(|call| call.is_hidden()).count() as u32;
            (thread.is_blocked, thread.is_waiting, thread.parks) = (false, false, 0);
            if calls == OpenCalls::Hide {
                thread.initialising.clear();
            }
        }
        self.classes.retain(|_, class| {
            class.id = ClassId::NONE;
            class.about.is_some()
        });
        self.methods.restart();
        if let Some(entered) = &mut self.entered {
            *entered = ByNumber::default();
        }
        self.ids_of_methods = MethodIds::default();
        let methods = &self.methods;
        self.known.restart(|number| methods.get(number).is_some());
    }

    /// Returns true if another trace can take over. It can't during a garbage collection or a heap
    /// dump, because these must be in one trace.
    pub fn can_be_followed(&self) -> bool {
        !self.collecting && self.objects.dump == HeapDumpId::NONE
    }

    /// Enters the open calls in a trace that continues another one, and writes which classes are
    /// being initialised.
    pub(super) fn enter_open_calls(&mut self, ticks: u64) {
        for number in self.thread_numbers() {
            let Some(thread) = self.threads.get_mut(&number) else {
                continue;
            };
            thread.hidden = 0;
            let calls = std::mem::take(&mut thread.calls);
            for class in std::mem::take(&mut thread.initialising) {
                self.begin_initialisation(number, ticks, class);
            }
            for call in calls.iter() {
                self.entered(number, ticks, call.method());
                if let Some(entered) = self.thread(number).calls.last_mut() {
                    entered.set_phase(call.phase());
                }
            }
        }
    }

    /// Returns an encoder for the time without a trace.
    pub fn silent() -> Box<dyn Encode> {
        Box::new(Silent)
    }

    /// Ends the trace. Until the next one begins, stacks are updated, and nothing is written.
    pub fn go_silent(&mut self) {
        self.encoder = Self::silent();
        self.out.clear();
        self.is_silent = true;
        self.paused.get_or_insert_default();
    }
}

impl super::objects::Objects {
    fn skip_dump(&mut self) {
        self.dump = HeapDumpId::NONE;
    }

    fn is_dump_skipped(&self) -> bool {
        self.dump == HeapDumpId::NONE
    }

    /// Forgets the definitions of the trace that has ended.
    fn forget_definitions(&mut self) {
        self.defined = Default::default();
        self.dying = Default::default();
        self.dump = HeapDumpId::NONE;
    }
}
