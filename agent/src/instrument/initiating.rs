//! Class loaders that resolve the hook class.
//!
//! A rewritten class names the hook class, and the JVM resolves that name through the class's own loader: it calls the
//! loader's `loadClass`, once, and records it as an *initiating loader* of what it finds. A loader may be anything: a sandbox
//! gives out a list of classes and no others. Without the hook class, methods with hooks throw `NoClassDefFoundError`.
//!
//! So each loader is asked before the first of its classes is rewritten. It is asked by the thread that defines the class,
//! where the JVM itself calls the same loader for the superclass: a loader has to bear that. The first hook, which asks
//! otherwise, runs anywhere, maybe with locks of the program that another thread waits for inside the loader. Once it has
//! answered, the loader is not asked again, neither by us nor by the JVM.
//!
//! Before 18, the JVM also looks whether a class's protection domain may see what the loader has found, once for each domain,
//! and takes the monitor of a loader that is not parallel-capable for that. So it is made to look when a class is prepared,
//! or when it gets hooks later, rather than at its first hook ([`InitiatingLoaders::prepared`]).
//!
//! No lock of ours is held while a loader is asked. Threads that define the first classes of a loader at the same time each
//! ask it. Nothing that a thread does while it asks is recorded: the program did not call the loader.

use super::loader::Loader;
use crate::agent::Agent;
use crate::hook_class::Hook;
use crate::hooks::unrecorded;
use jni::sys::{JNIEnv, jclass, jobject};
use jtrail_jvm::jni::{Answer, ask_loader, class_of, resolve_for, superclass_of, with_frame};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_recorder::buffer::tls;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// The class loader of a class that passes the load hook.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    env: *mut JNIEnv,
    pub(super) loader: Loader,
    object: jobject,
    /// The class, where it exists already; else null.
    class: jclass,
}

impl Origin {
    /// # Safety
    /// Until it is dropped, `env` is the running thread's environment, `object` a live reference to `loader`, and `class` one to
    /// a class of it; both may be null.
    pub(crate) unsafe fn new(
        env: *mut JNIEnv,
        loader: Loader,
        object: jobject,
        class: jclass,
    ) -> Self {
        Self {
            env,
            loader,
            object,
            class,
        }
    }
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
    /// Returns whether the loader resolves the hook class, for the class too. Asks it if it was not asked before.
    pub(super) fn verdict(&self, agent: &Agent, origin: &Origin) -> Verdict {
        self.verdict_of_loader(agent, origin)?;
        if !origin.class.is_null() {
            self.prepared(agent, origin, || true);
        }
        Ok(())
    }

    /// Has the JVM look whether the class, which exists, may see the hook class, if it has hooks and its loader was asked for that.
    /// Other classes are left alone: for them, no lock of the program's is to be taken.
    pub(super) fn prepared(
        &self,
        agent: &Agent,
        origin: &Origin,
        has_hooks: impl FnOnce() -> bool,
    ) {
        let version = || {
            agent
                .jvmti
                .java_version()
                .is_none_or(|version| version < 18)
        };
        if !self.has_domains.get_or_init(version) {
            return;
        }
        let is_found = {
            let states = self.states.lock();
            let state = states.get(&origin.loader);
            state.is_some_and(|state| !state.is_trusted && matches!(state.verdict, Some(Ok(()))))
        };
        if let Some(hook) = agent.hook.get()
            && is_found
            && has_hooks()
        {
            let Origin {
                env, object, class, ..
            } = *origin;
            let name = hook.name.replace('/', ".");
            // SAFETY: the running thread's environment, and live references (`Origin::new`).
            unrecorded(|| unsafe { resolve_for(env, object, &name, class) });
        }
    }

    fn verdict_of_loader(&self, agent: &Agent, origin: &Origin) -> Verdict {
        let Some(hook) = agent.hook.get() else {
            return Ok(()); // no class is rewritten before there is one
        };
        if origin.loader == Loader::BOOT || origin.loader == Loader::PLATFORM {
            return Ok(());
        }
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
        // SAFETY: the running thread's environment, and a live reference (`Origin::new`); no reference leaves.
        let (is_trusted, verdict, is_final) = unsafe {
            with_frame(origin.env, || {
                let class = class_of(origin.env, origin.object);
                match is_application_loader(agent.jvmti, class) {
                    true => (true, Ok(()), true),
                    false => {
                        let (verdict, is_final) = ask(agent.jvmti, hook, origin);
                        (false, verdict, is_final)
                    }
                }
            })
        };
        if let Some(state) = self.states.lock().get_mut(&origin.loader) {
            state.is_trusted = is_trusted;
            state.asking.retain(|asking| *asking != thread);
            // Once it has found the hook class, the JVM does not ask it again, whatever it answers elsewhere.
            if is_final && state.verdict != Some(Ok(())) {
                state.verdict = Some(verdict.clone());
            }
        }
        verdict
    }

    /// Forgets what these loaders answered.
    pub(super) fn forget(&self, gone: &FxHashSet<Loader>) {
        self.states
            .lock()
            .retain(|loader, _| !gone.contains(loader));
    }
}

/// Asks the loader. Returns its verdict, and whether that is final: with the stack or the memory exhausted, it is not.
fn ask(jvmti: Jvmti, hook: &Hook, origin: &Origin) -> (Verdict, bool) {
    let Origin { env, object, .. } = *origin;
    // SAFETY: `Origin::new` has both alive, and local references that the JVM gives us.
    unsafe {
        let class = class_of(env, object);
        let name = hook.name.replace('/', ".");
        let answer = unrecorded(|| ask_loader(env, object, &name, hook.class.get()));
        let loader = names_of(env, jvmti, class).swap_remove(0);
        match answer {
            Answer::Expected => (Ok(()), true),
            Answer::Other => (refused(&loader, &name, "it answers another class"), true),
            Answer::Thrown(thrown) if thrown.is_null() => (
                refused(&loader, &name, "there is no memory to ask it"),
                false,
            ),
            Answer::Thrown(thrown) => {
                let names = names_of(env, jvmti, class_of(env, thrown));
                let is_final = !names.iter().any(|n| n == "java.lang.VirtualMachineError");
                (refused(&loader, &name, &names[0]), is_final)
            }
        }
    }
}

fn refused(loader: &str, hook: &str, why: &str) -> Verdict {
    Err(format!("its class loader ({loader}) does not give out {hook}: {why}").into())
}

/// Whether a loader of that class is the JDK's own for applications. It gives out all of the JDK, and is never asked.
///
/// # Safety
/// `class` is a live reference to a class.
unsafe fn is_application_loader(jvmti: Jvmti, class: jobject) -> bool {
    const NAME: &str = "Ljdk/internal/loader/ClassLoaders$AppClassLoader;";
    // SAFETY: the caller's reference. Only the boot loader's is the JDK's.
    unsafe {
        jvmti.class_signature(class).is_ok_and(|name| name == NAME)
            && jvmti
                .class_loader(class)
                .is_ok_and(|loader| loader.is_null())
    }
}

/// Names of a class and its superclasses, in that order; never empty.
///
/// # Safety
/// `env` is the running thread's environment, and `class` a live reference to a class.
unsafe fn names_of(env: *mut JNIEnv, jvmti: Jvmti, mut class: jobject) -> Vec<String> {
    let mut names = Vec::new();
    while !class.is_null() {
        // SAFETY: the caller's reference, or a local one that the JVM just gave us.
        let signature = unsafe { jvmti.class_signature(class) }.unwrap_or_default();
        let name = signature.trim_start_matches('L').trim_end_matches(';');
        names.push(super::class_name(name));
        // SAFETY: likewise.
        class = unsafe { superclass_of(env, class) };
    }
    names
}
