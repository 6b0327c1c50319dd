//! Classes load: those that the filters include are rewritten.

use super::{api, buffer, detail, record};
use crate::agent::{self, Agent};
use crate::error::Error;
use crate::instrument::special::{OBJECT, PARKING};
use crate::instrument::{Loader, Origin, has_triggers};
use jni::sys::{JNIEnv, jclass, jint, jobject};
use jtrail_guard::guard;
use jtrail_guard::log;
use jtrail_jvm::jni::{Lasting, with_frame};
use jtrail_jvm::jvmti::abi::{self, RawEnv};
use jtrail_jvm::jvmti::{Failure, text};
use jtrail_options::{ClassVerdict, Events};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::pending;
use jtrail_records::Announcement;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_uchar};

thread_local! {
    /// It is we who have classes pass the hook again.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// A class is about to be defined, or redefined.
pub(super) unsafe extern "system" fn file_load_hook(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    length: jint,
    bytes: *const c_uchar,
    new_length: *mut jint,
    new_bytes: *mut *mut c_uchar,
) {
    guard::run("a class's load", || {
        let Some(agent) = agent::get() else { return };
        if env.is_null() || bytes.is_null() {
            return;
        }
        let name = match name.is_null() {
            true => None,
            // SAFETY: the JVM's string.
            false => Some(text(unsafe { CStr::from_ptr(name) }.to_bytes())),
        };
        // SAFETY: the JVM's array, alive during the callback.
        let bytes = unsafe {
            std::slice::from_raw_parts(bytes, usize::try_from(length).unwrap_or_default())
        };
        // SAFETY: the callback's own reference.
        let (loader, origin) = unsafe {
            let number = agent.classes.loader(agent.jvmti, loader);
            agent.classes.watch(env, number, loader);
            (number, Origin::new(env, number, loader, redefined))
        };
        let again = !redefined.is_null();
        if agent.held().contains(Events::DETAILS) {
            match again {
                false => agent.sizes.loaded(loader, name.as_deref(), bytes.len()),
                true if OURS.get() => {}
                // SAFETY: the callback's own reference.
                true => unsafe { detail::redefined(agent, env, redefined, bytes.len()) },
            }
        }
        let rewritten = match agent.classes.is_open() {
            true => agent
                .classes
                .rewrite(agent, &origin, name.as_deref(), bytes, again),
            false => name
                .as_deref()
                .filter(|_| again)
                .and_then(|name| agent.classes.restore(agent, loader, name, bytes)),
        };
        if agent.held().contains(Events::EXCEPTIONS) {
            let file = rewritten.as_deref().unwrap_or(bytes);
            agent.classes.note_handlers(loader, file, again);
        }
        if agent.classes.is_look_due() {
            forget_gone(agent, env);
        }
        let Some(rewritten) = rewritten else { return };
        let Ok(size) = jint::try_from(rewritten.len()) else {
            return;
        };
        if let Ok(memory) = agent.jvmti.copy_for_jvm(&rewritten) {
            // SAFETY: the JVM's places for the answer.
            unsafe {
                *new_bytes = memory;
                *new_length = size;
            }
        }
    });
}

/// Gives up what is known of classes whose loaders are gone, here and in the writer, which has older records of theirs to read.
fn forget_gone(agent: &Agent, env: *mut JNIEnv) {
    let Some(buffer) = buffer(agent, env) else {
        return; // another thread will come
    };
    // SAFETY: the running thread's environment.
    for class in unsafe { agent.classes.forget_gone(env) } {
        record(agent, Some(buffer), Code::ClassGone, &[class.into()]);
    }
}

/// A class is about to be used.
pub(super) unsafe extern "system" fn prepared(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    guard::run("a class's preparation", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the callback's own references.
        unsafe { api::prepared(agent, env, class) };
        if agent.classes.is_open() {
            // SAFETY: likewise.
            unsafe { agent.classes.prepared(agent, env, class) };
        }
        if agent.held().contains(Events::HEAP) {
            // SAFETY: likewise.
            unsafe { agent.snapshots.classes.prepared(env, class) };
        }
        if agent.held().contains(Events::DETAILS) {
            // SAFETY: likewise.
            unsafe { detail::prepared(agent, env, class) };
        }
    });
}

/// Rewrites the classes that were loaded before the hook was there, if the filters include them.
pub(super) fn retransform_early(agent: &Agent, env: *mut JNIEnv) {
    let is_early = |class: &jclass| {
        let Some((loader, name)) = named(agent, *class) else {
            return false;
        };
        // Parking is rewritten whatever the filters say.
        let is_known = agent.classes.is_known(loader, &name) && name != PARKING;
        let was_seen = is_known || is_watched(agent, loader, &name);
        !was_seen && is_wanted(agent, loader, &name) && is_modifiable(agent, *class, &name)
    };
    match Chosen::find(agent, env, is_early) {
        Ok(chosen) => _ = chosen.retransform(agent),
        Err(error) => log::say(&format!("{error}; classes loaded before are not traced")),
    }
}

/// Has `change` alter which classes are rewritten, and rewrites those anew that are, or once were. How many that is.
///
/// # Errors
/// When the JVM does not tell its classes, as a sentence; only classes that load from now on are altered then.
pub(crate) fn rewrite_anew(
    agent: &Agent,
    env: *mut JNIEnv,
    change: impl FnOnce(),
) -> Result<u64, Error> {
    change(); // first, so that no class loads as before and is not among these
    let is_chosen = |class: &jclass| {
        let Some((loader, name)) = named(agent, *class) else {
            return false;
        };
        if is_watched(agent, loader, &name) {
            return false;
        }
        let parks = agent.options.events.contains(Events::PARKS) && name == PARKING;
        let was = parks || agent.classes.is_known(loader, &name);
        was || is_wanted(agent, loader, &name) && is_modifiable(agent, *class, &name)
    };
    let chosen = Chosen::find(agent, env, is_chosen)?;
    chosen.retransform(agent);
    Ok(chosen.classes.len() as u64)
}

/// Whether the class is `Object`, with a probe that [`watch_constructors`] has put there and takes away.
fn is_watched(agent: &Agent, loader: Loader, name: &str) -> bool {
    name == OBJECT && agent.classes.has_hooks(loader, name)
}

/// Has `Object`'s constructor hand objects over, or not, as the kinds of events want it now. The first is to be done before there are objects to
/// hand over.
pub(super) fn watch_constructors(agent: &Agent, env: *mut JNIEnv) {
    let is_wanted = agent.classes.identifies_now(agent);
    let is_there = || is_watched(agent, Loader::BOOT, OBJECT);
    if is_wanted == is_there() {
        return;
    }
    pending::end_epoch();
    let change = || {
        // SAFETY: the running thread's environment.
        if let Some(object) = unsafe { jtrail_jvm::jni::object_class(env) } {
            retransform(agent, &[object]);
        }
    };
    // SAFETY: likewise; no reference leaves.
    unsafe { with_frame(env, change) };
    if is_wanted && is_there() {
        pending::begin_epoch();
    }
}

/// Gives classes that have hooks their own code back. How many the JVM does not let be changed.
pub(super) fn restore(agent: &Agent, env: *mut JNIEnv) -> usize {
    if !agent.classes.have_hooks() {
        return 0;
    }
    let has_hooks = |class: &jclass| {
        let named = named(agent, *class);
        named.is_some_and(|(loader, name)| agent.classes.has_hooks(loader, &name))
    };
    let Ok(chosen) = Chosen::find(agent, env, has_hooks) else {
        return 0;
    };
    let refused = chosen.retransform(agent);
    let note = || {
        for class in &chosen.classes {
            if let Some((loader, name)) = named(agent, *class) {
                agent.classes.note_hooks(loader, &name, false);
            }
        }
    };
    // SAFETY: the running thread's environment; no reference leaves.
    unsafe { with_frame(env, note) };
    refused
}

/// Loaded classes to be retransformed, as global references, which are deleted when it is dropped: local
/// ones would be counted in all callbacks meanwhile (`jni::make_room`).
struct Chosen {
    env: *mut JNIEnv,
    classes: Vec<jclass>,
}

impl Chosen {
    fn find(
        agent: &Agent,
        env: *mut JNIEnv,
        is_chosen: impl Fn(&jclass) -> bool,
    ) -> Result<Self, Failure> {
        let find = || {
            let loaded = agent.jvmti.loaded_classes(env)?;
            let chosen = loaded.into_iter().filter(is_chosen);
            // SAFETY: the running thread's environment, and local references that the JVM gave us.
            let kept = chosen.map(|class| unsafe { Lasting::new(env, class) }.get());
            let classes = kept.filter(|class| !class.is_null()).collect();
            Ok(Self { env, classes })
        };
        // SAFETY: the running thread's environment; no local reference leaves.
        unsafe { with_frame(env, find) }
    }

    fn retransform(&self, agent: &Agent) -> usize {
        retransform(agent, &self.classes)
    }
}

impl Drop for Chosen {
    fn drop(&mut self) {
        for class in &self.classes {
            // SAFETY: it is made and dropped on one thread, since the environment is not `Send`;
            // nobody else knows the references.
            unsafe { jtrail_jvm::jni::delete_global(self.env, *class) };
        }
    }
}

/// A class's loader and name (`a/b/C`); none for what no load hook ever sees.
fn named(agent: &Agent, class: jclass) -> Option<(Loader, String)> {
    // SAFETY: `class` is a local reference from the JVM.
    let signature = unsafe { agent.jvmti.class_signature(class) }.ok()?;
    // Arrays and primitive types have no code; the dot marks a hidden class.
    let name = signature.strip_prefix('L')?.strip_suffix(';')?;
    if name.contains('.') {
        return None;
    }
    // SAFETY: local references from the JVM.
    let loader = unsafe {
        let loader = agent.jvmti.class_loader(class).ok()?;
        agent.classes.loader(agent.jvmti, loader)
    };
    Some((loader, name.to_owned()))
}

/// Whether something of a class is to be rewritten now.
fn is_wanted(agent: &Agent, loader: Loader, name: &str) -> bool {
    agent.classes.is_open()
        && (agent.classes.sites_now(agent).is_some()
            || agent.classes.verdict(agent, loader, name) != ClassVerdict::None
            || has_triggers(agent, name)
            || agent.kinds().contains(Events::PARKS) && name == PARKING)
}

/// Whether the JVM lets a class be changed. If not, the trace says so.
fn is_modifiable(agent: &Agent, class: jclass, name: &str) -> bool {
    // SAFETY: `class` is a local reference from the JVM.
    let modifiable = unsafe { agent.jvmti.is_modifiable(class) }.unwrap_or(false);
    if !modifiable {
        let name = name.replace('/', ".");
        uncovered(agent, &name, "the JVM does not let this class be changed");
    }
    modifiable
}

/// Retransforms all of them; where the JVM refuses, finds out which it is by halves. How many that are.
fn retransform(agent: &Agent, classes: &[jclass]) -> usize {
    if classes.is_empty() {
        return 0;
    }
    OURS.set(true);
    // SAFETY: live references.
    let result = unsafe { agent.jvmti.retransform(classes) };
    OURS.set(false);
    // What was looked up meanwhile may be of the old code.
    agent.classes.forget_jmethods();
    let Err(error) = result else { return 0 };
    match classes {
        [class] => {
            // SAFETY: likewise.
            let signature = unsafe { agent.jvmti.class_signature(*class) }.unwrap_or_default();
            let name = signature
                .trim_start_matches('L')
                .trim_end_matches(';')
                .replace('/', ".");
            uncovered(agent, &name, &reason(&error));
            1
        }
        _ if error.error == abi::Error::WRONG_PHASE => classes.len(),
        _ => {
            let (first, second) = classes.split_at(classes.len() / 2);
            retransform(agent, first) + retransform(agent, second)
        }
    }
}

fn reason(error: &Failure) -> String {
    match error.error {
        abi::Error::UNMODIFIABLE_CLASS => "the JVM does not let this class be changed".into(),
        _ => error.to_string(),
    }
}

fn uncovered(agent: &Agent, class: &str, reason: &str) {
    agent.announce(Announcement::Uncovered {
        class: class.into(),
        method: "".into(),
        reason: reason.into(),
    });
}
