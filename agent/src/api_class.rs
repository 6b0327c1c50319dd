//! The class that programs call, and its texts.

use crate::error::Error;
use jni::objects::JClass;
use jni::sys::{JNIEnv, jclass};
use jni::{NativeMethod, jni_str};
use jtrail_jvm::jni::with;
use std::ffi::c_void;

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
) -> Result<(), Error> {
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
