//! Makes kinds of events available that a trace requests, but the agent's options did not.
//!
//! The JVM grants most capabilities while the program runs. Two sorts of kinds are never available
//! later. For the first, the JVM must prepare when it starts. For the second, the agent's own
//! tables would be incomplete.

use super::{Tracer, allocations, calls, classes, details, jit, trace};
use crate::error::Error;
use crate::session::lines::LineCounters;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::{AllocMode, Engine, Events, Options};

/// Returns the kinds that are available only if the agent's options request them, and the reasons.
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
    if options.engine == Engine::Jvmti && !calls::are_reported(options, options.events) {
        all.push((Events::METHODS, start));
        all.push((Events::CLINIT, start));
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

/// Makes these kinds available.
///
/// # Errors
/// If one of these kinds is never available later, or the JVM refuses. Then no kind has become
/// available.
pub(crate) fn acquire(
    tracer: &'static Tracer,
    env: &mut Env<'_>,
    kinds: Events,
) -> Result<(), Error> {
    let (session, instrument) = (&tracer.session, &tracer.instrument);
    let available = session.kinds.available();
    let more = kinds.without(available);
    if more.is_empty() {
        return Ok(());
    }
    for (kind, why) in never(&session.options) {
        if more.contains(kind) {
            return Err(Error::Request(format!(
                "the agent was loaded for events={available}, and {kind} is not available later: {why}"
            )));
        }
    }
    let mut options = (*session.options).clone();
    options.events = available.union(more);
    let names_objects = allocations::name_objects(options.events);
    let objects = tracer.objects.get();
    if names_objects && objects.is_none() {
        return Err("objects have no numbers".into());
    }
    trace::add_capabilities(tracer, &options)?;
    if let Some(objects) = objects.filter(|_| names_objects) {
        objects.name(options.events);
        allocations::install(objects, &options)?;
    }
    if more.contains(Events::LINES) && instrument.lines.get().is_none() {
        let counters = LineCounters::new().map_err(Error::memory("counters"))?;
        if let Some(hook) = instrument.hook.get() {
            hook.set_lines(env, counters.address())?;
        }
        let _ = instrument.lines.set(counters); // can't fail: one command at a time
    }
    if !classes::rewriting(&options, more).is_empty() && !instrument.has_hook() {
        session.classes.find_platform_loader(session.jvmti, env);
        session.jvmti.enable(Event::ClassFileLoadHook)?;
        session.life.upcalls.install_hook(env)?;
    }
    if more.contains(Events::JIT) {
        jit::enable(tracer);
    }
    if more.contains(Events::DETAILS) {
        session.jvmti.enable(Event::ClassFileLoadHook)?;
    }
    session.kinds.set_available(options.events);
    instrument.forget_verdicts();
    if more.contains(Events::DETAILS) {
        details::begin(tracer, env);
    }
    Ok(())
}
