//! The start of a trace. Its lines are collected, because in the model the process precedes the
//! options.

use super::{Decoder, Remarked};
use crate::tracelog::clock;
use jtrail_model::{
    AgentCreate, Event, Node, ProcessCreate, ThreadId, ThreadOsId, ThreadStart, TraceOption,
    TraceStart,
};

/// Contents of the first lines, kept until the opening events are queued.
#[derive(Debug, Default)]
pub(super) struct Opening {
    done: bool,
    minutes_west: i32,
    pub(super) pid: u64,
    pub(super) name: String,
    options: Vec<(String, String)>,
}

impl Decoder {
    /// True if the opening events are not yet queued.
    pub(super) fn is_opening(&self) -> bool {
        !self.opening.done
    }

    pub(super) fn start_time(&mut self, text: &str) -> Option<()> {
        let (ms, minutes_west) = clock::read(text)?;
        if self.opening.done {
            self.remark("prf stm", Remarked::LateStartTimes);
            return Some(());
        }
        self.base_ms = ms;
        self.opening.minutes_west = minutes_west;
        self.now = clock::timestamp(ms, 0)?;
        Some(())
    }

    pub(super) fn option(&mut self, name: String, value: String) {
        if self.opening.done {
            self.remark("prf cfg", Remarked::LateOptions);
            self.emit(Event::Option(TraceOption {
                key: name.into(),
                value: value.into(),
            }));
        } else {
            self.opening.options.push((name, value));
        }
    }

    /// Queues the opening events if they are not yet queued.
    pub(super) fn open(&mut self) {
        if self.opening.done {
            return;
        }
        self.opening.done = true;
        let time = self.now;
        self.emit(Event::Node(Node {
            timezone: self.opening.minutes_west,
            time,
            ..Node::default()
        }));
        let pid = i32::try_from(self.opening.pid);
        self.remark_if(pid.is_err(), "apd crf", Remarked::ProcessNumbers);
        let name = std::mem::take(&mut self.opening.name);
        self.emit(
            ProcessCreate {
                name: name.into(),
                pid: pid.unwrap_or_default(),
                time,
                ..ProcessCreate::default()
            }
            .into(),
        );
        self.emit(
            AgentCreate {
                agent_type: "Profiler".into(),
                time,
                ..AgentCreate::default()
            }
            .into(),
        );
        self.emit(Event::TraceStart(TraceStart {
            time,
            ..TraceStart::default()
        }));
        for (name, value) in std::mem::take(&mut self.opening.options) {
            self.emit(Event::Option(TraceOption {
                key: name.into(),
                value: value.into(),
            }));
        }
    }

    pub(super) fn define_thread(&mut self, iid: u32, thread: ThreadId) {
        let time = self.now;
        self.emit(Event::ThreadStart(ThreadStart {
            thread,
            time,
            name: format!("thread {iid}").into(),
            ..ThreadStart::default()
        }));
    }

    pub(super) fn emit_os_id(&mut self, thread: ThreadId, os_id: u64) {
        let time = self.now;
        self.emit(Event::ThreadOsId(ThreadOsId {
            thread,
            time,
            os_id,
        }));
    }
}
