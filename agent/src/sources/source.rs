//! The trait of a source of events.

use super::Tracer;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::OwnBuffer;

/// The source of a kind of events, or of something that several kinds need.
pub(crate) trait Source: Sync {
    /// Returns true if these options need this source.
    fn requested(&self, options: &Options) -> bool;

    /// Returns the capabilities that the source needs if it is requested. Some capabilities slow
    /// the program down as soon as the agent holds them, even if it does not use them.
    fn capabilities(&self, options: &Options) -> Vec<Need> {
        let _ = options;
        Vec::new()
    }

    /// Returns the JVMTI environment for the source's capabilities and events.
    fn environment(&self) -> Environment {
        Environment::General
    }

    /// Returns the JVM's events that a requested source needs from loading the agent to detaching
    /// it.
    fn permanent_events(&self) -> &'static [Event] {
        &[]
    }

    /// Returns the JVM's events that are enabled only while `kinds` are on.
    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        let (_, _) = (options, kinds);
        &[]
    }

    /// Reports what must precede all events in the trace. Called when the JVM is ready, before the
    /// writer starts.
    fn prepare(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// Called when the trace begins.
    fn begin(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// Called when the trace has begun and Java code may run. Starts agent threads, or retransforms
    /// classes.
    fn started(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// Called when other kinds have been switched on. The JVM's events for them are not enabled
    /// yet.
    fn switched(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// Records what remains to be recorded when the JVM ends. `buffer` is the running thread's
    /// buffer, if there is one.
    fn end(&self, tracer: &'static Tracer, env: &mut Env<'_>, buffer: Option<OwnBuffer>) {
        let (_, _, _) = (tracer, env, buffer);
    }

    /// Called when the class with that number was unloaded: on any thread, maybe in the middle of a
    /// collection. So it must take no lock, and must not call the JVM.
    fn class_unloaded(&self, tracer: &Tracer, class: u32) {
        let (_, _) = (tracer, class);
    }
}

/// The JVMTI environment that a source uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Environment {
    /// [`crate::session::Session::jvmti`].
    General,
    /// [`crate::objects::Objects::jvmti`], whose tags hold the numbers of objects.
    Objects,
}

/// A capability that a source needs.
pub(crate) struct Need {
    pub(super) capability: Capability,
    /// What the JVM can't do without the capability: the rest of the message "this JVM can't …".
    /// None if the source also works without the capability.
    pub(super) what: Option<&'static str>,
}

impl Need {
    /// Returns a required capability. `what` says what the JVM can't do without the capability.
    pub(super) fn of(capability: Capability, what: &'static str) -> Self {
        let what = Some(what);
        Self { capability, what }
    }

    /// Returns an optional capability, which is used if the JVM has it.
    pub(super) fn if_available(capability: Capability) -> Self {
        let what = None;
        Self { capability, what }
    }
}
