//! The natives of `jtrail.Trace`, the class that programs call.

use super::{tracer, with};
use crate::error::Error;
use crate::session::ApiCall;
use jni::jni_str;
use jni::sys::{JNIEnv, jboolean, jclass, jint, jlong, jstring};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::refs::Handle;
use jtrail_jvm::jni::{ClassRef, Env, Native};
use std::ffi::c_void;
use std::ptr;

type Command =
    unsafe extern "system" fn(*mut JNIEnv, jclass, jint, jstring, jstring, jlong) -> jstring;
type Recording = unsafe extern "system" fn(*mut JNIEnv, jclass) -> jboolean;

/// Binds the natives of the class, and sets its field `bound`.
pub(crate) fn bind(env: &Env<'_>, class: ClassRef<'_>) {
    if let Err(error) = try_bind(env, class) {
        log::say(&format!("the program's jtrail.Trace does nothing: {error}"));
    }
}

fn try_bind(env: &Env<'_>, class: ClassRef<'_>) -> Result<(), Error> {
    // SAFETY: the functions have the types of static native methods of these descriptors.
    let natives = unsafe {
        [
            Native::new(
                jni_str!("command"),
                jni_str!("(ILjava/lang/String;Ljava/lang/String;J)Ljava/lang/String;"),
                command as Command as *mut c_void,
            ),
            Native::new(
                jni_str!("recording"),
                jni_str!("()Z"),
                recording as Recording as *mut c_void,
            ),
        ]
    };
    env.register_natives(class, &natives)?;
    match env.set_static_boolean(class, c"bound", true) {
        true => Ok(()),
        false => Err("it is not the agent's own class".into()),
    }
}

/// Unbinds the class. Its methods do nothing from then on, even in a call that has already begun.
pub(crate) fn unbind(env: &Env<'_>, class: ClassRef<'_>) {
    if env.set_static_boolean(class, c"bound", false) {
        env.unregister_natives(class);
    }
}

/// The native method `Trace.command`. Returns null on success, otherwise the reason of the failure.
unsafe extern "system" fn command(
    env: *mut JNIEnv,
    _class: jclass,
    what: jint,
    text: jstring,
    more: jstring,
    number: jlong,
) -> jstring {
    // SAFETY: the JVM passed the environment and the arguments to this native method. The result is
    // a local reference. The JVM frees it after this method has returned.
    unsafe {
        let done = with("a call of the program", env, |tracer, env| {
            let text = Handle::from_raw(env, text).map(|text| env.text(text));
            let more = Handle::from_raw(env, more).map(|more| env.text(more));
            let call = ApiCall {
                what,
                text,
                more,
                number,
            };
            Some(tracer.session.life.upcalls.command(env, call))
        });
        match done {
            Some(Ok(())) => ptr::null_mut(),
            Some(Err(error)) => answer(env, &error.to_string()),
            None => answer(env, "tracing is over"),
        }
    }
}

/// Creates a Java string; returns null if there is no memory for it.
///
/// # Safety
/// `env` is the environment that the JVM passed to the running native method.
unsafe fn answer(env: *mut JNIEnv, text: &str) -> jstring {
    // SAFETY: the caller passes the environment of the running native method. The reference lives
    // until that method returns it.
    let text = unsafe { Env::from_raw(env) }.and_then(|env| env.new_text(text));
    text.map_or(ptr::null_mut(), Handle::as_raw)
}

unsafe extern "system" fn recording(_env: *mut JNIEnv, _class: jclass) -> jboolean {
    guard::run("a call of the program", || {
        tracer().is_some_and(|tracer| tracer.session.life.upcalls.is_recording())
    })
}
