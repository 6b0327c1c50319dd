//! Which kinds of events are on: those of the trace under way, and none between traces.
//!
//! What costs the program something is off while nobody wants it: hooks in classes, allocations, monitors, exceptions, collections, calls
//! told by the JVM. What gives things their numbers stays on, or they would be wrong later: threads, classes as they load and are
//! unloaded, dead objects that have numbers, compiled code. It is told rarely, and the writer leaves out what its trace does not want.

use super::{class, gc, object, rewrite_anew};
use crate::agent::Agent;
use crate::error::Error;
use jni::sys::JNIEnv;
use jtrail_guard::log;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::{AllocMode, Engine, Events, Options};

const MONITORS: [Event; 4] = [
    Event::MonitorContendedEnter,
    Event::MonitorContendedEntered,
    Event::MonitorWait,
    Event::MonitorWaited,
];
const EXCEPTIONS: [Event; 2] = [Event::Exception, Event::ExceptionCatch];
const COLLECTIONS: [Event; 2] = [
    Event::GarbageCollectionStart,
    Event::GarbageCollectionFinish,
];
const METHODS: [Event; 2] = [Event::MethodEntry, Event::MethodExit];

/// Those of these kinds that are seen by rewritten classes.
pub(super) fn rewriting(options: &Options, kinds: Events) -> Events {
    if options.engine != Engine::Bytecode {
        return Events::NONE;
    }
    let mut others = Events::ALL
        .without(Events::METHODS)
        .without(Events::LINES)
        .without(Events::PARKS);
    if options.alloc == AllocMode::Sites {
        others = others.without(Events::ALLOC);
    }
    kinds.without(others)
}

/// Whether classes are rewritten for these kinds, or because calls of their methods begin bursts of the trace.
pub(super) fn rewrites(options: &Options, kinds: Events) -> bool {
    let has_triggers = options.has_call_triggers() && !kinds.is_empty();
    has_triggers || !rewriting(options, kinds).is_empty()
}

/// The JVM's events that are on with these kinds, and off without.
fn wanted(agent: &Agent, kinds: Events) -> Vec<(Jvmti, Event)> {
    let mut all = Vec::new();
    let mut add = |jvmti, events: &[Event]| all.extend(events.iter().map(|event| (jvmti, *event)));
    if kinds.contains(Events::MONITORS) {
        add(agent.jvmti, &MONITORS);
    }
    if kinds.contains(Events::EXCEPTIONS) {
        add(agent.jvmti, &EXCEPTIONS);
    } else if agent.options.has_exception_triggers() && !kinds.is_empty() {
        add(agent.jvmti, &[Event::Exception]);
    }
    if gc::are_wanted(&agent.options, kinds) {
        add(agent.jvmti, &COLLECTIONS);
    }
    if kinds.contains(Events::METHODS) && !agent.uses_bytecode() && agent.live.get().is_some() {
        add(agent.jvmti, &METHODS); // they would come too early before
    }
    if kinds.contains(Events::ALLOC)
        && let Some(objects) = agent.objects.get()
    {
        add(objects.jvmti, &[object::told_by(&agent.options)]);
    }
    all
}

/// Has the JVM tell what is on.
///
/// # Errors
/// When it refuses, as a sentence.
pub(super) fn begin(agent: &Agent) -> Result<(), Error> {
    for (jvmti, event) in wanted(agent, agent.kinds()) {
        jvmti.enable(event)?;
    }
    Ok(())
}

/// Switches these kinds on, and all others off; `filters` says that others are in force since the last time. How many classes were
/// rewritten for it.
///
/// # Errors
/// When the JVM refuses, as a sentence.
pub(crate) fn switch(
    agent: &Agent,
    env: *mut JNIEnv,
    kinds: Events,
    filters: bool,
) -> Result<u64, Error> {
    let before = agent.kinds();
    let (were, are) = (wanted(agent, before), wanted(agent, kinds));
    let lacks = |all: &[(Jvmti, Event)], event| !all.iter().any(|(_, other)| *other == event);
    let options = &agent.options;
    let is_on = rewrites(options, kinds) && agent.classes.has_hook();
    for (jvmti, event) in were {
        if lacks(&are, event) {
            jvmti.disable(event)?;
        }
    }
    let change = || {
        agent.set_kinds(kinds);
        agent.classes.set_open(is_on);
        agent.classes.forget_verdicts();
        class::watch_constructors(agent, env);
    };
    let is_same =
        rewriting(options, before) == rewriting(options, kinds) && agent.classes.is_open() == is_on;
    let rewritten = match is_same && !(filters && is_on) {
        true => {
            change();
            0
        }
        false => rewrite_anew(agent, env, change)?,
    };
    gc::begin(agent, kinds);
    super::sampler::start(agent, env);
    for (jvmti, event) in wanted(agent, kinds) {
        if lacks(&wanted(agent, before), event) {
            jvmti.enable(event)?;
        }
    }
    Ok(rewritten)
}

/// Switches on what would have come too early before the JVM was ready.
pub(super) fn live(agent: &Agent) {
    if let Err(error) = begin(agent) {
        log::say(&format!(
            "{error}; the program goes on without some events in the trace"
        ));
    }
}
