//! Threads, and the local references that they hold.

use super::{Lasting, with};
use jni::objects::{JObject, JValue};
use jni::sys::{JNIEnv, jobject};
use jni::{jni_sig, jni_str};
use std::ptr;
use std::sync::OnceLock;

/// A new `java.lang.Thread` of that group and name, not started, as a reference that lasts.
///
/// # Safety
/// `group` is a live reference to a thread group.
pub(crate) unsafe fn new_thread(
    env: *mut JNIEnv,
    group: jobject,
    name: &str,
) -> Result<Lasting, String> {
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
pub(crate) unsafe fn park_blocker(env: *mut JNIEnv, thread: jobject) -> jobject {
    static FIELD: OnceLock<usize> = OnceLock::new();
    // SAFETY: the caller's promise; the functions are there since the first version. The field is one of `java.lang.Thread`, which is never unloaded.
    unsafe {
        let functions = &(**env).v1_1;
        let field = *FIELD.get_or_init(|| {
            let class = (functions.GetObjectClass)(env, thread);
            let (name, kind) = (c"parkBlocker", c"Ljava/lang/Object;");
            let field = (functions.GetFieldID)(env, class, name.as_ptr(), kind.as_ptr());
            if field.is_null() {
                (functions.ExceptionClear)(env);
            }
            field.expose_provenance()
        });
        match field {
            0 => ptr::null_mut(),
            field => {
                (functions.GetObjectField)(env, thread, ptr::with_exposed_provenance_mut(field))
            }
        }
    }
}

/// Runs `f`, and gives up the local references that came meanwhile.
pub(crate) fn with_local_frame<T>(env: *mut JNIEnv, f: impl FnOnce() -> T) -> Result<T, String> {
    with(env, |env| {
        env.with_local_frame(16, |_| -> Result<_, jni::errors::Error> { Ok(f()) })
    })
}
