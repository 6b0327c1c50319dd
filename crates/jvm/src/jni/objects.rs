//! Objects and arrays, made and looked at.

use super::with;
use crate::Error;
use jni::objects::{JClass, JObject, JValue};
use jni::sys::{JNIEnv, jclass, jfieldID, jint, jobject};
use jni::{jni_sig, jni_str};
use std::ffi::CStr;
use std::ptr;

/// Where an object is at the moment: HotSpot's local references point to places that hold it.
///
/// # Safety
/// `object` is a live local reference.
pub unsafe fn address(object: jobject) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<u64>().read_volatile() }
}

/// Makes an array of so many bytes, shows it to `look`, and forgets it. `None` if there was no memory for it.
///
/// # Safety
/// `env` is the running thread's; the reference does not leave `look`.
pub unsafe fn with_garbage<T>(
    env: *mut JNIEnv,
    bytes: jint,
    look: impl FnOnce(jobject) -> T,
) -> Option<T> {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let array = ((**env).v1_1.NewByteArray)(env, bytes);
        if array.is_null() {
            ((**env).v1_1.ExceptionClear)(env);
            return None;
        }
        let result = look(array);
        ((**env).v1_1.DeleteLocalRef)(env, array);
        Some(result)
    }
}

/// A new array of that length, as a local reference. `element` is the first character of the elements' descriptor; references are
/// to `class`. Null when there is no memory for it.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to a class.
pub unsafe fn new_array(env: *mut JNIEnv, element: u8, length: jint, class: jclass) -> jobject {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let functions = &(**env).v1_1;
        let array = match element {
            b'Z' => (functions.NewBooleanArray)(env, length),
            b'B' => (functions.NewByteArray)(env, length),
            b'C' => (functions.NewCharArray)(env, length),
            b'S' => (functions.NewShortArray)(env, length),
            b'I' => (functions.NewIntArray)(env, length),
            b'J' => (functions.NewLongArray)(env, length),
            b'F' => (functions.NewFloatArray)(env, length),
            b'D' => (functions.NewDoubleArray)(env, length),
            _ => (functions.NewObjectArray)(env, length, class, ptr::null_mut()),
        };
        if array.is_null() {
            (functions.ExceptionClear)(env);
        }
        array
    }
}

/// A new object of an initialised class, without running a constructor, as a local reference; null if that is impossible.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to a class.
pub unsafe fn allocate(env: *mut JNIEnv, class: jclass) -> jobject {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let object = ((**env).v1_1.AllocObject)(env, class);
        if object.is_null() {
            ((**env).v1_1.ExceptionClear)(env);
        }
        object
    }
}

/// Gives a local reference back.
///
/// # Safety
/// `env` is the running thread's, and the reference one of its own or null.
pub unsafe fn forget(env: *mut JNIEnv, object: jobject) {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.DeleteLocalRef)(env, object) }
}

/// `java.lang.Object`, as a local reference.
///
/// # Safety
/// `env` is the running thread's.
pub unsafe fn object_class(env: *mut JNIEnv) -> Option<jclass> {
    // SAFETY: the caller's promise; the function is there since the first version.
    let class = unsafe { ((**env).v1_1.FindClass)(env, c"java/lang/Object".as_ptr()) };
    (!class.is_null()).then_some(class)
}

/// Whether an object is an instance of a class.
///
/// # Safety
/// `env` is the running thread's, and both are live references.
pub unsafe fn is_instance(env: *mut JNIEnv, object: jobject, class: jclass) -> bool {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.IsInstanceOf)(env, object, class) }
}

/// A field of a class; `None` if it has none of that name and descriptor.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to an initialised class.
pub unsafe fn field(
    env: *mut JNIEnv,
    class: jclass,
    name: &CStr,
    descriptor: &CStr,
) -> Option<jfieldID> {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let functions = &(**env).v1_1;
        let field = (functions.GetFieldID)(env, class, name.as_ptr(), descriptor.as_ptr());
        if field.is_null() {
            (functions.ExceptionClear)(env);
        }
        (!field.is_null()).then_some(field)
    }
}

/// Whether a field of an object holds a reference that is not null.
///
/// # Safety
/// `env` is the running thread's, `object` a live reference, and `field` one of references, of the object's class.
pub unsafe fn is_set(env: *mut JNIEnv, object: jobject, field: jfieldID) -> bool {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let value = ((**env).v1_1.GetObjectField)(env, object, field);
        forget(env, value);
        !value.is_null()
    }
}

/// Elements of an array.
///
/// # Safety
/// `env` is the running thread's, and `array` a live reference to an array.
pub unsafe fn array_length(env: *mut JNIEnv, array: jobject) -> jint {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.GetArrayLength)(env, array) }
}

/// An element of an array, as a local reference.
///
/// # Safety
/// `env` is the running thread's, and `array` a live reference to an array of references that has such an element.
pub unsafe fn element(env: *mut JNIEnv, array: jobject, at: jint) -> jobject {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.GetObjectArrayElement)(env, array, at) }
}

/// The class that code of the class `from` means by a name (as `Class.forName` takes it), as a local reference.
///
/// # Safety
/// `env` is the running thread's, `hook` the hook class and `from` a live reference to a class.
pub unsafe fn named_class(
    env: *mut JNIEnv,
    hook: jclass,
    name: &str,
    from: jclass,
) -> Result<jclass, Error> {
    with(env, |env| {
        // SAFETY: the caller's promise.
        let (hook, from) = unsafe { (JClass::from_raw(env, hook), JObject::from_raw(env, from)) };
        let name = env.new_string(name)?;
        let found = env.call_static_method(
            hook,
            jni_str!("find"),
            jni_sig!("(Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Class;"),
            &[JValue::Object(&name), JValue::Object(&from)],
        )?;
        Ok(found.l()?.into_raw())
    })
}
