//! What lives from the agent's loading until it leaves: options, environment, buffers, writer.
//!
//! There is one at a time. It goes when nobody can have found it any more (`hooks::leaving`): so what [`get`] answers may be used
//! inside of [`guard::run`], and on threads of the agent's own, which end before it goes.

use crate::control::Channel;
use crate::hook_class::Hook;
use crate::hooks::{
    Arrays, ClassSizes, Collections, CompiledCode, Follower, OwnThreads, Sampler, Snapshots,
    VirtualTimes,
};
use crate::instrument::Classes;
use crate::objects::Objects;
use crate::thread_numbers::{ENDED, ThreadNumbers};
use crossbeam_channel::Sender;
use jni::sys::{JNIEnv, jobject};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::thread_id;
use jtrail_jvm::jvmti::{ExtensionFunction, Jvmti, ThreadNames};
use jtrail_jvm::perf::Returns;
use jtrail_model::Cost;
use jtrail_options::{Engine, Events, Filter, Options, OutputFormat};
use jtrail_recorder::announce::BufferHandle;
use jtrail_recorder::announce::Message;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::buffer::{Exchange, ThreadBuffer, live, tls};
use jtrail_recorder::bursts::{Bursts, is_gate_open};
use jtrail_recorder::memory::Mapping;
use jtrail_recorder::spool::Journal;
use jtrail_recorder::ticks::Ticks;
use jtrail_records::Announcement;
use jtrail_records::announce::ObjectInfo;
use jtrail_records::announce::ThreadInfo;
use jtrail_records::record::NO_THREAD;
use jtrail_writer::Writer;
use parking_lot::{Mutex, RwLock};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

static AGENT: AtomicPtr<Agent> = AtomicPtr::new(ptr::null_mut());

/// The agent, from its loading on.
pub(crate) struct Agent {
    pub(crate) options: Arc<Options>,
    /// Which methods are traced now.
    filter: RwLock<Arc<Filter>>,
    pub(crate) jvmti: Jvmti,
    pub(crate) classes: Classes,
    pub(crate) sizes: ClassSizes,
    pub(crate) compiled: CompiledCode,
    /// Kinds of events that are on now: [`Self::kinds`].
    kinds: AtomicU32,
    /// Kinds that can be switched on: [`Self::held`].
    held: AtomicU32,
    /// Where events tell of objects, or did.
    pub(crate) objects: OnceLock<Objects>,
    pub(crate) collections: Collections,
    pub(crate) snapshots: Snapshots,
    /// Looks for dead objects after collections.
    pub(crate) sweeper: Follower,
    /// Where CPU time is measured.
    pub(crate) virtual_times: Option<VirtualTimes>,
    pub(crate) own_threads: OwnThreads,
    /// Where bursts begin by themselves.
    pub(crate) bursts: Option<Arc<Bursts>>,
    /// Where clients may come.
    pub(crate) channel: OnceLock<Channel>,
    /// Where samples are taken.
    pub(crate) sampler: OnceLock<Sampler>,
    sample_frames: AtomicU16,
    keeps_roots: AtomicBool,
    /// HotSpot's `GetCarrierThread`, where it has that.
    pub(crate) get_carrier: OnceLock<Option<ExtensionFunction>>,
    pub(crate) now: fn() -> u64,
    /// What recording takes.
    pub(crate) cost: Cost,
    /// Where calls get a stamp only where the clock has ticked.
    pub(crate) ticks: Option<Arc<Ticks>>,
    announcements: Sender<Message>,
    exchange: Exchange,
    pub(crate) writer: Writer,
    /// Set when the JVM runs the program and the trace has begun.
    pub(crate) live: OnceLock<()>,
    /// It comes to a program that runs, and the thread that brings it has not begun the trace yet: no other one may.
    pub(crate) is_coming: AtomicBool,
    buffers: AtomicU64,
    threads: AtomicU32,
    /// Locked while a thread gets its number.
    numbers: Mutex<ThreadNumbers>,
    /// Which of the hook classes is in use.
    pub(crate) hook: OnceLock<Hook>,
    /// How hooks come back from native code.
    pub(crate) returns: Returns,
    /// What allocation sites need to know of arrays.
    pub(crate) arrays: OnceLock<Arrays>,
    /// It could not be set up, and is to leave.
    pub(crate) is_stillborn: AtomicBool,
    /// The chunks' memory, where it is no spool's.
    _memory: Option<Mapping>,
    /// Where announcements are written down before they are sent.
    journal: Option<Journal>,
}

/// What the agent is made of.
pub(crate) struct Parts {
    pub(crate) options: Arc<Options>,
    pub(crate) jvmti: Jvmti,
    pub(crate) objects: Option<Objects>,
    pub(crate) now: fn() -> u64,
    pub(crate) cost: Cost,
    pub(crate) announcements: Sender<Message>,
    pub(crate) exchange: Exchange,
    pub(crate) memory: Option<Mapping>,
    pub(crate) journal: Option<Journal>,
    pub(crate) writer: Writer,
}

/// The agent; none when it was not loaded, or is off.
pub(crate) fn get() -> Option<&'static Agent> {
    if guard::is_off() { None } else { if_loaded() }
}

/// The agent, loaded or not, on or off.
pub(crate) fn if_loaded() -> Option<&'static Agent> {
    // SAFETY: null, or what `Agent::create` made, which stays while somebody may have found it. In the one order of all such accesses: whoever
    // is not counted yet when the agent is hidden does not find it.
    unsafe { AGENT.load(Ordering::SeqCst).as_ref() }
}

/// From now on, nobody finds the agent.
pub(crate) fn hide() -> *mut Agent {
    AGENT.swap(ptr::null_mut(), Ordering::SeqCst)
}

impl Agent {
    /// Makes the one agent of this JVM, for there is none.
    pub(crate) fn create(parts: Parts) -> &'static Self {
        let Parts {
            options,
            jvmti,
            objects,
            now,
            cost,
            announcements,
            exchange,
            memory,
            journal,
            writer,
        } = parts;
        let kinds = match options.begins_idle() {
            true => Events::NONE,
            false => options.events,
        };
        let agent = Box::leak(Box::new(Self {
            kinds: AtomicU32::new(kinds.bits()),
            held: AtomicU32::new(options.events.bits()),
            virtual_times: options
                .events
                .contains(Events::CPU)
                .then(VirtualTimes::default),
            own_threads: OwnThreads::default(),
            bursts: writer.bursts.clone(),
            channel: OnceLock::new(),
            filter: RwLock::new(Arc::new(options.filter.clone())),
            sampler: OnceLock::new(),
            sample_frames: AtomicU16::new(options.sample_frames()),
            keeps_roots: AtomicBool::new(options.format.keeps_roots()),
            get_carrier: OnceLock::new(),
            options,
            jvmti,
            classes: Classes::default(),
            sizes: ClassSizes::default(),
            compiled: CompiledCode::default(),
            objects: objects.map(OnceLock::from).unwrap_or_default(),
            collections: Collections::default(),
            snapshots: Snapshots::default(),
            sweeper: Follower::default(),
            now,
            cost,
            ticks: exchange.ticks.clone(),
            announcements,
            exchange,
            writer,
            live: OnceLock::new(),
            is_coming: AtomicBool::new(false),
            buffers: AtomicU64::new(1),
            threads: AtomicU32::new(NO_THREAD + 1),
            numbers: Mutex::default(),
            hook: OnceLock::new(),
            returns: Returns::default(),
            arrays: OnceLock::new(),
            is_stillborn: AtomicBool::new(false),
            _memory: memory,
            journal,
        }));
        AGENT.store(agent, Ordering::SeqCst);
        agent
    }

    /// Kinds of events that are on now: those of the trace under way, and none between traces.
    #[inline]
    pub(crate) fn kinds(&self) -> Events {
        Events::from_bits(self.kinds.load(Ordering::Relaxed))
    }

    /// From now on, these are; what they were before. [`crate::hooks::switch`] has the JVM follow.
    pub(crate) fn set_kinds(&self, kinds: Events) -> Events {
        Events::from_bits(self.kinds.swap(kinds.bits(), Ordering::Relaxed))
    }

    /// Kinds that can be switched on at once: those that the agent was loaded for, and those that were on since.
    pub(crate) fn held(&self) -> Events {
        Events::from_bits(self.held.load(Ordering::Relaxed))
    }

    pub(crate) fn set_held(&self, kinds: Events) {
        self.held.store(kinds.bits(), Ordering::Relaxed);
    }

    pub(crate) fn uses_bytecode(&self) -> bool {
        self.options.engine == Engine::Bytecode
    }

    /// Whether calls are recorded: outside of bursts none is, where only these are.
    pub(crate) fn is_gate_open(&self) -> bool {
        self.bursts.is_none() || is_gate_open()
    }

    /// Most frames of a sample in the trace under way.
    pub(crate) fn sample_frames(&self) -> u16 {
        self.sample_frames.load(Ordering::Relaxed)
    }

    /// Whether samples that are too deep lose their innermost frames in the trace under way, and not the outermost ones.
    pub(crate) fn keeps_roots(&self) -> bool {
        self.keeps_roots.load(Ordering::Relaxed)
    }

    /// From now on, samples are as the format of a trace with these options has them.
    pub(crate) fn set_samples(&self, options: &Options) {
        let (frames, roots) = (options.sample_frames(), options.format.keeps_roots());
        self.sample_frames.store(frames, Ordering::Relaxed);
        self.keeps_roots.store(roots, Ordering::Relaxed);
    }

    /// Which methods are traced now.
    pub(crate) fn filter(&self) -> Arc<Filter> {
        Arc::clone(&self.filter.read())
    }

    /// From now on, other methods are. Classes have to be rewritten for that.
    pub(crate) fn set_filter(&self, filter: Filter) {
        *self.filter.write() = Arc::new(filter);
    }

    /// The time now, behind which nothing is recorded with an earlier stamp, where no thread is in the middle of recording.
    pub(crate) fn moment(&self) -> u64 {
        match &self.ticks {
            Some(ticks) => ticks.advance(),
            None => (self.now)(),
        }
    }

    pub(crate) fn announce(&self, announcement: Announcement) {
        match &self.journal {
            Some(journal) => journal.send(announcement, Message::Told, &self.announcements),
            None => _ = self.announcements.send(Message::Told(announcement)), // fails when the writer is gone
        }
    }

    /// The number of the running thread, which gets one if it has none. `None` for one that has ended, or that the
    /// JVM does not know.
    ///
    /// # Safety
    /// `env` is the running thread's; `thread` is a live reference to it, or null.
    pub(crate) unsafe fn name_thread(&self, env: *mut JNIEnv, thread: jobject) -> Option<u32> {
        match self.jvmti.thread_number().ok()? {
            NO_THREAD => {}
            ENDED => return None,
            number => return Some(number),
        }
        let own = match thread.is_null() {
            true => self.jvmti.current_thread().ok()?,
            false => thread,
        };
        // SAFETY: the caller's promise, or a local reference that the JVM just gave us.
        let number = unsafe { self.number_by_id(env, own, thread_id(env, own)) }?;
        self.jvmti.set_thread_number(number).ok()?;
        Some(number)
    }

    /// As [`Self::name_thread`], of any thread. `None` for one whose `Thread` is being made, too.
    ///
    /// # Safety
    /// `env` is the running thread's; `thread` is a live reference to a thread.
    pub(crate) unsafe fn number_of(&self, env: *mut JNIEnv, thread: jobject) -> Option<u32> {
        // SAFETY: the caller's promise.
        match unsafe { thread_id(env, thread) } {
            0 => None,
            // SAFETY: likewise.
            id => unsafe { self.number_by_id(env, thread, id) },
        }
    }

    /// The number of any thread that has one.
    ///
    /// # Safety
    /// As for [`Self::number_of`].
    pub(crate) unsafe fn known_number(&self, env: *mut JNIEnv, thread: jobject) -> Option<u32> {
        // SAFETY: the caller's promise.
        let id = unsafe { thread_id(env, thread) };
        self.numbers.lock().known(id)
    }

    /// # Safety
    /// As for [`Self::number_of`]; that is the thread's id.
    unsafe fn number_by_id(&self, env: *mut JNIEnv, thread: jobject, id: i64) -> Option<u32> {
        let found = self.numbers.lock().find(id);
        if let Some(found) = found {
            return found;
        }
        // Other threads need not wait while the JVM is asked.
        // SAFETY: the caller's promise.
        let info = unsafe { self.about_thread(env, thread) };
        let mut numbers = self.numbers.lock();
        let mut told = None;
        let number = numbers.known_or(id, || {
            let number = self.threads.fetch_add(1, Ordering::Relaxed);
            told = Some(ThreadInfo { number, ..info });
            number
        });
        if let Some(info) = told {
            numbers.set_name(id, &info.name);
            // Whoever finds the number finds it announced.
            self.announce(Announcement::Thread(Box::new(info)));
        }
        number
    }

    /// Whether a thread's name is the one that was told last.
    ///
    /// # Safety
    /// As for [`Self::number_of`].
    pub(crate) unsafe fn has_name(&self, env: *mut JNIEnv, thread: jobject, name: &str) -> bool {
        // SAFETY: the caller's promise.
        let id = unsafe { thread_id(env, thread) };
        self.numbers.lock().has_name(id, name)
    }

    /// That name of a thread is told.
    ///
    /// # Safety
    /// As for [`Self::number_of`].
    pub(crate) unsafe fn set_name(&self, env: *mut JNIEnv, thread: jobject, name: &str) {
        // SAFETY: the caller's promise.
        let id = unsafe { thread_id(env, thread) };
        self.numbers.lock().set_name(id, name);
    }

    /// The running thread has a number, maybe from before Java knew it.
    ///
    /// # Safety
    /// As for [`Self::number_of`].
    pub(crate) unsafe fn thread_has_number(&self, env: *mut JNIEnv, thread: jobject, number: u32) {
        // SAFETY: the caller's promise.
        self.numbers
            .lock()
            .set(unsafe { thread_id(env, thread) }, number);
    }

    /// Tells the writer what a thread is called now.
    ///
    /// # Safety
    /// As for [`Self::name_thread`].
    pub(crate) unsafe fn announce_thread(&self, env: *mut JNIEnv, thread: jobject, number: u32) {
        // SAFETY: the caller's promise.
        let info = unsafe { self.about_thread(env, thread) };
        // SAFETY: likewise.
        unsafe { self.set_name(env, thread, &info.name) };
        self.announce(Announcement::Thread(Box::new(ThreadInfo {
            number,
            ..info
        })));
    }

    /// What a thread is, without its number.
    ///
    /// # Safety
    /// As for [`Self::name_thread`].
    unsafe fn about_thread(&self, env: *mut JNIEnv, thread: jobject) -> ThreadInfo {
        // SAFETY: the caller's promise.
        let names = unsafe { self.jvmti.thread_names(thread) }.unwrap_or_default();
        let ThreadNames {
            name,
            group,
            parent_group,
        } = names;
        ThreadInfo {
            number: NO_THREAD,
            name: name.into(),
            group: group.into(),
            parent_group: parent_group.into(),
            // SAFETY: the caller's promise.
            object: unsafe { self.thread_object(env, thread) },
        }
    }

    /// # Safety
    /// As for [`Self::name_thread`].
    unsafe fn thread_object(&self, env: *mut JNIEnv, thread: jobject) -> Option<ObjectInfo> {
        let objects = self.objects.get()?;
        let thread = match thread.is_null() {
            true => self.jvmti.current_thread().ok()?,
            false => thread,
        };
        // SAFETY: the caller's promise; or a local reference that the JVM just gave us.
        Some(unsafe { objects.describe(self, env, thread) }?.0)
    }

    /// Remembers that the running thread has ended.
    ///
    /// # Safety
    /// As for [`Self::name_thread`]; `thread` is not null.
    pub(crate) unsafe fn forget_thread(&self, env: *mut JNIEnv, thread: jobject) {
        // Virtual threads have no number with the JVM, unless one was needed ([`Self::name_thread`]).
        if self.jvmti.thread_number().is_ok_and(|n| n != NO_THREAD) {
            let _ = self.jvmti.set_thread_number(ENDED);
        }
        // SAFETY: the caller's promise.
        self.numbers.lock().end(unsafe { thread_id(env, thread) });
    }

    /// The running thread is one of the agent's own.
    ///
    /// # Safety
    /// As for [`Self::forget_thread`].
    pub(crate) unsafe fn pass_over_thread(&self, env: *mut JNIEnv, thread: jobject) {
        let _ = self.jvmti.set_thread_number(ENDED);
        // SAFETY: the caller's promise.
        unsafe { self.thread_has_number(env, thread, ENDED) };
    }

    /// The running thread's buffer, when its number is known to be `thread`.
    pub(crate) fn buffer_of(&self, thread: u32) -> &'static ThreadBuffer {
        self.buffer_if_any()
            .unwrap_or_else(|| self.new_buffer(thread))
    }

    /// The running thread's buffer, where that may be none of Java's.
    pub(crate) fn native_buffer(&self) -> Option<&'static ThreadBuffer> {
        if let Some(buffer) = self.buffer_if_any() {
            return Some(buffer);
        }
        let ready = !guard::is_off() && self.live.get().is_some();
        ready.then(|| self.new_buffer(NO_THREAD))
    }

    pub(crate) fn buffer_if_any(&self) -> Option<&'static ThreadBuffer> {
        // SAFETY: the variable is null, or points to this thread's buffer, which lives until this
        // thread calls `finish_buffer`.
        unsafe { tls::get().as_ref() }
    }

    fn new_buffer(&self, thread: u32) -> &'static ThreadBuffer {
        let number = self.buffers.fetch_add(1, Ordering::Relaxed);
        let buffer = ThreadBuffer::new(number, thread, self.exchange.clone());
        let (handle, buffer) = BufferHandle::share(buffer);
        let _ = self.announcements.send(Message::Buffer(handle)); // likewise
        // SAFETY: `share` has just made the address.
        unsafe { live::begin(buffer) };
        // SAFETY: as in `buffer_if_any`.
        let buffer = unsafe { &*buffer };
        if thread != NO_THREAD && self.options.format == OutputFormat::TraceLog {
            // SAFETY: the call takes nothing and cannot fail.
            let os_id = unsafe { libc::gettid() };
            let payload = [thread.into(), os_id as u64];
            crate::hooks::record(self, Some(buffer), Code::ThreadOs, &payload);
        }
        buffer
    }

    /// Bytes of the pool's chunks that are not empty.
    pub(crate) fn buffered(&self) -> u64 {
        self.exchange.empty.used_bytes()
    }

    /// Has the writer write all that is recorded, and end.
    pub(crate) fn stop_writer(&self) {
        self.writer.stop();
        if let Some(ticks) = &self.ticks {
            ticks.stop();
        }
        for trigger in self.bursts.iter().flat_map(|bursts| bursts.never_begun()) {
            log::say(&format!("burst={trigger} never happened"));
        }
    }

    /// Ends recording and the trace. The JVM may go on running Java code.
    pub(crate) fn stop(&self) {
        let channel = self.channel.get();
        if let Some(channel) = channel {
            channel.finish();
        }
        self.stop_writer();
        if let Some(channel) = channel {
            channel.end(self.writer.progress());
        }
        guard::switch_off();
    }
}
