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
//! No lock of ours is held while a loader is asked. Threads that define the first classes of a loader at the same time each
//! ask it. Nothing that a thread does while it asks is recorded: the program did not call the loader.

use super::loader::Loader;
use crate::agent::Agent;
use crate::buffer::tls;
use crate::hooks::unrecorded;
use crate::jni::{Answer, Hook, ask_loader, class_of, superclass_of, with_frame};
use crate::jvmti::Jvmti;
use jni::sys::{JNIEnv, jobject};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The class loader of a class that passes the load hook.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    env: *mut JNIEnv,
    pub(super) loader: Loader,
    object: jobject,
}

impl Origin {
    /// # Safety
    /// Until it is dropped, `env` is the running thread's environment, and `object` a live reference to `loader`, or null.
    pub(crate) unsafe fn new(env: *mut JNIEnv, loader: Loader, object: jobject) -> Self {
        Self {
            env,
            loader,
            object,
        }
    }
}

/// What is known of each loader that was asked, or is being asked.
#[derive(Default)]
pub(super) struct InitiatingLoaders(Mutex<FxHashMap<Loader, State>>);

#[derive(Default)]
struct State {
    /// What it answered.
    verdict: Option<Verdict>,
    /// Threads that are asking it now.
    asking: Vec<usize>,
}

/// Whether classes of a loader may have hooks; if not, the reason.
type Verdict = Result<(), Arc<str>>;

impl InitiatingLoaders {
    /// Returns whether the loader resolves the hook class. Asks it if it was not asked before.
    pub(super) fn verdict(&self, agent: &Agent, origin: &Origin) -> Verdict {
        let Some(hook) = agent.hook.get() else {
            return Ok(()); // no class is rewritten before there is one
        };
        if origin.loader == Loader::BOOT || origin.loader == Loader::PLATFORM {
            return Ok(());
        }
        // The address of a variable that each thread has its own of tells threads apart.
        let thread = tls::place().addr();
        {
            let mut states = self.0.lock();
            let state = states.entry(origin.loader).or_default();
            if let Some(verdict) = &state.verdict {
                return verdict.clone();
            }
            if state.asking.contains(&thread) {
                let reason = "its class loader defined it while jtrail asked that for the hook class";
                return Err(reason.into());
            }
            state.asking.push(thread);
        }
        // SAFETY: the running thread's environment (`Origin::new`); no reference leaves.
        let (verdict, is_final) = unsafe { with_frame(origin.env, || ask(agent.jvmti, hook, origin)) };
        if let Some(state) = self.0.lock().get_mut(&origin.loader) {
            state.asking.retain(|asking| *asking != thread);
            if is_final {
                // Once it has found the hook class, the JVM does not ask it again, whatever it answers elsewhere.
                if !matches!(state.verdict, Some(Ok(()))) {
                    state.verdict = Some(verdict.clone());
                }
            }
        }
        verdict
    }

    /// Forgets what these loaders answered.
    pub(super) fn forget(&self, gone: &FxHashSet<Loader>) {
        self.0.lock().retain(|loader, _| !gone.contains(loader));
    }
}

/// Asks the loader. Returns its verdict, and whether that is final: with the stack or the memory exhausted, it is not.
fn ask(jvmti: Jvmti, hook: &Hook, origin: &Origin) -> (Verdict, bool) {
    let Origin { env, object, .. } = *origin;
    // SAFETY: `Origin::new` has both alive, and local references that the JVM gives us.
    unsafe {
        let class = class_of(env, object);
        if is_application_loader(jvmti, class) {
            return (Ok(()), true);
        }
        let name = hook.name.replace('/', ".");
        let answer = unrecorded(|| ask_loader(env, object, &name, hook.class.get()));
        let loader = names_of(env, jvmti, class).swap_remove(0);
        match answer {
            Answer::Expected => (Ok(()), true),
            Answer::Other => (refused(&loader, &name, "it answers another class"), true),
            Answer::Thrown(thrown) if thrown.is_null() => {
                (refused(&loader, &name, "there is no memory to ask it"), false)
            }
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
            && jvmti.class_loader(class).is_ok_and(|loader| loader.is_null())
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
