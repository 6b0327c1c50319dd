//! Threads, and the local references that they hold.

use super::{Lasting, with};
use crate::Error;
use jni::objects::{JObject, JValue};
use jni::sys::{JNIEnv, jfieldID, jobject};
use jni::{jni_sig, jni_str};
use std::ffi::CStr;
use std::ptr;
use std::sync::OnceLock;

/// A new `java.lang.Thread` of that group and name, not started, as a reference that lasts.
///
/// # Safety
/// `group` is a live reference to a thread group.
pub unsafe fn new_thread(env: *mut JNIEnv, group: jobject, name: &str) -> Result<Lasting, Error> {
    with(env, |env| {
        // SAFETY: the caller's promise.
        let group = unsafe { JObject::from_raw(env, group) };
        let name = env.new_string(name)?;
        let thread = env.new_object(
            jni_str!("java/lang/Thread"),
            jni_sig!("(Ljava/lang/ThreadGroup;Ljava/lang/String;)V"),
            &[JValue::Object(&group), JValue::Object(&name)],
        )?;
        Ok(Lasting(env.new_global_ref(thread)?.into_raw()))
    })
}

/// What a thread says that it waits for (`Thread.parkBlocker`), as a local reference; null if it says nothing.
///
/// # Safety
/// `env` is the running thread's, and `thread` a live reference to a thread.
pub unsafe fn park_blocker(env: *mut JNIEnv, thread: jobject) -> jobject {
    static FIELD: OnceLock<usize> = OnceLock::new();
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe {
        match field_of_thread(&FIELD, env, thread, c"parkBlocker", c"Ljava/lang/Object;") {
            Some(field) => ((**env).v1_1.GetObjectField)(env, thread, field),
            None => ptr::null_mut(),
        }
    }
}

/// The number that Java gives a thread, and no other in the same JVM (`Thread.getId`, or what it would answer if nobody overrode it). 0 for one whose constructor has not come so far, and
/// for null.
///
/// # Safety
/// As for [`park_blocker`]; `thread` may be null.
pub unsafe fn thread_id(env: *mut JNIEnv, thread: jobject) -> i64 {
    static FIELD: OnceLock<usize> = OnceLock::new();
    if thread.is_null() {
        return 0; // native code attaches it, and its `Thread` is being made
    }
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe {
        match field_of_thread(&FIELD, env, thread, c"tid", c"J") {
            Some(field) => ((**env).v1_1.GetLongField)(env, thread, field),
            None => 0,
        }
    }
}

/// A field of `java.lang.Thread`, which is looked up once.
///
/// # Safety
/// As for [`park_blocker`].
unsafe fn field_of_thread(
    known: &OnceLock<usize>,
    env: *mut JNIEnv,
    thread: jobject,
    name: &CStr,
    kind: &CStr,
) -> Option<jfieldID> {
    let field = *known.get_or_init(|| {
        // SAFETY: the caller's promise; the functions are there since the first version. The class is never unloaded.
        unsafe {
            let functions = &(**env).v1_1;
            let class = (functions.GetObjectClass)(env, thread);
            let field = (functions.GetFieldID)(env, class, name.as_ptr(), kind.as_ptr());
            if field.is_null() {
                (functions.ExceptionClear)(env);
            }
            (functions.DeleteLocalRef)(env, class);
            field.expose_provenance()
        }
    });
    (field != 0).then(|| ptr::with_exposed_provenance_mut(field))
}

/// Runs `f`, and gives up the local references that came meanwhile.
pub fn with_local_frame<T>(env: *mut JNIEnv, f: impl FnOnce() -> T) -> Result<T, Error> {
    with(env, |env| {
        env.with_local_frame(1024, |_| -> Result<_, jni::errors::Error> { Ok(f()) })
    })
}
