//! Class loaders that resolve the hook class.
//!
//! A rewritten class names the hook class, and the JVM resolves that name through the class's own
//! loader: it calls the loader's `loadClass`, once, and records it as an *initiating loader* of
//! what it finds. A loader may be anything: a sandbox gives out a list of classes and no others.
//! Without the hook class, methods with hooks throw `NoClassDefFoundError`.
//!
//! So each loader is asked before the first of its classes is rewritten. It is asked by the thread
//! that defines the class, where the JVM itself calls the same loader for the superclass: a loader
//! has to bear that. The first hook, which asks otherwise, runs anywhere, maybe with locks of the
//! program that another thread waits for inside the loader. Once it has answered, the loader is not
//! asked again, neither by us nor by the JVM.
//!
//! Before 18, the JVM also looks whether a class's protection domain may see what the loader has
//! found, once for each domain, and takes the monitor of a loader that is not parallel-capable for
//! that. So it is made to look when a class is prepared, or when it gets hooks later, rather than
//! at its first hook ([`InitiatingLoaders::prepared`]).
//!
//! No lock of ours is held while a loader is asked. Threads that define the first classes of a
//! loader at the same time each ask it. Nothing that a thread does while it asks is recorded: the
//! program did not call the loader.

use crate::hook_class::Hook;
use crate::session::{Loader, Session, class_name, internal_name, unrecorded};
use jtrail_jvm::jni::{Answer, ClassRef, Env, LoaderRef};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_recorder::buffer::tls;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// The class loader of a class that passes the load hook.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'e> {
    pub(crate) loader: Loader,
    /// The loader; none for the boot loader.
    pub(crate) object: Option<LoaderRef<'e>>,
    /// The class, if it exists already.
    pub(crate) class: Option<ClassRef<'e>>,
}

/// What is known of each loader that was asked, or is being asked.
#[derive(Default)]
pub(super) struct InitiatingLoaders {
    states: Mutex<FxHashMap<Loader, State>>,
    /// Whether this JVM looks at protection domains.
    has_domains: OnceLock<bool>,
}

#[derive(Default)]
struct State {
    /// What it answered.
    verdict: Option<Verdict>,
    /// It is the JDK's own, and was not asked.
    is_trusted: bool,
    /// Threads that are asking it now.
    asking: Vec<usize>,
}

/// Whether classes of a loader may have hooks; if not, the reason.
type Verdict = Result<(), Arc<str>>;

impl InitiatingLoaders {
    /// Returns whether the loader resolves the hook class, for the class too. Asks it if it was not
    /// asked before.
    pub(super) fn verdict(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        hook: Option<&Hook>,
        origin: &Origin<'_>,
    ) -> Verdict {
        let Some(hook) = hook else {
            return Ok(()); // no class is rewritten before there is one
        };
        self.verdict_of_loader(session, env, hook, origin)?;
        if let Some(class) = origin.class {
            self.prepared(session, env, Some(hook), (origin, class), || true);
        }
        Ok(())
    }

    /// Makes the JVM check whether the class, which exists, may see the hook class, if it has hooks
    /// and its loader was asked for that. Other classes are left alone: for them, no lock of the
    /// program's is to be taken.
    pub(super) fn prepared(
        &self,
        session: &Session,
        env: &Env<'_>,
        hook: Option<&Hook>,
        (origin, class): (&Origin<'_>, ClassRef<'_>),
        has_hooks: impl FnOnce() -> bool,
    ) {
        let version = || session.jvmti.java_version();
        let has_domains = || version().is_none_or(|version| version < 18);
        if !self.has_domains.get_or_init(has_domains) {
            return;
        }
        let is_found = {
            let states = self.states.lock();
            let state = states.get(&origin.loader);
            state.is_some_and(|state| !state.is_trusted && matches!(state.verdict, Some(Ok(()))))
        };
        if let (Some(hook), Some(loader)) = (hook, origin.object)
            && is_found
            && has_hooks()
        {
            let name = hook.name.replace('/', ".");
            unrecorded(|| env.resolve_for(loader, &name, class));
        }
    }

    fn verdict_of_loader(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        hook: &Hook,
        origin: &Origin<'_>,
    ) -> Verdict {
        let Some(object) = origin.object.filter(|_| origin.loader != Loader::PLATFORM) else {
            return Ok(());
        };
        // The address of a variable that each thread has its own of tells threads apart.
        let thread = tls::place().addr();
        {
            let mut states = self.states.lock();
            let state = states.entry(origin.loader).or_default();
            if let Some(verdict) = &state.verdict {
                return verdict.clone();
            }
            if state.asking.contains(&thread) {
                let reason =
                    "its class loader defined it while jtrail asked that for the hook class";
                return Err(reason.into());
            }
            state.asking.push(thread);
        }
        let (is_trusted, (verdict, is_final)) = env.with_frame(|env| {
            let class = env.class_of(object.as_object());
            match is_application_loader(session.jvmti, env, class) {
                true => (true, (Ok(()), true)),
                false => (false, ask(session.jvmti, env, hook, object)),
            }
        });
        if let Some(state) = self.states.lock().get_mut(&origin.loader) {
            state.is_trusted = is_trusted;
            state.asking.retain(|asking| *asking != thread);
            // Once it has found the hook class, the JVM does not ask it again, whatever it answers
            // elsewhere.
            if is_final && state.verdict != Some(Ok(())) {
                state.verdict = Some(verdict.clone());
            }
        }
        verdict
    }

    /// Forgets what these loaders answered.
    pub(super) fn forget(&self, collected: &FxHashSet<Loader>) {
        self.states
            .lock()
            .retain(|loader, _| !collected.contains(loader));
    }
}

/// Asks the loader. Returns its verdict, and whether that is final: with the stack or the memory
/// exhausted, it is not.
fn ask(jvmti: Jvmti, env: &mut Env<'_>, hook: &Hook, object: LoaderRef<'_>) -> (Verdict, bool) {
    let name = hook.name.replace('/', ".");
    let answer = unrecorded(|| env.ask_loader(object, &name, hook.class.get()));
    let class = env.class_of(object.as_object());
    let loader = names_of(env, jvmti, class).swap_remove(0);
    match answer {
        Answer::Expected => (Ok(()), true),
        Answer::Other => (refused(&loader, &name, "it answers another class"), true),
        Answer::Thrown(None) => {
            let verdict = refused(&loader, &name, "there is no memory to ask it");
            (verdict, false)
        }
        Answer::Thrown(Some(thrown)) => {
            let class = env.class_of(thrown);
            let names = names_of(env, jvmti, class);
            let is_final = !names.iter().any(|n| n == "java.lang.VirtualMachineError");
            (refused(&loader, &name, &names[0]), is_final)
        }
    }
}

fn refused(loader: &str, hook: &str, why: &str) -> Verdict {
    Err(format!("its class loader ({loader}) does not give out {hook}: {why}").into())
}

/// Returns true if a loader of that class is the JDK's own for applications. It gives out all of
/// the JDK, and is never asked.
fn is_application_loader(jvmti: Jvmti, env: &Env<'_>, class: ClassRef<'_>) -> bool {
    const NAME: &str = "Ljdk/internal/loader/ClassLoaders$AppClassLoader;";
    // Only the boot loader's is the JDK's.
    let is_boot = || matches!(jvmti.class_loader(env, class), Ok(None));
    jvmti.class_signature(class).is_ok_and(|name| name == NAME) && is_boot()
}

/// Names of a class and its superclasses, in that order; never empty.
fn names_of(env: &mut Env<'_>, jvmti: Jvmti, class: ClassRef<'_>) -> Vec<String> {
    let mut names = Vec::new();
    env.for_superclasses(class, |_, class| {
        let signature = jvmti.class_signature(class).unwrap_or_default();
        names.push(class_name(internal_name(&signature)));
        true
    });
    names
}
