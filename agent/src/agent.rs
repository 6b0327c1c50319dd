//! What lives as long as the JVM: options, environment, buffers, writer.

use crate::buffer::{self, Exchange, ThreadBuffer, WhenFull, tls};
use crate::clock::{self, Clock, Reading};
use crate::hooks;
use crate::instrument::Classes;
use crate::jvmti::{Jvmti, Phase, ThreadNames};
use crate::writer::{self, Announcement, BufferHandle, Output, Setup, ThreadInfo, Writer};
use crate::{guard, log};
use crossbeam_channel::{Sender, unbounded};
use jni::sys::{JNIEnv, JavaVM, jobject};
use jtrail_formats::Format;
use jtrail_options::{Engine, OnError, OptionError, Options, OutputFormat, Overflow, Target};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::SystemTime;

static AGENT: OnceCell<Agent> = OnceCell::new();

/// The agent, from its loading on.
pub(crate) struct Agent {
    pub(crate) options: Arc<Options>,
    pub(crate) jvmti: Jvmti,
    pub(crate) classes: Classes,
    pub(crate) now: fn() -> u64,
    announcements: Sender<Announcement>,
    exchange: Exchange,
    writer: Writer,
    live: Once,
    is_live: AtomicBool,
    buffers: AtomicU64,
    threads: AtomicU32,
    /// Held while a thread gets its number.
    naming: Mutex<()>,
}

/// Number of records that belong to no Java thread.
pub(crate) const NO_THREAD: u32 = 0;
/// Kept with a thread that has ended, in place of its number.
const ENDED: u32 = u32::MAX;

/// What the JVM is told.
pub(crate) enum Loaded {
    Go,
    Refuse,
}

/// The agent; none when it was not loaded, or is off.
pub(crate) fn get() -> Option<&'static Agent> {
    if guard::is_off() { None } else { AGENT.get() }
}

/// Sets the agent up, as the options say.
///
/// # Safety
/// `vm` is the JVM that is starting.
pub(crate) unsafe fn load(vm: *mut JavaVM, text: &str) -> Loaded {
    let options = match jtrail_options::parse(text, &jtrail_options::read_file) {
        Ok(options) => options,
        Err(error) => return refuse_options(&error),
    };
    let on_error = options.on_error;
    let is_second = AGENT.get().is_some();
    let result = match is_second {
        true => Err("it is loaded twice into one JVM; give one -agentpath only".to_owned()),
        // SAFETY: the caller's promise.
        false => unsafe { set_up(vm, options) },
    };
    match result {
        Ok(()) => Loaded::Go,
        Err(message) => {
            if !is_second {
                guard::switch_off();
            }
            match on_error {
                OnError::Continue => {
                    log::say(&format!("{message}; the program goes on without a trace"));
                    Loaded::Go
                }
                _ => {
                    log::say(&message);
                    Loaded::Refuse
                }
            }
        }
    }
}

fn refuse_options(error: &OptionError) -> Loaded {
    guard::switch_off();
    if error.is_help() {
        let _ = writeln!(std::io::stdout(), "{error}");
        std::process::exit(0); // as other agents do: asking for help is no wish to run the program
    }
    if error.continue_wanted() {
        log::say(&format!("{error}; the program goes on without a trace"));
        return Loaded::Go;
    }
    log::say(&error.to_string());
    Loaded::Refuse
}

/// # Safety
/// `vm` is the JVM that is starting.
unsafe fn set_up(vm: *mut JavaVM, options: Options) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Jvmti::of(vm) }
        .map_err(|code| format!("this JVM has no tool interface (GetEnv answered {code})"))?;
    let now: fn() -> u64 = if clock::counter_is_steady() {
        clock::Counter::now
    } else {
        clock::System::now
    };
    let options = Arc::new(options);
    let format = match options.format {
        OutputFormat::Xml => Some(Format::TptpXml),
        OutputFormat::Binary => Some(Format::TptpBinary),
        OutputFormat::None => None,
    };
    let target = options
        .file
        .expand(std::process::id(), SystemTime::now(), &writer::hostname());
    let target_name = match &target {
        Target::Stdout => "standard output".to_owned(),
        Target::Path(path) => path.display().to_string(),
    };
    let output = match format.map(|_| Output::open(&target)).transpose() {
        Ok(output) => output,
        Err(error) => {
            // Not a mistake in the options; the program matters more.
            log::say(&format!(
                "cannot write {target_name}: {error}; the program goes on without a trace"
            ));
            guard::switch_off();
            return Ok(());
        }
    };
    hooks::add_capabilities(jvmti, &options)?;
    let (empty, supply) = buffer::create_pool(options.buffer_bytes).map_err(|e| {
        format!(
            "no memory for buffers of {} bytes: {e}",
            options.buffer_bytes
        )
    })?;
    let (full_sender, full) = unbounded();
    let (announcements, announced) = unbounded();
    let when_full = match options.overflow {
        Overflow::Block => WhenFull::Block,
        Overflow::Drop => WhenFull::Drop,
    };
    let writer = Writer::start(Setup {
        options: Arc::clone(&options),
        format,
        output,
        target: target_name,
        now,
        loaded: Reading::take(now),
        announcements: announced,
        full,
        empty,
    })
    .map_err(|e| format!("no thread for the writer: {e}"))?;
    let agent = Agent {
        options,
        jvmti,
        classes: Classes::default(),
        now,
        announcements,
        exchange: Exchange {
            empty: supply,
            full: full_sender,
            when_full,
        },
        writer,
        live: Once::new(),
        is_live: AtomicBool::new(false),
        buffers: AtomicU64::new(1),
        threads: AtomicU32::new(NO_THREAD + 1),
        naming: Mutex::new(()),
    };
    let agent = AGENT.get_or_init(|| agent);
    hooks::install(agent).inspect_err(|_| agent.writer.stop())
}

/// Ends the trace, when the JVM did not say before that it ends.
pub(crate) fn unload() {
    if let Some(agent) = AGENT.get() {
        agent.stop();
    }
}

thread_local! {
    /// This thread is setting the agent up; what it calls on the way is not recorded.
    static SETTING_UP: Cell<bool> = const { Cell::new(false) };
}

impl Agent {
    pub(crate) fn uses_bytecode(&self) -> bool {
        self.options.engine == Engine::Bytecode
    }

    pub(crate) fn announce(&self, announcement: Announcement) {
        let _ = self.announcements.send(announcement); // fails when the writer is gone
    }

    /// Whether the JVM is ready. The first caller that finds it so begins the trace: another agent's code
    /// may run before the JVM tells us.
    pub(crate) fn ensure_live(&self, env: *mut JNIEnv) -> bool {
        if self.is_live.load(Ordering::Acquire) {
            return true;
        }
        if SETTING_UP.get() || self.jvmti.phase() != Phase::Live {
            return false;
        }
        self.live.call_once(|| {
            SETTING_UP.set(true);
            self.go_live(env);
            SETTING_UP.set(false);
            self.is_live.store(true, Ordering::Release);
        });
        true
    }

    fn go_live(&self, env: *mut JNIEnv) {
        let started = (self.now)();
        self.classes.find_platform_loader(self.jvmti, env);
        // Before the writer starts, so that it knows their names.
        let threads = self.jvmti.all_threads().unwrap_or_default();
        let numbers: Vec<u32> =
            // SAFETY: local references that the JVM just gave us.
            threads.iter().filter_map(|t| unsafe { self.name_thread(*t) }).collect();
        self.writer.live(started);
        hooks::record_first_threads(self, &numbers);
        hooks::after_live(self);
    }

    /// The number of a thread, which gets one if it has none. `None` for one that has ended, or that the
    /// JVM does not know.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread; null means the running one.
    pub(crate) unsafe fn name_thread(&self, thread: jobject) -> Option<u32> {
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
        let ThreadNames {
            name,
            group,
            parent_group,
        } = unsafe { self.jvmti.thread_names(thread) }.unwrap_or_default();
        self.announce(Announcement::Thread(ThreadInfo {
            number,
            name: name.into(),
            group: group.into(),
            parent_group: parent_group.into(),
        }));
        // SAFETY: the caller's promise.
        unsafe { self.jvmti.set_thread_number(thread, number) }.ok()?;
        Some(number)
    }

    /// Remembers that a thread has ended.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread.
    pub(crate) unsafe fn forget_thread(&self, thread: jobject) {
        // SAFETY: the caller's promise.
        let _ = unsafe { self.jvmti.set_thread_number(thread, ENDED) };
    }

    /// The running thread's buffer, which is made if need be. `None` when nothing can be recorded.
    pub(crate) fn buffer(&self, env: *mut JNIEnv) -> Option<&'static ThreadBuffer> {
        if let Some(buffer) = self.buffer_if_any() {
            return Some(buffer);
        }
        if guard::is_off() || !self.ensure_live(env) {
            return None;
        }
        // SAFETY: null means the running thread.
        let number = unsafe { self.name_thread(std::ptr::null_mut()) }?;
        Some(self.new_buffer(number))
    }

    /// The running thread's buffer, when its number is known to be `thread`.
    pub(crate) fn buffer_of(&self, thread: u32) -> &'static ThreadBuffer {
        self.buffer_if_any()
            .unwrap_or_else(|| self.new_buffer(thread))
    }

    /// As [`Self::buffer`], on a thread that is none of Java's.
    pub(crate) fn native_buffer(&self) -> Option<&'static ThreadBuffer> {
        if let Some(buffer) = self.buffer_if_any() {
            return Some(buffer);
        }
        let ready = !guard::is_off() && self.is_live.load(Ordering::Acquire);
        ready.then(|| self.new_buffer(NO_THREAD))
    }

    fn buffer_if_any(&self) -> Option<&'static ThreadBuffer> {
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
        unsafe { &*buffer }
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

    /// Ends recording and the trace. The JVM may go on running Java code.
    pub(crate) fn stop(&self) {
        self.writer.stop();
        guard::switch_off();
    }
}
