//! Events with a stack: monitors, parking, exceptions, samples.

use super::{Methods, Translator};
use crate::record::{self, Code, INNERMOST_MISSING};
use jtrail_model::{
    CatchDetail, Event, ExceptionCatch, ExceptionThrow, Frame, MonitorContendedEnter,
    MonitorContendedEntered, MonitorWait, MonitorWaited, ObjectId, Sample, ThreadPark, ThreadState,
    ThreadUnpark, Ticks,
};

impl Translator {
    /// Makes sure that the methods of the frames have their text.
    pub(super) fn name_frames(&mut self, frames: &[u64]) {
        for frame in frames {
            let number = record::frame_parts(*frame).0;
            let method = self.methods.at(number);
            if method.frame.is_empty() {
                let class = self.classes.at(method.class);
                let (name, info) = (class.name(), &method.info);
                method.frame = format!("{name}.{}{}", info.name, info.descriptor).into();
            }
        }
    }

    /// Returns true if a park or unpark belongs to the outermost open parking method: some of these
    /// methods call each other.
    fn is_outermost_park(&mut self, number: u32, code: Code) -> bool {
        let parks = &mut self.thread(number).parks;
        match code {
            Code::Park => {
                *parks += 1;
                *parks == 1
            }
            _ if *parks == 0 => false, // parked before the trace began
            _ => {
                *parks -= 1;
                *parks == 0
            }
        }
    }

    /// Returns true if a record begins a state, or ends one whose start was recorded. HotSpot 25
    /// reports only the end in two cases: when a virtual thread reacquires its monitor after a
    /// wait, and when a thread has waited for a class to be initialised.
    fn has_begun(&mut self, number: u32, code: Code) -> bool {
        let thread = self.thread(number);
        let (state, begins) = match code {
            Code::MonitorContendedEnter => (&mut thread.is_blocked, true),
            Code::MonitorContendedEntered => (&mut thread.is_blocked, false),
            Code::MonitorWait => (&mut thread.is_waiting, true),
            Code::MonitorWaited => (&mut thread.is_waiting, false),
            _ => return true,
        };
        std::mem::replace(state, begins) || begins
    }

    pub(super) fn stack(&mut self, number: u32, ticks: u64, code: Code, payload: &[u64]) {
        let of = match code {
            Code::Sample => record::object_parts(payload[0]).0 as u32,
            _ => number,
        };
        let Some((thread, time)) = self.at(of, ticks) else {
            return; // the thread has ended meanwhile
        };
        if matches!(code, Code::Park | Code::Unpark) && !self.is_outermost_park(of, code) {
            return;
        }
        if !self.has_begun(of, code) || self.is_cut {
            return;
        }
        let time = self.end_in_pause(time);
        if code == Code::Unpark {
            self.totals.parks += 1;
            return self.event(&Event::ThreadUnpark(ThreadUnpark { thread, time }));
        }
        let object = match code {
            Code::Sample => ObjectId::NONE,
            _ => self.mentioned(record::object_parts(payload[0]).0, time),
        };
        let (value, frames) = (payload[1], &payload[2..]);
        self.name_frames(frames);
        let class = match code {
            Code::Throw | Code::Catch => self.class(value as u32, time),
            _ => Default::default(),
        };
        let owner = match code {
            Code::MonitorContendedEnter => self.other_thread(value as u32, time),
            _ => Default::default(),
        };
        let totals = &mut self.totals;
        match code {
            Code::Park => totals.parks += 1,
            Code::Throw => totals.throws += 1,
            Code::Catch => totals.catches += 1,
            Code::Sample => {
                totals.samples += 1;
                self.cut_samples += u64::from(value & INNERMOST_MISSING != 0);
            }
            _ => totals.monitors += 1,
        }
        if code == Code::Catch
            && let Some((entry, takes_all)) = record::handler_parts(value)
        {
            self.event(&Event::CatchDetail(CatchDetail {
                thread,
                time,
                entry: entry.into(),
                takes_all,
            }));
        }
        let mut stack = stack(&self.methods, frames);
        let event = match code {
            Code::MonitorContendedEnter => Event::MonitorContendedEnter(MonitorContendedEnter {
                thread,
                time,
                object,
                owner,
                stack,
            }),
            Code::MonitorContendedEntered => {
                Event::MonitorContendedEntered(MonitorContendedEntered {
                    thread,
                    time,
                    object,
                    stack,
                })
            }
            Code::MonitorWait => Event::MonitorWait(MonitorWait {
                thread,
                time,
                object,
                timeout_ms: value as i64,
                stack,
            }),
            Code::MonitorWaited => Event::MonitorWaited(MonitorWaited {
                thread,
                time,
                object,
                timed_out: value as i64,
                stack,
            }),
            Code::Park => Event::ThreadPark(ThreadPark {
                thread,
                time,
                object,
                stack,
            }),
            Code::Throw => Event::ExceptionThrow(ExceptionThrow {
                thread,
                time,
                object,
                class,
                stack,
            }),
            Code::Catch => Event::ExceptionCatch(ExceptionCatch {
                thread,
                time,
                object,
                class,
                frame: stack.pop().unwrap_or_default(),
            }),
            _ => Event::Sample(Sample {
                thread,
                time,
                state: state(value),
                ticks: Ticks::default(),
                stack,
            }),
        };
        self.encoder.event(&event, &mut self.out);
    }
}

pub(super) fn stack<'a>(methods: &'a Methods, frames: &[u64]) -> Vec<Frame<'a>> {
    let frame = |frame: &u64| {
        let (method, line) = record::frame_parts(*frame);
        Frame {
            method: methods
                .get(method)
                .map_or("", |method| &method.frame)
                .into(),
            line: line.into(),
        }
    };
    frames.iter().map(frame).collect()
}

/// Converts the bits of JVMTI's `GetThreadState`.
fn state(bits: u64) -> ThreadState {
    const RUNNABLE: u64 = 0x4;
    const SLEEPING: u64 = 0x40;
    const IN_OBJECT_WAIT: u64 = 0x100;
    const PARKED: u64 = 0x200;
    const BLOCKED_ON_MONITOR_ENTER: u64 = 0x400;
    match bits {
        _ if bits & RUNNABLE != 0 => ThreadState::Runnable,
        _ if bits & BLOCKED_ON_MONITOR_ENTER != 0 => ThreadState::Blocked,
        _ if bits & IN_OBJECT_WAIT != 0 => ThreadState::Waiting,
        _ if bits & PARKED != 0 => ThreadState::Parked,
        _ if bits & SLEEPING != 0 => ThreadState::Sleeping,
        _ => ThreadState::Waiting,
    }
}
