//! The JVM starts, is ready, and ends.

use super::switch;
use super::{
    api, buffer, class, detail, gc, heap, jit, last_frees, method, object, record, sampler, site,
    sweep, thread, virtual_thread,
};
use crate::agent::{self, Agent};
use crate::control;
use crate::error::Error;
use crate::hook_class::Hook;
use jni::sys::{JNIEnv, jclass, jobject};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::with_frame;
use jtrail_jvm::jvmti::Phase;
use jtrail_jvm::jvmti::abi::{Event, RawEnv};
use jtrail_options::Events;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::bursts;
use jtrail_writer::Action;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// Java code can run: the hook class goes in, before any class of the program can load.
pub(super) unsafe extern "system" fn vm_start(_jvmti: RawEnv, env: *mut JNIEnv) {
    guard::run("the start of the JVM", || {
        let Some(agent) = agent::get() else { return };
        if let Err(error) = open(agent, env) {
            log::say(&format!(
                "{error}; the program goes on without calls in the trace"
            ));
        }
    });
}

/// Puts the hook class in; from then on, classes are rewritten, unless the trace begins later.
pub(super) fn open(agent: &Agent, env: *mut JNIEnv) -> Result<(), Error> {
    let next = Hook::next(env).map_err(Error::of_hook_class)?;
    let hook = agent.hook.get_or_init(|| next); // the first and only time
    hook.bind(env, bind).map_err(Error::of_hook_class)?;
    if guard::is_off() {
        return Err("calls can't be traced".into()); // why was told
    }
    if let Some(counters) = agent.classes.lines.get() {
        hook.set_lines(env, counters.address())
            .map_err(Error::of_hook_class)?;
    }
    if agent.bursts.is_some() {
        hook.set_gate(env, bursts::gate_address())
            .map_err(Error::of_hook_class)?;
    }
    if let Some(ticks) = &agent.ticks {
        hook.set_ticks(env, ticks.address())
            .map_err(Error::of_hook_class)?;
    }
    hook.arrive();
    agent
        .classes
        .found_hook(switch::rewrites(&agent.options, agent.kinds()));
    Ok(())
}

/// Called by the JVM as `Binder.bindNatives`, in [`open`].
unsafe extern "system" fn bind(env: *mut JNIEnv, _binder: jclass, hook: jclass) {
    guard::run("the binding of the hook", || {
        let Some(agent) = agent::get() else { return };
        let number = agent.hook.get().map_or(0, |hook| hook.number);
        let with_cpu = agent.options.events.contains(Events::CPU);
        let with_identity = agent.options.has_identity_at_sites();
        let functions = method::hook_functions(number, with_cpu, with_identity);
        // SAFETY: these are the hook's functions.
        if let Err(error) = unsafe { crate::hook_class::bind_functions(env, hook, &functions) } {
            log::say(&format!(
                "cannot bind the hook class: {error}; tracing is off, the program goes on"
            ));
            guard::switch_off();
        }
    });
}

/// The JVM is ready to run the program.
pub(super) unsafe extern "system" fn vm_init(_jvmti: RawEnv, env: *mut JNIEnv, _thread: jobject) {
    guard::run("the JVM's initialisation", || {
        let Some(agent) = agent::get() else { return };
        begin(agent, env, true);
        control::wait_for_client(agent);
    });
}

/// The agent was loaded into a JVM that runs its program.
///
/// # Errors
/// When the hook class can't be defined, or the trace's file can't be written, as a sentence.
pub(crate) fn attached(agent: &Agent, env: *mut JNIEnv) -> Result<(), Error> {
    if super::rewrites(&agent.options) {
        open(agent, env)?;
    }
    // Last: an earlier trace may be there, which is still good if the agent is refused.
    agent.writer.open()?;
    begin(agent, env, false);
    control::does_not_wait(agent);
    Ok(())
}

/// The program can be traced.
fn begin(agent: &Agent, env: *mut JNIEnv, starts: bool) {
    match starts {
        true => _ = ensure_live(agent, env),
        false => go_live_once(agent, env),
    }
    if object::is_told_by_jvm(&agent.options) && agent.kinds().contains(Events::ALLOC) {
        object::wake(env);
    }
    let buffer = buffer(agent, env);
    if starts {
        record(agent, buffer, Code::InitDone, &[0]);
        agent.returns.set(|set| {
            // The walk is a safepoint, and over with the first object.
            let walk = agent.jvmti.pass_objects(|_| {
                set();
                false
            });
            _ = walk; // if there is none, all stays as it is
        });
    }
    heap::begin(agent, env);
    sweep::begin(agent, env);
    if super::rewrites(&agent.options) {
        class::retransform_early(agent, env);
    }
}

/// The JVM begins to stop. Other threads may still run Java code; the trace ends here, or has ended shortly before ([`last_frees`]).
pub(super) unsafe extern "system" fn vm_death(_jvmti: RawEnv, env: *mut JNIEnv) {
    guard::run("the JVM's end", || {
        let Some(agent) = agent::get() else { return };
        end(agent, env);
    });
}

/// Ends the sampler, if there is one.
pub(super) fn end_samples(agent: &Agent) {
    if let Some(sampler) = agent.sampler.get() {
        sampler.stop();
    }
}

/// Ends the trace.
pub(super) fn end(agent: &Agent, env: *mut JNIEnv) {
    if let Some(channel) = agent.channel.get() {
        channel.hurry(); // else the sampler, or we, may wait for it with full buffers
    }
    // The thread that ends the JVM may have ended for Java already.
    let own = buffer(agent, env).or_else(|| agent.native_buffer());
    end_samples(agent);
    gc::tell_untold(agent);
    if let Some(own) = own {
        thread::last_words(agent, env, own);
    }
    heap::end(agent, env, own);
    if let Some(own) = own {
        sweep::sweep(agent, env, own);
    }
    record(agent, own, Code::Shutdown, &[0]);
    agent.stop();
}

thread_local! {
    /// This thread is setting the agent up; what it calls on the way is not recorded.
    static SETTING_UP: Cell<bool> = const { Cell::new(false) };
}

/// Whether the JVM is ready. The first caller that finds it so begins the trace: another agent's code
/// may run before the JVM tells us. Where the agent comes later, only the thread that brings it begins the trace: the program's own may be
/// anywhere, in the middle of being attached for instance, with no `Thread` yet.
pub(super) fn ensure_live(agent: &Agent, env: *mut JNIEnv) -> bool {
    if agent.live.get().is_some() {
        return true;
    }
    let is_early = agent.is_coming.load(Ordering::Acquire) || agent.jvmti.phase() != Phase::Live;
    if SETTING_UP.get() || is_early {
        return false;
    }
    go_live_once(agent, env);
    true
}

/// Begins the trace, or waits until another thread has.
fn go_live_once(agent: &Agent, env: *mut JNIEnv) {
    agent.live.get_or_init(|| {
        SETTING_UP.set(true);
        agent.is_coming.store(false, Ordering::Release); // who finds it so waits for us
        go_live(agent, env);
        SETTING_UP.set(false);
    });
    if agent.kinds().contains(Events::METHODS) && !agent.uses_bytecode() {
        switch::live(agent);
    }
}

fn go_live(agent: &Agent, env: *mut JNIEnv) {
    let started = (agent.now)();
    // A JVM that starts from an ahead-of-time cache has refused none of it so far (`perf::starts_from_cache`).
    if super::sees_class_files(&agent.options)
        && let Err(error) = agent.jvmti.enable(Event::ClassFileLoadHook)
    {
        log::say(&format!("{error}; classes are not rewritten as they load"));
    }
    gc::begin(agent, agent.kinds());
    agent.classes.find_platform_loader(agent.jvmti, env);
    // Before the writer starts, so that it knows their names.
    let name_threads = || {
        let threads = agent.jvmti.all_threads(env).unwrap_or_default();
        let named = threads
            .iter()
            // SAFETY: local references that the JVM just gave us.
            .filter_map(|thread| unsafe { agent.number_of(env, *thread) });
        named.collect()
    };
    // SAFETY: the running thread's environment; no reference leaves.
    let numbers: Vec<u32> = unsafe { with_frame(env, name_threads) };
    // First, so that none is left out below.
    if let Err(error) = agent.jvmti.enable(Event::ClassPrepare) {
        log::say(&format!(
            "{error}; the trace has no details of classes, and the program no word in it"
        ));
    }
    api::bind_loaded(agent, env);
    site::begin(agent, env);
    super::class::watch_constructors(agent, env);
    if agent.options.events.contains(Events::DETAILS) {
        detail::begin(agent, env); // likewise: formats that list a class's members want them before all else
    }
    if let Err(error) = agent.writer.open() {
        log::say(&format!("{error}; tracing is off, the program goes on"));
    }
    agent.writer.live(started);
    if let Some(bursts) = &agent.bursts
        && !agent.options.begins_idle()
    {
        bursts.arm();
        for number in bursts.begin_at_once() {
            let _ = agent.writer.begin((agent.now)(), Action::Triggered(number)); // in its own time
        }
    }
    record_first_threads(agent, env, &numbers);
    if agent.options.events.contains(Events::JIT) {
        jit::begin(agent);
    }
    sampler::start(agent, env);
    control::start(env);
    last_frees::begin(agent, env);
}

/// Tells the trace of the threads that were there before it.
fn record_first_threads(agent: &Agent, env: *mut JNIEnv, numbers: &[u32]) {
    let Some(first) = numbers.first() else { return };
    // The running thread is one of them; its buffer can't be asked for yet.
    // SAFETY: null means the running thread.
    let own = unsafe { agent.name_thread(env, std::ptr::null_mut()) }.unwrap_or(*first);
    // SAFETY: its environment.
    let buffer = unsafe { virtual_thread::new_buffer(agent, env, own) };
    for number in numbers {
        record(
            agent,
            Some(buffer),
            Code::ThreadStart,
            &[u64::from(*number)],
        );
    }
}
