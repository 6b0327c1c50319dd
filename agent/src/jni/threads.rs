//! Threads, and the local references that they hold.

use super::with;
use jni::objects::{JObject, JValue};
use jni::sys::{JNIEnv, jobject};
use jni::{jni_sig, jni_str};

/// A new `java.lang.Thread` of that group and name, not started, as a global reference that is never given up.
///
/// # Safety
/// `group` is a live reference to a thread group.
pub(crate) unsafe fn new_thread(
    env: *mut JNIEnv,
    group: jobject,
    name: &str,
) -> Result<jobject, String> {
    with(env, |env| {
        // SAFETY: the caller's promise.
        let group = unsafe { JObject::from_raw(env, group) };
        let name = env.new_string(name)?;
        let thread = env.new_object(
            jni_str!("java/lang/Thread"),
            jni_sig!("(Ljava/lang/ThreadGroup;Ljava/lang/String;)V"),
            &[JValue::Object(&group), JValue::Object(&name)],
        )?;
        Ok(env.new_global_ref(thread)?.into_raw())
    })
}

/// Runs `f`, and gives up the local references that came meanwhile.
pub(crate) fn with_local_frame<T>(env: *mut JNIEnv, f: impl FnOnce() -> T) -> Result<T, String> {
    with(env, |env| {
        env.with_local_frame(16, |_| -> Result<_, jni::errors::Error> { Ok(f()) })
    })
}
