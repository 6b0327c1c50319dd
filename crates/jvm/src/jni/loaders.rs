//! Class loaders, asked for a class in the JVM's own way.

use super::{class_of, forget, is_same, new_text};
use jni::sys::{JNIEnv, jclass, jobject, jvalue};
use std::ffi::CStr;

/// What a class loader answers when it is asked for a class.
pub enum Answer {
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
pub unsafe fn ask_loader(
    env: *mut JNIEnv,
    loader: jobject,
    name: &str,
    expected: jclass,
) -> Answer {
    const FOR_NAME: Method = (
        c"forName",
        c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
    );
    let more = [jvalue { l: loader }];
    // SAFETY: the caller's environment and references; every JDK has this method, with these parameters.
    unsafe {
        let (found, thrown) = find_class(env, expected, FOR_NAME, name, more);
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
pub unsafe fn resolve_for(env: *mut JNIEnv, loader: jobject, name: &str, from: jclass) {
    const FOR_NAME: Method = (
        c"forName0",
        c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
    );
    let more = [jvalue { l: loader }, jvalue { l: from }];
    // SAFETY: the caller's environment and references; where the JDK has no such method, none is called.
    unsafe {
        let (found, thrown) = find_class(env, from, FOR_NAME, name, more);
        forget(env, found);
        forget(env, thrown);
    }
}

/// A method's name and descriptor.
type Method = (&'static CStr, &'static CStr);

/// Calls a static method of `java.lang.Class` with a name, `false` for not to initialize what it finds, and `more` arguments. Returns
/// what it returned and what was thrown, as local references or null. No exception stays pending.
///
/// # Safety
/// `env` is the running thread's environment, and `any` a live reference to a class. A method of this name and descriptor takes `more`
/// as its other arguments.
unsafe fn find_class<const MORE: usize>(
    env: *mut JNIEnv,
    any: jclass,
    (method, descriptor): Method,
    name: &str,
    more: [jvalue; MORE],
) -> (jobject, jobject) {
    // SAFETY: the caller's environment, reference and arguments; the functions are there since version 1.2. `java.lang.Class` is
    // taken from the class at hand, because `FindClass` would ask a loader for it.
    unsafe {
        let functions = &(**env).v1_1;
        let class = class_of(env, any);
        let method =
            (functions.GetStaticMethodID)(env, class, method.as_ptr(), descriptor.as_ptr());
        let mut found = std::ptr::null_mut();
        if !method.is_null() {
            let text = new_text(env, name);
            if !text.is_null() {
                let first = [jvalue { l: text }, jvalue { z: false }];
                let arguments: Vec<jvalue> = first.into_iter().chain(more).collect();
                found = (functions.CallStaticObjectMethodA)(env, class, method, arguments.as_ptr());
            }
            forget(env, text);
        }
        let thrown = (functions.ExceptionOccurred)(env);
        (functions.ExceptionClear)(env);
        forget(env, class);
        (found, thrown)
    }
}
