//! What a source of events is.

use super::Tracer;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::OwnBuffer;

/// A kind of events, or what several kinds have in common.
pub(crate) trait Source: Sync {
    /// Returns true if events of these options come from this source, or need it.
    fn requested(&self, options: &Options) -> bool;

    /// What the JVM has to be able to do, if the source is requested. Some capabilities cost the
    /// program something as soon as the agent has them, used or not.
    fn capabilities(&self, options: &Options) -> Vec<Need> {
        let _ = options;
        Vec::new()
    }

    /// The environment of its capabilities and events.
    fn environment(&self) -> Environment {
        Environment::General
    }

    /// The JVM's events that are enabled from loading until the agent leaves, if the source is
    /// requested.
    fn permanent_events(&self) -> &'static [Event] {
        &[]
    }

    /// The JVM's events that are enabled only while `kinds` are on.
    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        let (_, _) = (options, kinds);
        &[]
    }

    /// The JVM is ready, and the writer does not run yet: reports what has to be known before all
    /// else.
    fn prepare(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// The trace begins.
    fn begin(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// The trace has begun, and Java code may run: starts threads of its own, changes classes.
    fn started(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// Other kinds are on from now on; the JVM's events for them are not enabled yet.
    fn switched(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let (_, _) = (tracer, env);
    }

    /// The trace ends with the JVM: records what there is still to say, in the running thread's
    /// buffer if there is one.
    fn end(&self, tracer: &'static Tracer, env: &mut Env<'_>, buffer: Option<OwnBuffer>) {
        let (_, _, _) = (tracer, env, buffer);
    }

    /// The class with that number was unloaded. Called on any thread, in the middle of a
    /// collection: no lock, no call into the JVM.
    fn class_unloaded(&self, tracer: &Tracer, class: u32) {
        let (_, _) = (tracer, class);
    }
}

/// Which environment of the JVM a source uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Environment {
    /// [`crate::session::Session::jvmti`].
    General,
    /// [`crate::objects::Objects::jvmti`], whose tags are the numbers of objects.
    Objects,
}

/// A capability that a source needs.
pub(crate) struct Need {
    pub(super) capability: Capability,
    /// What the JVM can't do without it, to follow "this JVM can't"; none if the source does
    /// without.
    pub(super) what: Option<&'static str>,
}

impl Need {
    /// A capability without which the JVM can't do what `what` says.
    pub(super) fn of(capability: Capability, what: &'static str) -> Self {
        let what = Some(what);
        Self { capability, what }
    }

    /// A capability that is used where the JVM has it.
    pub(super) fn if_available(capability: Capability) -> Self {
        let what = None;
        Self { capability, what }
    }
}
