//! Samples: an agent thread takes the stacks of all other threads periodically.
//!
//! The sampler's thread records samples, but its own work is not recorded. A tick is due at the
//! start plus a whole multiple of the interval. A missed tick is skipped, and the following ticks
//! don't drift.
//!
//! At each tick, one `GetAllStackTraces` returns the states and frames of all platform threads, in
//! one safepoint. The result contains neither virtual threads nor their frames. So the stacks of
//! mounted virtual threads are requested right afterwards, and recorded instead of the stacks of
//! their carriers. A thread without frames (one of the JVM's own) has no sample. If a method is
//! unloaded before it is looked up, the JVM returns an error, and the frame is skipped.

mod tick;

use super::own_threads::{self, Leaves};
use super::state::sampler::Sampler;
use super::{Source, Tracer, cpu, threads};
use crate::error::Error;
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::Stack;
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::{OwnBuffer, live};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};
use tick::Tick;

/// Names and CPU times of threads are read once in this number of ticks.
const LOOK_EVERY: u64 = 100;
/// How long the sampler sleeps while no samples are requested.
const REST: Duration = Duration::from_millis(100);
/// How long the end of the trace waits for the current tick. The limit keeps the program from
/// hanging because of the agent.
const LAST_TICK: Duration = Duration::from_secs(5);

/// The source of `events=samples`.
pub(super) struct Samples;

impl Source for Samples {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::SAMPLES)
    }

    fn begin(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        start(tracer, env);
    }

    fn switched(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        start(tracer, env);
    }

    fn end(&self, tracer: &'static Tracer, _env: &mut Env<'_>, _buffer: Option<OwnBuffer>) {
        stop(tracer);
    }
}

/// Sets which frames of a stack are recorded in a trace with these options.
pub(crate) fn set_samples(tracer: &Tracer, options: &Options) {
    tracer.samples.set(options);
}

/// Stops the sampler, if there is one, and waits until it has stopped. The sampler passes its last
/// records to the writer before it stops.
pub(crate) fn stop(tracer: &Tracer) {
    if let Some(sampler) = tracer.samples.sampler.get() {
        drop(sampler.go_on.lock().take());
        let _ = sampler.stopped.recv_timeout(LAST_TICK); // returns when the sender is dropped
    }
}

/// Starts the sampler, if samples are requested and there is none yet.
fn start(tracer: &'static Tracer, env: &mut Env<'_>) {
    if tracer.session.is_on(Events::SAMPLES)
        && let Err(error) = try_start(tracer, env)
    {
        log::say(&format!("{error}; the program goes on without samples"));
    }
}

fn try_start(tracer: &'static Tracer, env: &mut Env<'_>) -> Result<(), Error> {
    let (go_on, may_go_on) = bounded(0);
    let (has_stopped, stopped) = bounded::<()>(0);
    let sampler = Sampler {
        go_on: Mutex::new(Some(go_on)),
        stopped,
    };
    if tracer.samples.sampler.set(sampler).is_err() {
        return Ok(()); // the sampler runs already
    }
    let body = move |tracer: &'static Tracer, env: &mut Env<'_>| {
        sample(tracer, env, &may_go_on);
        live::finish();
        drop(has_stopped);
        Leaves::No
    };
    let place = "the sampler";
    own_threads::start(tracer, env, "jtrail sampler", place, Box::new(body))
}

/// Takes samples until the sampler is stopped.
fn sample(tracer: &Tracer, env: &mut Env<'_>, go_on: &Receiver<()>) {
    let session = &tracer.session;
    let interval = session.options.interval;
    let started = Instant::now();
    let mut tick = Tick::new(tracer);
    let mut next = 1;
    while go_on.recv_deadline(started + interval.mul_f64(next as f64))
        == Err(RecvTimeoutError::Timeout)
        && !guard::is_off()
    {
        if !session.is_on(Events::SAMPLES) {
            if go_on.recv_timeout(REST) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            next = (started.elapsed().as_nanos() / interval.as_nanos().max(1)) as u64 + 1;
            continue;
        }
        // The trace may not be ready for this thread yet.
        if let Some(buffer) = session.native_buffer() {
            let look = next % LOOK_EVERY == 0;
            let taken = env.with_frame(|env| {
                tick.take(tracer, env, buffer, |env, stacks| {
                    if look && session.is_on(Events::THREADS) {
                        record_names(tracer, env, buffer, stacks);
                    }
                    if look && session.is_on(Events::CPU) {
                        record_cpu(tracer, env, buffer, stacks);
                    }
                })
            });
            if taken.is_err() {
                return; // the JVM ends
            }
        }
        let passed = started.elapsed().as_nanos() / interval.as_nanos().max(1);
        next = (next + 1).max(passed as u64 + 1);
    }
}

/// Records the CPU time that each thread has used so far.
fn record_cpu(tracer: &Tracer, env: &Env<'_>, buffer: OwnBuffer, stacks: &[Stack<'_>]) {
    let mut used = FxHashMap::default();
    for thread in stacks.iter().filter_map(Stack::thread) {
        let number = threads::known_number(tracer, env, thread);
        let time = tracer.session.jvmti.thread_cpu_time(thread).ok();
        if let Some((number, time)) = number.zip(time) {
            cpu::record_thread(tracer, buffer, number, time);
            used.insert(number, time);
        }
    }
    cpu::record_virtual(tracer, buffer, |carrier| used.get(&carrier).copied());
}

/// Records the names of threads whose names have changed.
fn record_names(tracer: &Tracer, env: &Env<'_>, buffer: OwnBuffer, stacks: &[Stack<'_>]) {
    for thread in stacks.iter().filter_map(Stack::thread) {
        if let Some(number) = threads::known_number(tracer, env, thread) {
            threads::record_name_if_changed(tracer, env, buffer, thread, number);
        }
    }
}
