//! Enables the events of the JVM that the active trace needs, and disables most of them between
//! traces.
//!
//!  Two things slow the program down, and are off while no trace needs them. They are hooks in
//!  classes, and events of allocations, monitors, exceptions, collections, and calls. The other
//!  events stay enabled, because without them the agent's numbers would become wrong: threads,
//!  classes that load and unload, dead objects that have numbers, compiled code. These events are
//!  rare. The writer skips the ones that the trace did not request.

use super::table::{TABLE, requested};
use super::{Environment, Tracer, allocations, calls, classes};
use crate::error::Error;
use jtrail_guard::log;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_jvm::perf::starts_from_cache;
use jtrail_options::Events;

/// Returns the JVM's events that are enabled while these kinds are on, and disabled otherwise.
fn enabled_events(tracer: &Tracer, kinds: Events) -> Vec<(Jvmti, Event)> {
    let session = &tracer.session;
    let mut enabled_events = Vec::new();
    for source in TABLE {
        if let Some(jvmti) = tracer.jvmti(source.environment()) {
            for event in source.events(&session.options, kinds) {
                // Method events stay disabled until the trace begins.
                let is_early = calls::JVM_EVENTS.contains(event) && !session.is_live();
                if !is_early {
                    enabled_events.push((jvmti, *event));
                }
            }
        }
    }
    enabled_events
}

/// Enables the permanent events, and the events of the kinds that are on now. More events are
/// enabled when the JVM is ready.
///
/// # Errors
/// If the JVM refuses.
pub(crate) fn install(tracer: &Tracer) -> Result<(), Error> {
    let session = &tracer.session;
    if let Some(objects) = tracer.objects.get() {
        allocations::install(objects, &session.options)?;
    }
    // A JVM refuses an ahead-of-time cache if the load hook is enabled. So with a cache, the load
    // hook is enabled only when the trace begins.
    let is_late = !session.life.is_attaching() && starts_from_cache();
    for event in [Event::VmInit, Event::VmDeath] {
        session.jvmti.enable(event)?;
    }
    for source in requested(&session.options) {
        let Some(jvmti) = tracer.jvmti(source.environment()) else {
            continue;
        };
        for event in source.permanent_events() {
            if *event != Event::ClassFileLoadHook || !is_late {
                jvmti.enable(*event)?;
            }
        }
    }
    enable(tracer, |_| true)
}

/// Enables those events of the kinds that are on now for which `which` returns true.
///
/// # Errors
/// If the JVM refuses.
fn enable(tracer: &Tracer, which: impl Fn(&Event) -> bool) -> Result<(), Error> {
    for (jvmti, event) in enabled_events(tracer, tracer.session.kinds.on()) {
        if which(&event) {
            jvmti.enable(event)?;
        }
    }
    Ok(())
}

/// Enables the method events, which stay disabled until the trace begins.
pub(super) fn enable_late(tracer: &Tracer) {
    if let Err(error) = enable(tracer, |event| calls::JVM_EVENTS.contains(event)) {
        log::say(&format!(
            "{error}; the program goes on without some events in the trace"
        ));
    }
}

/// Switches these kinds on, and all other kinds off. `filters` is true if the filters have changed
/// since the last switch. Returns how many classes were retransformed.
///
/// # Errors
/// If the JVM refuses.
pub(crate) fn switch(
    tracer: &'static Tracer,
    env: &mut Env<'_>,
    kinds: Events,
    filters: bool,
) -> Result<u64, Error> {
    let (session, instrument) = (&tracer.session, &tracer.instrument);
    let options = &session.options;
    let before = session.kinds.on();
    let (were, are) = (
        enabled_events(tracer, before),
        enabled_events(tracer, kinds),
    );
    let is_on = classes::rewrites(options, kinds) && instrument.has_hook();
    for (jvmti, event) in were.iter().filter(|event| !are.contains(event)) {
        jvmti.disable(*event)?;
    }
    let change = |env: &mut Env<'_>| {
        session.kinds.set_on(kinds);
        instrument.set_open(is_on);
        instrument.forget_verdicts();
        classes::watch_constructors(tracer, env);
    };
    let is_same = classes::rewriting(options, before) == classes::rewriting(options, kinds)
        && instrument.is_open() == is_on;
    let rewritten = match is_same && !(filters && is_on) {
        true => {
            change(env);
            0
        }
        false => classes::retransform_changed(tracer, env, change)?,
    };
    for source in TABLE {
        source.switched(tracer, env);
    }
    // Computed again, because the trace may have begun meanwhile: then method events may be
    // enabled.
    let (were, are) = (
        enabled_events(tracer, before),
        enabled_events(tracer, kinds),
    );
    for (jvmti, event) in are.iter().filter(|event| !were.contains(event)) {
        jvmti.enable(*event)?;
    }
    Ok(rewritten)
}

impl Tracer {
    /// Returns the JVMTI environment of that kind; `None` for the environment of objects if objects
    /// have no numbers.
    pub(super) fn jvmti(&self, environment: Environment) -> Option<Jvmti> {
        match environment {
            Environment::General => Some(self.session.jvmti),
            Environment::Objects => self.objects.get().map(|objects| objects.jvmti),
        }
    }
}
