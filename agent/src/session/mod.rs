//! What everything above records with: options, enabled kinds of events, clock, filter,
//! definitions, the numbers of threads and classes, and the threads' buffers.
//!
//! A session knows nothing of the modules above it. What it needs of them comes as [`Upcalls`].

mod changes;
mod class_numbers;
mod classes;
mod kinds;
mod life;
pub(crate) mod lines;
mod loader;
mod own_work;
mod thread_numbers;
mod threads;

pub(crate) use changes::FollowedChanges;
pub(crate) use class_numbers::ClassNumbers;
pub(crate) use classes::{ClassTable, class_name, internal_name};
pub(crate) use kinds::Kinds;
pub(crate) use life::{ApiCall, Life, Upcalls};
pub(crate) use loader::Loader;
pub(crate) use own_work::{mark_agent_thread, runs_agent_code, unrecorded};
pub(crate) use thread_numbers::ENDED;
pub(crate) use threads::Threads;

use crossbeam_channel::Sender;
use jtrail_guard::{guard, threads::os_thread_id};
use jtrail_jvm::jni::{Env, Vm};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_model::Cost;
use jtrail_options::{Events, Filter, Options, OutputFormat};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::buffer::{Exchange, OwnBuffer, ThreadBuffer};
use jtrail_recorder::bursts::{Bursts, is_gate_open};
use jtrail_recorder::message::Message;
use jtrail_recorder::spool::Journal;
use jtrail_recorder::ticks::Ticks;
use jtrail_records::Definition;
use jtrail_records::record::NO_THREAD;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What lives from the agent's loading until it leaves, below everything that records.
pub(crate) struct Session {
    pub(crate) options: Arc<Options>,
    pub(crate) vm: Vm,
    /// The environment for everything but the tags of objects.
    pub(crate) jvmti: Jvmti,
    pub(crate) kinds: Kinds,
    pub(crate) clock: Clock,
    pub(crate) threads: Threads,
    pub(crate) classes: ClassTable,
    /// Triggers of bursts, where the options have some.
    pub(crate) bursts: Option<Arc<Bursts>>,
    pub(crate) life: Life,
    filter: RwLock<Arc<Filter>>,
    definitions: Definitions,
    exchange: Exchange,
    /// How many buffers there have been.
    buffers: AtomicU64,
}

/// The clocks that records are stamped with.
pub(crate) struct Clock {
    pub(crate) now: fn() -> u64,
    /// What recording takes.
    pub(crate) cost: Cost,
    /// The coarse clock of `clock=tick`.
    pub(crate) ticks: Option<Arc<Ticks>>,
}

/// The way of definitions to the writer.
pub(crate) struct Definitions {
    pub(crate) sender: Sender<Message>,
    /// Where they are written down before they are sent; none without a spool.
    pub(crate) journal: Option<Journal>,
}

/// What a session is made of.
pub(crate) struct Parts {
    pub(crate) options: Arc<Options>,
    pub(crate) vm: Vm,
    pub(crate) jvmti: Jvmti,
    pub(crate) clock: Clock,
    pub(crate) bursts: Option<Arc<Bursts>>,
    pub(crate) definitions: Definitions,
    pub(crate) exchange: Exchange,
    pub(crate) upcalls: &'static dyn Upcalls,
}

impl Session {
    pub(crate) fn new(parts: Parts) -> Self {
        let options = parts.options;
        Self {
            kinds: Kinds::of(&options),
            filter: RwLock::new(Arc::new(options.filter.clone())),
            options,
            vm: parts.vm,
            jvmti: parts.jvmti,
            clock: parts.clock,
            threads: Threads::default(),
            classes: ClassTable::default(),
            bursts: parts.bursts,
            life: Life::new(parts.upcalls),
            definitions: parts.definitions,
            exchange: parts.exchange,
            buffers: AtomicU64::new(1),
        }
    }

    /// Returns true if events of that kind are recorded now: those of the active trace, and none
    /// between traces.
    #[inline]
    pub(crate) fn is_on(&self, kind: Events) -> bool {
        self.kinds.on().contains(kind)
    }

    /// Returns true if calls are recorded: where only bursts are recorded, none is outside of them.
    pub(crate) fn is_gate_open(&self) -> bool {
        self.bursts.is_none() || is_gate_open()
    }

    /// Which methods are traced now.
    pub(crate) fn filter(&self) -> Arc<Filter> {
        Arc::clone(&self.filter.read())
    }

    /// Changes which methods are traced. Classes have to be rewritten for that.
    pub(crate) fn set_filter(&self, filter: Filter) {
        *self.filter.write() = Arc::new(filter);
    }

    /// The time, in nanoseconds.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        (self.clock.now)()
    }

    /// The time now, after which nothing is recorded with an earlier stamp, where no thread is in
    /// the middle of recording.
    pub(crate) fn moment(&self) -> u64 {
        match &self.clock.ticks {
            Some(ticks) => ticks.advance(),
            None => self.now(),
        }
    }

    /// Sends a definition to the writer, which has it before any record that the running thread
    /// makes from now on.
    pub(crate) fn define(&self, definition: Definition) {
        let Definitions { sender, journal } = &self.definitions;
        match journal {
            Some(journal) => journal.send(definition, Message::Define, sender),
            None => _ = sender.send(Message::Define(definition)), // fails when the writer has ended
        }
    }

    /// Returns true if what the running thread does is to be recorded now.
    pub(crate) fn may_record(&self, env: &mut Env<'_>) -> bool {
        !guard::is_off() && !runs_agent_code() && self.ensure_live(env)
    }

    /// The running thread's buffer, which is created if need be; `None` if nothing can be recorded.
    pub(crate) fn buffer(&self, env: &mut Env<'_>) -> Option<OwnBuffer> {
        OwnBuffer::current().or_else(|| self.life.upcalls.first_buffer(env))
    }

    /// The running thread's buffer, which is created with that thread number if need be.
    pub(crate) fn buffer_of(&self, thread: u32) -> OwnBuffer {
        OwnBuffer::current().unwrap_or_else(|| self.new_buffer(thread))
    }

    /// The running thread's buffer, where the thread may be none of Java's.
    pub(crate) fn native_buffer(&self) -> Option<OwnBuffer> {
        if let Some(buffer) = OwnBuffer::current() {
            return Some(buffer);
        }
        let is_ready = !guard::is_off() && self.is_live();
        is_ready.then(|| self.new_buffer(NO_THREAD))
    }

    fn new_buffer(&self, thread: u32) -> OwnBuffer {
        let number = self.buffers.fetch_add(1, Ordering::Relaxed);
        let buffer = ThreadBuffer::new(number, thread, self.exchange.clone());
        let (buffer, handle) = OwnBuffer::begin(buffer);
        let _ = self.definitions.sender.send(Message::Buffer(handle)); // fails when the writer has ended
        if thread != NO_THREAD && self.options.format == OutputFormat::TraceLog {
            let payload = [thread.into(), os_thread_id()];
            self.record(buffer, Code::ThreadOs, &payload);
        }
        buffer
    }

    /// Writes a record with a payload into the running thread's buffer.
    pub(crate) fn record(&self, buffer: OwnBuffer, code: Code, payload: &[u64]) {
        self.record_at(self.now(), buffer, code, payload);
    }

    /// As [`Self::record`], with the time given.
    pub(crate) fn record_at(&self, now: u64, buffer: OwnBuffer, code: Code, payload: &[u64]) {
        if !buffer.record_coded(now, code, payload) {
            guard::switch_off();
        }
    }

    /// Bytes of the pool's chunks that are not empty.
    pub(crate) fn buffered(&self) -> u64 {
        self.exchange.empty.used_bytes()
    }
}
