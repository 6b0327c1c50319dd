//! The class that programs call, and its texts.

use super::with;
use jni::objects::JClass;
use jni::sys::{JNIEnv, jclass, jstring};
use jni::{NativeMethod, jni_str};
use std::ffi::c_void;
use std::ptr;

/// The functions behind `jtrail.Trace`.
pub(crate) struct ApiFunctions {
    pub(crate) command: *mut c_void,
    pub(crate) recording: *mut c_void,
}

/// Binds the class, and tells it.
///
/// # Safety
/// `env` is the running thread's, `class` a live reference to the class, and the functions are those of its methods.
pub(crate) unsafe fn bind_api(
    env: *mut JNIEnv,
    class: jclass,
    functions: &ApiFunctions,
) -> Result<(), String> {
    with(env, |env| {
        let methods = [
            (
                jni_str!("command"),
                jni_str!("(ILjava/lang/String;Ljava/lang/String;J)Ljava/lang/String;"),
                functions.command,
            ),
            (jni_str!("recording"), jni_str!("()Z"), functions.recording),
        ]
        // SAFETY: the caller's promise.
        .map(|(name, signature, function)| unsafe {
            NativeMethod::from_raw_parts(name, signature, function)
        });
        // SAFETY: likewise.
        let class = unsafe { JClass::from_raw(env, class) };
        // SAFETY: likewise.
        unsafe { env.register_native_methods(&class, &methods) }
    })?;
    // SAFETY: likewise.
    match unsafe { set_bound(env, class, true) } {
        true => Ok(()),
        false => Err("it is not the agent's own class".into()),
    }
}

/// Takes its methods back. The class does without them, also where a call is on its way.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to the class.
pub(crate) unsafe fn unbind_api(env: *mut JNIEnv, class: jclass) {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe {
        if set_bound(env, class, false) {
            ((**env).v1_1.UnregisterNatives)(env, class);
        }
    }
}

/// Tells the class whether its methods are bound.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to the class.
unsafe fn set_bound(env: *mut JNIEnv, class: jclass, bound: bool) -> bool {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let functions = &(**env).v1_1;
        let field = (functions.GetStaticFieldID)(env, class, c"bound".as_ptr(), c"Z".as_ptr());
        if field.is_null() {
            (functions.ExceptionClear)(env);
            return false;
        }
        (functions.SetStaticBooleanField)(env, class, field, bound);
        true
    }
}

/// A string's text; none for null.
///
/// # Safety
/// `env` is the running thread's, and `string` null or a live reference to a string.
pub(crate) unsafe fn text_of(env: *mut JNIEnv, string: jstring) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the functions are there since version 1.2, and write no more than so many units.
    unsafe {
        let functions = &(**env).v1_1;
        let length = (functions.GetStringLength)(env, string);
        let mut units = vec![0_u16; usize::try_from(length).unwrap_or_default()];
        ((**env).v1_2.GetStringRegion)(env, string, 0, length, units.as_mut_ptr());
        Some(String::from_utf16_lossy(&units))
    }
}

/// A new string, as a local reference; null if there is no memory for it.
pub(crate) fn new_text(env: *mut JNIEnv, text: &str) -> jstring {
    let made = with(env, |env| Ok(env.new_string(text)?.into_raw()));
    made.unwrap_or(ptr::null_mut())
}
