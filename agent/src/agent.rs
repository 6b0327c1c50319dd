//! What lives as long as the JVM: options, environment, buffers, writer.

use crate::buffer::record::Code;
use crate::buffer::{CHUNK_BYTES, Exchange, ThreadBuffer, tls};
use crate::control::Channel;
use crate::guard;
use crate::hooks::{
    ClassSizes, Collections, CompiledCode, OwnThreads, Sampler, Snapshots, VirtualTimes,
};
use crate::instrument::Classes;
use crate::jvmti::{ExtensionFunction, Jvmti, ThreadNames};
use crate::objects::{ObjectInfo, Objects};
use crate::writer::{Announcement, BufferHandle, ThreadInfo, Writer};
use crossbeam_channel::Sender;
use jni::sys::{JNIEnv, jobject};
use jtrail_options::{Engine, Events, Filter, Options, OutputFormat, Server};
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

static AGENT: OnceCell<Agent> = OnceCell::new();

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
    /// Where CPU time is measured.
    pub(crate) virtual_times: Option<VirtualTimes>,
    pub(crate) own_threads: OwnThreads,
    /// Where clients may come.
    pub(crate) channel: OnceLock<Channel>,
    /// Where samples are taken.
    pub(crate) sampler: OnceLock<Sampler>,
    /// HotSpot's `GetCarrierThread`, where it has that.
    pub(crate) get_carrier: OnceLock<Option<ExtensionFunction>>,
    pub(crate) now: fn() -> u64,
    announcements: Sender<Announcement>,
    exchange: Exchange,
    pub(crate) writer: Writer,
    /// Set when the JVM runs the program and the trace has begun.
    pub(crate) live: OnceLock<()>,
    buffers: AtomicU64,
    threads: AtomicU32,
    /// Held while a thread gets its number.
    naming: Mutex<()>,
}

/// Number of records that belong to no Java thread.
pub(crate) const NO_THREAD: u32 = 0;
/// Kept with a thread that has ended, in place of its number.
const ENDED: u32 = u32::MAX;

/// The agent; none when it was not loaded, or is off.
pub(crate) fn get() -> Option<&'static Agent> {
    if guard::is_off() { None } else { AGENT.get() }
}

/// The agent, loaded or not, on or off.
pub(crate) fn if_loaded() -> Option<&'static Agent> {
    AGENT.get()
}

impl Agent {
    /// Makes the one agent of this JVM.
    pub(crate) fn create(
        options: Arc<Options>,
        jvmti: Jvmti,
        objects: Option<Objects>,
        now: fn() -> u64,
        announcements: Sender<Announcement>,
        exchange: Exchange,
        writer: Writer,
    ) -> &'static Self {
        // Without a trace to begin with, a client may ask for one.
        let is_idle = options.format == OutputFormat::None && options.server != Server::Standalone;
        let kinds = match is_idle {
            true => Events::NONE,
            false => options.events,
        };
        AGENT.get_or_init(|| Self {
            kinds: AtomicU32::new(kinds.bits()),
            held: AtomicU32::new(options.events.bits()),
            virtual_times: options
                .events
                .contains(Events::CPU)
                .then(VirtualTimes::default),
            own_threads: OwnThreads::default(),
            channel: OnceLock::new(),
            filter: RwLock::new(Arc::new(options.filter.clone())),
            sampler: OnceLock::new(),
            get_carrier: OnceLock::new(),
            options,
            jvmti,
            classes: Classes::default(),
            sizes: ClassSizes::default(),
            compiled: CompiledCode::default(),
            objects: objects.map(OnceLock::from).unwrap_or_default(),
            collections: Collections::default(),
            snapshots: Snapshots::default(),
            now,
            announcements,
            exchange,
            writer,
            live: OnceLock::new(),
            buffers: AtomicU64::new(1),
            threads: AtomicU32::new(NO_THREAD + 1),
            naming: Mutex::new(()),
        })
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

    /// Which methods are traced now.
    pub(crate) fn filter(&self) -> Arc<Filter> {
        Arc::clone(&self.filter.read())
    }

    /// From now on, other methods are. Classes have to be rewritten for that.
    pub(crate) fn set_filter(&self, filter: Filter) {
        *self.filter.write() = Arc::new(filter);
    }

    pub(crate) fn announce(&self, announcement: Announcement) {
        let _ = self.announcements.send(announcement); // fails when the writer is gone
    }

    /// The number of a thread, which gets one if it has none. `None` for one that has ended, or that the
    /// JVM does not know.
    ///
    /// # Safety
    /// `env` is the running thread's; `thread` is a live reference to a thread, or null for the running one.
    pub(crate) unsafe fn name_thread(&self, env: *mut JNIEnv, thread: jobject) -> Option<u32> {
        // SAFETY: the caller's promise.
        match unsafe { self.jvmti.thread_number(thread) }.ok()? {
            NO_THREAD => {}
            ENDED => return None,
            number => return Some(number),
        }
        let _naming = self.naming.lock();
        // SAFETY: the caller's promise.
        let number = match unsafe { self.jvmti.thread_number(thread) }.ok()? {
            NO_THREAD => self.threads.fetch_add(1, Ordering::Relaxed),
            ENDED => return None,
            number => return Some(number),
        };
        // SAFETY: the caller's promise.
        unsafe { self.announce_thread(env, thread, number) };
        // SAFETY: the caller's promise.
        unsafe { self.jvmti.set_thread_number(thread, number) }.ok()?;
        Some(number)
    }

    /// Tells the writer what a thread is called now.
    ///
    /// # Safety
    /// As for [`Self::name_thread`].
    pub(crate) unsafe fn announce_thread(&self, env: *mut JNIEnv, thread: jobject, number: u32) {
        // SAFETY: the caller's promise.
        let names = unsafe { self.jvmti.thread_names(thread) }.unwrap_or_default();
        let ThreadNames {
            name,
            group,
            parent_group,
        } = names;
        self.announce(Announcement::Thread(Box::new(ThreadInfo {
            number,
            name: name.into(),
            group: group.into(),
            parent_group: parent_group.into(),
            // SAFETY: the caller's promise.
            object: unsafe { self.thread_object(env, thread) },
        })));
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

    /// Remembers that a thread has ended.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread.
    pub(crate) unsafe fn forget_thread(&self, thread: jobject) {
        // SAFETY: the caller's promise.
        let _ = unsafe { self.jvmti.set_thread_number(thread, ENDED) };
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
        self.announce(Announcement::Buffer(Box::new(handle)));
        tls::set(buffer);
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

    /// Hands over what the running thread recorded, and takes its buffer away.
    pub(crate) fn finish_buffer(&self) {
        let buffer = tls::get();
        if !buffer.is_null() {
            tls::set(std::ptr::null_mut());
            // SAFETY: it is this thread's own, and nobody finds it any more.
            unsafe { ThreadBuffer::finish(buffer) };
        }
    }

    /// Bytes of the pool's chunks that are not empty.
    pub(crate) fn buffered(&self) -> u64 {
        let pool = &self.exchange.empty;
        let used = pool
            .capacity()
            .unwrap_or_default()
            .saturating_sub(pool.len());
        used as u64 * CHUNK_BYTES as u64
    }

    /// Ends recording and the trace. The JVM may go on running Java code.
    pub(crate) fn stop(&self) {
        let channel = self.channel.get();
        if let Some(channel) = channel {
            channel.hurry();
        }
        self.writer.stop();
        if let Some(channel) = channel {
            channel.end(self.writer.progress());
        }
        guard::switch_off();
    }
}
