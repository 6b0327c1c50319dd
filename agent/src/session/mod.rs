//! The base of all code that records: options, enabled kinds of events, clock, filter, definitions,
//! numbers of threads and classes, and buffers.
//!
//! A session does not import the modules above it. It calls them through [`Upcalls`].

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

/// The state that all code that records uses. It lives from loading the agent to detaching it.
pub(crate) struct Session {
    pub(crate) options: Arc<Options>,
    pub(crate) vm: Vm,
    /// The general JVMTI environment. The tags of objects have another one.
    pub(crate) jvmti: Jvmti,
    pub(crate) kinds: Kinds,
    pub(crate) clock: Clock,
    pub(crate) threads: Threads,
    pub(crate) classes: ClassTable,
    /// Triggers of bursts; none if the options have none.
    pub(crate) bursts: Option<Arc<Bursts>>,
    pub(crate) life: Life,
    filter: RwLock<Arc<Filter>>,
    definitions: Definitions,
    exchange: Exchange,
    /// Number of the next buffer.
    buffers: AtomicU64,
}

/// The clocks that records are stamped with.
pub(crate) struct Clock {
    pub(crate) now: fn() -> u64,
    /// The measured cost of recording.
    pub(crate) cost: Cost,
    /// The coarse clock; none without `clock=tick`.
    pub(crate) ticks: Option<Arc<Ticks>>,
}

/// The channel that carries definitions to the writer.
pub(crate) struct Definitions {
    pub(crate) sender: Sender<Message>,
    /// The journal to which definitions are written before they are sent; none without a spool.
    pub(crate) journal: Option<Journal>,
}

/// The parts that a session is created from.
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

    /// Returns true if events of that kind are recorded now. Between traces, this is false for all
    /// kinds.
    #[inline]
    pub(crate) fn is_on(&self, kind: Events) -> bool {
        self.kinds.on().contains(kind)
    }

    /// Returns true if calls are recorded now. If only bursts are recorded, this is false outside
    /// of bursts.
    pub(crate) fn is_gate_open(&self) -> bool {
        self.bursts.is_none() || is_gate_open()
    }

    /// Returns the filter that decides which methods are traced now.
    pub(crate) fn filter(&self) -> Arc<Filter> {
        Arc::clone(&self.filter.read())
    }

    /// Changes which methods are traced. The caller retransforms the classes.
    pub(crate) fn set_filter(&self, filter: Filter) {
        *self.filter.write() = Arc::new(filter);
    }

    /// Returns the time in ticks of the clock that stamps records.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        (self.clock.now)()
    }

    /// Returns the current time. Records after this call have later stamps, except those that
    /// another thread is storing meanwhile.
    pub(crate) fn moment(&self) -> u64 {
        match &self.clock.ticks {
            Some(ticks) => ticks.advance(),
            None => self.now(),
        }
    }

    /// Sends a definition to the writer. The writer reads the definition before any later record of
    /// the running thread.
    pub(crate) fn define(&self, definition: Definition) {
        let Definitions { sender, journal } = &self.definitions;
        match journal {
            Some(journal) => journal.send(definition, Message::Define, sender),
            None => _ = sender.send(Message::Define(definition)), // fails when the writer has ended
        }
    }

    /// Returns true if actions of the running thread are to be recorded now.
    pub(crate) fn may_record(&self, env: &mut Env<'_>) -> bool {
        !guard::is_off() && !runs_agent_code() && self.ensure_live(env)
    }

    /// Returns the running thread's buffer, and creates it if the thread has none. Returns `None`
    /// if nothing can be recorded.
    pub(crate) fn buffer(&self, env: &mut Env<'_>) -> Option<OwnBuffer> {
        OwnBuffer::current().or_else(|| self.life.upcalls.first_buffer(env))
    }

    /// Returns the running thread's buffer. If it has none, creates one for the thread with that
    /// number.
    pub(crate) fn buffer_of(&self, thread: u32) -> OwnBuffer {
        OwnBuffer::current().unwrap_or_else(|| self.new_buffer(thread))
    }

    /// Returns the running thread's buffer. The thread may be a native one without a `Thread`
    /// object.
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
        let _ = self.definitions.sender.send(Message::Buffer(handle)); // fails if the writer ended
        if thread != NO_THREAD && self.options.format == OutputFormat::TraceLog {
            let payload = [thread.into(), os_thread_id()];
            self.record(buffer, Code::ThreadOs, &payload);
        }
        buffer
    }

    /// Writes a record with a payload into the running thread's buffer, with the current time.
    pub(crate) fn record(&self, buffer: OwnBuffer, code: Code, payload: &[u64]) {
        self.record_at(self.now(), buffer, code, payload);
    }

    /// Like [`Self::record`], with the time given by the caller.
    pub(crate) fn record_at(&self, now: u64, buffer: OwnBuffer, code: Code, payload: &[u64]) {
        if !buffer.record_coded(now, code, payload) {
            guard::switch_off();
        }
    }

    /// Returns the total size in bytes of the pool's chunks that are not empty.
    pub(crate) fn buffered(&self) -> u64 {
        self.exchange.empty.used_bytes()
    }
}
