//! Samples: a thread of the agent's own looks at the stacks of all others, again and again.
//!
//! Nothing that the sampler's thread does is recorded but samples. Ticks come at the start plus whole multiples of the interval;
//! one that is missed is left out, and nothing drifts.
//!
//! A tick is one `GetAllStackTraces`: states and frames of all platform threads at one moment, in one safepoint. It shows neither virtual
//! threads nor their frames; those that are mounted are asked for directly afterwards, and stand in place of their
//! carriers. Threads without frames (the JVM's own) have no samples. Methods may be unloaded before they are
//! looked up; then the JVM says so, and the frame is left out.

mod tick;

use super::own_threads::Leaves;
use super::{cpu, own_threads, thread};
use crate::agent::{self, Agent};
use crate::error::Error;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use jni::sys::JNIEnv;
use jtrail_guard::log;
use jtrail_options::Events;
use jtrail_recorder::buffer::{ThreadBuffer, live};
use jvmti_sys::jvmtiStackInfo;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};
use tick::Tick;

/// At how many ticks the names of threads, and their CPU times, are looked at once.
const LOOK_EVERY: u64 = 100;
/// How long it rests while no samples are wanted.
const REST: Duration = Duration::from_millis(100);
/// How long the end of the trace waits for a tick under way, lest the program hang on us.
const LAST_TICK: Duration = Duration::from_secs(5);

/// The agent's end of the sampler.
pub(crate) struct Sampler {
    /// Gone when it is to stop.
    go_on: Mutex<Option<Sender<()>>>,
    /// Disconnected when it has stopped.
    stopped: Receiver<()>,
}

/// Starts the sampler, if samples are asked for.
pub(super) fn start(agent: &Agent, env: *mut JNIEnv) {
    if agent.kinds().contains(Events::SAMPLES)
        && let Err(error) = try_start(agent, env)
    {
        log::say(&format!("{error}; the program goes on without samples"));
    }
}

fn try_start(agent: &Agent, env: *mut JNIEnv) -> Result<(), Error> {
    let (go_on, may_go_on) = bounded(0);
    let (has_stopped, stopped) = bounded::<()>(0);
    let sampler = Sampler {
        go_on: Mutex::new(Some(go_on)),
        stopped,
    };
    if agent.sampler.set(sampler).is_err() {
        return Ok(()); // it runs
    }
    let body = move |agent: &'static Agent, env| {
        sample(agent, env, &may_go_on);
        live::finish();
        drop(has_stopped);
        Leaves::No
    };
    own_threads::start(agent, env, "jtrail sampler", "the sampler", Box::new(body))
}

impl Sampler {
    /// Stops it, and waits until it has. What it recorded is handed over by then.
    pub(super) fn stop(&self) {
        drop(self.go_on.lock().take());
        let _ = self.stopped.recv_timeout(LAST_TICK); // nothing is ever sent
    }
}

fn sample(agent: &Agent, env: *mut JNIEnv, go_on: &Receiver<()>) {
    let interval = agent.options.interval;
    let started = Instant::now();
    let mut tick = Tick::new(agent);
    let mut next = 1;
    while go_on.recv_deadline(started + interval.mul_f64(next as f64))
        == Err(RecvTimeoutError::Timeout)
        && agent::get().is_some()
    {
        if !agent.kinds().contains(Events::SAMPLES) {
            if go_on.recv_timeout(REST) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            next = (started.elapsed().as_nanos() / interval.as_nanos().max(1)) as u64 + 1;
            continue;
        }
        // The trace may not be ready for us yet.
        if let Some(buffer) = agent.native_buffer() {
            let look = next % LOOK_EVERY == 0;
            let taken = jtrail_jvm::jni::with_local_frame(env, || {
                tick.take(agent, env, buffer, |stacks| {
                    if look && agent.kinds().contains(Events::THREADS) {
                        tell_names(agent, env, buffer, stacks);
                    }
                    if look && agent.kinds().contains(Events::CPU) {
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
            let number = agent.known_number(env, stack.thread);
            number.zip(agent.jvmti.thread_cpu_time(stack.thread).ok())
        };
        if let Some((number, time)) = told {
            cpu::record_thread(agent, buffer, number, time);
            used.insert(number, time);
        }
    }
    cpu::record_virtual(agent, buffer, |carrier| used.get(&carrier).copied());
}

/// Tells of threads whose names are not what they were.
fn tell_names(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer, stacks: &[jvmtiStackInfo]) {
    for stack in stacks {
        // SAFETY: local references that the JVM just gave us.
        unsafe {
            if let Some(number) = agent.known_number(env, stack.thread) {
                thread::look_at_name(agent, env, buffer, stack.thread, number);
            }
        }
    }
}
