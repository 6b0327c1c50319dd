//! Samples: a thread of the agent's own looks at the stacks of all others, again and again.
//!
//! The thread is one that the JVM makes for agents: a daemon that Java code can't see. The trace leaves it out: its number is
//! that of an ended thread, and nothing it does is recorded but samples. Ticks come at the start plus whole multiples of the interval;
//! one that is missed is left out, and nothing drifts.
//!
//! A tick is one `GetAllStackTraces`: states and frames of all platform threads at one moment, in one safepoint. It shows neither virtual
//! threads nor their frames; those that are mounted are asked for directly afterwards, and stand in place of their
//! carriers. Threads without frames (the JVM's own) have no samples. Methods may be unloaded before they are
//! looked up; then the JVM says so, and the frame is left out.

mod tick;

use super::{cpu, thread};
use crate::agent::{self, Agent};
use crate::buffer::ThreadBuffer;
use crate::jvmti::abi::RawEnv;
use crate::{guard, log};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use jni::sys::{JNIEnv, jobject};
use jtrail_options::Events;
use jvmti_sys::jvmtiStackInfo;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ffi::c_void;
use std::time::{Duration, Instant};
use tick::Tick;

/// At how many ticks the names of threads, and their CPU times, are looked at once.
const LOOK_EVERY: u64 = 100;
/// How long the end of the trace waits for a tick under way, lest the program hang on us.
const LAST_TICK: Duration = Duration::from_secs(5);

/// The agent's end of the sampler.
pub(crate) struct Sampler {
    /// Its `java.lang.Thread`, for ever.
    thread: jobject,
    /// Gone when it is to stop.
    go_on: Mutex<Option<Sender<()>>>,
    /// Disconnected when it has stopped.
    stopped: Receiver<()>,
}

// SAFETY: a global reference may be used on any thread.
unsafe impl Send for Sampler {}
// SAFETY: likewise, at the same time.
unsafe impl Sync for Sampler {}

/// The sampler's own ends.
struct Ends {
    go_on: Receiver<()>,
    _stopped: Sender<()>,
}

thread_local! {
    /// The running thread is the sampler.
    static IS_SAMPLER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the running thread is the sampler, whose own doings are not recorded.
pub(super) fn is_running() -> bool {
    IS_SAMPLER.get()
}

/// Whether a thread that starts is the sampler.
///
/// # Safety
/// `env` is the running thread's, and `thread` a live reference to it.
pub(super) unsafe fn is_starting(agent: &Agent, env: *mut JNIEnv, thread: jobject) -> bool {
    let Some(sampler) = agent.sampler.get() else {
        return false;
    };
    // SAFETY: the caller's promise.
    let is_it = unsafe { crate::jni::is_same(env, sampler.thread, thread) };
    if is_it {
        IS_SAMPLER.set(true);
        // SAFETY: likewise.
        unsafe { agent.forget_thread(thread) };
    }
    is_it
}

/// Starts the sampler, if samples are asked for.
pub(super) fn start(agent: &Agent, env: *mut JNIEnv) {
    if agent.options.events.contains(Events::SAMPLES)
        && let Err(error) = try_start(agent, env)
    {
        log::say(&format!("{error}; the program goes on without samples"));
    }
}

fn try_start(agent: &Agent, env: *mut JNIEnv) -> Result<(), String> {
    let groups = agent.jvmti.top_groups().map_err(|e| e.to_string())?;
    let group = groups.first().ok_or("this JVM has no thread group")?;
    // SAFETY: a local reference that the JVM just gave us.
    let thread = unsafe { crate::jni::new_thread(env, *group, "jtrail sampler") }?;
    let (go_on, may_go_on) = bounded(0);
    let (has_stopped, stopped) = bounded(0);
    let sampler = Sampler {
        thread,
        go_on: Mutex::new(Some(go_on)),
        stopped,
    };
    if agent.sampler.set(sampler).is_err() {
        return Ok(()); // it runs
    }
    let ends = Box::into_raw(Box::new(Ends {
        go_on: may_go_on,
        _stopped: has_stopped,
    }));
    // SAFETY: a new thread; the function takes the box over.
    let started = unsafe { agent.jvmti.run_agent_thread(thread, run, ends.cast()) };
    started.map_err(|error| {
        // SAFETY: nobody has taken it.
        drop(unsafe { Box::from_raw(ends) });
        error.to_string()
    })
}

impl Sampler {
    /// Stops it, and waits until it has. What it recorded is handed over by then.
    pub(super) fn stop(&self) {
        drop(self.go_on.lock().take());
        let _ = self.stopped.recv_timeout(LAST_TICK); // nothing is ever sent
    }
}

/// The sampler's thread.
unsafe extern "system" fn run(_jvmti: RawEnv, env: *mut JNIEnv, ends: *mut c_void) {
    // SAFETY: made by `try_start` for us.
    let ends = unsafe { Box::from_raw(ends.cast::<Ends>()) };
    guard::run("the sampler", || {
        if let Some(agent) = agent::get() {
            sample(agent, env, &ends.go_on);
            agent.finish_buffer();
        }
    });
}

fn sample(agent: &Agent, env: *mut JNIEnv, go_on: &Receiver<()>) {
    let interval = agent.options.interval;
    let started = Instant::now();
    let mut names = FxHashMap::default();
    let mut tick = Tick::new(agent);
    let mut next = 1;
    while go_on.recv_deadline(started + interval.mul_f64(next as f64))
        == Err(RecvTimeoutError::Timeout)
        && agent::get().is_some()
    {
        // The trace may not be ready for us yet.
        if let Some(buffer) = agent.native_buffer() {
            let look = next % LOOK_EVERY == 0;
            let taken = crate::jni::with_local_frame(env, || {
                tick.take(agent, env, buffer, |stacks| {
                    if look && agent.options.events.contains(Events::THREADS) {
                        tell_names(agent, env, buffer, stacks, &mut names);
                    }
                    if look && agent.options.events.contains(Events::CPU) {
                        tell_cpu(agent, env, buffer, stacks);
                    }
                })
            });
            if !matches!(taken, Ok(Ok(()))) {
                return; // the JVM ends
            }
        }
        let passed = started.elapsed().as_nanos() / interval.as_nanos().max(1);
        next = (next + 1).max(passed as u64 + 1);
    }
}

/// Tells what threads have used so far.
fn tell_cpu(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer, stacks: &[jvmtiStackInfo]) {
    let mut used = FxHashMap::default();
    for stack in stacks {
        // SAFETY: local references that the JVM just gave us.
        let told = unsafe {
            let number = agent.name_thread(env, stack.thread);
            number.zip(agent.jvmti.thread_cpu_time(stack.thread).ok())
        };
        if let Some((number, time)) = told {
            cpu::record_thread(agent, buffer, number, time);
            used.insert(number, time);
        }
    }
    cpu::record_virtual(agent, buffer, |carrier| used.get(&carrier).copied());
}

/// Tells of threads whose names are not what they were. The writer finds out for those that are seen for the first time.
fn tell_names(
    agent: &Agent,
    env: *mut JNIEnv,
    buffer: &ThreadBuffer,
    stacks: &[jvmtiStackInfo],
    known: &mut FxHashMap<u32, String>,
) {
    let mut names = FxHashMap::default();
    for stack in stacks {
        // SAFETY: local references that the JVM just gave us.
        let (number, name) = unsafe {
            let Some(number) = agent.name_thread(env, stack.thread) else {
                continue;
            };
            (number, agent.jvmti.thread_name(stack.thread))
        };
        let Ok(name) = name else { continue };
        if known.get(&number) != Some(&name) {
            thread::tell_name(agent, buffer, number, &name);
        }
        names.insert(number, name);
    }
    *known = names;
}
