//! Classes load: those that the filters include are rewritten.

use super::detail;
use crate::agent::{self, Agent};
use crate::guard;
use crate::instrument::Loader;
use crate::instrument::parks::CLASS as PARKING;
use crate::jvmti::abi::{Error, RawEnv};
use crate::jvmti::{Failure, text};
use crate::log;
use crate::writer::Announcement;
use jni::sys::{JNIEnv, jclass, jint, jobject};
use jtrail_options::{ClassVerdict, Events};
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
        let loader = unsafe { agent.classes.loader(agent.jvmti, loader) };
        let again = !redefined.is_null();
        if agent.options.events.contains(Events::DETAILS) {
            match again {
                false => agent.sizes.loaded(loader, name.as_deref(), bytes.len()),
                true if OURS.get() => {}
                // SAFETY: the callback's own reference.
                true => unsafe { detail::redefined(agent, env, redefined, bytes.len()) },
            }
        }
        if !agent.classes.is_open() {
            return;
        }
        let Some(rewritten) = agent
            .classes
            .rewrite(agent, loader, name.as_deref(), bytes, again)
        else {
            return;
        };
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

/// Rewrites the classes that were loaded before the hook was there, if the filters include them.
pub(super) fn retransform_early(agent: &Agent) {
    let classes = match agent.jvmti.loaded_classes() {
        Ok(classes) => classes,
        Err(error) => return log::say(&format!("{error}; classes loaded before are not traced")),
    };
    let chosen: Vec<jclass> = classes
        .into_iter()
        .filter(|class| is_early(agent, *class))
        .collect();
    retransform(agent, &chosen);
}

/// Whether a class is included, and was not seen by the load hook. Says so if it can't be changed.
fn is_early(agent: &Agent, class: jclass) -> bool {
    // SAFETY: `class` is a local reference from the JVM.
    let Ok(signature) = (unsafe { agent.jvmti.class_signature(class) }) else {
        return false;
    };
    // Arrays and primitive types have no code; the dot marks a hidden class, which no hook ever sees.
    let Some(name) = signature
        .strip_prefix('L')
        .and_then(|s| s.strip_suffix(';'))
    else {
        return false;
    };
    if name.contains('.') {
        return false;
    }
    // SAFETY: `class` is a local reference from the JVM.
    let Ok(loader) = (unsafe { agent.jvmti.class_loader(class) }) else {
        return false;
    };
    // SAFETY: a local reference that the JVM just gave us.
    let loader: Loader = unsafe { agent.classes.loader(agent.jvmti, loader) };
    let dotted = name.replace('/', ".");
    let everywhere = agent.classes.sites.get().is_some();
    let included = (everywhere || agent.classes.verdict(agent, loader, name) != ClassVerdict::None)
        && !agent.classes.is_known(loader, name);
    let parks = agent.options.events.contains(Events::PARKS) && name == PARKING;
    if !included && !parks {
        return false;
    }
    // SAFETY: `class` is a local reference from the JVM.
    let modifiable = unsafe { agent.jvmti.is_modifiable(class) }.unwrap_or(false);
    if !modifiable {
        uncovered(agent, &dotted, "the JVM does not let this class be changed");
    }
    modifiable
}

/// Retransforms all of them; where the JVM refuses, finds out which it is by halves.
fn retransform(agent: &Agent, classes: &[jclass]) {
    if classes.is_empty() {
        return;
    }
    OURS.set(true);
    // SAFETY: local references that the JVM gave us.
    let result = unsafe { agent.jvmti.retransform(classes) };
    OURS.set(false);
    let Err(error) = result else { return };
    match classes {
        [class] => {
            // SAFETY: likewise.
            let signature = unsafe { agent.jvmti.class_signature(*class) }.unwrap_or_default();
            let name = signature
                .trim_start_matches('L')
                .trim_end_matches(';')
                .replace('/', ".");
            uncovered(agent, &name, &reason(&error));
        }
        _ if error.error == Error::WRONG_PHASE => {}
        _ => {
            let (first, second) = classes.split_at(classes.len() / 2);
            retransform(agent, first);
            retransform(agent, second);
        }
    }
}

fn reason(error: &Failure) -> String {
    match error.error {
        Error::UNMODIFIABLE_CLASS => "the JVM does not let this class be changed".into(),
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
