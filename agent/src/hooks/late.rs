//! Kinds of events that the agent was not loaded for, and that a trace asks for later.
//!
//! The JVM gives most of what they need also while the program runs. What it has to know from its start, or what our own tables would have
//! to have seen, can't be had.

use super::switch::rewriting;
use super::{add_capabilities, callbacks, capabilities, detail, jit, lifecycle, object};
use crate::agent::Agent;
use crate::error::Error;
use crate::instrument::lines::LineCounters;
use jni::sys::JNIEnv;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::{AllocMode, Engine, Events, Options};

/// Kinds that are for agents which were loaded for them, and why.
fn never(options: &Options) -> Vec<(Events, &'static str)> {
    let start = "the JVM gives it to agents only that ask for it when it starts";
    let mut all = vec![
        (Events::EXCEPTIONS, start),
        (Events::PARKS, start),
        (
            Events::CPU,
            "the hooks measure it, or they do not, from when they are bound",
        ),
        (
            Events::HEAP,
            "objects are numbered in another way where heaps are walked over",
        ),
    ];
    if options.engine == Engine::Jvmti {
        all.push((Events::METHODS, start));
    }
    if options.alloc == AllocMode::Sites {
        all.push((Events::ALLOC, "alloc=sites numbers places from the start"));
        all.push((
            Events::FREE,
            "alloc=sites gives objects their numbers from the start, or not",
        ));
    }
    all
}

/// Makes it possible to switch these kinds on.
///
/// # Errors
/// When one of them can't be had, as a sentence. Nothing has changed then.
pub(crate) fn acquire(agent: &Agent, env: *mut JNIEnv, kinds: Events) -> Result<(), Error> {
    let held = agent.held();
    let more = kinds.without(held);
    if more.is_empty() {
        return Ok(());
    }
    for (kind, why) in never(&agent.options) {
        if more.contains(kind) {
            return Err(Error::Request(format!(
                "the agent was loaded for events={held}, and {kind} can't be had later: {why}"
            )));
        }
    }
    let mut options = (*agent.options).clone();
    options.events = held.union(more);
    add_capabilities(agent.jvmti, &options)?;
    if object::are_told(options.events) {
        let objects = agent.objects.get().ok_or("objects have no numbers")?;
        capabilities::add(objects.jvmti, |potential| {
            capabilities::of_objects(potential, &options)
        })?;
        objects.name(options.events);
        object::install(objects, &options)?;
    }
    if more.contains(Events::LINES) && agent.classes.lines.get().is_none() {
        let counters = LineCounters::new().map_err(Error::memory("counters"))?;
        if let Some(hook) = agent.hook.get() {
            hook.set_lines(env, counters.address())?;
        }
        let _ = agent.classes.lines.set(counters); // commands come one by one
    }
    let callbacks = callbacks(&options);
    let set = agent.jvmti.set_callbacks(&callbacks);
    set?;
    if !rewriting(&options, more).is_empty() && !agent.classes.has_hook() {
        agent.classes.find_platform_loader(agent.jvmti, env);
        let enabled = agent.jvmti.enable(Event::ClassFileLoadHook);
        enabled?;
        lifecycle::open(agent, env)?;
    }
    if more.contains(Events::JIT) {
        jit::begin(agent);
    }
    if more.contains(Events::DETAILS) {
        let enabled = agent.jvmti.enable(Event::ClassFileLoadHook);
        enabled?;
    }
    agent.set_held(options.events);
    if more.contains(Events::DETAILS) {
        detail::begin(agent, env);
    }
    Ok(())
}
