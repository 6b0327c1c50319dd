//! Finds out which class loaders resolve the hook class.
//!
//! A rewritten class names the hook class, and the JVM resolves that name through the class's own
//! loader. The JVM calls the loader's `loadClass` once, and records the loader as an *initiating
//! loader* of the class found. A loader may do anything. A sandbox, for example, may resolve only
//! the classes in a list. If it does not resolve the hook class, methods with hooks throw
//! `NoClassDefFoundError`.
//!
//! So each loader is asked for the hook class before its first class is rewritten. The thread that
//! defines that class asks. At this point, the JVM also calls the loader for the superclass, so the
//! loader can handle the call. Otherwise the JVM would ask when the first hook is called, which may
//! be anywhere in the program. A deadlock would be possible: the thread may hold a lock for which
//! another thread waits inside the loader. After the loader has answered, neither the agent nor the
//! JVM asks it again.
//!
//! Before 18, the JVM also checks whether a class's protection domain may see the class that the
//! loader has found. It checks once for each domain. If the loader is not parallel-capable, the
//! check takes the loader's monitor. So the check must not wait for the first call of a hook. The
//! agent triggers it when a class is prepared, or when a prepared class gets hooks
//! ([`InitiatingLoaders::prepared`]).
//!
//! The agent holds no lock while it asks a loader. If several threads define the first classes of a
//! loader at the same time, each of these threads asks. While a thread asks, nothing on it is
//! recorded, because the program did not call the loader.

use crate::hook_class::Hook;
use crate::session::{Loader, Session, class_name, internal_name, unrecorded};
use jtrail_jvm::jni::{ClassRef, Env, LoaderOutcome, LoaderRef};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_recorder::buffer::tls;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// The class loader of a class that passes the load hook.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'e> {
    pub(crate) loader: Loader,
    /// The loader object; none for the boot loader.
    pub(crate) object: Option<LoaderRef<'e>>,
    /// The class, if it exists already.
    pub(crate) class: Option<ClassRef<'e>>,
}

/// The state of each loader that was asked, or is being asked, for the hook class.
#[derive(Default)]
pub(super) struct InitiatingLoaders {
    states: Mutex<FxHashMap<Loader, State>>,
    /// True if this JVM checks protection domains.
    has_domains: OnceLock<bool>,
}

#[derive(Default)]
struct State {
    /// The verdict; none until it is final.
    verdict: Option<Verdict>,
    /// True if the loader is the JDK's own, and was not asked.
    is_trusted: bool,
    /// The threads that are asking the loader now.
    asking: Vec<usize>,
}

/// `Ok` if classes of a loader may have hooks, otherwise the reason why not.
type Verdict = Result<(), Arc<str>>;

impl InitiatingLoaders {
    /// Returns `Ok` if the loader of `origin` resolves the hook class, otherwise the reason why
    /// not. Asks the loader if it was not asked before.
    pub(super) fn verdict(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        hook: Option<&Hook>,
        origin: &Origin<'_>,
    ) -> Verdict {
        let Some(hook) = hook else {
            return Ok(()); // no class is rewritten before there is a hook class
        };
        self.verdict_of_loader(session, env, hook, origin)?;
        if let Some(class) = origin.class {
            self.prepared(session, env, Some(hook), (origin, class), || true);
        }
        Ok(())
    }

    /// Makes the JVM check whether an existing class may see the hook class. Checks only if the
    /// class has hooks and its loader was asked, because the check may take a lock of the program.
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
        // The address of a thread-local variable identifies the thread.
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
            // Once the loader has resolved the hook class for one thread, the JVM never asks it
            // again. Then its other answers to other threads don't matter.
            if is_final && state.verdict != Some(Ok(())) {
                state.verdict = Some(verdict.clone());
            }
        }
        verdict
    }

    /// Forgets the answers of these loaders.
    pub(super) fn forget(&self, collected: &FxHashSet<Loader>) {
        self.states
            .lock()
            .retain(|loader, _| !collected.contains(loader));
    }
}

/// Asks the loader for the hook class. Returns the verdict, and true if the verdict is final. The
/// verdict is not final if the stack or the memory was exhausted.
fn ask(jvmti: Jvmti, env: &mut Env<'_>, hook: &Hook, object: LoaderRef<'_>) -> (Verdict, bool) {
    let name = hook.name.replace('/', ".");
    let answer = unrecorded(|| env.ask_loader(object, &name, hook.class.get()));
    let class = env.class_of(object.as_object());
    let loader = names_of(env, jvmti, class).swap_remove(0);
    match answer {
        LoaderOutcome::Expected => (Ok(()), true),
        LoaderOutcome::Other => (refused(&loader, &name, "it answers another class"), true),
        LoaderOutcome::Thrown(None) => {
            let verdict = refused(&loader, &name, "there is no memory to ask it");
            (verdict, false)
        }
        LoaderOutcome::Thrown(Some(thrown)) => {
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

/// Returns true if `class` is the class of the JDK's application loader. That loader resolves all
/// classes of the JDK, and is never asked.
fn is_application_loader(jvmti: Jvmti, env: &Env<'_>, class: ClassRef<'_>) -> bool {
    const NAME: &str = "Ljdk/internal/loader/ClassLoaders$AppClassLoader;";
    // Only a class of the boot loader can be the JDK's.
    let is_boot = || matches!(jvmti.class_loader(env, class), Ok(None));
    jvmti.class_signature(class).is_ok_and(|name| name == NAME) && is_boot()
}

/// Returns the names of a class and its superclasses, in that order; never empty.
fn names_of(env: &mut Env<'_>, jvmti: Jvmti, class: ClassRef<'_>) -> Vec<String> {
    let mut names = Vec::new();
    env.for_superclasses(class, |_, class| {
        let signature = jvmti.class_signature(class).unwrap_or_default();
        names.push(class_name(internal_name(&signature)));
        true
    });
    names
}
