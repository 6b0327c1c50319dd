//! Class loaders, asked for a class in the JVM's own way.

use super::{class_of, forget, is_same, new_text};
use jni::sys::{JNIEnv, jclass, jobject, jvalue};
use std::ffi::CStr;

/// What a class loader answers when it is asked for a class.
pub(crate) enum Answer {
    /// The expected class.
    Expected,
    /// Another class of that name.
    Other,
    /// It threw this exception, or the JVM did not accept its answer; a local reference, null without memory for one.
    Thrown(jobject),
}

/// Asks a class loader for the class `expected`, by the class's binary name. No exception stays pending.
///
/// It is `Class.forName`, not `loadClass`: so the JVM records the loader as an initiating loader of what it finds, and never
/// asks it for that class again.
///
/// # Safety
/// `env` is the running thread's environment, `loader` a live reference to a class loader, and `expected` one to a class.
pub(crate) unsafe fn ask_loader(
    env: *mut JNIEnv,
    loader: jobject,
    name: &str,
    expected: jclass,
) -> Answer {
    const FOR_NAME: &CStr = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
    // SAFETY: the caller's environment and references; the functions are there since version 1.2. `java.lang.Class` has such a
    // method in every version, and is taken from the class at hand, because `FindClass` would ask a loader for it.
    unsafe {
        let functions = &(**env).v1_1;
        let class = class_of(env, expected);
        let method =
            (functions.GetStaticMethodID)(env, class, c"forName".as_ptr(), FOR_NAME.as_ptr());
        let text = new_text(env, name);
        let mut found = std::ptr::null_mut();
        if !method.is_null() && !text.is_null() {
            let arguments = [
                jvalue { l: text },
                jvalue { z: false },
                jvalue { l: loader },
            ];
            let arguments = arguments.as_ptr();
            found = (functions.CallStaticObjectMethodA)(env, class, method, arguments);
        }
        let thrown = (functions.ExceptionOccurred)(env);
        (functions.ExceptionClear)(env);
        forget(env, class);
        forget(env, text);
        let answer = match thrown.is_null() && !found.is_null() {
            false => Answer::Thrown(thrown),
            true if is_same(env, found, expected) => Answer::Expected,
            true => Answer::Other,
        };
        forget(env, found);
        answer
    }
}

/// Has the JVM resolve a class by its binary name as code of the class `from` does, whose loader has found it before. From 18
/// on that changes nothing; older JVMs look whether `from`'s protection domain may see the class, the first time for each.
///
/// # Safety
/// `env` is the running thread's environment, `loader` a live reference to the loader of `from`, and `from` one to a class.
pub(crate) unsafe fn resolve_for(env: *mut JNIEnv, loader: jobject, name: &str, from: jclass) {
    const FOR_NAME: &CStr =
        c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;";
    // SAFETY: as in `ask_loader`. Where the JDK has no such method, none is called.
    unsafe {
        let functions = &(**env).v1_1;
        let class = class_of(env, from);
        let method =
            (functions.GetStaticMethodID)(env, class, c"forName0".as_ptr(), FOR_NAME.as_ptr());
        let text = new_text(env, name);
        if !method.is_null() && !text.is_null() {
            let arguments = [
                jvalue { l: text },
                jvalue { z: false },
                jvalue { l: loader },
                jvalue { l: from },
            ];
            let arguments = arguments.as_ptr();
            let found = (functions.CallStaticObjectMethodA)(env, class, method, arguments);
            (functions.ExceptionClear)(env);
            forget(env, found);
        }
        (functions.ExceptionClear)(env);
        forget(env, class);
        forget(env, text);
    }
}
