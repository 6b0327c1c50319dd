//! Events of calls, waits, throws, samples, allocations and classes.

use super::constants::state_key;
use super::encoding::{boolean, integer, signed, text};
use super::paths::{NATIVE_LINE, Path};
use super::recording::{Recording, UNKNOWN};
use super::schema::Type;
use crate::sink::{End, Slice, ThreadIndex};
use jtrail_model::names::Names;
use jtrail_model::{
    AggregatedEnter, ClassUnload, ExceptionThrow, ObjectAlloc, Sample, ThreadState, Timestamp,
};

/// Maximum number of ticks of a sample that are written. A thread may have so many of them in 10
/// minutes, or a damaged trace any number.
pub(super) const MAX_TICKS: i64 = 65_536;

impl Recording {
    #[inline]
    pub(super) fn end_call(&mut self, end: &End) {
        let Some(call) = self.state(end.end.thread).calls.pop() else {
            return;
        };
        let (caller, method) = self.paths.split(call.path);
        self.constants.touch_method(method);
        let trace = self.paths.trace(caller);
        let thread = self.used_thread(end.end.thread);
        self.ticks(end.end.time);
        self.event(Type::MethodTrace, end.begin.time, |out| {
            integer(out, length(end));
            integer(out, thread);
            integer(out, trace);
            integer(out, method.into());
        });
    }

    pub(super) fn end_wait(&mut self, names: &Names, end: &End) {
        let (id, object, class) = match end.slice {
            Slice::Call(_) => return,
            Slice::Blocked { object, class, .. } => (Type::MonitorEnter, object, class),
            Slice::Waiting { object, class, .. } => (Type::MonitorWait, object, class),
            Slice::Parked { object, class } => (Type::ThreadPark, object, class),
        };
        let index = end.end.thread;
        let state = self.state(index);
        state.waits = state.waits.saturating_sub(1);
        let timed_out = std::mem::take(&mut state.timed_out);
        let stack = state.stack(end.begin.time);
        let trace = self.trace(names, index, &stack);
        let thread = self.used_thread(index);
        let owner = match end.slice {
            Slice::Blocked { owner, .. } => owner.map_or(0, |(_, index)| self.used_thread(index)),
            _ => 0,
        };
        let class = self.class(names, class);
        self.ticks(end.end.time);
        self.event(id, end.begin.time, |out| {
            integer(out, length(end));
            integer(out, thread);
            integer(out, trace);
            integer(out, class);
            match end.slice {
                Slice::Call(_) => {}
                Slice::Blocked { .. } => integer(out, owner),
                Slice::Waiting { timeout_ms, .. } => {
                    integer(out, 0); // notifier
                    signed(out, timeout_ms);
                    boolean(out, timed_out);
                }
                Slice::Parked { .. } => {
                    signed(out, UNKNOWN); // time limit
                    signed(out, UNKNOWN); // end of the time limit
                }
            }
            integer(out, object.0);
        });
    }

    pub(super) fn throw(&mut self, names: &Names, index: ThreadIndex, throw: &ExceptionThrow<'_>) {
        let trace = self.trace(names, index, &throw.stack);
        let thread = self.used_thread(index);
        let class = self.class(names, throw.class);
        self.event(Type::ExceptionThrow, throw.time, |out| {
            integer(out, thread);
            integer(out, trace);
            text(out, None); // message
            integer(out, class);
        });
    }

    /// Writes each tick of a sample, up to a maximum number of the last ones.
    pub(super) fn sample(&mut self, names: &Names, index: ThreadIndex, sample: &Sample<'_>) {
        self.has_samples = true;
        let is_native = sample
            .stack
            .first()
            .is_some_and(|frame| frame.line == NATIVE_LINE);
        let id = match sample.state {
            ThreadState::Runnable if !is_native => Type::ExecutionSample,
            _ => Type::NativeMethodSample,
        };
        let trace = self.recorded_trace(names, &sample.stack);
        let thread = self.used_thread(index);
        let state = state_key(sample.state);
        let last = self.state(index).last_sample.replace(sample.time);
        let span = last.map_or(0, |last| sample.time.since(last).0);
        let ticks = i64::try_from(sample.ticks.get()).unwrap_or(i64::MAX);
        let dropped = sample.ticks.get().saturating_sub(MAX_TICKS.unsigned_abs());
        self.dropped_ticks = self.dropped_ticks.saturating_add(dropped);
        for later in (0..ticks.min(MAX_TICKS)).rev() {
            // The time is that of the last tick. The others are at equal distances before it.
            let time = Timestamp(sample.time.0.saturating_sub(span / ticks * later));
            self.event(id, time, |out| {
                integer(out, thread);
                integer(out, trace);
                integer(out, state);
            });
        }
    }

    pub(super) fn allocation(
        &mut self,
        (index, time): (ThreadIndex, Timestamp),
        (trace, class): (u64, u64),
        bytes: i64,
    ) {
        let state = self.state(index);
        let allocated = u64::try_from(bytes).unwrap_or(0);
        state.allocated = state.allocated.saturating_add(allocated);
        let thread = self.used_thread(index);
        self.event(Type::AllocationSample, time, |out| {
            integer(out, thread);
            integer(out, trace);
            integer(out, class);
            signed(out, bytes);
        });
    }

    /// Writes an allocation with the line of its site, if it has one.
    pub(super) fn object(&mut self, names: &Names, index: ThreadIndex, object: &ObjectAlloc) {
        let class = self.class(names, object.class);
        let mut path = self.state(index).path();
        if !object.method.is_none() {
            let constants = &mut self.constants;
            let method = constants.method(names, object.method);
            let (caller, innermost) = self.paths.split(path);
            let caller = if innermost == method { caller } else { path };
            path = self.paths.callee(caller, method, object.line.max(0));
        }
        let trace = self.paths.trace(path);
        self.allocation((index, object.time), (trace, class), object.size);
    }

    /// Writes the sum of an aggregated call.
    pub(super) fn begin_sum(
        &mut self,
        names: &Names,
        (index, above): (ThreadIndex, usize),
        e: &AggregatedEnter,
    ) {
        let constants = &mut self.constants;
        let thread = &mut self.threads[index];
        let enclosing = thread.calls.iter().nth_back(above);
        let mut path = enclosing.map_or(Path::EMPTY, |call| call.path);
        for method in &thread.aggregated {
            let method = constants.method(names, *method);
            path = self.paths.callee(path, method, 0);
        }
        thread.aggregated.push(e.method);
        if e.calls <= 0 {
            return; // It stands for the caller of the calls in it.
        }
        let method = constants.method(names, e.method);
        constants.touch_method(method);
        let trace = self.paths.trace(path);
        let thread = self.used_thread(index);
        self.event(Type::MethodSum, self.latest, |out| {
            integer(out, thread);
            integer(out, trace);
            integer(out, method.into());
            signed(out, e.calls);
            signed(out, e.base_time.0);
        });
    }

    /// Writes that a class was loaded, once its details are known or will not come any more.
    pub(super) fn load_class(&mut self, names: &Names) {
        let Some((id, time, thread)) = self.defined.take() else {
            return;
        };
        let time = match self.first {
            Some(first) if time.0 == 0 => first,
            _ => time,
        };
        let class = self.class(names, id);
        let loader = self.constants.used_loader(id);
        let thread = thread.map_or(0, |index| self.used_thread(index));
        self.event(Type::ClassLoad, time, |out| {
            integer(out, 0); // length of time
            integer(out, thread);
            integer(out, 0); // stack trace
            integer(out, class);
            integer(out, loader);
            integer(out, 0); // initiating loader
        });
    }

    pub(super) fn unload_class(&mut self, names: &Names, unload: &ClassUnload) {
        let class = self.class(names, unload.class);
        let loader = self.constants.used_loader(unload.class);
        self.event(Type::ClassUnload, unload.time, |out| {
            integer(out, 0); // thread
            integer(out, class);
            integer(out, loader);
        });
    }
}

/// Returns the length of a slice in ns.
#[inline]
fn length(end: &End) -> u64 {
    u64::try_from(end.end.time.since(end.begin.time).0).unwrap_or(0)
}
